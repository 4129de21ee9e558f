"""Graphs that `tensortap.torchair` compiles, dumped while they run: the tree, the values, the steps and what is chosen."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_table import each_row
from cli_support import ROOT, package_alone, tensortap
from torch_support import PYTHON, run_program

HEAD = """
import glob, json, os, sys
import numpy as np
import torch
import tensortap.torchair as torchair
torch.manual_seed(0); torch.set_num_threads(1)
def backend(path, **options):
    config = torchair.CompilerConfig()
    config.dump_config.enable_dump = True
    os.makedirs(path, exist_ok=True)
    config.dump_config.dump_path = path
    for name, value in options.items():
        setattr(config.dump_config, name, value)
    return torchair.get_npu_backend(compiler_config=config)
x, y = torch.arange(6.0).reshape(2, 3), torch.full((2, 3), 2.0)
"""


@dataclass(frozen=True)
class Ran:
    """How a program ended, and where its dumps are."""

    code: int
    out: str
    err: str
    folder: Path

    def records(self, path: str = "dump") -> list[dict[str, Any]]:
        """List the records of a dump."""
        listed = tensortap("ls", str(self.folder / path / "worldsize1_global_rank0"), "--json")
        assert listed.code == 0, listed.err
        return [json.loads(line) for line in listed.out.splitlines()]

    def names(self, path: str = "dump") -> list[str]:
        """List the records as "OP:SLOT"."""
        return sorted(f"{record['op']}:{record['slot']}" for record in self.records(path))

    def files(self, pattern: str, path: str = "dump") -> list[Path]:
        """List the files below the folder of the rank and the time."""
        return sorted((self.folder / path / "worldsize1_global_rank0").glob(f"*/{pattern}"))


def run(folder: Path, program: str, **environment: str) -> Ran:
    """Run the text of a program with the package installed."""
    done = run_program(folder, HEAD + program, **environment)
    return Ran(done.returncode, done.stdout, done.stderr, folder)


def ran(folder: Path, program: str, **environment: str) -> Ran:
    """Run a program that has to end well."""
    done = run(folder, program, **environment)
    assert done.code == 0, done.err
    return done


SIMPLE = """
def fn(x, y):
    return torch.sub(torch.add(x, y), torch.mul(x, 3.0))
compiled = torch.compile(fn, backend=backend("dump", {options}), dynamic=False)
expected = fn(x, y)
for _ in range({calls}):
    assert torch.equal(compiled(x, y), expected)
print(len(glob.glob("dump/worldsize1_global_rank0/*/0/graph_1/1/0/*")))
"""


def simple(folder: Path, options: str = "", calls: int = 1) -> Ran:
    return ran(folder, SIMPLE.format(options=options, calls=calls))


def values(done: Ran, record: str) -> np.ndarray[Any, Any]:
    shown = tensortap("show", str(done.folder / "dump/worldsize1_global_rank0"), record, "--json")
    assert shown.code == 0, shown.err
    return np.array(json.loads(shown.out)["values"], np.float32)


def test_every_op_of_a_graph_and_what_it_is_given(tmp_path: Path) -> None:
    done = simple(tmp_path)
    assert int(done.out) > 0, "the files exist when the call returns"
    files = [path.name.split(".")[:2] for path in done.files("0/graph_1/1/0/*")]
    assert sorted(map(tuple, files)) >= sorted([("Add", "Add"), ("Data", "arg0_1"), ("Data", "arg1_1"), ("Mul", "Mul"), ("Sub", "Sub")])
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 2, np.float32)
    np.testing.assert_array_equal(values(done, "Add:out0"), x + y)
    np.testing.assert_array_equal(values(done, "Sub:in0"), x + y)
    np.testing.assert_array_equal(values(done, "Sub:in1"), x * 3)
    np.testing.assert_array_equal(values(done, "Sub:out0"), x + y - x * 3)


@each_row(
    "options,wanted",
    [
        ("dump_layer='Sub'", ["Sub:in0", "Sub:in1", "Sub:out0"]),
        ("dump_layer='Sub', dump_mode='output'", ["Sub:out0"]),
        ("dump_layer='Sub', dump_mode='input'", ["Sub:in0", "Sub:in1"]),
        ("dump_layer='mul'", ["Mul:in0", "Mul:out0", "arg0_1:out0"]),
    ],
)
def test_a_choice_of_ops_and_slots(tmp_path: Path, options: str, wanted: list[str]) -> None:
    assert simple(tmp_path, options).names() == wanted


def test_steps_count_the_calls_of_the_graph(tmp_path: Path) -> None:
    done = simple(tmp_path, "dump_step='1|5-2|3', dump_layer='Add'", calls=5)
    assert {path.parent.name for path in done.files("0/graph_1/1/*/Add*")} == {"1", "3"}
    assert "dump_step: 5-2 is the wrong way round and selects no step" in done.err


def test_statistics_are_numpys(tmp_path: Path) -> None:
    done = simple(tmp_path, "dump_data='stats', dump_layer='Sub'")
    (record,) = [one for one in done.records() if (one["op"], one["slot"]) == ("Sub", "out0")]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    result = x + 2 - x * 3
    assert (record["min"], record["max"], record["mean"]) == (result.min(), result.max(), pytest.approx(result.mean()))
    assert all(path.suffix == ".csv" for path in done.files("0/graph_1/1/0/*"))


SCOPES = """
def fn(x, y):
    first = torch.add(x, y)
    with torchair.scope.data_dump():
        second = torch.add(first, y)
    return second * 2
