"""torch.compile under `tensortap exec --compile`: dump nodes in the graphs of AOTAutograd and of Inductor.

What is expected comes from the same program without compiling, from the program's own prints, or from torch itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from case_table import each_row
from torch_support import INPUT, OUTPUT, Captured, TorchDump, capture, plain

INFERENCE, FORWARD, BACKWARD = 0, 1, 2

# A network with an operator of several outputs, a list of outputs, a view, twice the same operator in a line, a loop; trained.
TRAINING = """
import torch, sys
torch.manual_seed(0)
torch.set_num_threads(1)
class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
        self.linear = torch.nn.Linear(8, 8)
    def forward(self, x):
        a, b = self.linear(self.norm(x)).chunk(2, -1)  # line A
        return torch.cat([a.relu(), b * b.exp() * a], -1)  # line B
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([Part(), Part()])
    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x.square().mean()  # line C
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
compiled = net if "uncompiled" in sys.argv else torch.compile(net, backend="aot_eager" if "plain" in sys.argv else "inductor", **OPTIONS)
for size in SIZES:
    optimizer.zero_grad()
    loss = compiled(torch.randn(size, 8))
    loss.backward()
    optimizer.step()
    print(loss.item().hex())
"""


def training(sizes: str = "(4, 4, 4)", options: str = "{'fullgraph': True}") -> str:
    """Give the text of the program."""
    return TRAINING.replace("SIZES", sizes).replace("**OPTIONS", f"**{options}")


def run(folder: Path, program: str, *arguments: str, route: str = "aot", options: tuple[str, ...] = (), **more: Any) -> Captured:
    """Run a program with a route, in a separate folder."""
    folder.mkdir(exist_ok=True)
    done = capture(folder, program, *arguments, options=["--compile", route, *options], **more)
    assert done.code == 0, done.err
    return done


def line_of(folder: Path, mark: str) -> str:
    """Find a line of the program by its mark."""
    lines = (folder / "program.py").read_text().splitlines()
    return f"program.py:{next(number for number, text in enumerate(lines, 1) if text.endswith(f'# line {mark}'))}"


def values(dump: TorchDump) -> dict[tuple[str, int, int, int, int, int], tuple[Any, ...]]:
    """Give what identifies the content of each record, by op, step, call and slot."""
    names = {number: op["name"] for number, op in dump.ops.items()}
    rows = dump.rows
    keys = ("step", "call", "slot_kind", "slot_index", "element")
    told = ("numel", "shape", "min", "max", "mean", "l2", "nan", "dtype", "phase")
    found = {}
    for row in rows:
        key = (names[int(row["op"])], *(int(row[key]) for key in keys))
        found[key] = tuple(np.asarray(row[name]).tobytes() for name in told)
    return found


def in_model(name: str) -> bool:
    """Tell whether an op is one of the compiled model."""
    return name.startswith("Net")


def test_a_program_whose_first_operator_is_in_a_call_of_compile_runs_eagerly(tmp_path: Path) -> None:
    program = "import torch\nnet = torch.compile(torch.nn.Linear(4, 4))\nprint(net(torch.ones(2, 4)).shape)\n"
    done = run(tmp_path, program, route="eager")
    assert done.dump.run["ops"]["not_captured"] == []
    assert "addmm" in {op["type"] for op in done.dump.ops.values()}


def test_nodes_have_the_names_and_the_values_of_uncompiled_operators(tmp_path: Path) -> None:
    compiled = run(tmp_path / "compiled", training())
    eager = run(tmp_path / "eager", training(), "uncompiled", route="eager")
    # Gradients of a value that is used twice are summed in place without a compiler, out of place in a graph.
    expected = {key: value for key, value in values(eager.dump).items() if in_model(key[0]) and not key[0].endswith("/add_")}
    found = {key: value for key, value in values(compiled.dump).items() if in_model(key[0])}
    assert len(expected) > 300
    assert {key: found.get(key) for key in expected} == expected
    # What autograd keeps for the backward pass is an operator of the graph; without a compiler it is none.
    assert {name.rpartition("/")[2].partition("_")[0] for name, *_ in found.keys() - expected.keys()} == {"detach", "add"}
    assert compiled.out == eager.out == plain(tmp_path, training(), "plain")


def test_nodes_know_module_line_forward_op_and_phase(tmp_path: Path) -> None:
    dump = run(tmp_path, training()).dump
    ops = {op["name"]: op for op in dump.ops.values()}
    phases = {dump.ops[int(row["op"])]["name"]: int(row["phase"]) for row in dump.rows}
    relu = ops["Net.parts.1/relu"]
    assert (relu["module"], relu["source"], phases[relu["name"]]) == ("Net.parts.1", line_of(tmp_path, "B"), FORWARD)
    assert [entry["name"] for entry in ops["Net.parts.0.linear/addmm"]["inputs"]] == [
        "parts.0.linear.bias",
        "mat1",
        "parts.0.linear.weight",
    ]
    backward = ops["Net.parts.1/ReluBackward0/threshold_backward"]
    assert (backward["module"], backward["source"]) == ("Net.parts.1", line_of(tmp_path, "B"))
    assert backward["attributes"]["forward"] == "Net.parts.1/relu"
    assert phases[backward["name"]] == BACKWARD
    assert ops["Net/MeanBackward0/div"]["source"] == line_of(tmp_path, "C")
    assert all("CompiledFunction" not in name for name in ops)


def test_what_nobody_wants_gets_no_dump_node(tmp_path: Path) -> None:
    program = (
        training()
        + """
