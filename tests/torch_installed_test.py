"""A PyTorch program under a tensortap that is installed: the folders differ from those of the build tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cli_support import COMMAND
from torch_support import PYTHON, TorchDump

PROGRAM = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU())
torch.zeros(1)
model(torch.randn(3, 4)).sum().backward()
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the command as a user has it: the one under test, or the build tree's as ``cmake --install`` puts it."""
    build = COMMAND.resolve().parents[2]
    if not (build / "cmake_install.cmake").exists():
        return COMMAND
    folder = tmp_path_factory.mktemp("site-packages")
    subprocess.run(["cmake", "--install", str(build), "--prefix", str(folder)], check=True, capture_output=True)
    shutil.copytree(build / "adapters", folder / "tensortap/lib/adapters", dirs_exist_ok=True)
    # The wheel's own part, which CMake leaves to it.
    package = build / "python/tensortap"
    for name in ("_torch", "_onnxruntime"):
        shutil.copytree(package / name, folder / "tensortap" / name, dirs_exist_ok=True)
    for file in package.glob("*.py"):
        shutil.copy(file, folder / "tensortap")
    return folder / "tensortap/bin/tensortap"


def test_ops_in_leaf_modules_stand_under_the_programs_line(installed: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    out = tmp_path / "dump"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    words = [str(installed), "exec", "--out", str(out), "--", PYTHON, str(program)]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    sources = {op["name"]: op["source"] for op in TorchDump(out).ops.values()}
    for name in ("Sequential.0/addmm", "Sequential.1/native_batch_norm", "Sequential.2/relu", "Sequential.0/AddmmBackward0/mm"):
        assert sources[name] == "program.py:5", name
    # Whatever Python was asked to do while torch was imported is torch's, and nothing is tensortap's.
    assert {source for source in sources.values() if source} <= {f"program.py:{line}" for line in range(1, 6)}
