"""A program that generates text: a small decoder with a cache of keys and values, one prefill and some decode rounds for each prompt.

usage: generate.py [PROMPTS [TOKENS]]. Prints the tokens of each prompt. It knows nothing of any capture.
"""

import math
import sys

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """Causal attention that keeps what it has seen."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, past: "tuple[torch.Tensor, torch.Tensor] | None"):
        """Give the mixed values and the longer cache."""
        batch, length, width = x.shape
        parts = self.query_key_value(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        if past is not None:
            key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
        scores = query @ key.transpose(2, 3) / math.sqrt(width // self.heads)
        if length > 1:
            scores = scores + torch.full((length, key.shape[2]), float("-inf")).triu(key.shape[2] - length + 1)
        mixed = (functional.softmax(scores, dim=-1) @ value).transpose(1, 2).reshape(batch, length, width)
        return self.output(mixed), (key, value)


class DecoderLayer(nn.Module):
    """Attention and two linear layers, each with a norm before it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor, past: "tuple[torch.Tensor, torch.Tensor] | None"):
        """Give the values for the next layer and the longer cache."""
        mixed, past = self.attention(self.attention_norm(x), past)
        x = x + mixed
        return x + self.mlp(self.mlp_norm(x)), past


class Embeddings(nn.Module):
    """Words and their positions."""

    def __init__(self, words: int, width: int, longest: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.positions = nn.Embedding(longest, width)

    def forward(self, tokens: torch.Tensor, begin: int):
        """Give the values for the first layer."""
        return self.words(tokens) + self.positions(torch.arange(begin, begin + tokens.shape[1]))


class Decoder(nn.Module):
    """Embeddings, a stack of layers, a norm and the head."""

    def __init__(self, words: int = 64, width: int = 32, layers: int = 3, heads: int = 4, longest: int = 64) -> None:
        super().__init__()
        self.embeddings = Embeddings(words, width, longest)
        self.layers = nn.ModuleList(DecoderLayer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens: torch.Tensor, past: list):
        """Give what follows each token, and the longer caches."""
        x = self.embeddings(tokens, 0 if past[0] is None else past[0][0].shape[2])
        longer = []
        for layer, cache in zip(self.layers, past, strict=True):
            x, cache = layer(x, cache)
            longer.append(cache)
        return self.head(self.norm(x)), longer


def main() -> None:
    """Generate."""
    prompts = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    torch.manual_seed(0)
    model = Decoder().eval()
    with torch.no_grad():
        for prompt in range(prompts):
            tokens = torch.arange(prompt, prompt + 5).unsqueeze(0)
            past = [None] * len(model.layers)
            said = []
            for _ in range(count):
                logits, past = model(tokens, past)
                tokens = logits[:, -1].argmax(-1, keepdim=True)
                said.append(int(tokens))
            print(*said)


if __name__ == "__main__":
    main()
