"""B16: kernels that are no operators, on the test device of tests/device: Triton's launches, extensions, operators of a program's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from case_table import each_row
from cli_support import tensortap
from device_support import on_device
from torch_support import INPUT, OUTPUT, Captured

UNWRITTEN = 32

# What of Triton a launch goes through: as in triton/runtime/jit.py and autotuner.py of 3.0 to 3.5, with a kernel that runs on the test
# device in the place of a compiled one.
JIT = """
class KernelInterface:
    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(grid=grid, warmup=False, *args, **kwargs)


class JITFunction(KernelInterface):
    def __init__(self, fn, arg_names, launched):
        self.fn, self.arg_names, self.launched = fn, arg_names, launched

    def run(self, *args, grid, warmup, **kwargs):
        if not warmup:
            self.launched(*args, **{name: value for name, value in kwargs.items() if name in self.arg_names})
        return self.launched
"""
AUTOTUNER = """
from .jit import KernelInterface


class Autotuner(KernelInterface):
    def __init__(self, fn):
        self.fn = fn

    def _bench(self, *args, config, **meta):
        for _ in range(5):
            self.fn.run(*args, **meta, BLOCK=config)

    def run(self, *args, **kwargs):
        for config in (64, 128):
            self._bench(*args, config=config, **kwargs)
        return self.fn.run(*args, **kwargs, BLOCK=128)
"""
BEGIN = """
import torch, tapdev, tapdev_c
from triton.runtime.jit import JITFunction
from triton.runtime.autotuner import Autotuner
def fill(out, value): pass
def scale(out, source, factor, BLOCK): pass
def broken(out): pass
def refuse(out): raise RuntimeError("no resources")
fill = JITFunction(fill, ["out", "value"], tapdev_c.unseen_fill)
scale = JITFunction(
    scale, ["out", "source", "factor", "BLOCK"], lambda out, source, factor, BLOCK: tapdev_c.unseen_scale(out, source, factor)
)
broken = JITFunction(broken, ["out"], refuse)
"""


def launched(folder: Path, device: dict[str, str], program: str, *options: str) -> Captured:
    """Run a program that launches kernels."""
    runtime = folder / "site-packages/triton/runtime"
    runtime.mkdir(parents=True, exist_ok=True)
    for place in (runtime.parent, runtime):
        (place / "__init__.py").touch()
    (runtime / "jit.py").write_text(JIT)
    (runtime / "autotuner.py").write_text(AUTOTUNER)
    environment = {**device, "PYTHONPATH": f"{folder / 'site-packages'}:{device['PYTHONPATH']}"}
    return on_device(folder, environment, BEGIN + program, options=options)


LAUNCHES = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((4, 8), 2.0))

    def forward(self, x):
        y = torch.empty_like(x)
        scale[(1,)](y, self.weight, factor=3.0, BLOCK=64)  # forward
        return y + x

net = Net().to("tapdev")
z = net(torch.ones(4, 8, device="tapdev"))
scale[(1,)](z.data, z.data, 0.5, 64)  # in place
print(float((z + 1).detach().sum()))
"""


def test_a_launch_of_tritons_is_an_op_with_what_it_read_and_made(tmp_path: Path, device: dict[str, str]) -> None:
    done = launched(tmp_path, device, LAUNCHES, "--tensors")
    assert done.out == f"{32 * 4.5}\n"
    ops = {number: op for number, op in done.dump.ops.items() if op["type"] == "triton.scale"}
    assert sorted(op["name"] for op in ops.values()) == ["Net/triton.scale", "triton.scale"]
    inside = next(op for op in ops.values() if op["module"] == "Net")
    assert [one["name"] for one in inside["inputs"]][:2] == ["out", "weight"]
    assert all(op["source"].startswith("program.py:") for op in ops.values())
    read, made = (done.dump.of_type("triton.scale", kind) for kind in (INPUT, OUTPUT))
    # The output of the first launch is memory that nothing was written to: it is no input.
    assert sorted(zip(read["slot_index"].tolist(), read["min"].tolist(), strict=True)) == [(0, 7), (1, 2), (1, 7)]
    assert sorted(zip(made["slot_index"].tolist(), made["min"].tolist(), strict=True)) == [(0, 3.5), (0, 6), (1, 2), (1, 3.5)]
    assert tensortap("find", tmp_path / "dump").code == 0


NAN = """
x = torch.ones(5, 3, device="tapdev")
y = torch.empty_like(x)
scale[(1,)](y, x, float("inf"), 64)
scale[(1,)](y, y, 0.0, 64)
print(float(torch.nan_to_num(y + 1).sum()))
"""


def test_find_names_the_kernel_that_made_the_first_nan(tmp_path: Path, device: dict[str, str]) -> None:
    launched(tmp_path, device, NAN)
    found = tensortap("find", tmp_path / "dump")
    assert found.code == 1
    line = next(i for i, text in enumerate((tmp_path / "program.py").read_text().splitlines(), 1) if '"inf"' in text)
    assert "triton.scale" in found.out.split("\n")[0], found.out
    assert f"program.py:{line}" in found.out


