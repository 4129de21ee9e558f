"""Trains small models on a device, and prints what it computed and read as JSON.

usage: train_on_device.py [DEVICE [DELAY]]

DEVICE is the test device (tests/device) or any that torch has. DELAY: how many microseconds late its streams begin each piece of work.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import numpy as np
import torch
from torch import nn

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "tapdev"
if DEVICE == "tapdev":
    import tapdev  # noqa: F401
    import tapdev_c

    tapdev_c.delay(int(sys.argv[2]) if len(sys.argv) > 2 else 100)

LOSSES: list[str] = []
READINGS: list[dict[str, Any]] = []


def read(name: str, tensor: torch.Tensor) -> None:
    """Note what the program itself finds in a tensor."""
    values = tensor.detach().cpu().numpy().astype(np.float64)
    found = {"min": float(values.min()), "max": float(values.max()), "zero": int((values == 0).sum()), "shape": list(values.shape)}
    READINGS.append({"name": name, "dtype": str(tensor.dtype).removeprefix("torch."), **found})


def step(net: nn.Module, loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
    """Take one step, and note its loss."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    LOSSES.append(float(loss.item()).hex())
    read("weight", next(iter(net.parameters())))


def train_mlp(foreach: bool) -> nn.Module:
    """Train layers with a normalisation, by either kind of Adam."""
    net = nn.Sequential(nn.Linear(24, 48), nn.LayerNorm(48), nn.GELU(), nn.Linear(48, 7)).to(DEVICE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2, foreach=foreach)
    for _ in range(3):
        x, y = torch.randn(16, 24).to(DEVICE), torch.randint(0, 7, (16,)).to(DEVICE)
        z = net(x)
        step(net, nn.functional.cross_entropy(z, y), optimizer)
        read("logits", z)
    return net


class Attention(nn.Module):
    """Heads that are views of one product."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.all, self.out = nn.Embedding(31, 32), nn.Linear(32, 96), nn.Linear(32, 31)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Give logits."""
        h = self.tokens(x)
        q, k, v = (part.view(2, -1, 4, 8).transpose(1, 2) for part in self.all(h).chunk(3, -1))
        w = (q @ k.transpose(-2, -1) / 8**0.5).softmax(-1)
        return self.out((w @ v).transpose(1, 2).reshape(2, -1, 32) + h)


def train_attention() -> nn.Module:
    """Train it, from a loader, with copies that are not waited for."""
    net = Attention().to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    data = torch.utils.data.DataLoader(torch.randint(0, 31, (6, 12)), batch_size=2)
    for batch in data:
        moved = batch.to(DEVICE, non_blocking=True)
        z = net(moved[:, :-1])
        step(net, nn.functional.cross_entropy(z.flatten(0, 1), moved[:, 1:].flatten()), optimizer)
        read("scores", z)
    return net


def use_views() -> None:
    """Write in place, into slices, and into tensors that are given; free and take memory again."""
    x = torch.arange(60, dtype=torch.float32).reshape(5, 12).to(DEVICE)
    for i in range(5):
        y = x[1:4, ::3].mul(i + 1)
        y[:, 1].add_(2)
        read("slice", y)
        z = torch.empty(4, 3, device=DEVICE)
        torch.add(y.t(), 1, out=z)
        read("out", z)
        x.mul_(0.5)
        del y, z
    read("half", x.half().expand(2, 5, 12))
    read("flags", (x > 3).to(torch.int32))
    LOSSES.append(float(x.double().sum().item()).hex())


def copy_late() -> None:
    """Copy to the host without waiting at once."""
    for i in range(4):
        x = torch.full((33, 17), float(i), device=DEVICE).add_(1)
        late = torch.full((33, 17), -1.0, pin_memory=DEVICE != "cpu")
        late.copy_(x, non_blocking=True)
        if DEVICE != "cpu":
            getattr(torch, DEVICE).synchronize()
        read("late", late)
        LOSSES.append(float(late.sum()).hex())


def main() -> None:
    """Run everything."""
    torch.manual_seed(3)
    nets = [train_mlp(False), train_mlp(True), train_attention()]
    use_views()
    copy_late()
    digest = hashlib.sha256()
    for net in nets:
        for parameter in net.parameters():
            digest.update(parameter.detach().cpu().numpy().tobytes())
    random = hashlib.sha256(torch.get_rng_state().numpy().tobytes())
    answer = {"losses": LOSSES, "parameters": digest.hexdigest(), "random": random.hexdigest(), "readings": READINGS}
    if DEVICE == "tapdev":
        answer["counters"] = tapdev_c.counters()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
