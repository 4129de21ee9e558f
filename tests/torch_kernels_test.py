"""The kernels of Inductor as ops (`exec --compile inductor-kernels`), against the same program without capture and without a compiler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import tensortap
from torch_support import INPUT, OUTPUT, Captured, capture, plain, run_program

# Compiled code keeps float32 between two operators of bfloat16 (../shared/cases/torch/rope.py).
ROPE = """
import sys, torch
torch.manual_seed(0)
torch.set_num_threads(1)
class Rope(torch.nn.Module):
    def forward(self, q, c, n):
        a, b = q.chunk(2, -1)
        return torch.cat([a * c - b * n, b * c + a * n], -1)  # line R
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.rope, self.o = torch.nn.Linear(16, 16), Rope(), torch.nn.Linear(16, 4)
    def forward(self, x, c, n):
        return self.o(self.rope(self.q(x), c, n))  # line L
net = Net().bfloat16()
t = torch.arange(6.)[:, None] * torch.arange(8.)[None]
run = net if "eager" in sys.argv else torch.compile(net)
with torch.no_grad():
    print(run(torch.randn(6, 16).bfloat16(), t.cos().bfloat16(), t.sin().bfloat16()).float().sum().item().hex())
"""

# A kernel that is called twice, kernels that work in place, buffers that are used again, a buffer of a module that is written.
TRAINING = """
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)
        self.register_buffer("seen", torch.zeros(8))
    def forward(self, x):
        self.seen.add_(x.detach().mean(0))
        a, b = self.linear(self.norm(x)).chunk(2, -1)
        return torch.cat([a.relu(), b * b.exp() * a], -1)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([Part(), Part(), Part()])
    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x.square().mean()
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
compiled = torch.compile(net)
for _ in range(2):
    optimizer.zero_grad()
    loss = compiled(torch.randn(4, 8))
    loss.backward()
    optimizer.step()
    print(loss.item().hex(), [value.double().sum().item().hex() for value in net.state_dict().values()])
    print("seen", net.parts[0].seen.tolist())
"""


@pytest.fixture(scope="module")
def ropes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run the program plain and by three routes; the compiled kernels are made once."""
    folder = tmp_path_factory.mktemp("rope")
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
    runs: dict[str, Any] = {"folder": folder}
    for route in ("eager", "inductor-kernels", "inductor-nodes"):
        place = folder / route
        place.mkdir()
        words = ["eager"] if route == "eager" else []
        done = capture(place, ROPE, *words, options=["--full", "--compile", route], environment=cache)
        assert done.code == 0, done.err
        runs[route] = done
    return runs


def compared(ropes: dict[str, Any], route: str) -> tuple[dict[str, Any], list[str]]:
    """Compare the program without a compiler with a route; gives the summary as JSON, and the lines of the text."""
    a, b = ropes["folder"] / "eager/dump", ropes["folder"] / route / "dump"
    lines = tensortap("compare", "--json", a, b).out.splitlines()
    return json.loads(lines[-1])["summary"], tensortap("compare", a, b).out.splitlines()


def test_a_compiled_program_runs_as_it_does_without_capture(ropes: dict[str, Any], tmp_path: Path) -> None:
    assert ropes["inductor-kernels"].out == plain(tmp_path, ROPE) != ropes["eager"].out
    # The dump nodes of the other route change what is fused, and so the result.
    assert ropes["inductor-nodes"].out == ropes["eager"].out


def test_a_kernel_is_an_op_with_the_nodes_that_it_fuses(ropes: dict[str, Any]) -> None:
    dump = ropes["inductor-kernels"].dump
    assert dump.run["ops"]["not_captured"] == []
    number, kernel = next((number, op) for number, op in dump.ops.items() if op["domain"] == "inductor")
    text = (ropes["folder"] / "inductor-kernels/program.py").read_text().splitlines()
    line = next(number for number, one in enumerate(text, 1) if one.endswith("# line R"))
    assert (kernel["module"], kernel["source"]) == ("Net.rope", f"program.py:{line}")
    fused = [one.partition(" ")[0] for one in kernel["attributes"]["fuses"]]
    assert [name for name in fused if name != "split"] == ["mul", "mul", "sub", "mul", "mul", "add"]
    assert all(f"program.py:{line}" in one for one in kernel["attributes"]["fuses"] if not one.startswith("split"))
    rows = dump.rows[dump.rows["op"] == number]
    assert rows[rows["slot_kind"] == INPUT]["shape"][:, :2].tolist() == [[6, 16], [6, 8], [6, 8]]
    assert rows[rows["slot_kind"] == OUTPUT]["shape"][:, :2].tolist() == [[6, 8], [6, 8]]
    # Operators that the code calls are in their modules.
    assert {op["name"] for op in dump.ops.values() if op["type"] == "addmm"} == {"Net.q/addmm", "Net.o/addmm"}


