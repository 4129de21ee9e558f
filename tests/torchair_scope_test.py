"""The scopes of TorchAir: what they mark in a compiled graph, on real torch."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch_support import run_program

pytest.importorskip("tensortap.torchair", reason="the module is not built")

# `marked(model, *inputs)` compiles and runs a model: for each graph that was compiled, the operators of the marked nodes in order.
PRELUDE = """
import torch
import tensortap.torchair as torchair
from tensortap.torchair import scope
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition

def marked(model, *inputs, backward=False, fullgraph=True):
    found = []
    def compiler(graph_module, examples):
        nodes = scope.marked_nodes(graph_module.graph)
        found.append([n.name for n in graph_module.graph.nodes if n in nodes and n.op == "call_function"])
        before = [n.name for n in graph_module.graph.nodes]
        scope.remove_markers(graph_module.graph)
        graph_module.graph.lint(); graph_module.recompile()
        markers = set(before) - {n.name for n in graph_module.graph.nodes}
        assert all("scope_e" in name for name in markers) and not any("scope_e" in n.name for n in graph_module.graph.nodes)
        return make_boxed_func(graph_module.forward)
    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=compiler, partition_fn=default_partition, keep_inference_input_mutations=True)
    got = torch.compile(model, backend=backend, fullgraph=fullgraph, dynamic=False)(*inputs)
    torch.testing.assert_close(got, model(*inputs), rtol=0, atol=0)
    if backward:
        got.sum().backward()
    return found

x, y = torch.randn(2, 2), torch.randn(2, 2)
"""


def run(folder: Path, program: str) -> str:
    """Run a program with torch that uses scopes, and give what it wrote on standard error."""
    done = run_program(folder, PRELUDE + program)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_scope_marks_exactly_what_is_inside(tmp_path: Path) -> None:  # T5
    run(
        tmp_path,
        """
def second(x, y):
    a = x + y
    with torchair.scope.data_dump():
        b = a + y
    return a * b
assert marked(second, x, y) == [["add_1"]], marked(second, x, y)

def nested(x, y):
    a = x + y
    with scope.data_dump():
        b = a - y
        with scope.data_dump():
            c = b * y
        d = c / y
    with scope.limit_core_num(1, 2):
        e = d.relu()
        with scope.data_dump(), scope.op_never_timeout(True):
            f = e.exp()
    with scope.npu_stream_switch("s", 1), scope.super_kernel("k", ""):
        return f.sin()
assert marked(nested, x, y) == [["sub", "mul", "div", "exp"]]

def branches(x, positive):
    with scope.data_dump():
        y = x + 1 if positive else x - 1
    return y * 2
assert marked(branches, x, True) == [["add"]]
assert marked(branches, x, False) == [["sub"]]

def helper(x):
    with scope.data_dump():
        return x.cos()
assert marked(lambda x: helper(x) + helper(x).sin(), x) == [["cos", "cos_1"]]

class Net(torch.nn.Module):
    def forward(self, x, y):
        with torchair.scope.data_dump():
            pass
        return x + y
assert marked(Net(), x, y) == [[]]
""",
    )


def test_training_keeps_the_scope_in_the_forward_graph(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
layer = torch.nn.Linear(2, 2)
def model(x):
    h = layer(x)
    with torchair.scope.data_dump():
        h = h.tanh()
    return h.exp()
forward, backward = marked(model, x, backward=True)
assert forward[0] == "tanh" and set(forward) <= {"tanh", "detach", "detach_1"}, forward  # autograd keeps what tanh returned
assert backward == [], backward
""",
    )


def test_a_scope_does_nothing_outside_of_a_compiled_function(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
with scope.data_dump() as nothing:
    assert nothing is None and torch.equal(x + y, y + x)
try:
    with scope.data_dump():
        raise KeyError("the program's own")
except KeyError:
    pass
for wrong in (None, 1, "True"):
    try:
        scope.op_never_timeout(wrong)
    except TypeError as error:
        assert str(error) == f"op_never_timeout() argument 'enable' must be bool, but got {type(wrong).__name__}."
    else:
        raise AssertionError(wrong)
""",
    )


def test_a_scope_that_does_not_end_in_its_graph_is_an_error(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
def broken(x):
    with scope.data_dump():
        y = x * 2
        torch._dynamo.graph_break()
        z = y + 1
    return z
def inner(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y
def outer(x):
    with scope.op_never_timeout(True):
        return inner(x)
def opened(x):
    torch.ops.air.scope_enter(["torchair_enable_data_dump"], ["True"])
    return x + 1
def closed(x):
    y = x + 1
    torch.ops.air.scope_exit()
    return y
begins, ends = "a with block begins in this graph and does not end in it", "a with block ends in this graph and began outside of it"
for model, words in ((broken, begins), (outer, begins), (opened, begins), (closed, ends)):
    try:
        marked(model, x, fullgraph=False)
    except Exception as error:
        cause = getattr(error, "inner_exception", error)
        assert isinstance(cause, RuntimeError) and str(cause).startswith(f"torchair.scope: {words}. Is there a graph break"), cause
        assert words in str(error).splitlines()[1], error
    else:
        raise AssertionError(model)
""",
    )


def test_operators_that_the_real_system_has_defined_are_used(tmp_path: Path) -> None:
    done = run_program(
        tmp_path,
        """
import torch
library = torch.library.Library("air", "FRAGMENT")
calls = []
library.define("scope_enter(str[] keys, str[] values, bool need_execute=False) -> ()")
library.define("scope_exit(bool need_execute=False) -> ()")
library.impl("scope_enter", lambda keys, values, need_execute=False: calls.append(keys), "CompositeExplicitAutograd")
library.impl("scope_exit", lambda need_execute=False: calls.append("exit"), "CompositeExplicitAutograd")
from tensortap.torchair import scope
with scope.data_dump():
    pass
assert calls == [["torchair_enable_data_dump"], "exit"], calls
""",
    )
    assert done.returncode == 0, done.stderr