compiled = torch.compile(fn, backend=backend("dump"{options}))
assert torch.equal(compiled(x, y), fn(x, y))
"""


@each_row(
    "options,wanted",
    [
        ("", ["Add_1:in0", "Add_1:in1", "Add_1:out0"]),
        (", dump_layer='Mul'", ["Add_1:in0", "Add_1:in1", "Add_1:out0", "Mul:in0", "Mul:out0"]),
    ],
)
def test_a_scope_is_exactly_its_nodes(tmp_path: Path, options: str, wanted: list[str]) -> None:
    done = ran(tmp_path, SCOPES.format(options=options))
    assert [name for name in done.names() if not name.startswith("arg")] == wanted


def test_a_backward_operator_is_in_the_scope_of_its_forward_operator(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
def fn(x, w):
    made = torch.mm(x, w)
    with torchair.scope.data_dump():
        made = torch.relu(made)
    return (made * 2).sum()
w = torch.ones(3, 4, requires_grad=True)
torch.compile(fn, backend=backend("dump"))(x, w).backward()
""",
    )
    names = {(path.parent.parent.parent.name, path.name.split(".")[0]) for path in done.files("0/graph_*/1/0/*")}
    # What autograd keeps for the backward pass is detached in the block.
    assert {name for name in names if name[1] not in ("Data", "Identity")} == {("graph_1", "Relu"), ("graph_2", "ReluGrad")}


TRAINING = """
def gradients(backend):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    compiled = model if backend is None else torch.compile(model, backend=backend)
    compiled(x).square().sum().backward()
    return [parameter.grad.clone() for parameter in model.parameters()]
plain = gradients(torchair.get_npu_backend())
torch._dynamo.reset()
dumped = gradients(backend("dump"))
assert all(torch.equal(one, other) for one, other in zip(plain, dumped))
"""


def test_training_gives_the_same_gradients_and_the_backward_graph(tmp_path: Path) -> None:
    done = ran(tmp_path, TRAINING)
    graphs = {path.parent.parent.parent.name: path.parent for path in done.files("0/graph_*/1/0/*")}
    assert len(graphs) == 2, "the forward and the backward graph"
    types = [{path.name.split(".")[0] for path in folder.iterdir()} for _, folder in sorted(graphs.items())]
    assert "ReluGrad" not in types[0] and {"ReluGrad", "MatMul"} <= types[1]


def test_two_configs_have_paths_of_their_own(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
one = torch.compile(lambda x, y: x + y, backend=backend("first"))
other = torch.compile(lambda x, y: x * y, backend=backend("second", dump_mode="output"))
one(x, y); other(x, y); one(x, y)
""",
    )
    assert {record["op"] for record in done.records("first")} >= {"Add"}
    assert {record["op"] for record in done.records("second") if record["type"] != "Input"} == {"Mul"}
    documents = [
        json.loads(path.read_text())["dump"] for path in sorted(tmp_path.glob("ge_dump_data_json/*.json"), key=lambda path: len(path.name))
    ]
    assert [(one["dump_mode"], one["dump_list"]) for one in documents] == [
        ("all", [{"model_name": "graph_1"}]),
        ("output", [{"model_name": "graph_2"}]),
    ]


def test_an_op_that_writes_its_input_shows_it_before_and_after(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
def fn(x, y):
    x.add_(y)
    return x * 2
given = x.clone()
torch.compile(fn, backend=backend("dump"))(given, y)
assert torch.equal(given, x + y)
""",
    )
    np.testing.assert_array_equal(values(done, "Add:in0"), np.arange(6, dtype=np.float32).reshape(2, 3))
    np.testing.assert_array_equal(values(done, "Add:out0"), np.arange(6, dtype=np.float32).reshape(2, 3) + 2)


