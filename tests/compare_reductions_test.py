"""Sums over many elements: kernels add in other orders, which is no finding; elements that are left out are one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from torch_support import PYTORCH_LIBRARY, capture, run_program

tensortap = pytest.importorskip("tensortap", reason="the module is not built")
pytestmark = pytest.mark.skipif(not PYTORCH_LIBRARY.exists(), reason="the PyTorch source is not built")

PROGRAM = """
import torch

torch.set_num_threads(1)


class Net(torch.nn.Module):
    def forward(self, columns, row):
        columns, row, moved = columns * 1.5, row * 1.5, columns * 1.5 + 10
        return (*FORMULAS, columns[:1] * 2, row[:, :1] * 2)


torch.manual_seed(0)
net = Net().eval()
given = (torch.randn(100_000, 8), torch.randn(1, 1_000_000) + 1)
"""
EXPORT = """
import numpy
from torch.onnx._internal.torchscript_exporter import onnx_proto_utils

# The package onnx, which this torch is without, has to look for functions that the model does not have.
onnx_proto_utils._add_onnxscript_fn = lambda model, _: model
numpy.savez("given.npz", columns=given[0].numpy(), row=given[1].numpy())
torch.onnx.export(net, given, "net.onnx", dynamo=False, input_names=["columns", "row"], opset_version=17)
"""
RUN = """
with torch.no_grad():
    net(*given)
"""
FORMULAS = (
    "columns.mean(0) * 2",
    "moved.mean(0) * 2",
    "columns.sum(0) + 1",
    "columns.std(0) + 1",
    "moved.var(0) + 1",
    "row.sum(1) + 1",
    "row.std(1) + 1",
    "torch.linalg.vector_norm(row, dim=1) * 2",
    "(row * row).sum(1) + 1",
    "row.abs().sum(1) + 1",
    "torch.logsumexp(row, 1) * 2",
)
# As written, and with elements left out or counted otherwise.
FAULTS = (
    ("row.sum(1) + 1", "row[:, 1000:].sum(1) + 1"),
    ("columns.mean(0) * 2", "columns.sum(0) / 99_000 * 2"),
    ("torch.linalg.vector_norm(row, dim=1) * 2", "torch.linalg.vector_norm(row[:, 20_000:], dim=1) * 2"),
    ("row[:, :256].std(1, unbiased=False) + 1", "row[:, :256].std(1) + 1"),
)


def within(folder: Path, formulas: tuple[str, ...], exported: tuple[str, ...]) -> tuple[bool, str]:
    """Compare a program with the ONNX model of another one: whether all is within the tolerance, and what is out."""

    def program(texts: tuple[str, ...]) -> str:
        return PROGRAM.replace("FORMULAS", f"({', '.join(texts)},)")

    folder.mkdir(exist_ok=True)
    done = run_program(folder, program(exported) + EXPORT)
    assert done.returncode == 0, done.stderr
    ran = capture(folder, program(formulas) + RUN, options=["--full", "--quiet"])
    assert ran.code == 0, ran.err
    with np.load(folder / "given.npz") as given:
        run = tensortap.run(folder / "net.onnx", dict(given), out=folder / "run", payload="full", slots="in,out", as_written=True)
    both = tensortap.compare(tensortap.open(ran.dump.folder), run.dump)
    assert len(both) > len(formulas)
    return both.within_tolerance, "\n".join(f"{row['b']} {row['verdict']} {row['error']}" for row in both)


def test_the_order_of_a_sum_is_no_finding(tmp_path: Path) -> None:
    sound, out = within(tmp_path, FORMULAS, FORMULAS)
    assert sound, out


def test_elements_that_are_left_out_are_a_finding(tmp_path: Path) -> None:
    for number, (sound, faulty) in enumerate(FAULTS):
        assert not within(tmp_path / str(number), (faulty,), (sound,))[0], faulty
