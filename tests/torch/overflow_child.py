"""Runs programs whose operators make NaN and Inf, plain, captured, or under a dispatch mode that says which operators should be kept.

usage: overflow_child.py [REFERENCE [all]]; with a file's name the mode writes there what it found: a list of {"op", "reads", "makes"}, each
a list of (slot, element, bytes). A number in the place of a tensor, which an operator gets as one, has None for its bytes. With "all" it
finds the operators that pass NaN or Inf on, too.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

Told = tuple[int, int, bytes | None]


def tensors_of(value: Any) -> Iterator[tuple[int, torch.Tensor]]:
    """Yield the tensors of one argument or result with their places in a list, -1 outside of one."""
    if isinstance(value, torch.Tensor):
        yield -1, value
    elif isinstance(value, (list, tuple)):
        yield from ((place, one) for place, one in enumerate(value) if isinstance(one, torch.Tensor))


def nonfinite(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor holds NaN or Inf, by torch's own account."""
    return bool((tensor.is_floating_point() or tensor.is_complex()) and not torch.isfinite(tensor).all())


def raw(tensor: torch.Tensor) -> bytes:
    """Copy a tensor's elements."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


class Reference(TorchDispatchMode):
    """Looks at every argument before an operator and at every result, and what it wrote, behind it."""

    def __init__(self, *, passed_on: bool) -> None:
        super().__init__()
        self.passed_on = passed_on
        self.found: list[dict[str, Any]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        """Run the operator and keep it when it made what it did not read."""
        kwargs = kwargs or {}
        schema = func._schema
        given = [args[i] if i < len(args) else kwargs.get(one.name) for i, one in enumerate(schema.arguments)]
        read = [(slot, element, one) for slot, value in enumerate(given) for element, one in tensors_of(value)]
        came = not self.passed_on and any(nonfinite(one) for _, _, one in read)
        reads: list[Told] = [] if came else [(slot, element, raw(one)) for slot, element, one in read]
        takes = [isinstance(one.type, torch.TensorType) for one in schema.arguments]
        reads += [(slot, -1, None) for slot, value in enumerate(given) if takes[slot] and isinstance(value, (int, float))]
        result = func(*args, **kwargs)
        results = result if isinstance(result, tuple) and len(schema.returns) > 1 else [result] if schema.returns else []
        made = [(slot, element, one) for slot, value in enumerate(results) for element, one in tensors_of(value)]
        returned = {name for one in schema.returns if one.alias_info for name in one.alias_info.before_set}
        slot = len(schema.returns)
        for one, value in zip(schema.arguments, given, strict=True):
            declared = one.alias_info and one.alias_info.is_write and not returned & one.alias_info.before_set
            if declared or one.name in ("running_mean", "running_var"):
                made += [(slot, element, tensor) for element, tensor in tensors_of(value)]
                slot += 1
        # What is allocated without being written holds anything.
        if not came and any(nonfinite(one) for _, _, one in made) and not schema.name.startswith("aten::empty"):
            name = f"{schema.name}.{schema.overload_name}".removesuffix(".")
            makes = [(slot, element, raw(one)) for slot, element, one in made]
            self.found.append({"op": name, "reads": sorted(reads, key=lambda one: one[:2]), "makes": makes})
        return result


def chain_in_place() -> None:
    """Square until the range ends, and go on."""
    x = torch.tensor([[1.0, 200.0], [3.0, 4.0]])
    for _ in range(7):
        x.mul_(x)
    x.add_(1)
    x.sub_(x)


def views() -> None:
    """Write through views, of which others see the same block."""
    block = torch.arange(1.0, 17.0).reshape(4, 4)
    block[1].mul_(3e38)
    block[2:].t().div_(block[:2].t() * 0)
    part = torch.arange(8.0)
    part[4:].div_(part[:4])
    part[1:4].mul_(3e38).mul_(part[5:])


def same_memory_twice() -> None:
    """Two storages over one block that know nothing of each other."""
    numbers = np.full(6, 1e30, np.float32)
    one, other, behind = torch.from_numpy(numbers), torch.from_numpy(numbers), torch.from_numpy(numbers[2:])
    one.mul_(other)
    numbers[:] = 1e25
    one[:4].mul_(behind)


def lists() -> None:
    """Operators on lists, in place and not."""
    many = [torch.full((3,), 10.0**i) for i in (3, 20, 30, 38)]
    torch._foreach_mul(many, 10.0)
    torch._foreach_mul_(many, [many[0].clone(), many[1].clone(), many[1].clone(), many[2].clone()])
    torch._foreach_add_(many, 1.0)
    torch.cat([torch.zeros(2), torch.ones(2)]).reciprocal_()
    torch.stack([torch.zeros(2), torch.ones(2)]).split(1)[0].reciprocal_()


def results_given() -> None:
    """Run operators that write into given tensors."""
    a, b, out = torch.ones(3), torch.zeros(3), torch.zeros(3)
    torch.div(a, b, out=out)
    other = torch.zeros(3)
    torch.log(b, out=other)
    torch.frexp(torch.ones(3), out=(torch.zeros(3), torch.zeros(3, dtype=torch.int32)))


def views_that_show_more() -> None:
    """Make views that show other elements, or the same as another type, and views that do not."""
    x = torch.tensor([1.0, float("nan"), 2.0, 3.0])
    x[2:].as_strided((4,), (1,), 0)
    torch.full((2,), -1, dtype=torch.int32).view(torch.float32).clone()
    x[:2].view(2, 1).t()


def not_finite_before() -> None:
    """Operators that are given NaN, among finite ones."""
    x = torch.tensor([1.0, float("inf")])
    y = x * torch.zeros(2)
    (y + x).sum()
    torch.masked_fill(torch.ones(2, 2), torch.tensor([[True, False], [False, True]]), float("-inf")).softmax(-1)


def backward() -> None:
    """Gradients that overflow."""
    x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
    x.sqrt().sum().backward()
    w = torch.full((4, 4), 1e20, requires_grad=True)
    (torch.full((2, 4), 1e18) @ w).mul(1e5).sum().backward()


def training(**options: Any) -> None:
    """Train with gradients whose squares are out of range."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), 1e30, **options)
    x = torch.randn(6, 8)
    for scale in (1.0, 1e25, 1e3):
        optimizer.zero_grad()
        (model(x) * scale).mean().backward()
        optimizer.step()


