"""Programs written for the device, on the CPU: its tensors, its names and what else they call of torch_npu and TorchAir."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from torch_support import run_program

pytest.importorskip("tensortap.torchair", reason="the module is not built")


def stand_in(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run the text of a program under ``python -m tensortap.torchair``."""
    return run_program(folder, program, "-m", "tensortap.torchair")


def fine(done: subprocess.CompletedProcess[str]) -> str:
    """Give the standard output of a program that ended well."""
    assert done.returncode == 0, done.stderr
    return done.stdout


WITHOUT_TORCH_NPU = """
import logging
import torch
import torchair
torchair.logger.setLevel(logging.DEBUG)

class Net(torch.nn.Module):
    def forward(self, x, y):
        added = torch.add(x, y)
        with torchair.scope.data_dump():
            difference = torch.sub(x, y)
        return added, difference, torch.mul(x, y)

x, y = torch.randn(2, 2, dtype=torch.float16).npu(), torch.randn(2, 2, dtype=torch.float16).npu()
config = torchair.CompilerConfig()
config.dump_config.enable_dump = True
config.dump_config.dump_layer = " Add "
torch.npu.set_device("npu:3")
net = torch.compile(Net().npu(), fullgraph=True, backend=torchair.get_npu_backend(compiler_config=config), dynamic=False)
net(x, y)
assert torch.equal(torch.compile(lambda x: x + 1, backend="npu")(x), x + 1)
"""


def test_a_program_that_imports_torch_and_torchair_alone_has_the_device(tmp_path: Path) -> None:  # T5, T8, T9
    done = stand_in(tmp_path, WITHOUT_TORCH_NPU)
    fine(done)
    files = [path.name.split(".")[:2] for path in tmp_path.glob("worldsize1_global_rank0/*/3/graph_1/1/0/*")]
    assert sorted(files) == [["Add", "Add"], ["Data", "arg0_1"], ["Data", "arg1_1"], ["Sub", "Sub"]], "the chosen device is in the path"
    assert done.stderr.count("tensortap:") == 1
    assert "torch_npu is not installed; a stand-in runs this program on the CPU" in done.stderr


DEVICE = """
import copy, io, pickle, warnings
import torch, torch_npu
x = torch.randn(2, 2)
y = x.npu()
before = x.clone()
y.add_(1)
assert torch.equal(x, before) and y.npu() is y and y.to("npu:0") is y and y.to(y.device) is y
back = y.cpu()
y.zero_()
assert not torch.equal(back, y) and back.cpu() is back
z = y + 1
host = z.cpu()
z.zero_()
assert torch.equal(host, torch.ones(2, 2))
net = torch.nn.Linear(2, 2)
weight, parameter = net.weight.data, net.weight
assert net.npu() is net and net.npu(0) is net and net.to("npu") is net and net.to(device="npu:0") is net and net.weight is parameter
with torch.no_grad():
    net.weight.add_(1)
assert not torch.equal(weight, net.weight)
leaf = torch.ones(2, requires_grad=True)
(leaf.npu() * 2 + leaf.to("npu") + leaf.to(device="npu", dtype=torch.float64)).sum().backward()
assert leaf.grad.tolist() == [4, 4]

for name in ("npu", "npu:0", torch.device("npu"), torch.device("npu:1"), torch.device("npu", 0), torch.device(type="npu")):
    assert torch.zeros(2, device=name).device.type == "cpu"
made = [torch.tensor([1.0], device="npu"), torch.as_tensor([1.0], device="npu"), torch.ones_like(x, device="npu"),
        torch.arange(3, device="npu"), x.new_full((2,), 1.0, device="npu"), torch.nn.Linear(2, 2, device="npu").weight,
        torch.randperm(3, device="npu", generator=torch.Generator(device="npu"))]
assert all(value.device == torch.device("cpu") for value in made)
assert type(torch.device("cpu")) is torch.device and isinstance(torch.Generator(), torch.Generator)
assert pickle.loads(pickle.dumps(torch.device("cuda:1"))) == torch.device("cuda", 1) and torch.device(torch.device("meta")).type == "meta"
for wrong in ("npux", "gpu"):
    try:
        torch.device(wrong)
    except RuntimeError as error:
        assert f"device string: {wrong}" in str(error)
    else:
        raise AssertionError(wrong)
file = io.BytesIO()
torch.save(net.state_dict(), file)
for place in ("npu:0", {"cpu": "npu"}, torch.device("npu")):
    file.seek(0)
    assert torch.equal(torch.load(file, map_location=place, weights_only=True)["weight"], net.weight)
with torch.autocast("npu", dtype=torch.bfloat16), torch.device("npu"):
    assert net(torch.ones(1, 2)).dtype == torch.bfloat16
with torch.npu.amp.autocast(dtype=torch.bfloat16):
    assert net(torch.ones(1, 2)).dtype == torch.bfloat16
assert torch.jit.script(lambda_ := torch.nn.ReLU())(x).shape == x.shape and copy.deepcopy(net).weight.equal(net.weight)

def inside(a):
    made = torch.zeros(2, device="npu") + torch.arange(2, device=torch.device("npu:0")) + torch.tensor([1.0, 2.0], device="npu")
    return a.npu() + made + a.to("npu")
for backend in ("eager", "aot_eager", "npu"):
    torch._dynamo.reset()
    assert torch.compile(inside, backend=backend, fullgraph=True)(torch.ones(2)).tolist() == [3, 5], backend
"""

