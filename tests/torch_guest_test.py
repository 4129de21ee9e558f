"""A captured PyTorch program is as it was: what it sees of its own calls, its depth, its modes and its compiled graphs.

Each program prints what it sees. It runs plainly and under `tensortap exec`, and both print the same.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from case_table import each_row
from cli_support import tensortap
from torch_support import INPUT, Captured, capture, plain

UNWRITTEN = 32  # of a record's flags

CALLS = """
import inspect, sys, traceback, types, warnings
import torch
sys.stderr = sys.stdout
class Deep(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x):
        return x + 1 if self.inner is None else self.inner(x)
def reached(depth):
    net = None
    for _ in range(depth):
        net = Deep(net)
    try:
        return net(torch.zeros(1)).item() == 1
    except RecursionError:
        return False
torch.zeros(1) + 1
torch.nn.Identity()(torch.zeros(1))
print("depth", max(depth for depth in range(180, 300, 1) if reached(depth)))

class Looks(torch.nn.Module):
    def forward(self, x, *, scale=1):
        warnings.warn("from below", stacklevel=4)
        print([(frame.filename.rpartition("/")[2], frame.function) for frame in inspect.stack()])
        if scale == 0:
            raise ValueError("a scale of 0")
        return x * scale
class Overrides(Looks):
    def __call__(self, x, scale):
        return super().__call__(x, scale=scale)
Looks()(torch.ones(1))
Overrides()(torch.ones(1), 2)
torch.nn.Module.__call__(Looks(), torch.ones(1))
Looks().__call__(torch.ones(1))
for module in (Looks(), torch.nn.Sequential(Looks())):
    try:
        module(torch.ones(1), scale=0)
    except (ValueError, TypeError) as error:
        print("".join(traceback.format_exception(error)))

seen = []
def trace(frame, event, _):
    seen.append((event, frame.f_code.co_filename.rpartition("/")[2], frame.f_code.co_name))
    return trace
new = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU())
sys.settrace(trace)
new(torch.ones(1))
sys.settrace(None)
sys.setprofile(lambda frame, event, argument: seen.append((event, frame.f_code.co_name, getattr(argument, "__name__", ""))))
new(torch.ones(1))
torch.nn.Linear(1, 1)(torch.ones(1))
sys.setprofile(None)
print(len(seen), seen)

call = torch.nn.Module.__call__
print(type(call), call.__name__, call.__qualname__, call.__module__, call.__doc__, inspect.signature(call), inspect.getsource(call))
print(isinstance(call, types.FunctionType), torch.nn.Module.__call__ is vars(torch.nn.Module)["_wrapped_call_impl"])
"""

MODES = """
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
class Functions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []
    def __torch_function__(self, function, types, arguments=(), named=None):
        self.seen.append(getattr(function, "__qualname__", str(function)))
        return function(*arguments, **(named or {}))
class Dispatches(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []
    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.seen.append(str(function))
        return function(*arguments, **(named or {}))
class Refuses(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), named=None):
        if getattr(function, "__name__", "") not in ("linear", "relu"):
            raise RuntimeError(f"not allowed: {function}")
        return function(*arguments, **(named or {}))
class Own(torch.Tensor):
    seen = []
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        cls.seen.append(getattr(function, "__qualname__", str(function)))
        return super().__torch_function__(function, types, arguments, named or {})
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    def forward(self, x):
        return self.parts(x)
net, x = Net(), torch.ones(1, 3)
net(x)
with Functions() as functions, Dispatches() as dispatches:
    net(x)
    Net()(x)  # named inside of the mode
    net.double().float()
    net(x)
print(functions.seen, dispatches.seen)
net.half().float()
with Refuses():
    y = net(x)
