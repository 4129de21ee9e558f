"""What the programs of gpu_check.py are made of: their networks, and what they note."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional


class Run:
    """What a program needs, and what it says of itself."""

    def __init__(self, device: str) -> None:
        self.device = torch.device(device)
        self.kind = self.device.type
        self.is_cuda = self.kind == "cuda"
        self.losses: list[str] = []
        self.readings: list[dict[str, Any]] = []
        self.extra: dict[str, Any] = {}
        self.steps_ms: list[float] = []

    def loss(self, value: torch.Tensor) -> None:
        """Note a number, with all its bits."""
        self.losses.append(float(value.item()).hex())

    def read(self, name: str, tensor: torch.Tensor) -> None:
        """Note what the program itself finds in a tensor, by a copy and NumPy alone."""
        here = tensor.detach().cpu()
        raw = here.contiguous().view(-1).view(torch.uint8).numpy().tobytes()
        wide = here.float() if here.dtype in (torch.bfloat16, torch.float16) else here
        self.expect(name, wide.numpy().astype(np.float64), str(tensor.dtype).removeprefix("torch."), hashlib.sha256(raw).hexdigest())

    def expect(self, name: str, array: Any, dtype: str, digest: str = "") -> None:
        """Note that a tensor with these values is to be among the records."""
        flat = array.reshape(-1)
        bad = np.flatnonzero(~np.isfinite(flat))
        reading = {
            "name": name,
            "dtype": dtype,
            "shape": list(array.shape),
            "digest": digest,
            "nan": int(np.isnan(flat).sum()),
            "pos_inf": int(np.isposinf(flat).sum()),
            "neg_inf": int(np.isneginf(flat).sum()),
            "zero": int((flat == 0).sum()),
            "first": int(bad[0]) if bad.size else -1,
        }
        if flat.size and not bad.size:
            reading |= {"min": float(flat.min()), "max": float(flat.max()), "l2": math.sqrt(float((flat * flat).sum()))}
        self.readings.append(reading)

    def wait(self) -> None:
        """Wait for the device."""
        if self.kind != "cpu":
            getattr(torch, self.kind).synchronize()

    def parameters(self, net: nn.Module) -> None:
        """Note the bits of all parameters."""
        digest = hashlib.sha256()
        for parameter in net.parameters():
            digest.update(parameter.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        self.extra["parameters"] = digest.hexdigest()

    def result(self) -> dict[str, Any]:
        """Give all that must be the same in a captured run, and the times."""
        random = hashlib.sha256(torch.get_rng_state().numpy().tobytes())
        if self.is_cuda and "broken" not in self.extra:
            random.update(torch.cuda.get_rng_state().numpy().tobytes())
            self.extra["memory"] = [torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()]
        same = {"losses": self.losses, "random": random.hexdigest(), **self.extra}
        return {"same": same, "readings": self.readings, "steps_ms": self.steps_ms}


def small_net(dropout: float = 0.1) -> nn.Sequential:
    """Make a few layers."""
    return nn.Sequential(nn.Linear(24, 96), nn.LayerNorm(96), nn.GELU(), nn.Dropout(dropout), nn.Linear(96, 7))


class Block(nn.Module):
    """A layer of a transformer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend, and mix."""
        b, t, w = x.shape
        q, k, v = (part.view(b, t, 4, w // 4).transpose(1, 2) for part in self.qkv(self.norms[0](x)).chunk(3, -1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, w)
        x = x + self.out(y)
        return x + self.down(functional.gelu(self.up(self.norms[1](x))))


class Gpt(nn.Module):
    """A small transformer over 97 tokens."""

    def __init__(self, width: int, layers: int, tokens: int) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(97, width), nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 97, bias=False)

    def forward(self, i: torch.Tensor) -> torch.Tensor:
        """Give logits."""
        x = self.tok(i) + self.pos(torch.arange(i.shape[1], device=i.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