def test_compare_finds_the_difference_where_the_program_is_compiled(ropes: dict[str, Any]) -> None:
    summary, text = compared(ropes, "inductor-kernels")
    assert text[0].endswith("settings differ: torch_compile not used in A, inductor-kernels in B")
    assert summary["settings"] == [{"name": "torch_compile", "a": "not used", "b": "inductor-kernels"}]
    assert [one["type"] for one in summary["born"]] == ["inductor.cpp_fused_add_mul_split_sub"]
    assert summary["first_differing"]["b"].startswith("Net.rope/")
    assert not summary["outside"]
    assert "same computation, other rounding in 1 op" in text[1]


def test_a_route_that_rounds_as_eager_code_says_so(ropes: dict[str, Any]) -> None:
    summary, text = compared(ropes, "inductor-nodes")
    assert summary["born"] == []
    assert text[0].endswith("torch_compile not used in A, inductor-nodes in B")
    said = "a difference that fusing makes is not in this dump (--compile inductor-kernels captures the fused kernels)"
    done = ropes["inductor-nodes"]
    dump = ropes["folder"] / "inductor-nodes/dump"
    assert said in done.err
    assert said in tensortap("find", dump).out
    assert said in json.loads(tensortap("find", dump, "--json").out)["compile_route"]
    assert said in tensortap("show", dump, "Net.o/addmm:out0").out
    for other in ("eager", "inductor-kernels"):
        assert said not in ropes[other].err


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Captured]:
    """Train by the route."""
    folder = tmp_path_factory.mktemp("training")
    done = capture(folder, TRAINING, options=["--full", "--compile", "inductor-kernels"])
    assert done.code == 0, done.err
    return folder, done


def test_training_has_the_same_bits_and_no_false_finding(training: tuple[Path, Captured], tmp_path: Path) -> None:
    folder, done = training
    assert done.out == plain(tmp_path, TRAINING)
    assert done.dump.run["ops"]["not_captured"] == []
    found = tensortap("find", folder / "dump", "--json")
    assert (found.code, json.loads(found.out)["unwritten"]) == (0, [])
    # No kernel reads what an earlier owner of its memory left there.
    kernels = [number for number, op in done.dump.ops.items() if op["domain"] == "inductor"]
    rows = done.dump.rows[np.isin(done.dump.rows["op"], kernels)]
    assert len(kernels) >= 6
    assert float(np.nanmax(rows["absmax"])) < 1e4
    assert int(rows["nan"].sum() + rows["pos_inf"].sum() + rows["neg_inf"].sum()) == 0


def test_kernels_that_write_in_place_have_what_was_there_before(training: tuple[Path, Captured]) -> None:
    _, done = training
    seen = [json.loads(line.removeprefix("seen ")) for line in done.out.splitlines() if line.startswith("seen")]
    ops = {number: op for number, op in done.dump.ops.items() if op["domain"] == "inductor"}
    reads = [(number, slot) for number, op in ops.items() for slot, one in enumerate(op["inputs"]) if one["name"] == "parts.0.seen"]
    number, slot = reads[-1]
    rows = done.dump.rows[
        (done.dump.rows["op"] == number) & (done.dump.rows["slot_kind"] == INPUT) & (done.dump.rows["slot_index"] == slot)
    ]
    largest = [max(abs(value) for value in values) for values in [[0.0], seen[0]]]
    assert np.allclose(rows["absmax"].tolist(), largest, rtol=1e-6)
    made = done.dump.rows[(done.dump.rows["op"] == number) & (done.dump.rows["slot_kind"] == OUTPUT)]
    assert any(np.isclose(value, max(abs(one) for one in seen[1]), rtol=1e-6) for value in made["absmax"].tolist())


def test_two_calls_of_a_kernel_are_two_ops_in_their_modules(training: tuple[Path, Captured]) -> None:
    _, done = training
    ops = [op for op in done.dump.ops.values() if op["domain"] == "inductor" and "CompiledFunctionBackward" not in op["name"]]
    modules = {op["module"] for op in ops if "layer_norm" in op["type"] and "relu" in op["type"]}
    assert modules == {"Net.parts.1.norm", "Net.parts.2.norm"}


INSTANCES = """
import torch
torch.manual_seed(0)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.act = torch.nn.Linear(8, 8), torch.nn.GELU()
    def forward(self, x):
        return self.act(self.linear(x)) * 2 + x
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(), Block()])
        for block in self.blocks:
            block.compile()
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
with torch.no_grad():
    print(Net()(torch.randn(4, 8)).sum().item().hex())
"""


