"""Train a small network on real handwritten digits, until the loss is NaN.

The mistake is a common one: the norm divides by the root of a mean square, "+ 1e-6" protects against division by zero, and it
was tested with numbers of 32 bits. Here it runs under autocast with numbers of 16 bits. One of the 1,797 scans is empty; its mean square is
0, the inverse root is 1000, and the derivative of the inverse root, which takes that to the power of three, does not fit 16 bits any more:
Inf in the backward pass of one step, NaN in every weight after it, and a loss of NaN one step later, in another line.

    python examples/train_digits.py                          # the loss becomes NaN
    tensortap exec -- python examples/train_digits.py        # where it began

Nothing in this file knows about tensortap.
"""

from __future__ import annotations

import sys

import torch
import torch.nn.functional as functional
from sklearn.datasets import load_digits
from torch import nn


class RootMeanSquareNorm(nn.Module):
    """Divides each channel by its root mean square."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise images of shape (batch, channels, height, width)."""
        mean_square = (x * x).mean((1, 2, 3), keepdim=True)
        return x * torch.rsqrt(mean_square + 1e-6) * self.weight


class Digits(nn.Module):
    """Two convolutions, a norm and a linear layer."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = RootMeanSquareNorm(width)
        self.head = nn.Linear(width * 4, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return scores of the ten digits for images of shape (batch, 1, 8, 8)."""
        x = functional.max_pool2d(functional.silu(self.conv1(x)), 2)
        x = x + functional.silu(self.conv2(x))
        x = functional.max_pool2d(self.norm(x), 2)
        return self.head(x.flatten(1))


def main(steps: int = 150) -> int:
    """Train; 1 when the loss is not finite."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(digits.target)
    images[236] = 0  # an empty scan, as collections of scans have
    model = Digits()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    for step in range(steps):
        batch = torch.randint(0, 1500, (32,))
        with torch.autocast("cpu", torch.float16):
            loss = functional.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not loss.isfinite():
            print(f"step {step:3d}: the loss is {loss.item()}")
            return 1
        if step % 10 == 0:
            print(f"step {step:3d}: loss {loss.item():.4f}")
    with torch.no_grad():
        right = (model(images[1500:]).argmax(1) == labels[1500:]).float().mean().item()
    print(f"{right:.1%} of the digits that were held back are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
