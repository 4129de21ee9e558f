"""One run of a small network for compare_faults.py. Arguments: network=, fault=, dtype=, threads=, form=, seed=, init=."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import nn
from torch.nn import functional

OPTIONS = dict(argument.split("=", 1) for argument in sys.argv[1:])
FAULT, FORM = OPTIONS.get("fault", ""), OPTIONS.get("form", "")
DTYPE = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}[OPTIONS.get("dtype", "f32")]
WIDTH, HEADS, WORDS = 32, 4, 50


def rotated(x: torch.Tensor, base: float, sign: float, shift: int) -> torch.Tensor:
    """Rotate pairs of channels by the position."""
    half = x.shape[-1] // 2
    angles = (torch.arange(x.shape[-2]) + shift)[:, None] / base ** (torch.arange(half) / half)
    cos, sin = angles.cos().to(x.dtype), (sign * angles.sin()).to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class Attention(nn.Module):
    """Causal attention with rotary positions."""

    def __init__(self, faulty: bool) -> None:
        super().__init__()
        self.fault = FAULT if faulty else ""
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        batch, length, _ = x.shape
        if FORM == "fused":
            weight = torch.cat([part.weight for part in (self.q, self.k, self.v)])
            bias = torch.cat([part.bias for part in (self.q, self.k, self.v)])
            q, k, v = functional.linear(x, weight, bias).split(WIDTH, -1)
        else:
            q, k, v = self.q(x), self.k(x), self.v(x)
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in (q, k, v))
        if self.fault == "swapped_axis":
            v = v.flip(1)
        base, sign = (500.0 if self.fault == "rotary_base" else 1e4), (-1.0 if self.fault == "rotary_sign" else 1.0)
        q, k = rotated(q, base, sign, 0), rotated(k, base, sign, 1 if self.fault == "cache_shift" else 0)
        if FORM == "sdpa":
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-1, -2)
            if self.fault != "missing_scale":
                scores = scores / (WIDTH // HEADS) ** 0.5
            mask = torch.full((length, length), float("-inf"), dtype=x.dtype).triu(2 if self.fault == "mask_shift" else 1)
            if self.fault == "masked":  # float16 has no such number
                mask = torch.full((length, length), -1e9).to(x.dtype)
            y = (scores + mask).softmax(-2 if self.fault == "softmax_axis" else -1)
            y = torch.nan_to_num(y) if self.fault == "softmax_axis" else y
            y = y @ v
        return self.o(y.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    """A layer of a transformer; faults are in the second."""

    def __init__(self, faulty: bool) -> None:
        super().__init__()
        self.fault = FAULT if faulty else ""
        self.norm1 = nn.LayerNorm(WIDTH, eps=1e-2 if self.fault == "epsilon" else 1e-5)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.attention = Attention(faulty)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.drop = nn.Dropout(0.1)
        if self.fault == "dropout":
            self.drop.eval = lambda: self.drop
            self.drop.train = lambda mode=True: self.drop

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        if self.fault == "skipped_layer":
            return x
        x = self.norm1(x + self.attention(x)) if self.fault == "op_order" else x + self.attention(self.norm1(x))
        h = self.up(self.norm2(x))
        if self.fault == "cast":
            h = h.to(torch.float8_e4m3fn if torch.float32 != DTYPE else torch.float16).to(h.dtype)
        if FORM == "manual_gelu":
            h = h * 0.5 * (1 + torch.erf(h / 2**0.5))
        elif self.fault == "activation":
            h = functional.silu(h)
        else:
            h = functional.gelu(h, approximate="tanh" if self.fault == "gelu" else "none")
        return x + self.drop(self.down(h))


def hashed(x: torch.Tensor) -> torch.Tensor:
    """Spread ids over the words. The fault computes them in 32 bits."""
    x = x.to(torch.int32) if FAULT == "overflow" else x
    return (x * 100_000_007 + 12_345) % WORDS


class Transformer(nn.Module):
    """Words in, scores of words out."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer(number == 1) for number in range(3))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        x = self.words(hashed(x) if OPTIONS.get("network") == "hashed" else x)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Convolutions(nn.Module):
    """An image in, ten scores out."""

    def __init__(self) -> None:
        super().__init__()
        mode = "reflect" if FAULT == "padding" else "zeros"
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.norm1, self.norm2 = nn.BatchNorm2d(8), nn.BatchNorm2d(16)
        self.second = nn.Conv2d(8, 16, 3, padding=1, padding_mode=mode, stride=2)
        self.third = nn.Conv2d(16, 16, 3, padding=1)
        self.head = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run it."""
        x = functional.relu(self.norm1(self.first(x)))
        x = functional.relu(self.norm2(self.second(x)))
        if FAULT == "layout":
            x = x.permute(0, 2, 3, 1).reshape(x.shape)
        x = functional.max_pool2d(x, 2) if FAULT != "pooling" else functional.avg_pool2d(x, 2)
        x = torch.sigmoid(self.third(x)) if FAULT != "saturation" else functional.hardsigmoid(self.third(x))
        return self.head(x.mean((2, 3)))


def load(network: nn.Module) -> None:
    """Give every weight a number that its name decides, whatever was drawn before."""
    seed = int(OPTIONS.get("seed", "0"))
    with torch.no_grad():
        for name, value in [*network.named_parameters(), *network.named_buffers()]:
            if not value.is_floating_point() or (FAULT == "partial_checkpoint" and name.startswith("layers.2.down")):
                continue
            made = torch.Generator().manual_seed(seed + sum(map(ord, name)))
            spread = torch.randn(value.shape, generator=made)
            value.copy_(
                1 + 0.1 * spread if ("norm" in name and "weight" in name) else 0.5 + spread.abs() if "var" in name else 0.2 * spread
            )


def spoil(network: Any) -> None:
    """Faults of weights."""
    with torch.no_grad():
        if FAULT == "weight_element":
            network.layers[1].up.weight[3, 5] += 0.5
        elif FAULT == "bit_flip":
            bits = network.layers[1].attention.v.weight.view(torch.int32)
            bits[4, 7] ^= 1 << 24
        elif FAULT == "transposed":
            network.layers[1].attention.o.weight.copy_(network.layers[1].attention.o.weight.T.clone())
        elif FAULT == "large":  # more than float16 holds, in between
            network.layers[1].up.weight *= 3e5
            network.layers[1].up.bias *= 3e5
            network.layers[1].down.weight /= 3e5
        elif FAULT == "untied":
            network.head.weight = nn.Parameter(network.words.weight.clone() * 0.9)
        elif FAULT == "statistics":
            network.norm2.running_mean += 0.3
        elif FAULT == "mode":
            network.norm2.train()


def optimizer_of(network: nn.Module) -> Any:
    """Give the optimizer, with the setting of the fault."""
    decay, betas = (0.3 if FAULT == "decay" else 0.01), (0.9, 0.9 if FAULT == "betas" else 0.999)
    rate, epsilon = (2e-3 if FAULT == "rate" else 1e-3), (1e-3 if FAULT == "adam_epsilon" else 1e-8)
    if OPTIONS.get("optimizer") == "sgd":
        momentum = 0.5 if FAULT == "momentum" else 0.9
        return torch.optim.SGD(network.parameters(), lr=10 * rate, momentum=momentum, nesterov=FAULT == "nesterov")
    kind = torch.optim.Adam if FAULT == "coupled_decay" else torch.optim.AdamW
    return kind(network.parameters(), lr=rate, weight_decay=decay, betas=betas, eps=epsilon)


def clip(network: nn.Module) -> None:
    """Limit the gradients."""
    if FAULT == "clipped_values":
        nn.utils.clip_grad_value_(network.parameters(), 0.05)
    elif FAULT != "clipping":
        nn.utils.clip_grad_norm_(network.parameters(), 0.5 if FAULT == "clipping_limit" else 0.05)


def train(network: nn.Module, x: torch.Tensor) -> None:
    """Three steps."""
    optimizer = optimizer_of(network)
    for step in range(3):
        batch = x.roll(step, 0)
        y = network(batch)
        target = batch.flatten() if batch.dtype == torch.int64 else torch.arange(len(y)) % 10
        loss = functional.cross_entropy(y.flatten(0, -2), target, label_smoothing=0.1 if FAULT == "smoothing" else 0.0)
        if FAULT in ("loss_scale", "unscaled"):
            loss = loss * (2 if FAULT == "loss_scale" else 1024)
        optimizer.zero_grad()
        loss.backward()
        clip(network)
        optimizer.step()


def main() -> None:
    """Run the network once, or train it."""
    torch.set_num_threads(int(OPTIONS.get("threads", "1")))
    torch.manual_seed(int(OPTIONS.get("init", "0")))
    kind = OPTIONS.get("network", "transformer")
    network = Convolutions() if kind == "convolutions" else Transformer()
    load(network)
    made = torch.Generator().manual_seed(5 + (1 if FAULT == "input" else 0))
    if kind != "convolutions":
        x = torch.randint(0, WORDS, (2, 9), generator=made)
    else:
        x = torch.rand(4, 3, 16, 16, generator=made)
        x = x * 255 if FAULT == "preprocessing" else x
    network = network.to(DTYPE).train("train" in OPTIONS)
    spoil(network)
    x = x.to(DTYPE) if x.is_floating_point() else x
    if FORM == "channels_last":
        network, x = network.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    torch.manual_seed(3 if FAULT == "seed" else 2)  # of dropped elements
    if "train" in OPTIONS:
        train(network, x)
        return
    run = torch.compile(network, backend=OPTIONS.get("backend", "inductor")) if FORM == "compiled" else network
    with torch.no_grad():
        run(x)


main()