with torch.autograd.profiler.profile() as profile:
    compiled(torch.randn(4, 8)).backward()
names = [event.name for event in profile.function_events]
print("nodes", names.count("tensortap::dump"), "relu", names.count("aten::relu"))
"""
    )
    done = run(tmp_path, program, options=("--types", "relu", "--slots", "out"))
    # The profiler sees dump nodes and operators, and each relu is captured once.
    assert done.out.splitlines()[-1] == "nodes 2 relu 2"
    types = {done.dump.ops[int(row["op"])]["type"] for row in done.dump.rows}
    assert types == {"relu"}
    assert len(done.dump.rows) == 2 * 4


def test_steps_that_are_not_captured_run_the_graph_as_it_was(tmp_path: Path) -> None:
    program = (
        training("(4, 4)")
        + """
from torch.autograd import profiler
for number in range(2, 4):
    with profiler.profile() as profile:
        compiled(torch.randn(4, 8)).backward()
    optimizer.step()
    print(number, sum(event.name == "tensortap::dump" for event in profile.function_events) > 0)
"""
    )
    done = run(tmp_path, program, options=("--steps", "2"))
    assert done.out.splitlines()[-2:] == ["2 True", "3 False"]
    assert set(done.dump.rows["step"].tolist()) == {2}
    names = {done.dump.ops[int(row["op"])]["name"] for row in done.dump.rows}
    assert {"Net.parts.0/relu", "Net.parts.0/ReluBackward0/threshold_backward"} <= names


@each_row("options", ["{'fullgraph': True}", "{'dynamic': True}"])
def test_graphs_that_are_compiled_anew_have_the_same_ops(tmp_path: Path, options: str) -> None:
    program = training("(4, 6, 9)", options)
    done = run(tmp_path, program)
    assert done.out == plain(tmp_path, program, "plain")
    relu = done.dump.of_type("relu", OUTPUT)
    assert sorted(tuple(shape[:2]) for shape in relu["shape"].tolist()) == sorted([(4, 4), (6, 4), (9, 4)] * 2)
    assert {done.dump.ops[int(number)]["name"] for number in relu["op"]} == {"Net.parts.0/relu", "Net.parts.1/relu"}


def test_graph_breaks_and_several_models(tmp_path: Path) -> None:
    program = """
import torch
torch.manual_seed(0)
class Net(torch.nn.Module):
    def forward(self, x):
        y = x.sin()
        torch._dynamo.graph_break()
        return y.cos()
one, two = torch.compile(Net()), torch.compile(Net())
own = []
def backend(graph, inputs):
    own.append(graph)
    return graph.forward