@each_row(
    ("levels", "types"),
    [("op", ["mylib.twice"]), ("kernel", ["mylib.twice", "triton.scale"]), ("op,kernel", ["mylib.twice", "triton.scale"])],
)
def test_a_kernel_inside_of_an_operator_is_one_of_the_level_kernel(
    tmp_path: Path, device: dict[str, str], levels: str, types: list[str]
) -> None:
    program = """
def twice(x):
    out = torch.empty_like(x)
    scale[(1,)](out, x, 2.0, 64)
    return out

library = torch.library.Library("mylib", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", twice, "PrivateUse1")
print(float(torch.ops.mylib.twice(torch.ones(3, device="tapdev")).sum()))
"""
    done = launched(tmp_path, device, program, "--levels", levels)
    assert done.out == "6.0\n"
    found = {op["type"] for op in done.dump.ops.values()} & {"mylib.twice", "triton.scale"}
    assert sorted(found) == types
    for one in types:
        assert set(done.dump.of_type(one, OUTPUT)["max"]) <= {1, 2}


MEASURED = """
x = torch.ones(3, 4, device="tapdev")
y = torch.empty_like(x)
tuned = Autotuner(scale)
tuned[(1,)](y, x, factor=2.0)
scale.run(y, x, 9.0, 64, grid=(1,), warmup=True)
try:
    broken[(1,)](y)
except RuntimeError as error:
    print(error)
print(float((y + 0).sum()))
"""


def test_only_what_the_program_launches_counts(tmp_path: Path, device: dict[str, str]) -> None:
    done = launched(tmp_path, device, MEASURED)
    assert done.out == "no resources\n24.0\n"
    assert len(done.dump.of_type("triton.scale", OUTPUT)) == 2, "one launch, and none of those that measured"
    read = done.dump.of_type("add", INPUT)
    assert set(read["max"][read["dims_count"] == 2]) == {2}
    assert len(done.dump.of_type("triton.broken", OUTPUT)) == 0
    assert "failed op   triton.broken" in done.err


BACKWARD = """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        scale[(1,)](y, x, 2.0, 64)
        return y

    @staticmethod
    def backward(ctx, gradient):
        made = torch.empty_like(gradient)
        scale[(1,)](made, gradient, 2.0, 64)
        return made

x = torch.ones(6, device="tapdev", requires_grad=True)
Double.apply(x).sum().backward()
print(float(x.grad.sum()))
"""


def test_a_launch_of_the_backward_pass_is_of_its_autograd_node(tmp_path: Path, device: dict[str, str]) -> None:
    done = launched(tmp_path, device, BACKWARD)
    assert done.out == "12.0\n"
    names = sorted(op["name"] for op in done.dump.ops.values() if op["type"] == "triton.scale")
    assert names == ["DoubleBackward/triton.scale", "triton.scale"]
    assert tensortap("find", tmp_path / "dump").code == 0


GIVEN = """
library = torch.library.Library("mylib", "DEF")
library.define("put(Tensor(a!) out, float value) -> ()")
library.impl("put", tapdev_c.unseen_fill, "PrivateUse1")
put = torch.ops.mylib.put
o = torch.empty(7, 9, device="tapdev")
put(o, 4.0)
print(float((o + 1).sum()))
put(o, 5.0)
"""


def test_memory_that_an_operator_is_given_to_write_to_is_no_input(tmp_path: Path, device: dict[str, str]) -> None:
    done = launched(tmp_path, device, GIVEN)
    assert done.out == f"{63 * 5.0}\n"
    assert int(done.dump.rows["nan"].sum()) == 0, "of memory that nothing was written to"
    assert done.dump.of_type("mylib.put", INPUT)["min"].tolist() == [4]
    assert done.dump.of_type("mylib.put", OUTPUT)["min"].tolist() == [4, 5]
    assert tensortap("find", tmp_path / "dump").code == 0


EXTENSIONS = """
x = torch.empty(33, 9, device="tapdev")
{fill}
y = x + 1
{fill}
z = x.to(torch.float64).mul_(2)
print(float(z.sum()))
"""


@each_row("fill", ["tapdev_c.unseen_fill(x, 3.0)", "fill[(1,)](x, 3.0)"])
def test_what_an_operator_computes_with_counts_as_written(tmp_path: Path, device: dict[str, str], fill: str) -> None:
    done = launched(tmp_path, device, EXTENSIONS.format(fill=fill))
    assert done.out == f"{33 * 9 * 6.0}\n"
    rows = done.dump.of_type("add")
    read = rows[(rows["slot_kind"] == INPUT) & (rows["dims_count"] == 2)]
    assert set(read["min"]) == {3}
    assert not np.any(rows["flags"] & UNWRITTEN)
    assert int(done.dump.rows["nan"].sum()) == 0
    assert tensortap("find", tmp_path / "dump").code == 0
