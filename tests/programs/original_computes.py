"""Computes with a GPT-2 or a BERT in PyTorch, whose modules have the names that transformers gives them.

`original_computes.py gpt2 WEIGHTS.npz TOKENS COUNT` generates tokens, `original_computes.py bert WEIGHTS.npz TOKENS/TOKENS...` makes an
embedding of each text. WEIGHTS.npz is written by ggml_architecture.py, TOKENS are ids with commas. Attention is computed step by step, as
transformers' "eager" does.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import torch
from torch import Tensor, nn

HEADS, LAYERS, EPSILON = 4, 2, 1e-5
GPT2_NAMES = {
    "token_embd": "transformer.wte",
    "position_embd": "transformer.wpe",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
    "attn_norm": "ln_1",
    "attn_qkv": "attn.c_attn",
    "attn_output": "attn.c_proj",
    "ffn_norm": "ln_2",
    "ffn_up": "mlp.c_fc",
    "ffn_down": "mlp.c_proj",
}
BERT_NAMES = {
    "token_embd": "embeddings.word_embeddings",
    "position_embd": "embeddings.position_embeddings",
    "token_types": "embeddings.token_type_embeddings",
    "token_embd_norm": "embeddings.LayerNorm",
    "attn_q": "attention.self.query",
    "attn_k": "attention.self.key",
    "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense",
    "layer_output_norm": "output.LayerNorm",
}
Cache = list[Tensor]


def in_heads(states: Tensor) -> Tensor:
    """Give each head its channels."""
    return states.view(*states.shape[:-1], HEADS, -1).transpose(1, 2)


def attended(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Mix the values by what the queries find in the keys."""
    scores = torch.matmul(queries, keys.transpose(-1, -2)) * queries.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + mask
    mixed = torch.matmul(nn.functional.softmax(scores, dim=-1), values).transpose(1, 2)
    return mixed.reshape(*mixed.shape[:2], -1).contiguous()


class Conv1D(nn.Module):
    """A linear layer whose weights are inputs by outputs."""

    def __init__(self, outputs: int, inputs: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(inputs, outputs)), nn.Parameter(torch.empty(outputs))

    def forward(self, states: Tensor) -> Tensor:
        flat = torch.addmm(self.bias, states.view(-1, states.shape[-1]), self.weight)
        return flat.view(*states.shape[:-1], -1)


class NewGELUActivation(nn.Module):
    def forward(self, states: Tensor) -> Tensor:
        return 0.5 * states * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (states + 0.044715 * torch.pow(states, 3.0))))


class GPT2Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.c_attn, self.c_proj = Conv1D(3 * width, width), Conv1D(width, width)

    def forward(self, states: Tensor, mask: Tensor | None, cache: Cache) -> Tensor:
        queries, keys, values = (in_heads(part) for part in self.c_attn(states).split(states.shape[-1], dim=2))
        if not cache:
            cache[:] = [torch.tensor([]), torch.tensor([])]
        keys, values = torch.cat((cache[0], keys), dim=-2), torch.cat((cache[1], values), dim=-2)
        cache[:] = [keys, values]
        mixed: Tensor = self.c_proj(attended(queries, keys, values, mask))
        return mixed