def test_other_shapes_are_another_graph(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
compiled = torch.compile(lambda x, y: x + y, backend=backend("dump"), dynamic=False)
compiled(x, y); compiled(x, y); compiled(x[:1], y[:1])
""",
    )
    steps = {(path.parent.parent.parent.name, path.parent.name) for path in done.files("0/graph_*/1/*/Add*")}
    assert steps == {("graph_1", "0"), ("graph_1", "1"), ("graph_2", "0")}


def test_warm_up_is_not_dumped_and_counts_no_step(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
compiled = torch.compile(lambda x, y: x + y, backend=backend("dump", dump_step="0"))
with torchair.no_dump():
    for _ in range(3):
        compiled(x, x)
compiled(x, y)
""",
    )
    np.testing.assert_array_equal(values(done, "Add:in1"), np.full((2, 3), 2, np.float32))


def test_the_acl_document_lists_the_graphs(tmp_path: Path) -> None:
    done = simple(tmp_path, "dump_layer='Sub Mul'")
    (path,) = tmp_path.glob("ge_dump_data_json/dump_options_worldsize1_rank0_pid*.json")
    document = json.loads(path.read_text())["dump"]
    assert document["dump_list"] == [{"model_name": "graph_1", "layer": ["Sub", "Mul"]}]
    assert (document["dump_mode"], document["dump_data"], document["quant_dumpable"]) == ("all", "tensor", "0")
    assert done.code == 0


ACL = """
config = torchair.CompilerConfig()
config.dump_config.dump_config_path = "acl.json"
compiled = torch.compile(lambda x, y: torch.div(x, y) * 0 + 1, backend=torchair.get_npu_backend(compiler_config=config))
compiled(x, torch.zeros(2, 3)); print("ran")
"""


def acl(folder: Path, **dump: Any) -> Ran:
    (folder / "dump").mkdir()
    (folder / "acl.json").write_text(json.dumps({"dump": {"dump_path": str(folder / "dump"), **dump}}, indent=1))
    return run(folder, ACL)


def test_a_config_of_ascendcl_chooses_graph_and_layer(tmp_path: Path) -> None:
    done = acl(tmp_path, dump_list=[{"model_name": "graph_1", "layer": ["RealDiv"]}], dump_mode="output")
    assert done.code == 0, done.err
    names = {path.name.split(".")[1] for path in (tmp_path / "dump").glob("*/0/graph_1/1/0/*")}
    assert "RealDiv" in names and "Mul" not in names


def test_an_overflow_is_found_by_a_config_of_ascendcl(tmp_path: Path) -> None:
    done = acl(tmp_path, dump_debug="on")
    assert done.code == 0, done.err
    names = {path.name.split(".")[0] for path in (tmp_path / "dump").rglob("*") if path.is_file()}
    assert {"RealDiv", "Opdebug"} <= names and "Add" not in names


def test_memory_is_watched_by_a_config_of_ascendcl(tmp_path: Path) -> None:
    done = acl(tmp_path, dump_scene="watcher", dump_mode="output", dump_list=[{"layer": ["Mul"], "watcher_nodes": ["RealDiv"]}])
    assert done.code == 0, done.err
    names = {path.name.split(".")[1] for path in (tmp_path / "dump").glob("*/0/graph_1/1/0/*")}
    assert "Mul_To_RealDiv" in names, "what Mul left in the memory of RealDiv"


def test_operators_outside_of_graphs_come_with_their_switch(tmp_path: Path) -> None:
    done = acl(tmp_path, dump_op_switch="on", dump_list=[], dump_mode="output")
    assert done.code == 0, done.err
    names = {path.name.split(".")[0] for path in (tmp_path / "dump").rglob("*") if path.is_file() and not path.name.endswith(".json")}
    assert "RealDiv" in names, "an empty list means every operator of the graphs"
    assert "zeros" in {name.lower() for name in names}, names


def test_a_wrong_key_is_an_error_before_anything_runs(tmp_path: Path) -> None:
    done = acl(tmp_path, dump_mode="outputs")
    assert done.code == 1 and "ran" not in done.out
    assert "RuntimeError: acl.json:4:3: dump.dump_mode" in done.err and "100009" in done.err


def test_a_config_that_is_no_text_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "acl.json").write_bytes(b'{"dump": "\xff"}')
    done = run(tmp_path, ACL)
    assert done.code == 1 and "ran" not in done.out
    assert "RuntimeError: acl.json cannot be read: 'utf-8' codec" in done.err


