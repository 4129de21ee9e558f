"""Texts of graphs, the summary of operators and the saved tensors of the aclgraph modes."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from torchair_graph_support import run

TEXT = """
from tensortap.torchair import _ge_names, _graph_text

def program(x, weight, bias):
    return torch.addmm(bias, x, weight.t()).relu().sum()

def write(runner):
    def look(graph, name):
        runner(graph, _ge_names.name_nodes(graph.graph), name)
        return graph.forward
    inputs = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4)
    assert torch.equal(compiled(program, look)(*inputs), program(*inputs))
"""


def message_of(text: str) -> list[dict[str, Any]]:
    """Read a protobuf text by the rules of msprobe: " {" opens, ": " divides, "}" closes. Gives the blocks at the top."""
    top: list[dict[str, Any]] = []
    stack: list[dict[str, Any]] = []
    for line in (line.strip() for line in text.splitlines()):
        if line.endswith(" {"):
            block: dict[str, Any] = {}
            (stack[-1].setdefault(line[:-2], []) if stack else top).append(block)
            stack.append(block)
        elif ": " in line:
            key, value = line.split(": ")  # exactly two, or msprobe fails
            if stack:
                stack[-1].setdefault(key, []).append(value.strip('"'))
        else:
            assert line == "}"
            stack.pop()
    assert not stack
    return top


def attributes(block: dict[str, Any]) -> dict[str, str]:
    return {attr["key"][0]: next(iter(attr["value"][0].values()))[0] for attr in block.get("attr", [])}


# T4
def test_the_text_of_a_graph_has_names_edges_and_where_each_op_comes_from(tmp_path: Path) -> None:
    run(tmp_path, TEXT + "write(_graph_text.dump_ge_graph)\n", DUMP_GE_GRAPH="1")
    text = (tmp_path / "ge_proto_00000000_graph_1_Build.txt").read_text()
    (graph,) = message_of(text)
    assert graph["name"] == ["graph_1"] and graph["input"] == ["arg0_1:0", "arg1_1:0", "arg2_1:0"]
    ops = {op["name"][0]: op for op in graph["op"]}
    assert list(ops) == ["arg0_1", "arg1_1", "arg2_1", "MatMulV2", "Relu", "ReduceSum", "NetOutput"]
    matmul = ops["MatMulV2"]
    assert matmul["type"] == ["MatMulV2"]
    assert [desc["name"][0] for desc in matmul["input_desc"]] == ["self", "mat1", "mat2"]
    assert [attributes(desc)["tensortap_fx"] for desc in matmul["input_desc"]][2] == "t"
    assert all(edge.startswith("arg") for edge in matmul["input"])  # the view is left out
    assert ops["Relu"]["input"] == ["MatMulV2:0"]
    told = attributes(matmul)
    assert re.search(r"/program\.py:\d+$", told["tensortap_source"])
    assert told["tensortap_fx"] == "addmm" and told["tensortap_parts"] == "Mul Add"
    [output] = matmul["output_desc"]
    assert attributes(output)["_fx_tensor_name"] == "addmm-aten.addmm.default.OUTPUT.0"
    assert output["dtype"] == ["DT_FLOAT"] and output["shape"][0]["dim"] == ["2", "4"]


def test_a_level_of_three_has_names_types_and_edges_only(tmp_path: Path) -> None:
    run(tmp_path, TEXT + "write(_graph_text.dump_ge_graph)\n", DUMP_GE_GRAPH="3", DUMP_GRAPH_PATH=str(tmp_path / "new/folder"))
    [path] = (tmp_path / "new/folder").iterdir()
    for op in message_of(path.read_text())[0]["op"]:
        assert set(op) <= {"name", "type", "input"}


def test_constants_have_their_values_at_the_first_level_alone(tmp_path: Path) -> None:
    program = """
from tensortap.torchair import _ge_names, _graph_text
graph = torch.fx.Graph()
constant = graph.get_attr("constant")
graph.output(graph.call_function(torch.ops.aten.add.Tensor, (constant, 1.5)))
root = torch.nn.Module()
root.constant = torch.tensor([0.5, -2.0])
module = torch.fx.GraphModule(root, graph)
for level in (1, 2):
    print(_graph_text.ge_graph_text(module, _ge_names.name_nodes(module.graph), "graph_1", level), end="-----\\n")
"""
    printed, _ = run(tmp_path, program)
    first, second = (message_of(text) for text in printed.split("-----\n")[:2])
    assert first[0]["attr"][0]["value"][0]["list"][0]["f"] == ["0.5", "-2.0"]
    assert "value" not in attributes(second[0])
    assert attributes(second[1])["other"] == "1.5"


def test_an_unknown_level_writes_nothing_and_is_reported(tmp_path: Path) -> None:
    _, reported = run(tmp_path, TEXT + "write(_graph_text.dump_ge_graph)\n", DUMP_GE_GRAPH="4")
    assert "DUMP_GE_GRAPH=4: the value is unknown, no graph is written; valid: 1, 2, 3" in reported
    assert not list(tmp_path.glob("ge_proto*"))


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    _, reported = run(tmp_path, TEXT + "write(_graph_text.dump_ge_graph)\n", DUMP_GE_GRAPH="2", DUMP_GRAPH_PATH=str(tmp_path / "file"))
    assert "the graph is not written" in reported


def test_names_of_files_and_modules_do_not_break_the_text(tmp_path: Path) -> None:
    printed, _ = run(
        tmp_path,
        """