class GPT2MLP(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.c_fc, self.c_proj, self.act = Conv1D(hidden, width), Conv1D(width, hidden), NewGELUActivation()

    def forward(self, states: Tensor) -> Tensor:
        made: Tensor = self.c_proj(self.act(self.c_fc(states)))
        return made


class GPT2Block(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width, EPSILON), nn.LayerNorm(width, EPSILON)
        self.attn, self.mlp = GPT2Attention(width), GPT2MLP(width, hidden)

    def forward(self, states: Tensor, mask: Tensor | None, cache: Cache) -> Tensor:
        states = self.attn(self.ln_1(states), mask, cache) + states
        made: Tensor = states + self.mlp(self.ln_2(states))
        return made


class GPT2Model(nn.Module):
    def __init__(self, words: int, places: int, width: int, hidden: int) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(places, width)
        self.h = nn.ModuleList(GPT2Block(width, hidden) for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(width, EPSILON)

    def forward(self, tokens: Tensor, caches: list[Cache]) -> Tensor:
        before = caches[0][0].shape[2] if caches[0] else 0
        length = tokens.shape[1]
        states = self.wte(tokens) + self.wpe(torch.arange(before, before + length)[None])
        mask = None if length == 1 else torch.full((length, length), -torch.inf).triu(1)[None, None]
        for block, cache in zip(self.h, caches, strict=True):
            states = block(states, mask, cache)
        made: Tensor = self.ln_f(states)
        return made


class GPT2LMHeadModel(nn.Module):
    def __init__(self, words: int, places: int, width: int, hidden: int) -> None:
        super().__init__()
        self.transformer, self.lm_head = GPT2Model(words, places, width, hidden), nn.Linear(width, words, bias=False)

    def forward(self, tokens: Tensor, caches: list[Cache]) -> Tensor:
        made: Tensor = self.lm_head(self.transformer(tokens, caches)[:, -1:])
        return made


class BertEmbeddings(nn.Module):
    def __init__(self, words: int, places: int, width: int) -> None:
        super().__init__()
        self.word_embeddings, self.position_embeddings = nn.Embedding(words, width), nn.Embedding(places, width)
        self.token_type_embeddings, self.LayerNorm = nn.Embedding(2, width), nn.LayerNorm(width, EPSILON)

    def forward(self, tokens: Tensor) -> Tensor:
        states = self.word_embeddings(tokens) + self.token_type_embeddings(torch.zeros_like(tokens))
        made: Tensor = self.LayerNorm(states + self.position_embeddings(torch.arange(tokens.shape[1])[None]))
        return made


class BertSelfAttention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, states: Tensor) -> Tensor:
        queries, keys, values = (in_heads(part(states)) for part in (self.query, self.key, self.value))
        return attended(queries, keys, values, None)


class BertSum(nn.Module):
    """transformers has it as BertSelfOutput and BertOutput."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.dense, self.LayerNorm = nn.Linear(inputs, width), nn.LayerNorm(width, EPSILON)

    def forward(self, states: Tensor, before: Tensor) -> Tensor:
        made: Tensor = self.LayerNorm(self.dense(states) + before)
        return made


class BertAttention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.self, self.output = BertSelfAttention(width), BertSum(width, width)

    def forward(self, states: Tensor) -> Tensor:
        made: Tensor = self.output(self.self(states), states)
        return made


class BertIntermediate(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.dense, self.intermediate_act_fn = nn.Linear(width, hidden), nn.GELU()

    def forward(self, states: Tensor) -> Tensor:
        made: Tensor = self.intermediate_act_fn(self.dense(states))
        return made


class BertLayer(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.attention, self.intermediate = BertAttention(width), BertIntermediate(width, hidden)
        self.output = BertSum(hidden, width)

    def forward(self, states: Tensor) -> Tensor:
        states = self.attention(states)
        made: Tensor = self.output(self.intermediate(states), states)
        return made


class BertEncoder(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.layer = nn.ModuleList(BertLayer(width, hidden) for _ in range(LAYERS))

    def forward(self, states: Tensor) -> Tensor:
        for layer in self.layer:
            states = layer(states)
        return states


class BertModel(nn.Module):
    def __init__(self, words: int, places: int, width: int, hidden: int) -> None:
        super().__init__()
        self.embeddings, self.encoder = BertEmbeddings(words, places, width), BertEncoder(width, hidden)

    def forward(self, tokens: Tensor) -> Tensor:
        made: Tensor = self.encoder(self.embeddings(tokens))
        return made


def states_of(path: str, names: dict[str, str], layers: str) -> dict[str, Tensor]:
    """Read the weights under the names of transformers."""
    states = {}
    with np.load(path) as stored:
        for name in stored.files:
            *place, kind = name.split(".")
            module = names[place[-1]]
            weight = (
                stored[name].T if kind == "weight" and module in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj") else stored[name]
            )
            prefix = f"{layers}.{place[1]}." if place[0] == "blk" else ""
            states[f"{prefix}{module}.{kind}"] = torch.from_numpy(np.ascontiguousarray(weight))
    return states


def generate(path: str, tokens: Tensor, count: int) -> None:
    """Print the tokens that a GPT-2 goes on with."""
    states = states_of(path, GPT2_NAMES, "transformer.h")
    places, width = states["transformer.wpe.weight"].shape
    model = GPT2LMHeadModel(len(states["lm_head.weight"]), places, width, len(states["transformer.h.0.mlp.c_fc.bias"])).eval()
    model.load_state_dict(states)
    caches: list[Cache] = [[] for _ in range(LAYERS)]
    generated = []
    for _ in range(count):
        tokens = model(tokens, caches)[:, -1].argmax(-1, keepdim=True)
        generated.append(int(tokens))
    print("generated", generated)


def embed(path: str, texts: list[Tensor]) -> None:
    """Print the mean of what a BERT makes of the tokens of each text."""
    states = states_of(path, BERT_NAMES, "encoder.layer")
    words, width = states["embeddings.word_embeddings.weight"].shape
    places, hidden = len(states["embeddings.position_embeddings.weight"]), len(states["encoder.layer.0.intermediate.dense.bias"])
    model = BertModel(words, places, width, hidden).eval()
    model.load_state_dict(states)
    print("generated", [model(tokens).mean(1)[0].tolist() for tokens in texts])


def main() -> None:
    """Compute."""
    torch.set_num_threads(1)
    kind, path, *words = sys.argv[1:]
    texts = [torch.tensor([[int(one) for one in text.split(",")]]) for text in words[0].split("/")]
    with torch.no_grad():
        if kind == "gpt2":
            generate(path, texts[0], int(words[1]))
        else:
            embed(path, texts)


if __name__ == "__main__":
    main()
