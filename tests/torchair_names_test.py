"""Names of a compiled graph's nodes, and what a name of ``dump_layer`` means. The types are those that TorchAir's own converters gave."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from torchair_graph_support import run

NAMED = """
import json
from tensortap.torchair import _ge_names

def show(graph, name):
    names = _ge_names.name_nodes(graph.graph)
    print(json.dumps([[node.name, named.name, named.type, [part for part, _ in named.parts]] for node, named in names.items()]))
    return graph.forward

def named(function):
    return compiled(function, show)
"""


def names_of(folder: Path, program: str) -> list[dict[str, list[Any]]]:
    """Run a program and give for each of its graphs the names, parts behind them, by FX node."""
    printed, _ = run(folder, NAMED + program)
    graphs = [json.loads(line) for line in printed.splitlines()]
    return [{node: [name, *parts] for node, name, _, parts in graph} for graph in graphs]


# T4
def test_numbers_run_per_type_and_parts_take_numbers_too(tmp_path: Path) -> None:
    [names] = names_of(
        tmp_path,
        """
def program(x, weight, bias):
    hidden = torch.addmm(bias, x, weight)
    return (hidden * 2 + x) * hidden.t().reshape(-1)[0]
named(program)(torch.ones(2, 2), torch.ones(2, 2), torch.ones(2))
""",
    )
    assert names == {
        "arg0_1": ["arg0_1"],
        "arg1_1": ["arg1_1"],
        "arg2_1": ["arg2_1"],
        "addmm": ["MatMulV2", "Mul", "Add"],
        "mul": ["Mul_1", "Cast"],
        "add": ["Add_1"],
        "clone": ["Identity"],
        "_unsafe_view": ["Reshape"],
        "select": ["GatherV2"],
        "mul_1": ["Mul_2", "Cast_1"],
    }


def test_types_follow_overloads_and_dtypes_and_views_have_no_name(tmp_path: Path) -> None:
    [names] = names_of(
        tmp_path,
        """
def program(x, whole):
    values, indices = x.max(dim=1)
    divided = whole / 2
    floored = torch.div(x, 2, rounding_mode="floor")
    return values, indices, x.max(), divided, floored, torch.softmax(x, 1), x.permute(1, 0), torch.cat([x, x]), x.sigmoid(), x.topk(2)
named(program)(torch.ones(3, 4), torch.ones(3, dtype=torch.int64))
""",
    )
    types = {tuple(name) for node, name in names.items() if not node.startswith("arg")}
    assert types == {
        ("ArgMaxWithValue", "Cast"),
        ("ReduceMax",),
        ("RealDiv", "Cast_1"),
        ("FloorDiv",),
        ("SoftmaxV2",),
        ("ConcatV2",),
        ("Sigmoid",),
        ("TopKV2", "Cast_2"),
    }
    assert not [node for node in names if node.startswith(("permute", "getitem"))]


def test_an_input_keeps_its_name_and_no_op_takes_it(tmp_path: Path) -> None:
    printed, _ = run(
        tmp_path,
        NAMED
        + """
graph = torch.fx.Graph()
x = graph.create_node("placeholder", "Add", name="Add")
first = graph.call_function(torch.ops.aten.add.Tensor, (x, 1))
second = graph.call_function(torch.ops.aten.add_.Tensor, (first, 1))
custom = graph.call_function(torch.ops.prims.convert_element_type.default, (second, torch.float64))
graph.output(custom)
show(torch.fx.GraphModule(torch.nn.Module(), graph), "graph_1")
""",
    )
    assert [row[1:3] for row in json.loads(printed)] == [
        ["Add", "Data"],
        ["Add_1", "Add"],
        ["Add_2", "Add"],
        ["ConvertElementType", "ConvertElementType"],
    ]


FIND = (
    NAMED
    + """
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
    def forward(self, x):
        return torch.relu(self.fc(x)) * 2

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])
    def forward(self, x):
        return self.blocks[1](self.blocks[0](x)).sum()

def look(graph, name):
    names = _ge_names.name_nodes(graph.graph)
    for text in TEXTS:
        matches = _ge_names.find(names, text)
        print(json.dumps([text, [[names[match.node].name, match.how] for match in matches]]))
    print(json.dumps([node.name for node in _ge_names.matched(names, "Mul", name)]))
    print(json.dumps(_ge_names.nearest(names, "MatMul_V2")))
    return graph.forward
with torch.no_grad():
    compiled(Net(), look)(torch.ones(2, 4))