MODULE = """
assert torch.npu.is_available() is False and torch.npu.device_count() == 1 and torch.npu.current_device() == 0
torch.npu.set_device("npu:1"); torch_npu.npu.set_device(torch.device("npu")); torch.npu.set_device(2)
assert torch.npu.current_device() == 2
with torch.npu.device(1):
    assert torch.npu.current_device() == 1
torch.npu.manual_seed(3); one = torch.rand(2); torch.npu.manual_seed_all(3)
assert torch.equal(one, torch.rand(2)) and torch.npu.initial_seed() == 3 and torch.npu.get_device_name() == "CPU"
torch.npu.empty_cache(); torch.npu.synchronize(); torch.npu.set_compile_mode(jit_compile=False)
torch.npu.config.allow_internal_format = False
stream, event, end = torch.npu.Stream(), torch.npu.Event(enable_timing=True), torch.npu.Event()
event.record()
with torch.npu.stream(stream):
    event.wait(stream)
    x.record_stream(stream)
end.record()
assert event.elapsed_time(end) >= 0 and torch.npu.current_stream().query() and torch_npu.npu_format_cast(x, 29) is x
pools = [torch.npu.graph_pool_handle() for _ in range(2)]
assert len(set(pools)) == 2 and all(isinstance(pool, tuple) for pool in pools)
options = {"use_graph_pool": pools[0], "clone_input": True, "clone_output": True}
pooled = torch.compile(lambda a: a + 1, backend="npugraph_ex", options=options, fullgraph=True, dynamic=False)
assert torch.equal(pooled(x), x + 1)
SAYS = "tensortap's stand-in for torch_npu"
for call in (lambda: torch.npu.NPUGraph, lambda: torch_npu.npu_rms_norm, lambda: torch_npu.__version__):
    try:
        call()
    except AttributeError as error:
        assert SAYS in str(error), error
    else:
        raise AssertionError(call)
try:
    import torch_npu.nothing
except ModuleNotFoundError as error:
    assert str(error).startswith("torch_npu.nothing is not in tensortap"), error
assert x.is_npu is False and torch.nn.Parameter(x).is_npu is False
"""

ORDINARY = """
with warnings.catch_warnings():
    warnings.simplefilter("error")
    torch.manual_seed(3)
    with torch.random.fork_rng():
        torch.manual_seed(4)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(4, 2)), batch_size=2, num_workers=1)
    optimizer = torch.optim.Adam(net.parameters(), foreach=True)
    for (batch,) in loader:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            net(batch).float().sum().backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        net(x)
assert {"npu", "npugraph_ex"} <= set(torch._dynamo.list_backends(exclude_tags=()))
print("ran")
"""


def test_the_device_means_the_cpu_and_a_move_copies(tmp_path: Path) -> None:
    done = stand_in(tmp_path, DEVICE + MODULE + ORDINARY)
    assert fine(done) == "ran\n"
    assert done.stderr.count("tensortap:") == 1


