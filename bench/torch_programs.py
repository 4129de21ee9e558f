"""The PyTorch programs that the overhead is measured on: sizes where dispatch dominates, and sizes where the kernels do."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as functional
from torch import nn

Step = Callable[[], object]


class Convolutions(nn.Module):
    """Three convolutions with batch normalisation."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((3, 32), (32, 64), (64, 64))
        self.convolutions = nn.ModuleList([nn.Conv2d(inputs, outputs, 3, padding=1) for inputs, outputs in sizes])
        self.norms = nn.ModuleList([nn.BatchNorm2d(outputs) for _, outputs in sizes])
        self.head = nn.Linear(64 * 16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return class scores of images."""
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = functional.max_pool2d(functional.relu(norm(convolution(x))), 2)
        return self.head(x.flatten(1))


class Attention(nn.Module):
    """Causal self-attention with a cache of keys and values."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, cache: list[torch.Tensor] | None = None) -> torch.Tensor:
        """Attend over the second dimension and what the cache holds."""
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, 2))
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            cache[:] = [k, v]
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(width // self.heads)
        if length > 1:
            seen = torch.ones(length, k.shape[2], dtype=torch.bool).tril(k.shape[2] - length)
            scores = scores.masked_fill(~seen, float("-inf"))
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """One layer of a transformer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor, cache: list[torch.Tensor] | None = None) -> torch.Tensor:
        """Return x of the same shape."""
        x = x + self.attention(self.norm1(x), cache)
        return x + self.mlp(self.norm2(x))


class LanguageModel(nn.Module):
    """Embeddings, layers, a head."""

    def __init__(self, words: int, places: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, ids: torch.Tensor, caches: list[list[torch.Tensor]] | None = None, past: int = 0) -> torch.Tensor:
        """Return scores of the next word at each place."""
        x = self.words(ids) + self.places(torch.arange(past, past + ids.shape[1]))
        for number, block in enumerate(self.blocks):
            x = block(x, caches[number] if caches is not None else None)
        return self.head(self.norm(x))


MODELS: list[nn.Module] = []
"""Those of the programs that were made, for tools that want to be given a model."""


def training(model: nn.Module, loss: Callable[[], torch.Tensor]) -> Step:
    """Make the step of a training with Adam."""
    MODELS.append(model)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def mlp() -> Step:
    """Train three small linear layers on 64 rows."""
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    x, y = torch.randn(64, 64), torch.randint(0, 10, (64,))
    return training(model, lambda: functional.cross_entropy(model(x), y))


def gpt_tiny() -> Step:
    """Train a language model of width 32: dispatch and little else."""
    model, ids = LanguageModel(64, 16, 32, 2, 4), torch.randint(0, 64, (2, 16))
    return training(model, lambda: functional.cross_entropy(model(ids).view(-1, 64), ids.view(-1)))


def cnn() -> Step:
    """Train convolutions on 32 images."""
    model, x, y = Convolutions(), torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
    return training(model, lambda: functional.cross_entropy(model(x), y))


def block() -> Step:
    """Train one transformer layer of width 256 on 4 x 128 tokens."""
    model, x, target = Block(256, 8), torch.randn(4, 128, 256), torch.randn(4, 128, 256)
    return training(model, lambda: functional.mse_loss(model(x), target))


def llama() -> Step:
    """Train a small Llama of the package transformers, of width 128, on 2 x 32 tokens."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=1024,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
    )
    model, ids = LlamaForCausalLM(config), torch.randint(0, 1024, (2, 32))
    return training(model, lambda: model(input_ids=ids, labels=ids, use_cache=False).loss)


def gpt2() -> Step:
    """Run a model of GPT-2-small's sizes: 32 tokens at once, then four more one by one."""
    model, ids = LanguageModel(50257, 1024, 768, 12, 12).eval(), torch.randint(0, 50257, (1, 32))
    MODELS.append(model)

    def step() -> None:
        with torch.no_grad():
            caches: list[list[torch.Tensor]] = [[] for _ in range(12)]
            x, past = ids, 0
            for _ in range(5):
                scores = model(x, caches, past)
                past += x.shape[1]
                x = scores[:, -1:].argmax(-1)

    return step


# With how many steps make a burst of some tenths of a second.
PROGRAMS: dict[str, tuple[Callable[[], Step], int]] = {
    "mlp": (mlp, 60),
    "gpt_tiny": (gpt_tiny, 15),
    "cnn": (cnn, 4),
    "block": (block, 4),
    "llama": (llama, 6),
    "gpt2": (gpt2, 1),
}
