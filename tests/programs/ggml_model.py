"""Writes a small Llama of random weights as a GGUF file: `ggml_model.py FILE KIND [--nan TENSOR] [--swap TENSOR TENSOR]`.

KIND is f32, f16, q8_0 or q4_0. --nan puts a NaN into the middle of a tensor of one dimension, --swap exchanges two tensors; --epsilon and
--theta are those of the norms and of the rotary positions. FILE.npz gets the tensors as the model has them, what is quantised as the
package gguf turns it into floats.
"""

from __future__ import annotations

import argparse

import gguf
import numpy as np

VOCABULARY, WIDTH, HIDDEN, LAYERS, HEADS, KEY_HEADS = 320, 64, 160, 2, 2, 1
KINDS = {"f32": 0, "f16": 1, "q8_0": 7, "q4_0": 2}


def weights() -> dict[str, np.ndarray]:
    """Make the tensors by their names in the file; rows are outputs."""
    rng = np.random.default_rng(7)
    key_width = WIDTH // HEADS * KEY_HEADS
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (VOCABULARY, WIDTH),
        "output.weight": (VOCABULARY, WIDTH),
        "output_norm.weight": (WIDTH,),
    }
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.attn_norm.weight": (WIDTH,),
            f"blk.{layer}.attn_q.weight": (WIDTH, WIDTH),
            f"blk.{layer}.attn_k.weight": (key_width, WIDTH),
            f"blk.{layer}.attn_v.weight": (key_width, WIDTH),
            f"blk.{layer}.attn_output.weight": (WIDTH, WIDTH),
            f"blk.{layer}.ffn_norm.weight": (WIDTH,),
            f"blk.{layer}.ffn_gate.weight": (HIDDEN, WIDTH),
            f"blk.{layer}.ffn_up.weight": (HIDDEN, WIDTH),
            f"blk.{layer}.ffn_down.weight": (WIDTH, HIDDEN),
        }
    return {
        name: (rng.uniform(0.6, 1.4, shape) if len(shape) == 1 else rng.normal(0, 0.15, shape)).astype(np.float32)
        for name, shape in shapes.items()
    }


def add_facts(writer: gguf.GGUFWriter, kind: str, epsilon: float, theta: float) -> None:
    """Add what llama.cpp wants to know of a model and its words."""
    writer.add_name("tiny")
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(epsilon)
    writer.add_rope_freq_base(theta)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(VOCABULARY)
    writer.add_file_type(KINDS[kind])
    words = VOCABULARY - 260
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(
        [
            b"<unk>",
            b"<s>",
            b"</s>",
            *(b"<0x%02X>" % i for i in range(256)),
            b"\xe2\x96\x81",
            *(b"\xe2\x96\x81w%d" % i for i in range(words)),
        ]
    )
    writer.add_token_scores([-float(i) for i in range(VOCABULARY)])
    writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * (words + 1))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--nan")
    parser.add_argument("--swap", nargs=2)
    parser.add_argument("--epsilon", type=float, default=1e-5)
    parser.add_argument("--theta", type=float, default=10000.0)
    options = parser.parse_args()
    path, kind = options.path, options.kind
    tensors = weights()
    if options.nan:
        tensors[options.nan][WIDTH // 2] = np.nan
    if options.swap:
        one, other = options.swap
        tensors[one], tensors[other] = tensors[other], tensors[one]
    writer = gguf.GGUFWriter(path, "llama")
    add_facts(writer, kind, options.epsilon, options.theta)
    quantised = {"q8_0": gguf.GGMLQuantizationType.Q8_0, "q4_0": gguf.GGMLQuantizationType.Q4_0}.get(kind)
    stored = {}
    for name, values in tensors.items():
        if values.ndim == 1 or kind == "f32":
            stored[name] = values
            writer.add_tensor(name, values)
        elif quantised is None:
            stored[name] = values.astype(np.float16)
            writer.add_tensor(name, stored[name])
        else:
            blocks = gguf.quants.quantize(values, quantised)
            stored[name] = gguf.quants.dequantize(blocks, quantised)
            writer.add_tensor(name, blocks, raw_dtype=quantised)
    np.savez(f"{path}.npz", **stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