print(y.shape)
net.parts[0].weight = torch.nn.Parameter(torch.ones(3, 3).as_subclass(Own))
Own.seen.clear()
net(x)
net(x.as_subclass(Own))
print(Own.seen)
net = Net()
print(make_fx(net)(x).code)
print(torch.jit.trace(net, x).code, torch.jit.trace(net, x).parts.code)
print(torch.fx.symbolic_trace(net).code)
print(torch.export.export(net, (x,)).graph)
"""


def captured(folder: Path, program: str, *options: str) -> Captured:
    """Capture a program in a new folder."""
    folder.mkdir()
    done = capture(folder, program, options=options)
    assert done.code == 0, done.err
    return done


@each_row("options", [(), ("--levels", "op,module")])
def test_the_program_sees_its_own_calls_alone(tmp_path: Path, options: tuple[str, ...]) -> None:
    expected = plain(tmp_path, CALLS)
    done = captured(tmp_path / "captured", CALLS, *options)
    assert done.out.replace("/captured/", "/") == expected
    assert "UserWarning: from below" in expected
    assert any(op["module"] == "Looks" for op in done.dump.ops.values())


@each_row("options", [(), ("--levels", "op,module")])
def test_the_programs_modes_see_its_own_calls_alone(tmp_path: Path, options: tuple[str, ...]) -> None:
    expected = plain(tmp_path, MODES)
    done = captured(tmp_path / "captured", MODES, *options)
    assert done.out == expected
    assert any(op["module"] == "Net.parts.0" for op in done.dump.ops.values())


PARTS = """
import copy, inspect, os, sys, traceback, warnings
import torch, torch.distributed
torch.manual_seed(0)
from torch.utils.data import DataLoader
def names():
    return [(frame.filename.rpartition("/")[2], frame.function) for frame in inspect.stack()[1:]]
def fails(call):
    try:
        call()
    except Exception as error:
        print("".join(traceback.format_exception(error)))
torch.ones(1).sin()
torch.nn.Identity()(torch.ones(1))

class Descends(torch.optim.SGD):
    def add_param_group(self, group):
        print(names())
        for level in range(1, 6):
            warnings.warn(f"level {level}", stacklevel=level)
        super().add_param_group(group)
    def step(self, closure=None):
        print(names())
        return super().step(closure)
net = torch.nn.Linear(2, 2)
fails(lambda: Descends([], lr=0.1))
optimizer = Descends(net.parameters(), lr=0.1)
copy.deepcopy(optimizer)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
seen = []
def trace(frame, event, _):
    if event != "line":  # torch's loop over hooks goes round once more
        seen.append((event, frame.f_code.co_filename.rpartition("/")[2], frame.f_code.co_name))
    return trace
sys.settrace(trace)
optimizer.step()
sys.settrace(None)
sys.setprofile(lambda frame, event, argument: seen.append((event, frame.f_code.co_name, getattr(argument, "__name__", ""))))
optimizer.step()
sys.setprofile(None)
print(len(seen), seen)
net(torch.ones(1, 2)).sum().backward()
plainly = torch.optim.SGD(net.parameters(), 0.1)
torch.compile(lambda: plainly.step(), backend="eager")()
print(sorted(torch._dynamo.utils.counters["graph_break"]), torch._dynamo.utils.counters["stats"]["unique_graphs"], net.weight.sum().item())
make = torch.optim.Optimizer.__init__
print(type(make), make.__qualname__, inspect.signature(make), inspect.getsourcefile(make).rpartition("/")[2])

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 2
    def __getitem__(self, index):
        if index == 1:
            raise IndexError("no such number")
        return str(names())
loader = DataLoader(Numbers(), batch_size=None, num_workers=1)
fails(lambda: [print(text) for text in loader])

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
def refuse(*_):
    print(names())
    raise OSError("no such network")