three = torch.compile(Net(), backend=backend)
x = torch.ones(3)
print([model(x).sum().item() for model in (one, two, three)], len(own))
"""
    done = run(tmp_path, program)
    expected = [np.cos(np.sin(np.float32(1))).astype(np.float32) * 3] * 3
    text = done.out.splitlines()[-1]
    assert np.allclose(json.loads(text[: text.index("]") + 1]), expected)
    assert text.endswith(" 2")
    names = {op["name"] for op in done.dump.ops.values()}
    assert {f"{net}/{op}" for net in ("Net", "Net#1", "Net#2") for op in ("sin", "cos")} <= names
    # Nothing is captured twice: each call is one execution.
    for op in ("sin", "cos"):
        rows = done.dump.of_type(op, OUTPUT)
        assert len(rows) == 3


def test_instances_that_share_a_graph_keep_their_names_and_selections(tmp_path: Path) -> None:
    program = """
import torch
torch.manual_seed(0)
class Block(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
    def forward(self, x):
        return self.inner(x).sin()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(number) for number in range(3)])
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x.sum()
net = Net()
for block in net.blocks:
    block.compile()
net(torch.ones(2, 4)).backward()
from torch._dynamo.utils import counters
print(counters["stats"]["unique_graphs"])
"""
    done = run(tmp_path / "all", program)
    assert done.out.splitlines()[-1] == "2"  # the input of the first block needs no gradient
    ops = {op["name"]: op for op in done.dump.ops.values()}
    for number in range(3):
        linear = ops[f"Net.blocks.{number}.inner/addmm"]
        assert linear["module"] == f"Net.blocks.{number}.inner"
        assert linear["inputs"][0]["name"] == f"blocks.{number}.inner.bias"
        backward = ops[f"Net.blocks.{number}/SinBackward0/cos"]
        assert backward["attributes"]["forward"] == f"Net.blocks.{number}/sin"
    last = run(tmp_path / "last", program, options=("--ops", r"Net\.blocks\.2.*"))
    names = {last.dump.ops[int(number)]["name"] for number in last.dump.rows["op"]}
    assert {"Net.blocks.2/sin", "Net.blocks.2.inner/addmm", "Net.blocks.2/SinBackward0/cos"} <= names
    assert not any(name.startswith(("Net.blocks.0", "Net.blocks.1")) for name in names)


def test_what_a_graph_writes_in_place_is_seen_before_and_after(tmp_path: Path) -> None:
    program = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.BatchNorm1d(50000))
compiled = torch.compile(net)
for _ in range(2):
    compiled(torch.randn(4, 50000))
    print(net[0].running_mean.sum(dtype=torch.float64).item())
"""
    for route in ("aot", "inductor", "inductor-kernels", "inductor-nodes"):
        done = run(tmp_path / route, program, route=route)
        expected = [float(line) for line in done.out.splitlines()]
        read = done.dump.of_type("sum", INPUT)
        assert np.allclose(read["mean"] * 50000, expected, rtol=1e-4), route
    done = run(tmp_path / "filter", program, options=("--types", "sum"))
    assert np.allclose(done.dump.of_type("sum", INPUT)["mean"] * 50000, expected, rtol=1e-4)
    dump = TorchDump(tmp_path / "aot" / "dump")
    rows = dump.of_type("copy_")
    rows = rows[rows["shape"][:, 0] == 50000]
    before = rows[(rows["slot_kind"] == INPUT) & (rows["slot_index"] == 0)]
    after = rows[rows["slot_kind"] == OUTPUT]
    # Two calls that each write the mean and the variance: the second call finds the values that the first one left.
    assert len(before) == len(after) == 4
    assert (before["storage"] == after["storage"]).all()
    assert (before["version"] != after["version"]).all()
    assert before["mean"][:2].tolist() == [0.0, 1.0]
    assert before["mean"][2:].tolist() == after["mean"][:2].tolist()


def test_trouble_of_ours_leaves_the_program_alone_and_the_operators_captured(tmp_path: Path) -> None:
    program = """
import sys, torch
torch.ones(1).sin()
while "_tensortap_torch.compile_routes" not in sys.modules:
    torch.ones(1).sin()
def broken(*arguments):
    raise RuntimeError("no nodes today")
sys.modules["_tensortap_torch.dump_nodes"].Inserted._insert = broken
""" + training()
    expected = plain(tmp_path, training(), "plain")
    for route in ("aot", "inductor-nodes"):
        done = run(tmp_path / route, program, route=route)
        assert "no nodes today" in done.err
        if route == "aot":
            assert done.out == expected
            assert {"Net.parts.0/relu", "Net.parts.1/relu"} <= {op["name"] for op in done.dump.ops.values()}
        else:
            assert len(done.out.splitlines()) == 3
            reasons = [entry["reason"] for entry in done.dump.run["ops"]["not_captured"]]
            assert any("fused" in reason for reason in reasons)


