"""What programs compile through the backend: methods, backends by name, scopes; on real torch."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from torch_support import run_program

pytest.importorskip("tensortap.torchair._backend", reason="the module is not built")

PRELUDE = """
import torch, torch_npu, torchair
from torchair import inference
def fails(kind, words, call):
    try:
        call()
    except kind as error:
        assert type(error) is kind and str(error).startswith(words), error
    else:
        raise AssertionError(words)
"""


def run(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run the text of a program with torch under ``python -m tensortap.torchair``."""
    done = run_program(folder, PRELUDE + program, "-m", "tensortap.torchair")
    assert done.returncode == 0, done.stderr
    return done


def test_a_method_is_compiled_for_calls_without_gradients(tmp_path: Path) -> None:  # T2
    done = run(
        tmp_path,
        """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.calls = inference.cache_compile(self.body, config=torchair.CompilerConfig(), cache_dir="cache", tp_rank=0, backend=None)
        self.also = torchair.inference.cache_compile(self.other, dynamic=False)
    def forward(self, x): return self.calls(x) if x.dim() == 2 else self.also(x)
    def body(self, x, *, factor=2.0): return torch.tanh(self.layer(x)) * factor
    def other(self, x): return self.layer(x).exp()

torchair.logger.setLevel("WARNING")
net = Net()
for shape in ((2, 3), (5, 3), (2, 2, 3)):
    x = torch.randn(shape)
    got = net(x)
    plain = net.body(x) if x.dim() == 2 else net.other(x)
    assert torch.equal(got, plain) and plain.requires_grad and not got.requires_grad
assert torch.equal(net.calls(x, factor=3.0), net.body(x, factor=3.0))
again = Net()
""",
    )
    assert done.stdout.count("cache_compile keeps nothing on the disk") == 1
    assert not (tmp_path / "cache").exists()


def test_arguments_are_checked_as_in_the_real_system(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
def function(x): return x
class Other:
    def method(self): pass
fails(ValueError, "Only method can be cached now, got <function function", lambda: inference.cache_compile(function))
fails(ValueError, "Only method can be cached now, got Linear(", lambda: inference.cache_compile(torch.nn.Linear(1, 1)))
fails(ValueError, "Only torch.nn.Module method can be cached now, got <bound method", lambda: inference.cache_compile(Other().method))
frozen = torchair.CompilerConfig(); frozen.experimental_config.frozen_parameter = True
method = torch.nn.Linear(1, 1).forward
both = "ge_cache and experimental_config.frozen_parameter"
fails(ValueError, both, lambda: inference.cache_compile(method, config=frozen, ge_cache=True))
fails(ValueError, "Cache file ", lambda: inference.readable_cache("gone"))
open("there", "w").close()
fails(ValueError, "", lambda: inference.readable_cache("there"))

x = torch.ones(4, 5)
assert inference.get_dim_gears(x) is None
gears = {0: [1, 2, 4]}
inference.set_dim_gears(x, gears); inference.set_dim_gears(x, gears)
assert inference.get_dim_gears(x) == gears
E = AssertionError
fails(E, "Tensor ", lambda: inference.set_dim_gears(x, {0: [1, 2]}))
fails(E, "Dim index in dim_gears must be an integer, but got <class 'str'>.", lambda: inference.set_dim_gears(torch.ones(2), {"0": [1, 2]}))
fails(E, "Dim index in dim_gears must be in range [0, 0], but got 1.", lambda: inference.set_dim_gears(torch.ones(2), {1: [1, 2]}))
fails(E, "Gears for dim index 0 in dim_gears must be a list", lambda: inference.set_dim_gears(torch.ones(2), {0: 1}))
fails(E, "Element at index 1 of value for dim index 0", lambda: inference.set_dim_gears(torch.ones(2), {0: [1, "2"]}))
fails(E, "Length of gears for dim index 0", lambda: inference.set_dim_gears(torch.ones(2), {0: [1]}))
""",
    )


def test_backends_are_found_by_name(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
x = torch.randn(2, 3)
def model(x): return torch.tanh(x) * 2
assert torch.equal(torch.compile(model, backend="npu")(x), model(x))
torch._dynamo.reset()
assert torch.equal(torch.compile(model, backend="npugraph_ex", options={"clone_output": True, "inplace_pass": False})(x), model(x))

from torchair.configs.npugraphex_config import config_of_options
config = config_of_options({"dump_tensor_data": True, "data_dump_dir": ".", "data_dump_stage": "original", "inplace_pass": True})
assert config.mode.value == "npugraph_ex" and config.dump_config.enable_dump and config.dump_config.dump_path.value == "."
assert config.dump_config.data_dump_stage.value == "original"
aclgraph = config.debug.aclgraph
assert aclgraph.disable_reinplace_inplaceable_ops_pass.value == "0" and not aclgraph.disable_reinplace_inplaceable_ops_pass.changed
config = config_of_options({"inplace_pass": False, "reuse_graph_pool_in_same_fx": 0, "graph_dump_type": "py", "remove_noop_ops": False})
assert config.debug.aclgraph.disable_reinplace_inplaceable_ops_pass and config.debug.aclgraph.disable_mempool_reuse_in_same_fx
assert config.debug.graph_dump.type.value == "py" and not config.experimental_config.remove_noop_ops
fails(ValueError, "Invalid option 'nothing', allowed options: ['capture_limit', ", lambda: config_of_options({"nothing": 1}))
fails(ValueError, "Value 2 ", lambda: config_of_options({"inplace_pass": 2}))
fails(FileNotFoundError, "Please set legal dir path", lambda: config_of_options({"data_dump_dir": "gone"}))
try:
    torch._dynamo.reset()
    torch.compile(model, backend="npugraph_ex", options={"nothing": 1})(x)
except Exception as error:
    assert "Invalid option 'nothing'" in str(error), error
else:
    raise AssertionError
""",
    )


def test_a_scope_may_be_used_first_in_a_compiled_function(tmp_path: Path) -> None:
    done = run_program(
        tmp_path,
        """
import torchair
import torch
def model(x):
    with torchair.scope.data_dump():
        return x * 2
assert "scope" not in vars(torchair)
compiled = torch.compile(model, backend=torchair.get_npu_backend(), fullgraph=True)
x = torch.randn(3)
assert torch.equal(compiled(x), x * 2)
""",
        "-m",
        "tensortap.torchair",
    )
    assert done.returncode == 0, done.stderr