PARTS = """
import glob, json, os
import torch, torch_npu, torchair
import torch_npu.dynamo.torchair as again
from torch_npu.dynamo.torchair.configs.compiler_config import CompilerConfig
import torchair.ge_concrete_graph as ge_concrete_graph
from torchair._ge_concrete_graph.fx2ge_converter import register_fx_node_ge_converter
from torchair.ge import Tensor, TensorSpec
from torch._functorch.aot_autograd import aot_module_simplified
assert again is torchair and CompilerConfig is torchair.CompilerConfig
assert torchair.register_fx_node_ge_converter is register_fx_node_ge_converter
torchair.patch_for_hcom()
torchair.use_internal_format_weight(torch.nn.Linear(1, 1))

@register_fx_node_ge_converter(torch.ops.aten.sin.default)
def converter(self: Tensor, meta_outputs: TensorSpec = None):
    return ge_concrete_graph.ge_apis.Sin(self)
for refused in (lambda: converter(None), lambda: torchair.dynamo_export(torch.ones(1), model=torch.nn.ReLU()),
                lambda: torchair.llm_datadist.create_npu_tensors([1], torch.float16, [1]),
                lambda: torchair.ops.npu_fused_infer_attention_score(None)):
    try:
        refused()
    except NotImplementedError as error:
        assert len(str(error)) > 20
    else:
        raise AssertionError(refused)

def program(x, y):
    with torchair.scope.npu_stream_switch("1"):
        torchair.scope.npu_wait_tensor(x, y)
        made = torch.mm(x, x)
        torchair.ops.npu_print("values:", made, summarize_size=1)
        torch_npu.save_npugraph_tensor(made, save_path="./made.pt")
        record = torchair.ops.record()
    torchair.ops.wait([record])
    torchair.ops.npu_print(y[0], "of", y.dtype, tensor_detail=True)
    return made - y

x, y = torch.eye(3), torch.arange(9.0).reshape(3, 3)
config = torchair.CompilerConfig()
config.dump_config.enable_dump = True
os.mkdir("dump"); config.dump_config.dump_path = "dump"
dumped = torch.compile(program, backend=torchair.get_npu_backend(compiler_config=config), fullgraph=True)
assert torch.equal(dumped(x, y), x - y)
assert torch.load("made_0.pt").equal(x)
assert {name.split("/")[-1].split(".")[0] for name in glob.glob("dump/*/*/0/graph_1/1/0/*")} == {"MatMul", "Sub", "Data", "GatherV2"}

def own_backend(compiler):
    return lambda graph, inputs: aot_module_simplified(graph, inputs, fw_compiler=compiler)
fused = []
def find(a, b): return torch.relu(a + b)
def replace(a, b): return torch.maximum(a, -b) + b
torchair.register_replacement(find, replace, [torch.ones(2), torch.ones(2)])
def see(graph, inputs, config):
    fused.append([str(node.target) for node in graph.graph.nodes if node.op == "call_function"])
config = torchair.CompilerConfig()
config.post_grad_custom_post_pass = see
for backend in (torchair.get_npu_backend(compiler_config=config), own_backend(torchair.get_compiler(config))):
    torch._dynamo.reset()
    assert torch.equal(torch.compile(lambda a, b: torch.relu(a + b) * 2, backend=backend)(y - 4, x), torch.relu(y - 4 + x) * 2)
assert all("aten.maximum.default" in names and "aten.relu.default" not in names for names in fused) and len(fused) == 2, fused
compile_fx = lambda graph, inputs: torch.npu.npugraph_ex.compile_fx(graph, inputs, {"clone_input": False})
assert torch.equal(torch.compile(lambda a: a + 1, backend=own_backend(compile_fx))(x), x + 1)
with torch_npu.profiler.profile(activities=[torch_npu.profiler.ProfilerActivity.NPU],
                                schedule=torch_npu.profiler.schedule(wait=0, warmup=0, active=1, repeat=1),
                                on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./prof"),
                                experimental_config=torch_npu.profiler._ExperimentalConfig(
                                    profiler_level=torch_npu.profiler.ProfilerLevel.Level2)) as prof:
    dumped(x, y)
prof.step()
assert glob.glob("prof/*.json")
os.mkdir("single")
dump = {"dump_path": "single", "dump_list": [], "dump_op_switch": "on", "dump_mode": "output"}
json.dump({"dump": dump}, open("acl.json", "w"))
torch.npu.init_dump(); torch.npu.set_dump("acl.json")
torch.neg(x)
torch.npu.finalize_dump()
torch.abs(x)
single = {name.split("/")[-1].split(".")[0] for name in glob.glob("single/*/*/*")}
assert "neg" in single and "abs" not in single, single
from torch_npu.contrib import transfer_to_npu
assert torch.ones(2).cuda().to("cuda:0").device.type == torch.zeros(1, device="cuda").device.type == "cpu"
assert torch.cuda.device_count() == 1
import torch.distributed as dist
dist.init_process_group("hccl", init_method="file://" + os.path.abspath("store"), rank=0, world_size=1)
assert dist.get_backend() == "gloo"
dist.destroy_process_group()
"""


def test_what_else_programs_of_torchair_call(tmp_path: Path) -> None:  # T2, T9
    lines = fine(stand_in(tmp_path, PARTS)).splitlines()
    assert lines[:4] == [
        "values: [[1. ... 0.]",
        " ...",
        " [0. ... 1.]]",
        "tensor([0. 1. 2.], shape=[3], dtype=torch.float32) of torch.float32",
    ]


def test_other_errors_of_a_program_are_its_own(tmp_path: Path) -> None:
    done = stand_in(tmp_path, "import torch_npu\nraise RuntimeError('no device string: cuda')\n")
    assert done.stderr.splitlines()[-1] == "RuntimeError: no device string: cuda"
