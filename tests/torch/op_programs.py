"""Programs whose operators are compared: each function makes one and returns what runs a step of it."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as functional
from torch import nn

Step = Callable[[], object]


class Net(nn.Module):
    """Convolutions with batch normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(8), nn.BatchNorm2d(16)])
        self.head = nn.Linear(16 * 4, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return class scores of images."""
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = functional.max_pool2d(functional.relu(norm(convolution(x))), 2)
        return self.head(x.flatten(1))


class Attention(nn.Module):
    """Causal self-attention written out."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend over the second dimension."""
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, 2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        scores = scores.masked_fill(~torch.ones(length, length, dtype=torch.bool).tril(), float("-inf"))
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))


class Gpt(nn.Module):
    """A language model of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(64, 32)
        self.places = nn.Embedding(16, 32)
        self.blocks = nn.ModuleList([nn.Sequential(nn.LayerNorm(32), Attention(32, 2)) for _ in range(2)])
        self.head = nn.Linear(32, 64, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the loss of predicting each token from itself."""
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = x + block(x)
        return functional.cross_entropy(self.head(x).view(-1, 64), ids.view(-1))


def training(model: nn.Module, loss: Callable[[], torch.Tensor], **options: bool) -> Step:
    """Make the step of a training with Adam."""
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, **options)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def language_training(**options: bool) -> Step:
    """Train the language model."""
    model, ids = Gpt(), torch.randint(0, 64, (2, 16))
    return training(model, lambda: model(ids), **options)


def cnn() -> Step:
    """Train convolutions."""
    model, images, labels = Net(), torch.randn(4, 3, 8, 8), torch.randint(0, 10, (4,))
    return training(model, lambda: functional.cross_entropy(model(images), labels))


def gpt() -> Step:
    """Train a language model, foreach optimizer."""
    return language_training()


def gpt_for_loop() -> Step:
    """Train with one operator per parameter."""
    return language_training(foreach=False)


def gpt_fused() -> Step:
    """Train with the fused optimizer."""
    return language_training(fused=True)


def autocast() -> Step:
    """Train in mixed precision."""
    model, ids = Gpt(), torch.randint(0, 64, (2, 16))

    def loss() -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return model(ids)

    return training(model, loss)


def checkpointing() -> Step:
    """Recompute the forward pass in backward."""
    from torch.utils.checkpoint import checkpoint

    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    x = torch.randn(4, 8, requires_grad=True)
    return training(model, lambda: checkpoint(model, x, use_reentrant=False).sum())


def vmap() -> Step:
    """Map over a batch."""
    model, x = nn.Linear(8, 8), torch.randn(5, 4, 8)
    return lambda: torch.func.vmap(lambda t: model(t).sin())(x)


def jacobian() -> Step:
    """Take reverse-mode derivatives of functorch."""
    x = torch.randn(6)
    return lambda: torch.func.jacrev(lambda t: (t.sin() * t).cumsum(0))(x)


def inference() -> Step:
    """Run a model in inference mode."""
    model, ids = Gpt(), torch.randint(0, 64, (2, 16))

    def step() -> None:
        with torch.inference_mode():
            model(ids)

    return step


def no_grad() -> Step:
    """Run a model without gradients."""
    model, images = Net().eval(), torch.randn(4, 3, 8, 8)

    def step() -> None:
        with torch.no_grad():
            model(images)

    return step


def lstm() -> Step:
    """Train a recurrent network."""
    model, x = nn.LSTM(8, 8, 2), torch.randn(3, 2, 8)
    return training(model, lambda: model(x)[0].sum())


def attention() -> Step:
    """Differentiate the fused attention."""
    q = torch.randn(2, 4, 16, 8, requires_grad=True)
    return lambda: functional.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()


def transformer_layer() -> Step:
    """Train a layer of nn.Transformer."""
    model, x = nn.TransformerEncoderLayer(16, 2, batch_first=True), torch.randn(2, 5, 16)
    return training(model, lambda: model(x).sum())


def indexing() -> Step:
    """Index, write through views, sort, convert."""

    def step() -> None:
        a = torch.randn(10, 10)
        a[a > 0] = 1
        a[2:4].add_(1)
        b = a[:, [1, 2]]
        torch.cat([b, b]).sort()
        a.t_()
        torch.where(a > 0)
        a.to(torch.float64).contiguous()

    return step


def script() -> Step:
    """Interpret TorchScript with a loop."""

    @torch.jit.script
    def scripted(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = (x + y).relu() * 2
        return x

    x = torch.randn(4)
    return lambda: scripted(x, x)


def fourier() -> Step:
    """Transform to complex numbers."""
    return lambda: torch.fft.rfft(torch.randn(8)).abs().sum()


class Square(torch.autograd.Function):
    """A function with its own backward."""

    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        """Square."""
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        """Differentiate."""
        return 2 * gradient * ctx.saved_tensors[0]


def custom_function() -> Step:
    """Differentiate a custom function."""
    x = torch.randn(4, requires_grad=True)
    return lambda: Square.apply(x).sum().backward()


def quantized() -> Step:
    """Run a dynamically quantised layer."""
    model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 8)), {nn.Linear})
    x = torch.randn(2, 8)
    return lambda: model(x)


PROGRAMS: dict[str, Callable[[], Step]] = {
    program.__name__: program
    for program in (
        cnn,
        gpt,
        gpt_for_loop,
        gpt_fused,
        autocast,
        checkpointing,
        vmap,
        jacobian,
        inference,
        no_grad,
        lstm,
        attention,
        transformer_layer,
        indexing,
        script,
        fourier,
        custom_function,
        quantized,
    )
}