torch.distributed.Backend.register_backend("mine", refuse, devices=["cpu"])
fails(lambda: torch.distributed.init_process_group("mine"))
"""


def test_optimizers_workers_and_process_groups_see_the_program_alone(tmp_path: Path) -> None:
    expected = plain(tmp_path, PARTS)
    done = captured(tmp_path / "captured", PARTS, "--workers")
    assert done.out.replace("/captured/", "/") == expected
    for text in ("empty parameter list", "IndexError: no such number", "OSError: no such network"):
        assert text in expected
    assert set(done.dump.rows["step"]) == {0, 1, 2, 3, 4, 5}, "five steps of the optimizer, and what comes after them"


AHEAD = """
import sys, torch
from torch._dynamo.aot_compile_types import SerializableCallable
def function(x):
    return torch.relu(x @ x + 1).sum(0)
x = torch.full((4, 4), 2.0)
torch.ones(1).sin()
with torch.no_grad():
    compiled = torch.compile(function, fullgraph=True).aot_compile(((torch.ones(4, 4),), {}))
    print(compiled(x).tolist())
    kept = compiled._artifacts.compiled_fn
    print(type(kept), type(kept.compiled_fn), isinstance(kept, SerializableCallable), callable(kept.serialize))
    compiled.save_compiled_function("compiled.bin")
    print(torch.compile(function)(x).tolist())
"""
LOADS = """
import torch
torch.ones(1).sin()
with open("compiled.bin", "rb") as file, torch.no_grad():
    compiled = torch.compiler.load_compiled_function(file)
    print(compiled(torch.full((4, 4), 2.0)).tolist())
"""


def test_a_graph_that_is_compiled_ahead_of_time_stays_what_it_is(tmp_path: Path) -> None:
    expected = plain(tmp_path, AHEAD).splitlines()
    for route in ("inductor", "aot", "inductor-kernels", "inductor-nodes", "eager"):
        done = captured(tmp_path / route, AHEAD, "--compile", route)
        assert done.out.splitlines() == expected, route
        assert "fused" in json.dumps(done.dump.run["ops"]["not_captured"]), route
    found = tensortap("find", tmp_path / "inductor/dump")
    assert found.out.splitlines()[0] == "no NaN and no Inf in what was captured", found.out
    assert "fused" in found.out.splitlines()[1]
    assert found.code == 3, "whole kernels ran that were not looked into"
    folder = tmp_path / "inductor"
    (folder / "dump").rename(folder / "first")
    done = capture(folder, LOADS)
    assert (done.code, done.out.splitlines()) == (0, expected[:1])
    assert "fused" in json.dumps(done.dump.run["ops"]["not_captured"]), "a graph that another process compiled is one all the same"


OUTPUTS = """
import torch
@torch.library.custom_op("mine::add_into", mutates_args=("out",))
def add_into(out: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> None:
    out.copy_(x.detach() + y.detach())
@torch.library.custom_op("mine::double", mutates_args=("x",))
def double(x: torch.Tensor) -> None:
    x.mul_(2)
for one in (add_into, double):
    one.register_fake(lambda *arguments: None)
def function(x):
    out = torch.empty_like(x)
    torch.ops.mine.add_into(out, x.sin(), x)
    y = out.cos() + 1
    torch.ops.mine.double(y)
    return y * 2
torch.ones(1).sin()
compiled = torch.compile(function)
for run in (function, compiled, compiled, compiled):
    torch.full((100000,), float("nan"))  # what the allocator gives next
    print(run(torch.ones(100000)).sum().item())
"""


def test_memory_to_write_into_is_no_input_of_a_custom_operator(tmp_path: Path) -> None:
    done = captured(tmp_path / "captured", OUTPUTS)
    assert len(set(done.out.splitlines())) == 1
    read = done.dump.of_type("mine.add_into", INPUT)
    assert set(read["slot_index"]) == {1, 2}, "what was in the buffer is no input"
    assert len(read) == 8 and not (read["flags"] & UNWRITTEN).any()
    changed = done.dump.of_type("mine.double", INPUT)
    assert len(changed) == 4 and np.allclose(changed["max"], 1 + np.cos(1 + np.sin(1))), "what the program has filled it with is one"
    found = tensortap("find", done.dump.folder)
    assert found.code == 3, found.out  # nothing but the fused kernels, which were not looked into