def test_instances_that_share_a_graph_have_their_own_ops(tmp_path: Path) -> None:
    done = capture(tmp_path, INSTANCES, options=["--compile", "inductor-kernels"])
    assert (done.code, done.out) == (0, plain(tmp_path, INSTANCES)), done.err
    names = [op["name"] for op in done.dump.ops.values() if op["name"].startswith("Net.")]
    assert [name for name in names if name.endswith("/addmm")] == ["Net.blocks.0.linear/addmm", "Net.blocks.1.linear/addmm"]
    kernels = [op["module"] for op in done.dump.ops.values() if op["domain"] == "inductor"]
    assert kernels == ["Net.blocks.0", "Net.blocks.1"]
    weights = [[one["name"] for one in op["inputs"]][2] for op in done.dump.ops.values() if op["type"] == "addmm"]
    assert weights == ["blocks.0.linear.weight", "blocks.1.linear.weight"]


def test_kernels_that_cannot_be_followed_are_counted(tmp_path: Path) -> None:
    # A release whose code compiles its kernels by another function.
    program = """
import torch
from torch._inductor import graph
plain = graph.GraphLowering.codegen
def codegen(self):
    result = plain(self)
    value = result[0]
    value.value = value.value.replace("async_compile.cpp_pybinding(", "async_compile.cpp_other(")
    return result
graph.GraphLowering.codegen = codegen
from torch._inductor.async_compile import AsyncCompile
AsyncCompile.cpp_other = AsyncCompile.cpp_pybinding
print(torch.compile(lambda x: (x + 1).exp().sum())(torch.ones(4)).item())
"""
    done = capture(tmp_path, program, options=["--compile", "inductor-kernels"])
    assert done.code == 0, done.err
    assert "the kernels of a graph of torch.compile are not captured: a kernel of the kind cpp_other" in done.err
    assert done.dump.run["runtime"]["graphs_without_kernels"] == [
        {"reason": "a kernel of the kind cpp_other (cpp_fused_add_exp_sum_0)", "count": 1}
    ]
    assert done.dump.run["ops"]["not_captured"][0]["examples"] == ["torch.compile (1 graph)"]
    assert tensortap("find", tmp_path / "dump").code == 3


READS = '''
from tensortap._torch.generated_kernels import calls_in, kernels_in
CODE = """
cpp_fused_first_0 = async_compile.cpp_pybinding(['const float*', 'float*', 'float*', 'const int64_t'], r\'\'\'
extern "C"  void  kernel(const float* in_ptr0,
                       float* in_out_ptr0,
                       float* out_ptr0,
                       const int64_t ks0)
\'\'\')
cpp_fused_own_1 = async_compile.cpp_pybinding(['const float*', 'float*'], r\'\'\'
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0)
\'\'\')
def call(args):
    arg0_1, s0 = args
    buf0 = empty_strided_cpu((4, ), (1, ), torch.float32)
    buf1 = empty_strided_cpu((4, ), (1, ), torch.float32)
    cpp_fused_first_0(arg0_1, buf0, buf1, s0)
    buf2 = buf0; del buf0  # reuse
    buf3 = reinterpret_tensor(buf1, (2, 2), (2, 1), 0); del buf1  # reuse
    cpp_fused_first_0(arg0_1, buf2, buf3, s0)
    cpp_fused_first_0(arg0_1, buf2, buf3, s0)
    buf6 = empty_strided_cpu((8, ), (1, ), torch.float32)
    buf4 = reinterpret_tensor(buf6, (4, ), (1, ), 0)  # alias
    cpp_fused_own_1(buf6, buf4)
    cpp_fused_own_1(buf6, buf4)
    buf7 = empty_strided_cpu((8, ), (1, ), torch.float32)
    cpp_fused_own_1(buf7, arg0_1)
    return (buf2, buf3, )
"""
kernels = {one.name: one for one in kernels_in(CODE)}
for call in calls_in(CODE, set(kernels)):
    print(call.kernel, sorted(call.reads(kernels[call.kernel].parameters)))
'''


def test_new_and_reused_memory_is_nothing_that_a_kernel_reads(tmp_path: Path) -> None:
    done = run_program(tmp_path, READS)
    assert done.stdout.splitlines() == [
        "cpp_fused_first_0 [0]",  # both buffers are new
        "cpp_fused_first_0 [0, 1]",  # the first works in place on an earlier result, the second is memory that is used again
        "cpp_fused_first_0 [0, 1, 2]",  # both hold what the kernel made before
        "cpp_fused_own_1 []",  # it reads what it writes itself
        "cpp_fused_own_1 [0, 1]",
        "cpp_fused_own_1 [0, 1]",  # nothing was written to the new memory that it reads: that is a finding
    ], done.stderr