def test_the_newline_that_names_may_end_with_belongs_to_none_of_them(tmp_path: Path) -> None:
    done = simple(tmp_path, "dump_layer='Mul Sub\\n'")
    assert {record["op"] for record in done.records() if record["type"] != "Input"} == {"Mul", "Sub"}, done.err


def test_statistics_in_the_place_of_an_interpreter(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
config = torchair.CompilerConfig()
config.debug.data_dump.type = "stats"
config.debug.data_dump.path = "fx"
compiled = torch.compile(lambda x, y: torch.where(x > 1, x, y), backend=torchair.get_npu_backend(compiler_config=config))
assert torch.equal(compiled(x, y), torch.where(x > 1, x, y))
""",
    )
    listed = tensortap("ls", str(done.folder / "fx/worldsize1_global_rank0/graph_1"), "--json", "--op", "Select", "--slot", "out")
    (record,) = map(json.loads, listed.out.splitlines())
    assert (record["min"], record["max"], record["mean"]) == (2, 5, 3)


def test_an_unknown_name_is_said_with_the_nearest(tmp_path: Path) -> None:
    done = simple(tmp_path, "dump_layer='Subb'", calls=2)
    assert done.err.count("Subb") == 1 and "Sub" in done.err.split("nearest: ")[1]
    assert not done.files("0/graph_1/1/*/*"), "nothing else is dumped in its place"


RANKS = """
import torch.distributed as dist
dist.init_process_group("gloo")
compiled = torch.compile(lambda x, y: x + y, backend=backend("dump"))
compiled(x, y * (dist.get_rank() + 1))
dist.destroy_process_group()
"""


def test_every_rank_has_a_folder(tmp_path: Path) -> None:
    done = run_program(tmp_path, HEAD + RANKS, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        folder = tmp_path / f"dump/worldsize2_global_rank{rank}"
        shown = tensortap("show", str(folder), "Add:out0", "--json")
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(json.loads(shown.out)["values"], x + 2 * (rank + 1))
    assert len(list(tmp_path.glob("ge_dump_data_json/dump_options_worldsize2_rank*_pid*.json"))) == 2


def test_a_dump_is_switched_on_after_a_first_compile(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
plain = torch.compile(lambda x, y: x * y, backend=torchair.get_npu_backend())
plain(x, y)
torch.compile(lambda x, y: x + y, backend=backend("dump"))(x, y)
""",
    )
    assert {path.parent.parent.parent.name for path in done.files("0/graph_*/1/0/*")} == {"graph_2"}


def test_an_op_that_raises_leaves_what_it_read(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
compiled = torch.compile(lambda x, i: torch.index_select(x + 1, 0, i), backend=backend("dump", dump_layer="Add"), dynamic=False)
compiled(x, torch.tensor([1]))
try:
    compiled(x, torch.tensor([7]))
except IndexError as error:
    print("IndexError", error)
""",
    )
    assert "IndexError" in done.out, "the exception is the program's"
    failed = {(record["op"], record["slot"]) for record in done.records() if record.get("failed_op")}
    assert failed == {("GatherV2", "in0"), ("GatherV2", "in1")}


def test_the_example_runs_as_it_stands(tmp_path: Path) -> None:
    done = run_program(tmp_path, (ROOT / "examples/torchair_seed.py").read_text(), "-m", "tensortap.torchair")
    assert done.returncode == 0, done.stderr
    assert "result 30.0" in done.stdout
    names = {path.name.split(".")[0] for path in tmp_path.glob("torchair_dump/worldsize1_global_rank0/*/0/graph_1/1/0/*")}
    assert names == {"Add", "Sub", "Data"}


def test_many_threads_count_the_calls_once(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
import threading
compiled = torch.compile(lambda x, y: x + y, backend=backend("dump"))
compiled(x, y)
def call():
    for _ in range(200):
        compiled(x, y)
threads = [threading.Thread(target=call) for _ in range(3)]
[one.start() for one in threads]; [one.join() for one in threads]
""",
    )
    files = done.files("0/graph_1/1/*/Add*")
    assert sorted(int(path.parent.name) for path in files) == list(range(601))


