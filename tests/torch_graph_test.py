"""The graph text of MindSpore's tree for a PyTorch program: who made what each op read, under which line of the program."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cli_support import COMMAND, ROOT, tensortap
from torch_support import PYTHON, TorchDump, capture

CHILD = ROOT / "tests/torch/graph_child.py"


@dataclass
class Node:
    """An op of the text."""

    type: str
    operands: list[str]
    types: str = ""
    details: list[str] = field(default_factory=list)

    @property
    def others(self) -> list[str]:
        """What it reads in other calls, "in0 name"."""
        return self.detail("In other calls")

    def detail(self, title: str) -> list[str]:
        """Give the parts of a line "# TITLE: (a, b)"."""
        found = [line for line in self.details if line.startswith(f"# {title}: (")]
        return found[0].removeprefix(f"# {title}: (").removesuffix(")").split(", ") if found else []


@dataclass
class Graph:
    """A file .ir, with ops under their own names instead of numbers."""

    nodes: dict[str, Node]
    parameters: dict[str, bool]
    results: list[str]


def read_graph(path: Path) -> Graph:
    """Read a file .ir."""
    names: dict[str, str] = {}
    graph = Graph({}, {}, [])
    node = Node("", [])

    def named(text: str) -> str:
        return re.sub(r"%\w[^,()\[\] ]*", lambda found: names[found.group()], text)

    lines = path.read_text().splitlines()
    for line in lines:
        if parameter := re.match(r"(%para\d+_(.*?)): <.*IsWeight: (true|false)", line):
            names[parameter[1]] = parameter[2]
            graph.parameters[parameter[2]] = parameter[3] == "true"
        elif made := re.match(r"  (%\d+)\([A-Za-z0-9_.]+\) = .*\) \{instance name: (.*?)\}", line):
            names[made[1]] = made[2]
    for line in lines:
        if made := re.match(r"  (%\d+)\(.*?\) = (\S+?)\((.*)\) \{instance name: ", line):
            node = graph.nodes.setdefault(names[made[1]], Node(made[2], re.findall(r"\(.*?\)|[^,() ][^,]*", named(made[3]))))
        elif line.startswith("      : ("):
            node.types = node.types or line.removeprefix("      : ")
        elif line.startswith("      # "):
            node.details.append(named(line.strip()))
        elif line.startswith("  Return("):
            graph.results = named(line.removeprefix("  Return(").removesuffix(")")).split(", ")
    return graph


def mindspore_graph(folder: Path, program: Path, *arguments: str, iteration: str = "all", saved: str = "statistic") -> Path:
    """Capture a program with a MindSpore config and return the tree."""
    config = folder / "config.json"
    common = {"op_debug_mode": 0, "dump_mode": 0, "path": str(folder / "tree"), "net_name": "Net", "iteration": iteration}
    common |= {"saved_data": saved, "input_output": 0, "kernels": [], "support_device": [0]}
    config.write_text(json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True, "trans_flag": True}}))
    words = [str(COMMAND), "exec", "--config", str(config), "--", PYTHON, str(program), *arguments]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "tree/rank_0"


def ir_of(tree: Path) -> Graph:
    """Read the tree's graph."""
    return read_graph(tree / "graphs/ms_output_trace_code_graph_0.ir")


