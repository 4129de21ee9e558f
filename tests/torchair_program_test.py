"""Options of a running program: its folders, its passes, its names, and its config of AscendCL."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from case_table import each_row
from torch_support import run_program
from torchair_graph_support import DUMPED

pytest.importorskip("tensortap.torchair", reason="the module is not built")


def ran(folder: Path, program: str, expected: int = 0, **environment: str) -> tuple[str, str]:
    """Run the text of a program; gives what it printed and what it reported."""
    done = run_program(folder, DUMPED + program, **environment)
    assert done.returncode == expected, done.stderr
    return done.stdout, done.stderr


FOLDERS = """
os.mkdir("d"); os.mkdir("other")
acl = {"dump": {"dump_path": "d", "dump_list": [{"model_name": "graph_3"}], "dump_mode": "output"}}
json.dump(acl, open("acl.json", "w"))
def other(x):
    return torch.relu(x) + 1
config = settings(enable_dump=True, dump_path="d")
first = torch.compile(other, backend=torchair.get_npu_backend(compiler_config=config))
second = torch.compile(lambda x: x * 2, backend=torchair.get_npu_backend(compiler_config=settings(enable_dump=True)))
third = torch.compile(lambda x: x - 2, backend=torchair.get_npu_backend(compiler_config=settings(dump_config_path="acl.json")))
summary = torchair.CompilerConfig()
summary.debug.data_dump.type = "npy"
fourth = torch.compile(lambda x: x / 2, backend=torchair.get_npu_backend(compiler_config=summary))
graphs = torchair.CompilerConfig()
graphs.debug.graph_dump.type = "py"
fifth = torch.compile(lambda x: x // 2, backend=torchair.get_npu_backend(compiler_config=graphs))
first(torch.ones(2))
os.chdir("other")
for call in (first, second, third, fourth, fifth, first, second, third, fourth):
    call(torch.ones(2))
"""


def test_a_program_that_changes_its_folder_loses_nothing(tmp_path: Path) -> None:  # T3, T6, T8, T10
    ran(tmp_path, FOLDERS)
    assert not list((tmp_path / "other").iterdir()), "relative paths begin where the config was used first"
    steps = {path.parts[-2] for path in tmp_path.glob("d/worldsize1_global_rank0/*/0/graph_1/1/*/Relu*")}
    assert steps == {"0", "1", "2"}
    assert len(list(tmp_path.glob("worldsize1_global_rank0/*/0/graph_2/1/*/Mul*"))) == 2
    assert len(list(tmp_path.glob("d/*/0/graph_3/1/*/Sub*"))) == 2, "the folder of the config of AscendCL"
    assert {path.parts[-2] for path in tmp_path.glob("worldsize1_global_rank0/graph_4/*/*.npy")} == {"0", "1"}
    assert len(list(tmp_path.glob("dynamo_*_graph_5_*.py"))) == 2
    documents = [json.loads(path.read_text())["dump"] for path in tmp_path.glob("ge_dump_data_json/*.json")]
    assert sorted(one["dump_path"] for one in documents) == [str(tmp_path / f"{part}worldsize1_global_rank0") for part in ("d/", "")]


PASSES = """
calls = []
def note(stage):
    def apply(gm, example_inputs, config):
        calls.append((stage, isinstance(gm, torch.fx.GraphModule), [tuple(value.shape) for value in example_inputs], config is mine))
    return apply
def mark(gm, example_inputs, config):
    note("pre")(gm, example_inputs, config)
    for node in list(gm.graph.nodes):
        if node.target is torch.ops.aten.abs.default:
            with gm.graph.inserting_before(node):
                gm.graph.call_function(torch.ops.air.scope_enter.default, (["_user_stream_label"], ["one"]))
            with gm.graph.inserting_after(node):
                record = gm.graph.call_function(torch.ops.air.record.default)
            with gm.graph.inserting_after(record):
                end = gm.graph.call_function(torch.ops.air.scope_exit.default)
            with gm.graph.inserting_after(end):
                gm.graph.call_function(torch.ops.air.wait.default, ([record],))
mine = settings(enable_dump=True)
mine.post_grad_custom_pre_pass, mine.post_grad_custom_post_pass = mark, note("post")
x = torch.ones(2, 3)
assert torch.equal(torch.compile(lambda x: torch.abs(x) + 1, backend=torchair.get_npu_backend(compiler_config=mine))(x), x + 1)
assert calls == [("pre", True, [(2, 3)], True), ("post", True, [(2, 3)], True)], calls
assert ops("graph_1") == {"Abs", "Add", "arg0_1"}
"""
COPIES = """
backend = torchair.get_npu_backend(compiler_config=settings(enable_dump=True))
torch.compile(lambda x, y: (x.clone() + 1, x.mul(2).copy_(y) + 2), backend=backend)(x, x * 2)
assert {"Identity", "BroadcastTo", "Add", "Add_1", "Mul"} <= ops("graph_2"), ops("graph_2")
"""
TEXTS = """
os.environ["DUMP_GE_GRAPH"] = "2"
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
    def forward(self, x):
        return self.layer(x).cpu() + torch.zeros(3, device="npu")
torchair.install()
torch.compile(Net(), backend=torchair.get_npu_backend())(x)
"""


def test_passes_copies_and_where_operators_come_from(tmp_path: Path) -> None:  # T2, T4, T10
    program = PASSES + COPIES + TEXTS
    ran(tmp_path, program)
    (text,) = [path.read_text() for path in tmp_path.glob("ge_proto_*")]
    assert text.startswith('graph {\n  name: "graph_3"\n  input: "primals_1:0"\n') and text.endswith("}\n")
    assert re.search(r'^  op \{\n    name: "\w+"\n    type: "\w+"$', text, re.MULTILINE)
    assert text.count("{") == text.count("}")
    sources = re.findall(r'tensortap_source"\s*value \{\s*s: "([^"]+)"', text)
    line = next(number for number, words in enumerate((tmp_path / "program.py").read_text().splitlines(), 1) if "self.layer(x)" in words)
    assert len(sources) >= 3 and set(sources) == {f"{tmp_path / 'program.py'}:{line}"}, sources


NAMES = """
def compile(function, **options):
    config = settings(enable_dump=True, **options)
    return torch.compile(function, backend=torchair.get_npu_backend(compiler_config=config))
x = torch.ones(2, 3)
compile(lambda x: torch.relu(x) + 1, dump_layer="Add Nothing")(x)
compile(lambda x: torch.relu(x) * 2, dump_layer="Nothing", dump_mode="output")(x)
def empty(x):
    with torchair.scope.data_dump():
        pass
    return x - 1
def views(x):
    with torchair.scope.data_dump():
        y = x.view(3, 2)
    return y / 2
compile(empty)(x); compile(views)(x); compile(views, dump_layer="arg0_1")(x)
assert ops("graph_1") == {"Add"} and not ops("graph_2")
assert ops("graph_3") == {"Sub", "arg0_1"} and ops("graph_4") == {"RealDiv", "arg0_1"}
"""


def test_names_that_no_graph_has_are_listed_and_scopes_without_operators_said(tmp_path: Path) -> None:  # T5, T8
    _, said = ran(tmp_path, NAMES)
    listed = {}
    for path in tmp_path.glob("ge_dump_data_json/*.json"):
        for entry in json.loads(path.read_text())["dump"]["dump_list"]:
            listed[entry["model_name"]] = entry.get("layer")
    assert listed == {"graph_1": ["Add", "Nothing"], "graph_2": ["Nothing"], "graph_3": None, "graph_4": None, "graph_5": ["arg0_1"]}
    said_of_scopes = [line for line in said.splitlines() if "marks no operator" in line]
    assert [line.rpartition(" in ")[2] for line in said_of_scopes] == [
        "graph_3: every operator of the graph is dumped",
        "graph_4: every operator of the graph is dumped",
        "graph_5: only the operators of dump_layer are dumped",
    ]


ASCENDCL = """
os.mkdir("o")
def compile(function, **dump):
    json.dump({"dump": {"dump_path": "o", "dump_mode": "output", **dump}}, open("acl.json", "w"))
    return torch.compile(function, backend=torchair.get_npu_backend(compiler_config=settings(dump_config_path="acl.json")))
x = torch.ones(2, 3)
listed = [{"model_name": "ResNet-101"}, {"model_name": "graph_1", "layer": ["Add"]}, {"model_name": "graph_9"}]
both = compile(lambda x: torch.relu(x) + 1, dump_list=listed)
both(x); both(x)
os.rename("acl.json", "first.json")
every = compile(lambda x: torch.relu(x) - 1, dump_list=[], dump_op_switch="on")
every(x)
torch.neg(x)
"""


def test_graphs_of_a_config_of_ascendcl_and_names_of_models(tmp_path: Path) -> None:  # T6
    _, said = ran(tmp_path, ASCENDCL)
    files = {path.name.split(".")[0].lower() for path in tmp_path.glob("o/**/*") if path.is_file() and "graph_1" not in path.parts}
    assert {"relu", "sub", "data", "neg"} <= files, "the operators of the graph, and those outside"
    assert {path.name.split(".")[0] for path in tmp_path.glob("o/*/0/graph_1/1/*/*")} == {"Add"}
    lines = [line for line in said.splitlines() if "model_name" in line]
    assert lines == [
        "tensortap: acl.json: model_name: no compiled graph is called ResNet-101; this program has graph_1",
        "tensortap: acl.json: model_name: no compiled graph is called graph_9; this program has graph_1 to graph_2",
    ]


@each_row(
    "dump, words",
    [
        ({"dump_mod": "input", "dump_list": []}, "acl.json:4:1: dump.dump_mod: no such key; did you mean dump_mode?"),
        ({"dump_list": [{"model_name": "graph_1", "layers": ["Add"]}]}, "dump.dump_list.layers: no such key; did you mean layer?"),
    ],
)
def test_a_key_that_does_not_exist_is_refused(tmp_path: Path, dump: dict[str, object], words: str) -> None:  # T6
    text = json.dumps({"dump": {"dump_path": ".", **dump}}, indent=0)
    (tmp_path / "acl.json").write_text(text)
    _, said = ran(tmp_path, 'torchair.get_npu_backend(compiler_config=settings(dump_config_path="acl.json"))', expected=1)
    assert "RuntimeError: acl.json:" in said and words in said