def training_of_lists() -> None:
    """Train so by operators on lists."""
    training(foreach=True)


def statistics_of_batches() -> None:
    """Batch normalisation that writes what its schema does not say."""
    norm = nn.BatchNorm1d(3, momentum=1.0)
    norm(torch.randn(4, 3, generator=torch.Generator().manual_seed(0)) * 1e20)


def half_precision() -> None:
    """Autocast to bfloat16 and half."""
    layer = nn.Linear(4, 4)
    nn.init.constant_(layer.weight, 3e38)
    with torch.autocast("cpu", torch.bfloat16):
        layer(torch.full((2, 4), 2.0))
    torch.full((3,), 7e4).half().add_(1)
    torch.full((3,), 300.0, dtype=torch.half).mul_(300.0)


def large() -> None:
    """Tensors that are looked at in parts, permuted and strided."""
    x = torch.ones(3, 300, 500)
    x[1, 200, 333] = 3e38
    y = x.permute(2, 0, 1)
    y.mul_(10)
    z = torch.ones(700, 900)
    z[600, 800] = 0
    z[::2, ::2].log_()
    torch.complex(torch.full((3,), 3e38), torch.ones(3)).mul_(10)


PROGRAMS: list[Callable[[], None]] = [
    chain_in_place,
    views,
    same_memory_twice,
    lists,
    results_given,
    views_that_show_more,
    not_finite_before,
    backward,
    training,
    training_of_lists,
    statistics_of_batches,
    half_precision,
    large,
]


def main() -> None:
    """Run all programs."""
    torch.set_num_threads(1)
    if len(sys.argv) == 1:
        for program in PROGRAMS:
            program()
        return
    with Reference(passed_on=sys.argv[2:] == ["all"]) as mode:
        for program in PROGRAMS:
            program()
    Path(sys.argv[1]).write_bytes(pickle.dumps(mode.found))


if __name__ == "__main__":
    main()
