"""A small language model that goes on with a sentence, for compare_faults.py. Arguments: form=, fault=, quant=, dtype=.

`form=reference` is written as models usually are. `form=engine` is written as inference engines do it: other modules, tokens without a
batch, one matrix for q, k and v, rotary channels in pairs, a call that warms up, and logits of the last token only.
"""

from __future__ import annotations

import sys

import torch
from torch import nn
from torch.nn import functional

OPTIONS = dict(argument.split("=", 1) for argument in sys.argv[1:])
FAULT, FORM, QUANT = OPTIONS.get("fault", ""), OPTIONS.get("form", "reference"), int(OPTIONS.get("quant", "0"))
DTYPE = {"f32": torch.float32, "bf16": torch.bfloat16}[OPTIONS.get("dtype", "f32")]
WIDTH, HEADS, WORDS, LAYERS = 32, 2, 50, 3
HEAD = WIDTH // HEADS


def weight(name: str, *shape: int) -> torch.Tensor:
    """Give the weight of a name."""
    made = torch.Generator().manual_seed(sum(map(ord, name)))
    value = torch.randn(shape, generator=made) * (0.9 / shape[-1] ** 0.5 if len(shape) > 1 else 0.1)
    return value if len(shape) > 1 else value + 1


class QuantLinear(nn.Module):
    """A matrix held in codes, with a scale for each output."""

    def __init__(self, matrix: torch.Tensor, name: str) -> None:
        super().__init__()
        most = 2 ** (QUANT - 1) - 1
        scale = matrix.abs().amax(1, keepdim=True) / most
        self.register_buffer("codes", (matrix / scale).round().clamp(-most, most).to(torch.int8))
        self.register_buffer("scale", scale * (3 if FAULT == "scale" and name == "layers.1.down" else 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        return functional.linear(x, self.codes.to(x.dtype) * self.scale.to(x.dtype))


def linear(name: str, matrix: torch.Tensor) -> nn.Module:
    """Make a layer of a matrix."""
    if FAULT == "weight" and name == "layers.1.up":
        matrix = matrix.clone()
        matrix[3] += 0.3
    if FAULT == "transposed" and name == "layers.1.o":
        matrix = matrix.T.contiguous()
    if QUANT:
        return QuantLinear(matrix, name)
    made = nn.Linear(matrix.shape[1], matrix.shape[0], bias=False)
    made.weight = nn.Parameter(matrix)
    return made


def paired(matrix: torch.Tensor) -> torch.Tensor:
    """Put the two channels that are rotated together beside each other."""
    return matrix.view(HEADS, 2, HEAD // 2, -1).transpose(1, 2).reshape(matrix.shape)


class Norm(nn.Module):
    """A norm without a mean."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight(name, WIDTH))
        self.eps = 1e-2 if FAULT == "epsilon" and name == "layers.1.norm" else 1e-6

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        return x * (x.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight


def angles(begin: int, count: int) -> torch.Tensor:
    """Give the angle of each position and frequency."""
    base = 500.0 if FAULT == "base" else 1e4
    shift = 1 if FAULT == "position" and begin > 0 else 0
    return (torch.arange(begin, begin + count) + shift)[:, None] / base ** (torch.arange(HEAD // 2) * 2 / HEAD)


class Attention(nn.Module):
    """Attention with rotary positions and a cache."""

    def __init__(self, name: str) -> None:
        super().__init__()
        q, k, v = (weight(f"{name}.{part}", WIDTH, WIDTH) for part in "qkv")
        if FORM == "engine":
            self.qkv = linear(f"{name}.qkv", torch.cat([paired(q), paired(k), v]))
        else:
            self.q, self.k, self.v = (linear(f"{name}.{part}", m) for part, m in (("q", q), ("k", k), ("v", v)))
        self.o = linear(f"{name}.o", weight(f"{name}.o", WIDTH, WIDTH))
        self.wrong = FAULT == "attention_scale" and name == "layers.1"
        self.keys: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []

    def rotated(self, x: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
        """Rotate heads before positions."""
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        if FORM == "engine":
            first, second = x[..., 0::2], x[..., 1::2]
            return torch.stack([first * cos - second * sin, second * cos + first * sin], -1).flatten(-2)
        cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)
        half = torch.cat([-x[..., HEAD // 2 :], x[..., : HEAD // 2]], -1)
        return x * cos + half * sin

    def forward(self, x: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
        """Run it."""
        parts = self.qkv(x).split(WIDTH, -1) if FORM == "engine" else (self.q(x), self.k(x), self.v(x))
        q, k, v = (part.view(*part.shape[:-1], HEADS, HEAD).transpose(-2, -3) for part in parts)
        q, k = self.rotated(q, angle), self.rotated(k, angle)
        begin = sum(one.shape[-2] for one in self.keys)
        self.keys.append(k)
        self.values.append(v)
        k, v = torch.cat(self.keys, -2), torch.cat(self.values, -2)
        scale = HEAD**-0.5 * (0.7 if self.wrong else 1)
        if FORM == "engine":
            mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(begin)
            y = functional.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask, scale=scale)[0]
        else:
            mask = torch.full((q.shape[-2], k.shape[-2]), float("-inf"), dtype=x.dtype).triu(begin + 1)
            y = (q @ k.transpose(-1, -2) * scale + mask).softmax(-1) @ v
        return self.o(y.transpose(-2, -3).reshape(x.shape))


class Layer(nn.Module):
    """A layer."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.norm, self.attention, self.norm2 = Norm(f"{name}.norm"), Attention(name), Norm(f"{name}.norm2")
        self.up = linear(f"{name}.up", weight(f"{name}.up", 2 * WIDTH, WIDTH))
        self.down = linear(f"{name}.down", weight(f"{name}.down", WIDTH, 2 * WIDTH))

    def forward(self, x: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
        """Run it."""
        x = x + self.attention(self.norm(x), angle)
        return x + self.down(functional.silu(self.up(self.norm2(x))))


class Model(nn.Module):
    """Words in, scores of the next word out."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH, _weight=weight("words", WORDS, WIDTH) * 3)
        layers = nn.ModuleList(Layer(f"layers.{number}") for number in range(LAYERS))
        setattr(self, "blocks" if FORM == "engine" else "layers", layers)
        self.final, self.head = Norm("norm"), nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = nn.Parameter(weight("head", WORDS, WIDTH))

    def layers_in_order(self) -> nn.ModuleList:
        """Give the layers, whatever they are called."""
        return self.blocks if FORM == "engine" else self.layers

    def forget(self) -> None:
        """Empty the caches."""
        for layer in self.layers_in_order():
            layer.attention.keys.clear()
            layer.attention.values.clear()

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Run it."""
        keys = self.layers_in_order()[0].attention.keys
        angle = angles(sum(one.shape[-2] for one in keys), words.shape[-1])
        x = self.words(words)
        for layer in self.layers_in_order():
            x = layer(x, angle)
        if FORM == "engine":
            x = x[-2:-1] if FAULT == "row" and len(x) > 1 else x[-1:]
        return self.head(self.final(x))


def main() -> None:
    """Read a sentence, and further words that do not depend on what was computed."""
    torch.set_num_threads(1)
    model = Model().to(DTYPE).eval()
    words = torch.tensor([7, 3, 40, 21, 9, 33, 2])
    with torch.no_grad():
        if FORM == "engine":
            model(torch.zeros(16, dtype=torch.int64))
            model.forget()
        written = []
        for word in (32, 23, 7, 41):
            scores = model(words if FORM == "engine" else words[None])
            words = torch.tensor([word])
            written.append(scores.reshape(-1, WORDS)[-1].sum().item())
    print("wrote", written)


main()
