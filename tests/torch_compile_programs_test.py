"""Compiled functions of unusual kinds under `tensortap exec --compile`: each gives what it gives without capture, whatever the route.

Their numbers are small integers, so that no route rounds them in another way.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import tensortap
from torch_support import Captured, capture, plain

PROGRAM = """
import torch
from torch._higher_order_ops.while_loop import while_loop
torch.set_num_threads(1)
weight = torch.full((4,), 3.)
def no_kernel(x):
    return x @ x
def no_operator(x):
    return x.to(torch.float32)
def chosen(x):
    return torch.cond(x.sum() > 0, lambda y: y * weight, lambda y: y - weight, (x + 1,)) * 2
def loop(x):
    return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x + 0))[1]
def conjugate(x):
    z = torch.complex(x, x)
    return (z * z.conj()).real + torch.view_as_real(z.conj() * 2).sum(-1)
def in_order(x):
    return torch.linalg.inv(x * 2)
with torch.no_grad():
    for function in (no_kernel, no_operator, chosen, loop, conjugate, in_order):
        print(function.__name__, torch.compile(function)(torch.eye(4)).tolist())
"""


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give what the program prints without capture."""
    printed = plain(tmp_path_factory.mktemp("plain"), PROGRAM)
    assert len(printed.splitlines()) == 6
    return printed


def captured(folder: Path, route: str) -> Captured:
    """Run the program by a route."""
    done = capture(folder, PROGRAM, options=["--compile", route])
    assert done.code == 0, done.err
    return done


def test_every_kernel_of_inductor_is_followed(tmp_path: Path, expected: str) -> None:
    done = captured(tmp_path, "inductor-kernels")
    assert done.out == expected
    assert "not captured" not in done.err
    assert done.dump.run["ops"]["not_captured"] == []
    # New memory of a graph inside another one is nothing that its kernel reads.
    bodies = [op for op in done.dump.ops.values() if "fused_add" in op["type"] and op["type"].endswith("_mul") and "gt" not in op["type"]]
    assert [[one["name"] for one in op["inputs"]] for op in bodies] == [["in_ptr0", "in_ptr1"]]


def test_graphs_of_autograd_with_conjugate_views_and_tokens_are_captured(tmp_path: Path, expected: str) -> None:
    done = captured(tmp_path, "aot")
    assert done.out == expected
    assert done.dump.run["ops"]["not_captured"] == []
    assert {"_conj", "view_as_real", "linalg_inv_ex", "cond", "while_loop"} <= {
        op["type"].rpartition(".")[2] for op in done.dump.ops.values()
    }


def test_a_graph_that_does_not_compile_with_dump_nodes_is_compiled_without(tmp_path: Path, expected: str) -> None:
    done = captured(tmp_path, "inductor-nodes")
    assert done.out == expected
    assert "its passes did not run" not in done.err  # a graph without operators has nothing to capture
    assert "it does not compile with dump nodes" in done.err
    assert any("fused" in one["reason"] for one in done.dump.run["ops"]["not_captured"])


REFUSED = """
import torch
def refuse(tensors, site):
    raise RuntimeError("refused")
print(torch.compile(lambda x: (x * 2).sum())(torch.ones(4)).item())
torch.ops.tensortap.dump.default = refuse
print(torch.compile(lambda x: (x * 3).sum())(torch.ones(4)).item())
"""


def test_a_dump_node_that_torch_refuses_is_counted_and_the_program_goes_on(tmp_path: Path) -> None:
    done = capture(tmp_path, REFUSED, options=["--compile", "aot"])
    assert (done.code, done.out) == (0, "8.0\n12.0\n"), done.err
    assert done.dump.run["ops"]["not_captured"][-1]["examples"] == ["torch.compile (1 graph)"]
    assert tensortap("find", tmp_path / "dump").code == 3