from tensortap.torchair._proto_text import quoted
print(quoted('a: b {c} "d" \\\\ \\n Größe'))
""",
    )
    assert printed.strip() == '"a:\\040b\\040{c} \\"d\\" \\\\ \\012 Gr\\303\\266\\303\\237e"'


@pytest.mark.parametrize("kind", ["txt", "pbtxt", "py"])
def test_the_two_files_of_a_graph_dump(tmp_path: Path, kind: str) -> None:
    run(
        tmp_path,
        TEXT
        + f"""
settings = config(graph_dump=("{kind}", "graphs/below"))
write(lambda *graph: [_graph_text.write_graph_dump(*graph, settings, stage) for stage in ("original", "optimized")])
""",
    )
    paths = sorted((tmp_path / "graphs/below").iterdir())
    pattern = r"dynamo_(optimized|original)_graph_1_rank_0_pid_\d+_ts_\d{20}\." + kind
    assert [bool(re.fullmatch(pattern, path.name)) for path in paths] == [True, True]
    assert [path.stat().st_mode & 0o137 for path in paths] == [0, 0]
    text = paths[0].read_text()
    if kind == "py":
        assert re.search(
            r'# File ".*program\.py", line \d+\n## FX Code: t: float32\[3, 4\]cpu = aten\.t\.default\(arg\d_1: float32\[4, 3\]cpu\)', text
        )
        assert 'node_name="MatMulV2")' in text
        compile(text, "builder", "exec")
    else:
        names = [block["name"][0] for block in message_of(text)]
        assert names[-4:] == ["MatMulV2", "Relu", "ReduceSum", "NetOutput"]


def test_the_aclgraph_modes_have_python_code_only(tmp_path: Path) -> None:
    program = """
settings = config(mode="reduce-overhead", graph_dump=("KIND", "graphs"))
write(lambda *graph: _graph_text.write_graph_dump(*graph, settings))
"""
    _, reported = run(tmp_path, TEXT + program.replace("KIND", "txt"), expected=1)
    assert 'graph_dump.type txt is not supported in mode reduce-overhead; set it to "py"' in reported
    run(tmp_path, TEXT + program.replace("KIND", "py"))
    [path] = (tmp_path / "graphs").iterdir()
    assert "torch.ops.aten.addmm.default" in path.read_text()


# T10
def test_the_summary_counts_the_calls_of_each_operator(tmp_path: Path) -> None:
    printed, _ = run(
        tmp_path,
        """
from tensortap.torchair._fx_summary import write_fx_summary
def look(graph, name):
    example = [node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder"]
    print(write_fx_summary(graph, example))
    return graph.forward
compiled(lambda x: ((x + 1) + 2).to(torch.float64).split(1), look)(torch.ones(2, 3))
""",
    )
    content = (tmp_path / printed.strip()).read_bytes()
    assert re.fullmatch(r"\./summary_rank_0_pid_\d+_ts_\d{20}\.csv", printed.strip())
    assert content.startswith(b"\xef\xbb\xbf")
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8-sig")))
    assert header == ["目标函数", "函数类型", "支持状态", "调用次数", "输入统计", "输出统计"]
    by_target = {row[0]: row[1:] for row in rows}
    add = by_target["aten.add.Tensor"]
    assert add == ["aten", "已支持", "2", "1次：(float32(2, 3), 1)\n1次：(float32(2, 3), 2)", "2次：float32(2, 3)"]
    assert by_target["aten._to_copy.default"][3] == "1次：(float32(2, 3),), {'dtype': torch.float64}"
    assert by_target["<built-in function getitem>"][0] == "builtin"


def test_the_aclgraph_modes_save_every_tensor(tmp_path: Path) -> None:
    printed, _ = run(
        tmp_path,
        """
import json
from tensortap.torchair._aclgraph import with_saved_nodes
def program(x):
    first, second = (x + 1).split(1)
    return first * second
step = compiled(program, lambda graph, name: with_saved_nodes(graph, "saved/worldsize1_global_rank0").forward)
x = torch.arange(6.0).reshape(2, 3)
for _ in range(2):
    assert torch.equal(step(x), program(x))
os.chdir("saved/worldsize1_global_rank0")
saved = {path: torch.load(path, weights_only=True) for path in os.listdir()}
assert all(tensor.untyped_storage().nbytes() == tensor.numel() * 4 for tensor in saved.values())
print(json.dumps({path: tensor.tolist() for path, tensor in sorted(saved.items())}))
""",
    )
    once = {
        "add": [[1, 2, 3], [4, 5, 6]],
        "arg0_1": [[0, 1, 2], [3, 4, 5]],
        "getitem": [[1, 2, 3]],
        "getitem_1": [[4, 5, 6]],
        "mul": [[4, 10, 18]],
    }
    assert json.loads(printed) == {f"{name}_{count}.pt": values for name, values in once.items() for count in (0, 1)}


def test_a_tensor_that_cannot_be_saved_leaves_the_results(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    _, reported = run(
        tmp_path,
        """
from tensortap.torchair._aclgraph import with_saved_nodes
step = compiled(lambda x: x + 1, lambda graph, name: with_saved_nodes(graph, "file/below").forward)
assert step(torch.ones(2)).tolist() == [2, 2]
""",
    )
    assert reported.count("the program goes on") == 1