PROGRAM = """\
import torch
weight = torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
optimizer = torch.optim.SGD([weight], lr=0.5)
for _ in range(3):
    x = torch.ones(2, 2)
    left, right = x.split(1, dim=1)
    both = torch.stack([right, left])
    largest, where = (x @ weight).max(dim=1)
    written = torch.zeros(3)
    written.add_(1.0)
    late = written.sum() + largest.sum()
    (late * both.mean()).backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Capture a small program whose graph is known by hand."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "small.py").write_text(PROGRAM)
    return mindspore_graph(folder, folder / "small.py", iteration="1-2")


# M19
def test_every_op_names_who_made_what_it_read(small: Path) -> None:
    graph = ir_of(small)
    reads = {name: node.operands for name, node in graph.nodes.items()}
    assert reads["split"] == ["ones"]
    assert reads["stack"] == ["(split[1], split[0])"]
    assert reads["mm"][0] == "ones"
    assert reads["max"] == ["mm"]
    assert reads["add_"][0] == "zeros"
    assert reads["sum"] == ["add_"], "the op reads what was written last"
    assert reads["sum_1"] == ["max[0]"]
    assert reads["add"] == ["sum", "sum_1"]
    assert reads["mean"] == ["stack"]
    assert reads["mul"] == ["add", "mean"]
    assert graph.nodes["max"].types.endswith("-> (<Tensor[Float32], (2)>, <Tensor[Int64], (2)>)")


def test_weights_are_parameters_and_the_optimizer_closes_the_circle(small: Path) -> None:
    graph = ir_of(small)
    (weight,) = [name for name, is_weight in graph.parameters.items() if is_weight]
    assert graph.nodes["mm"].operands[1] == weight
    assert graph.nodes["mm"].others == ["in1 SGD.step/add_"], "of the second step: what the first one's update left"
    assert graph.nodes["SGD.step/add_"].operands[0] == weight
    assert graph.nodes["SGD.step/add_"].others == ["in0 SGD.step/add_"]


def test_every_op_stands_under_its_line(small: Path) -> None:
    graph = ir_of(small)
    lines = {name: number for number, line in enumerate(PROGRAM.splitlines(), 1) for name in graph.nodes if f"{name}(" in line}
    assert {"split", "stack", "add_"} <= lines.keys()
    for name, number in lines.items():
        assert f"# In file small.py:{number}/" in graph.nodes[name].details
    found = tensortap("find", small, "--source", "small.py:7", "--json").object
    assert [op["op"].split("/")[1] for op in found["ops"] if "Backward" not in op["op"]] == ["stack"]


def test_find_walks_back_along_the_graph_of_the_tree(tmp_path: Path) -> None:
    program = tmp_path / "nan.py"
    program.write_text(
        "import torch\nx = torch.arange(3.0)\ninverse = 1 / x\nshifted = inverse - 1\nprint(torch.relu(shifted).sum().item())\n"
    )
    tree = mindspore_graph(tmp_path, program, saved="tensor")
    report = tensortap("find", tree, "--json").object
    assert report["first_nonfinite"]["source"] == "nan.py:3"
    (origin,) = report["origins"]
    assert (origin["kind"], origin["certain"]) == ("op", True)
    assert origin["chain"][0]["type"] == "reciprocal"


def executions(dump: TorchDump) -> list[tuple[str, int]]:
    """Name every execution by op and call, in order."""
    ops = dump.ops
    return list(dict.fromkeys((ops[int(row["op"])]["name"], int(row["call"])) for row in dump.rows))


TRACED_AS = {"zeros": "new_zeros", "scatter_": "scatter", "add_": "add", "_reshape_alias": "view"}
"""The calls of the program, and those of torch.fx in their place, where a traced tensor is not a plain one."""


def flat(operands: list[str]) -> list[str]:
    """Give the tensors that were read, those of sequences too."""
    return [part for text in operands if text != "None" for part in text.strip("()").split(", ")]


def test_a_real_models_graph_is_the_one_that_fx_traces(tmp_path: Path) -> None:
    asked = subprocess.run([PYTHON, str(CHILD), "trace"], capture_output=True, text=True, timeout=240, check=True)
    traced: list[dict[str, Any]] = json.loads(asked.stdout)
    done = capture(tmp_path, CHILD, "run")
    assert done.code == 0, done.err
    tensortap("convert", done.dump.folder, tmp_path / "tree", "--to", "mindspore")
    graph = ir_of(tmp_path / "tree/rank_0")
    everything = executions(done.dump)
    begin = next(number for number, call in enumerate(everything) if "native_layer_norm" in call[0])
    ran = everything[begin:]
    outside = {*graph.parameters, *(name for name, _ in everything[:begin])}
    types = [graph.nodes[name].type for name, _ in ran]
    assert [TRACED_AS.get(one, one) for one in types] == [TRACED_AS.get(one, one) for call in traced if (one := call["op"].split(".")[1])]
    wrong = []
    compared = 0
    for (name, call), expected in zip(ran, traced, strict=True):
        operands = flat(graph.nodes[name].operands)
        elsewhere = [other.split(" ")[1] for other in graph.nodes[name].others]
        for position, read in enumerate(expected["reads"]):
            if graph.nodes[name].type == "zeros":
                continue  # fx has it read what it is like
            found = operands[position : position + 1] if call == 0 else [*operands, *elsewhere]
            # A view of all elements in the same order is the same tensor for code that looks at memory.
            found += [graph.nodes[one].operands[0] for one in found if one in graph.nodes and graph.nodes[one].type == "expand"]
            if read is None:
                fits = bool(outside & set(found))
            else:
                maker = ran[read[0]][0]
                fits = f"{maker}[{read[1]}]" in found or (read[1] == 0 and maker in found)
            compared += 1
            if not fits:
                wrong.append((name, call, position, read and ran[read[0]][0], found))
    assert not wrong
    assert compared > 150