def test_a_node_that_raises_leaves_what_it_read(tmp_path: Path) -> None:
    program = """
import torch
@torch.library.custom_op("test::careful", mutates_args=())
def careful(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 10:
        raise ValueError("too much")
    return x + 1
careful.register_fake(lambda x: torch.empty_like(x))
def function(x):
    return careful(x * 2).sin()
compiled = torch.compile(function)
compiled(torch.ones(3))
try:
    compiled(torch.full((3,), 5.0))
except ValueError as error:
    print(error)
"""
    done = run(tmp_path, program)
    assert done.out.splitlines()[-1] == "too much"
    failed = done.dump.run["failed_op"]
    assert failed["type"] == "test.careful"
    read = done.dump.of_type("test.careful", INPUT)
    assert read["mean"].tolist() == [2.0, 10.0]


def test_other_levels_are_seen_by_torchs_own_callbacks(tmp_path: Path) -> None:
    done = run(tmp_path, training(), options=("--levels", "op,kernel"))
    assert done.out == plain(tmp_path, training(), "plain")
    levels = {op["level"] for op in done.dump.ops.values() if op["name"].startswith("Net.parts.0")}
    assert len(levels) == 2


def test_every_node_that_inductor_fuses_is_captured_on_request(tmp_path: Path) -> None:
    program = (
        training()
        + """
from torch._dynamo.utils import counters
print("graphs", counters["stats"]["unique_graphs"], "breaks", sum(counters["graph_break"].values()))
"""
    )
    done = run(tmp_path / "nodes", program, route="inductor-nodes")
    eager = run(tmp_path / "eager", training(), "uncompiled", route="eager")
    assert done.out.splitlines()[-1] == "graphs 1 breaks 0"
    losses = [[float.fromhex(line) for line in run.out.splitlines()[:3]] for run in (done, eager)]
    assert np.allclose(*losses, rtol=1e-5)
    assert "less is fused" in done.err
    names = {op["name"] for op in done.dump.ops.values()}
    assert {"Net.parts.0.norm/rsqrt", "Net.parts.1/exp", "Net.parts.0/relu", "Net.parts.1.linear/addmm"} <= names
    assert not done.dump.run["ops"]["not_captured"]
    # An operator that Inductor takes as it is has the values that it has without it; addmm is a call of the library, seen once.
    for op_type in ("relu", "exp", "addmm"):
        rows, expected = (dump.of_type(op_type, OUTPUT) for dump in (done.dump, eager.dump))
        assert not (rows["phase"] == INFERENCE).any()  # torch's callbacks would tell calls of the library so
        forward = rows[rows["phase"] == FORWARD]
        assert np.allclose(forward["mean"], expected["mean"], rtol=1e-4), op_type


def test_passes_of_the_program_and_caches_stay_its_own(tmp_path: Path) -> None:
    program = """
import torch
from torch._inductor import config
torch.manual_seed(0)
seen = []
config.post_grad_custom_post_pass = lambda graph: seen.append(len(graph.nodes))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
    def forward(self, x):
        return self.linear(x).sin().cos()
models = [torch.compile(Net()) for _ in range(2)]
with torch.no_grad():
    for model in models:
        model(torch.ones(2, 4))
print(len(seen), config.post_grad_custom_post_pass is not None)
"""
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "TORCHINDUCTOR_FX_GRAPH_CACHE": "1"}
    program_without_pass = "\n".join(line for line in program.splitlines() if not line.startswith("config.post"))
    first = run(tmp_path / "first", program, route="inductor-nodes", environment=cache)
    assert first.out.splitlines()[-1] == "1 True"
    second = run(tmp_path / "second", program_without_pass, route="inductor-nodes", environment=cache)
    # Two models of a class share a graph, and their ops are their own.
    for done in (first, second):
        sines = {done.dump.ops[int(number)]["name"] for number in done.dump.of_type("sin", OUTPUT)["op"]}
        assert sines == {"Net/sin", "Net#1/sin"}
    third = run(tmp_path / "third", program_without_pass, route="inductor", environment=cache)
    assert not len(third.dump.of_type("sin"))