"""
)


def test_a_name_is_looked_up_as_a_node_a_part_an_fx_node_and_a_module(tmp_path: Path) -> None:
    texts = [
        "MatMulV2",
        "Mul",
        "addmm_1",
        "t",
        "blocks.0",
        "Net.blocks.1",
        "blocks.1.fc/addmm",
        "Net.blocks.1.fc/addmm_1",
        "nothing",
        "block",
    ]
    printed, reported = run(tmp_path, f"TEXTS = {texts!r}\n" + FIND)
    *found, matched, nearest = (json.loads(line) for line in printed.splitlines())
    assert dict(found) == {
        "MatMulV2": [["MatMulV2", "name"]],
        "Mul": [["MatMulV2", "part"]],
        "addmm_1": [["MatMulV2_1", "fx"]],
        "t": [["arg0_1", "fx"]],
        "blocks.0": [["MatMulV2", "module"], ["Relu", "module"], ["Mul_1", "module"]],
        "Net.blocks.1": [["MatMulV2_1", "module"], ["Relu_1", "module"], ["Mul_3", "module"]],
        "blocks.1.fc/addmm": [["MatMulV2_1", "module"]],
        "Net.blocks.1.fc/addmm_1": [["MatMulV2_1", "module"]],
        "nothing": [],
        "block": [],
    }
    assert matched == ["addmm"]
    assert "Mul of graph_1 is a part of MatMulV2 (addmm, " in reported and "program.py" not in reported.partition("which")[2]
    assert nearest[0] == "MatMulV2"


def test_outputs_of_a_tuple_and_views_lead_to_the_op_that_makes_them(tmp_path: Path) -> None:
    printed, _ = run(
        tmp_path,
        NAMED
        + """
def look(graph, name):
    names = _ge_names.name_nodes(graph.graph)
    for node in graph.graph.nodes:
        if node.op == "call_function" and node not in names:
            maker, slot = _ge_names.maker_of(node, names)
            print(node.name, maker.name, slot)
    return graph.forward
compiled(lambda x: [part.t() + 1 for part in x.split(2)], look)(torch.ones(4, 2))
""",
    )
    assert printed.splitlines() == ["getitem split 0", "getitem_1 split 1", "t split 0", "t_1 split 1"]


LLAMA = """
import math
class RMSNorm(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
    def forward(self, x):
        wide = x.to(torch.float32)
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

def rotated(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)

class Layer(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.last_norm = RMSNorm(width), RMSNorm(width)
        self.q, self.k, self.v, self.o = (torch.nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (torch.nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = torch.nn.Linear(2 * width, width, bias=False)
    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        normed = self.norm(x)
        q, k, v = (part(normed).view(batch, length, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        q, k = q * cos + rotated(q) * sin, k * cos + rotated(k) * sin
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(width // self.heads)
        scores = scores + torch.full((length, length), -1e9).triu(1)
        mixed = torch.matmul(torch.softmax(scores, dim=-1), v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.o(mixed)
        normed = self.last_norm(x)
        return x + self.down(torch.nn.functional.silu(self.gate(normed)) * self.up(normed))

with torch.no_grad():
    named(Layer(16, 2))(torch.randn(2, 3, 16), torch.randn(3, 8), torch.randn(3, 8))
"""


# The types of each node in turn, from the table of types that was recorded with TorchAir's own converters.
LLAMA_TYPES = """
pow_1 Pow, mean ReduceMean, add Add, rsqrt Rsqrt, mul Mul Cast, mul_1 Mul Cast,
mm MatMul, _unsafe_view Reshape, mm_1 MatMul, _unsafe_view_1 Reshape, mm_2 MatMul, _unsafe_view_2 Reshape,
mul_2 Mul Cast, slice_1 StridedSliceV2, neg Neg, slice_2 StridedSliceV2, cat ConcatV2, mul_3 Mul Cast, add_1 Add,
mul_4 Mul Cast, slice_3 StridedSliceV2, neg_1 Neg, slice_4 StridedSliceV2, cat_1 ConcatV2, mul_5 Mul Cast, add_2 Add,
clone Identity, _unsafe_view_3 Reshape, clone_1 Identity, _unsafe_view_4 Reshape, bmm BatchMatMul, div RealDiv, full Fill, triu Triu,
add_3 Add, _softmax SoftmaxV2, clone_2 Identity, _unsafe_view_5 Reshape, bmm_1 BatchMatMul, clone_3 Identity, _unsafe_view_6 Reshape,
mm_3 MatMul, _unsafe_view_7 Reshape, add_4 Add,
pow_2 Pow, mean_1 ReduceMean, add_5 Add, rsqrt_1 Rsqrt, mul_6 Mul Cast, mul_7 Mul Cast,
mm_4 MatMul, _unsafe_view_8 Reshape, silu Swish, mm_5 MatMul, _unsafe_view_9 Reshape, mul_8 Mul Cast, mm_6 MatMul, _unsafe_view_10 Reshape,
add_6 Add
"""


def test_a_layer_of_llama_has_the_names_of_torchair(tmp_path: Path) -> None:  # T4
    [names] = names_of(tmp_path, LLAMA)
    taken: Counter[str] = Counter()
    expected = {}
    for entry in LLAMA_TYPES.replace("\n", " ").split(","):
        node, *types = entry.split()
        expected[node] = []
        for ge_type in types:
            expected[node].append(f"{ge_type}_{taken[ge_type]}" if taken[ge_type] else ge_type)
            taken[ge_type] += 1
    assert {node: parts for node, parts in names.items() if not node.startswith("arg")} == expected
