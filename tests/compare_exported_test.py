"""A PyTorch program beside the ONNX model that torch's exporter makes of it: every value has its partner, or the reason why it has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from case_table import each_row
from torch_support import PYTORCH_LIBRARY, capture, run_program

tensortap = pytest.importorskip("tensortap", reason="the module is not built")
pytestmark = pytest.mark.skipif(not PYTORCH_LIBRARY.exists(), reason="the PyTorch source is not built")

PROGRAM = """
import torch
from torch.nn import functional

torch.set_num_threads(1)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.all = torch.nn.Linear(32, 96)
        self.out = torch.nn.Linear(32, 32)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.all(x).view(batch, length, 3, 4, 8).permute(2, 0, 3, 1, 4)
        by_kernel = functional.scaled_dot_product_attention(q, k, v)
        weights = (q @ k.transpose(-2, -1)) * 8**-0.5
        weights = weights.masked_fill(self.mask[:length, :length] == 0, float("-inf")).softmax(-1)
        return self.out((by_kernel + weights @ v).transpose(1, 2).reshape(batch, length, width))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.bn1 = torch.nn.BatchNorm2d(16)
        self.pool = torch.nn.MaxPool2d(2)
        self.conv2 = torch.nn.Conv2d(16, 32, 3, padding=1, stride=2)
        self.bn2 = torch.nn.BatchNorm2d(32)
        self.conv3 = torch.nn.Conv2d(32, 32, 3, padding=1)
        self.norm = torch.nn.LayerNorm(32)
        self.attention = Attention()
        self.mlp = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 32))
        self.gate = torch.nn.Conv2d(32, 32, 1)
        self.head = torch.nn.Linear(32, 10)

    def forward(self, x):
        x = functional.relu(self.bn2(self.conv2(self.pool(functional.hardswish(self.bn1(self.conv1(x)))))))
        x = x * functional.hardsigmoid(self.gate(functional.adaptive_avg_pool2d(x, 1))) + functional.silu(self.conv3(x))
        x = x.flatten(2).transpose(1, 2)
        x = x + self.attention(self.norm(x))
        x = x + self.mlp(x)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return functional.softmax(self.head(x.mean(1)), -1)


torch.manual_seed(0)
net = Net().eval()
with torch.no_grad():
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.3)
            module.running_var.uniform_(0.5, 2)
x = torch.randn(2, 3, 32, 32)
"""
EXPORT = """
import numpy
from torch.onnx._internal.torchscript_exporter import onnx_proto_utils

# The package onnx, which this torch is without, has to look for functions that the model does not have.
onnx_proto_utils._add_onnxscript_fn = lambda model, _: model
numpy.save("x.npy", x.numpy())
torch.onnx.export(net, (x,), "net.onnx", dynamo=False, input_names=["x"], opset_version=17)
"""
RUN = """
with torch.no_grad():
    net(x)
"""
HALF = """
net, x = net.bfloat16(), x.bfloat16()
"""

IN_BOTH = (
    ".conv3/convolution",
    "/silu",
    ".norm/native_layer_norm",
    ".attention.all/addmm",
    ".attention/_scaled_dot_product_flash_attention_for_cpu",
    ".attention/_softmax",
    ".attention.out/addmm",
    ".mlp.2/addmm",
    ".mlp.1/gelu",
    "/_softmax",
)


def without_modules(model: Any) -> Any:
    """Rename nodes and values as exporters do that know no modules."""
    names = {one.name for one in (*model.graph.input, *model.graph.output, *model.graph.initializer)}
    new = {name: f"val_{number}" for number, name in enumerate(o for n in model.graph.node for o in n.output) if name not in names}
    for number, node in enumerate(model.graph.node):
        node.name = f"node_{node.op_type}_{number}"
        node.input[:] = [new.get(name, name) for name in node.input]
        node.output[:] = [new.get(name, name) for name in node.output]
    del model.graph.value_info[:]
    return model


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Capture the program in two precisions, and its model with and without the names of modules, as written and optimised."""
    folder = tmp_path_factory.mktemp("exported")
    done = run_program(folder, PROGRAM + EXPORT)
    assert done.returncode == 0, done.stderr
    onnx.save(without_modules(onnx.load(str(folder / "net.onnx"))), str(folder / "bare.onnx"))
    made = {}
    for name, text in (("float32", PROGRAM + RUN), ("bfloat16", PROGRAM + HALF + RUN)):
        (folder / name).mkdir()
        ran = capture(folder / name, text, options=["--full", "--quiet"])
        assert ran.code == 0, ran.err
        made[name] = tensortap.open(ran.dump.folder)
    inputs = {"x": np.load(folder / "x.npy")}
    for model in ("net", "bare"):
        for as_written in (True, False):
            out = f"{model}, {'as written' if as_written else 'optimised'}"
            options = {"payload": "full", "slots": "in,out", "as_written": as_written, "keep_outputs": False}
            made[out] = tensortap.run(folder / f"{model}.onnx", inputs, out=folder / out, **options).dump
    return made


def apart(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> float:
    """Measure how far two tensors are apart whatever the order of their elements; of one with more rows its last ones count."""
    flat = [np.asarray(one, np.float64).ravel() for one in (a, b)]
    size = min(one.size for one in flat)
    x, y = (np.sort(one[-size:]) for one in flat)
    finite = np.isfinite(x)
    assert np.array_equal(finite, np.isfinite(y))
    return float(np.linalg.norm(x[finite] - y[finite]) / np.linalg.norm(y[finite]))


# B10
@each_row("program, most", [("float32", 1e-5), ("bfloat16", 0.03)])
@each_row("model", ["net, as written", "net, optimised", "bare, as written", "bare, optimised"])
def test_every_value_has_its_partner_or_a_reason(program: str, most: float, model: str, dumps: dict[str, Any]) -> None:
    a, b = dumps[program], dumps[model]
    both = tensortap.compare(a, b)
    assert both.within_tolerance
    for side in "AB":
        assert [one for one in both.unpaired if one["unpaired"] == side and one["why"] == "not explained"] == []
    pairs = [row for row in both if not row["given"] and a[row["a"]].size > 4]
    assert len(pairs) >= 25
    wrong = [(row["a"], row["b"], row["rule"]) for row in pairs if not apart(a[row["a"]], b[row["b"]]) <= most]
    assert wrong == []
    partners = {row["a"] for row in pairs}
    # A value that is neither a step of a way nor a form of another value is in both.
    missing = {f"Net{name}:out0" for name in IN_BOTH} - partners
    assert missing == set()
    steps = {one["value"]: one["by"] for one in both.unpaired if one["why"] == "another way"}
    assert all(steps.values())
