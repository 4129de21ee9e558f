"""Generates tokens with a Llama in PyTorch, whose modules have the names that transformers gives them.

`llama_generates.py WEIGHTS.npz TOKENS COUNT`: WEIGHTS.npz is written by ggml_model.py, TOKENS are the ids
of the prompt, with commas. Attention is computed step by step, as transformers' "eager" does, with a KV cache.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import Tensor, nn

HEADS, KEY_HEADS, LAYERS = 2, 1, 2
FROM_GGUF = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
Cache = list[Tensor]


class LlamaRMSNorm(nn.Module):
    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.variance_epsilon = epsilon

    def forward(self, hidden: Tensor) -> Tensor:
        variance = hidden.pow(2).mean(-1, keepdim=True)
        hidden = hidden * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden


class LlamaRotaryEmbedding(nn.Module):
    def __init__(self, head: int, theta: float) -> None:
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / theta ** (torch.arange(0, head, 2).float() / head), persistent=False)

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        angles = positions[:, :, None].float() * self.inv_freq[None, None, :]
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()


def rotated(states: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the two halves of each head."""
    half = states.shape[-1] // 2
    turned = torch.cat((-states[..., half:], states[..., :half]), dim=-1)
    return states * cos[:, None] + turned * sin[:, None]


def repeated(states: Tensor) -> Tensor:
    """Give each head of the keys or values to the heads of the queries that share it."""
    batch, heads, length, head = states.shape
    times = HEADS // KEY_HEADS
    return states[:, :, None].expand(batch, heads, times, length, head).reshape(batch, heads * times, length, head)


class LlamaAttention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.head = width // HEADS
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, self.head * KEY_HEADS, bias=False)
        self.v_proj = nn.Linear(width, self.head * KEY_HEADS, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)

    def forward(self, hidden: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None, cache: Cache) -> Tensor:
        batch, length, _ = hidden.shape
        queries, keys, values = (
            project(hidden).view(batch, length, -1, self.head).transpose(1, 2) for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        queries, keys = rotated(queries, cos, sin), rotated(keys, cos, sin)
        if not cache:
            cache[:] = [torch.tensor([]), torch.tensor([])]
        keys, values = torch.cat((cache[0], keys), dim=-2), torch.cat((cache[1], values), dim=-2)
        cache[:] = [keys, values]
        keys, values = repeated(keys), repeated(values)
        scores = torch.matmul(queries, keys.transpose(2, 3)) * self.head**-0.5
        if mask is not None:
            scores = scores + mask
        attended = torch.matmul(torch.softmax(scores, dim=-1, dtype=torch.float32), values)
        return self.o_proj(attended.transpose(1, 2).reshape(batch, length, -1).contiguous())


class LlamaMLP(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, states: Tensor) -> Tensor:
        return self.down_proj(self.act_fn(self.gate_proj(states)) * self.up_proj(states))


class LlamaDecoderLayer(nn.Module):
    def __init__(self, width: int, hidden: int, epsilon: float) -> None:
        super().__init__()
        self.self_attn = LlamaAttention(width)
        self.mlp = LlamaMLP(width, hidden)
        self.input_layernorm = LlamaRMSNorm(width, epsilon)
        self.post_attention_layernorm = LlamaRMSNorm(width, epsilon)

    def forward(self, states: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None, cache: Cache) -> Tensor:
        states = states + self.self_attn(self.input_layernorm(states), cos, sin, mask, cache)
        return states + self.mlp(self.post_attention_layernorm(states))


class LlamaModel(nn.Module):
    def __init__(self, vocabulary: int, width: int, hidden: int, epsilon: float, theta: float) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(LlamaDecoderLayer(width, hidden, epsilon) for _ in range(LAYERS))
        self.norm = LlamaRMSNorm(width, epsilon)
        self.rotary_emb = LlamaRotaryEmbedding(width // HEADS, theta)

    def forward(self, tokens: Tensor, caches: list[Cache]) -> Tensor:
        states = self.embed_tokens(tokens)
        before = caches[0][0].shape[2] if caches[0] else 0
        length = tokens.shape[1]
        cos, sin = self.rotary_emb(torch.arange(before, before + length)[None])
        mask = None if length == 1 else torch.full((length, length), -torch.inf).triu(1)[None, None]
        for layer, cache in zip(self.layers, caches, strict=True):
            states = layer(states, cos, sin, mask, cache)
        return self.norm(states)


class LlamaForCausalLM(nn.Module):
    def __init__(self, vocabulary: int, width: int, hidden: int, epsilon: float, theta: float) -> None:
        super().__init__()
        self.model = LlamaModel(vocabulary, width, hidden, epsilon, theta)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor, caches: list[Cache]) -> Tensor:
        return self.lm_head(self.model(tokens, caches)[:, -1:])


def in_halves(weight: np.ndarray, heads: int) -> np.ndarray:
    """Turn llama.cpp's order of rotated channels, pairs beside each other, into that of transformers, two halves of a head."""
    return weight.reshape(heads, -1, 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def states_of(path: str) -> dict[str, Tensor]:
    """Read the weights under the names of transformers."""
    states = {}
    with np.load(path) as stored:
        for name in stored.files:
            parts = name.removesuffix(".weight").split(".")
            module = FROM_GGUF[parts[-1]]
            prefix = f"model.layers.{parts[1]}." if parts[0] == "blk" else ""
            weight = stored[name].astype(np.float32)
            heads = {"attn_q": HEADS, "attn_k": KEY_HEADS}.get(parts[-1])
            states[f"{prefix}{module}.weight"] = torch.from_numpy(np.ascontiguousarray(in_halves(weight, heads) if heads else weight))
    return states


def main() -> None:
    """Print the tokens."""
    parser = argparse.ArgumentParser()
    parser.add_argument("weights")
    parser.add_argument("tokens")
    parser.add_argument("count", type=int)
    parser.add_argument("--theta", type=float, default=10000.0)
    parser.add_argument("--epsilon", type=float, default=1e-5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    states = states_of(options.weights)
    vocabulary, width = states["lm_head.weight"].shape
    hidden = states["model.layers.0.mlp.up_proj.weight"].shape[0]
    model = LlamaForCausalLM(vocabulary, width, hidden, options.epsilon, options.theta).eval()
    model.load_state_dict(states)
    tokens = torch.tensor([[int(one) for one in options.tokens.split(",")]])
    caches: list[Cache] = [[] for _ in range(LAYERS)]
    generated = []
    with torch.no_grad():
        for _ in range(options.count):
            logits = model(tokens, caches)
            tokens = logits[:, -1].argmax(-1, keepdim=True)
            generated.append(int(tokens))
    print("generated", generated)


if __name__ == "__main__":
    main()