def test_what_a_killed_process_dumped_is_whole(tmp_path: Path) -> None:
    endless = """
compiled = torch.compile(lambda x, y: torch.relu(x + y) * 2, backend=backend("dump"))
step = 0
while True:
    compiled(x, y)
    print(step, flush=True)
    step += 1
"""
    (tmp_path / "program.py").write_text(HEAD + endless)
    environment = {**os.environ, "PYTHONPATH": str(package_alone(tmp_path))}
    with subprocess.Popen([PYTHON, "program.py"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        last = 0
        while last < 25:
            last = int(process.stdout.readline())
        process.kill()
        last = max([last, *(int(line) for line in process.stdout.read().splitlines())])
    killed = Ran(process.returncode, "", "", tmp_path)
    assert killed.code == -signal.SIGKILL
    whole = {(record["op"], record["slot"], record["step"]) for record in killed.records() if record["shape"] == [2, 3]}
    for step in range(last + 1):
        for record in ("Add:in0", "Add:in1", "Add:out0", "Relu:in0", "Relu:out0", "Mul:in0", "Mul:out0"):
            assert (*record.split(":"), step) in whole, f"{record} of step {step}, which had returned, is missing"


def test_a_forked_child_writes_nothing(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
compiled = torch.compile(lambda x, y: x + y, backend=backend("dump"), dynamic=False)
compiled(x, y)
child = os.fork()
if child == 0:
    compiled(x, y); compiled(x[:1], y[:1]); sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
compiled(x, y)
""",
    )
    steps = {(path.parent.parent.parent.name, path.parent.name) for path in done.files("0/graph_*/1/*/Add*")}
    assert steps == {("graph_1", "0"), ("graph_1", "1")}
    assert done.err.count("graph_2 is not dumped: this process was forked") == 1


def test_values_before_a_quantise_operator_are_there_with_either_value(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
def fn(x, y):
    quantised = torch.round((x + y) / 0.1).clamp(-128, 127).to(torch.int8)
    return quantised.to(torch.float32) * 0.1
for value in (False, True):
    torch.compile(fn, backend=backend(f"quant{value}", quant_dumpable=value))(x, y)
    torch._dynamo.reset()
""",
    )
    for path in ("quantFalse", "quantTrue"):
        assert "Add:out0" in done.names(path)


def test_the_aclgraph_mode_saves_what_every_node_gives(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
config = torchair.CompilerConfig()
config.mode = "reduce-overhead"
config.dump_config.enable_dump = True
os.makedirs("dump"); config.dump_config.dump_path = "dump"
compiled = torch.compile(lambda x, y: (x + y) * 2, backend=torchair.get_npu_backend(compiler_config=config))
assert torch.equal(compiled(x, y), (x + y) * 2)
(path,) = glob.glob("dump/worldsize1_global_rank0/**/add_0.pt", recursive=True)
assert torch.equal(torch.load(path, weights_only=True), x + y)
print(sorted(os.listdir(os.path.dirname(path))))
""",
    )
    assert ast.literal_eval(done.out) == ["add_0.pt", "arg0_1_0.pt", "arg1_1_0.pt", "mul_0.pt"]


def test_the_options_of_debug_write_their_files(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
def compiled(**options):
    config = torchair.CompilerConfig()
    for name, value in options.items():
        group, option = name.split("__")
        setattr(getattr(config.debug, group), option, value)
    torch._dynamo.reset()
    made = torch.compile(lambda x, y: x + y, backend=torchair.get_npu_backend(compiler_config=config))
    assert torch.equal(made(x, y), x + y)
compiled(data_dump__type="npy", data_dump__path="fx")
compiled(graph_dump__type="txt", graph_dump__path="graphs")
compiled(fx_summary__type="csv")
""",
    )
    assert done.code == 0
    listed = tensortap("ls", str(tmp_path / "fx/worldsize1_global_rank0/graph_1"), "--json")
    assert {json.loads(line)["op"] for line in listed.out.splitlines()} == {"add"}
    assert [path.name.split("_graph_")[0] for path in sorted((tmp_path / "graphs").iterdir())] == ["dynamo_optimized", "dynamo_original"]
    (summary,) = tmp_path.glob("summary_*.csv")
    assert "aten.add.Tensor" in summary.read_text("utf-8-sig")


def test_sizes_that_change_are_one_graph_when_they_are_dynamic(tmp_path: Path) -> None:
    done = ran(
        tmp_path,
        """
compiled = torch.compile(lambda x, y: x + y * x.shape[0], backend=backend("dump"), dynamic=True)
for rows in (2, 5, 3):
    given = torch.arange(rows * 3.0).reshape(rows, 3)
    assert torch.equal(compiled(given, given), given + given * rows)
""",
    )
    shapes = {(record["step"], tuple(record["shape"])) for record in done.records() if (record["op"], record["slot"]) == ("Add", "out0")}
    assert shapes == {(0, (2, 3)), (1, (5, 3)), (2, (3, 3))}
