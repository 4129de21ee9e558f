"""Writes a small Whisper of random weights as whisper.cpp reads it: `whisper_model.py FILE`."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

VOCABULARY, WIDTH, HEADS, LAYERS, AUDIO, TEXT, BANDS = 51864, 64, 1, 1, 1500, 448, 80
FILTER_BINS = 201


def attention(name: str) -> dict[str, tuple[int, ...]]:
    """List the tensors of one attention, with its norm, by the shapes of ggml: the fastest dimension first."""
    shapes: dict[str, tuple[int, ...]] = {f"{name}_ln.weight": (WIDTH,), f"{name}_ln.bias": (WIDTH,)}
    for part in ("query", "key", "value", "out"):
        shapes[f"{name}.{part}.weight"] = (WIDTH, WIDTH)
        if part != "key":
            shapes[f"{name}.{part}.bias"] = (WIDTH,)
    return shapes


def block(name: str) -> dict[str, tuple[int, ...]]:
    """List the tensors of one layer without attention to the other half."""
    return {
        f"{name}.mlp_ln.weight": (WIDTH,),
        f"{name}.mlp_ln.bias": (WIDTH,),
        f"{name}.mlp.0.weight": (WIDTH, 4 * WIDTH),
        f"{name}.mlp.0.bias": (4 * WIDTH,),
        f"{name}.mlp.2.weight": (4 * WIDTH, WIDTH),
        f"{name}.mlp.2.bias": (WIDTH,),
        **attention(f"{name}.attn"),
    }


def shapes() -> dict[str, tuple[int, ...]]:
    """List all tensors."""
    found: dict[str, tuple[int, ...]] = {
        "encoder.positional_embedding": (WIDTH, AUDIO),
        "encoder.conv1.weight": (3, BANDS, WIDTH),
        "encoder.conv1.bias": (1, WIDTH),
        "encoder.conv2.weight": (3, WIDTH, WIDTH),
        "encoder.conv2.bias": (1, WIDTH),
        "encoder.ln_post.weight": (WIDTH,),
        "encoder.ln_post.bias": (WIDTH,),
        "decoder.positional_embedding": (WIDTH, TEXT),
        "decoder.token_embedding.weight": (WIDTH, VOCABULARY),
        "decoder.ln.weight": (WIDTH,),
        "decoder.ln.bias": (WIDTH,),
    }
    for layer in range(LAYERS):
        found |= block(f"encoder.blocks.{layer}")
        found |= block(f"decoder.blocks.{layer}") | attention(f"decoder.blocks.{layer}.cross_attn")
    return found


def bytes_of(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> bytes:
    """Give a tensor as the file has it."""
    is_matrix = len(shape) > 1 and name.endswith(".weight")
    if name.endswith("weight") and not is_matrix:
        values: npt.NDArray[np.float64] = rng.uniform(0.6, 1.4, shape[::-1])
    else:
        values = rng.normal(0, 0.1, shape[::-1])
    encoded = name.encode()
    head = struct.pack("<iii", len(shape), len(encoded), int(is_matrix)) + struct.pack(f"<{len(shape)}i", *shape)
    return head + encoded + values.astype(np.float16 if is_matrix else np.float32).tobytes()


def main() -> None:
    """Write the file."""
    rng = np.random.default_rng(7)
    with Path(sys.argv[1]).open("wb") as file:
        file.write(struct.pack("<I", 0x67676D6C))
        file.write(struct.pack("<11i", VOCABULARY, AUDIO, WIDTH, HEADS, LAYERS, TEXT, WIDTH, HEADS, LAYERS, BANDS, 1))
        file.write(struct.pack("<ii", BANDS, FILTER_BINS))
        file.write(rng.uniform(0, 0.01, (BANDS, FILTER_BINS)).astype(np.float32).tobytes())
        # The first three are words that whisper.cpp looks up.
        words = [b" ", b" -", b" '", *(b"w%d" % i for i in range(50254))]
        file.write(struct.pack("<i", len(words)))
        for word in words:
            file.write(struct.pack("<I", len(word)) + word)
        for name, shape in shapes().items():
            file.write(bytes_of(name, shape, rng))


if __name__ == "__main__":
    main()
