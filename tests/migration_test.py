"""The commands and the Python of docs/migration.md run as printed, on a dump of MindSpore itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from torch_support import PYTHON, PYTORCH_LIBRARY

tensortap = pytest.importorskip("tensortap", reason="the module is not built")
pytestmark = pytest.mark.skipif(not PYTORCH_LIBRARY.exists(), reason="the PyTorch source is not built")

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- tested(?:, exits with (\d))? -->\n```(\w+)\n(.*?)```\n((?:\n(?: {4}[^\n]*\n)+)?)", re.DOTALL)


def check_printed(expected: str, printed: str) -> None:
    """Check that a command prints the lines on the page: "..." matches anything in a line, and alone any lines."""
    pieces = (re.escape(line.strip()).replace(re.escape("..."), ".*") for line in expected.split("\n") if line.strip())
    pattern = re.compile("".join("(?:.*\n)*" if piece == ".*" else rf" *{piece} *\n" for piece in pieces))
    assert pattern.search(printed), f"{expected}\n{printed}"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the whole page, in its order, and give the folder."""
    folder = tmp_path_factory.mktemp("migration")
    with tarfile.open(ROOT / "tests/golden/mindspore/trees/2.10.0-train.tar.gz") as archive:
        archive.extractall(folder / "unpacked")
    shutil.move(next((folder / "unpacked").glob("*/d")), folder / "tree")
    shutil.copyfile(ROOT / "examples/lenet_torch.py", folder / "lenet_torch.py")
    environment = {**os.environ, "PATH": f"{Path(os.environ['TENSORTAP_COMMAND']).parent}{os.pathsep}{os.environ['PATH']}"}
    blocks = BLOCK.findall((ROOT / "docs/migration.md").read_text())
    assert len(blocks) == 6 and sum(bool(block[3]) for block in blocks) == 2
    for status, language, text, printed in blocks:
        lines = text.replace("\\\n", "").splitlines()
        commands = [line[2:] for line in lines if line.startswith("$ ")] if language == "console" else [text]
        assert commands
        for number, command in enumerate(commands, 1):
            words = (
                ["bash", "-c", command.replace("-- python ", f"-- {PYTHON} ")] if language == "console" else [sys.executable, "-c", command]
            )
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
            expected = int(status or 0) if number == len(commands) else 0
            assert done.returncode == expected, f"{command}\n{done.stdout}{done.stderr}"
        check_printed(printed, done.stdout)
    return folder


# M26
def test_a_network_of_mindspore_rebuilt_in_pytorch_is_compared_op_by_op(page: Path) -> None:
    both = tensortap.compare(page / "torch", page / "tree")
    assert both.summary["outside"] == 0
    assert not both.within_tolerance, "what the optimizers wrote has no partner"
    partners = {row["b"]: row for row in both if not row["given"]}
    network = "Default/network-WithLossCell/_backbone-LeNet/"
    for theirs, ours in (
        ("conv1-Conv2d/BiasAdd-op0", "LeNet.conv1/convolution"),
        ("bn1-BatchNorm2d/BatchNorm-op0", "LeNet.bn1/native_batch_norm"),
        ("relu-ReLU/ReLU-op0", "LeNet.relu/relu"),
        ("pool-MaxPool2d/MaxPool-op1", "LeNet.pool/max_pool2d_with_indices_1"),
        ("conv2-Conv2d/Conv2D-op0", "LeNet.conv2/convolution"),
        ("flat-Flatten/Flatten-op0", "LeNet.flat/view"),
        ("fc1-Dense/BiasAdd-op0", "LeNet.fc1/addmm"),
        ("fc2-Dense/BiasAdd-op0", "LeNet.fc2/addmm"),
    ):
        row = partners[f"{network}{theirs}:out0"]
        assert row["a"] == f"{ours}:out0"
        assert row["error"] < 1e-6
    gradients = {name: row for name, row in partners.items() if name.startswith("Gradients/")}
    assert len(gradients) >= 15
    assert all("Backward0/" in row["a"] for row in gradients.values()), gradients.keys()
    weight = gradients[f"Gradients/{network}conv1-Conv2d/Grad_Conv2D/Conv2DBackpropFilter-op0:out0"]
    assert weight["a"] == "LeNet.conv1/ConvolutionBackward0/convolution_backward:out1"
    fused = {one["value"]: one["by"] for one in both.unpaired if one["why"] == "fused"}
    assert fused[f"{network}conv1-Conv2d/Conv2D-op0:out0"] == "LeNet.conv1/convolution"


def test_the_loss_is_paired_by_a_map_and_another_epsilon_is_found_where_it_is(page: Path) -> None:
    both = tensortap.compare(page / "torch", page / "tree", map=page / "names.tsv")
    (loss,) = (row for row in both if row["rule"] == "map")
    assert loss["shape_b"] == []
    assert loss["error"] < 1e-6
    wrong = tensortap.compare(page / "wrong", page / "tree")
    assert wrong.summary["first_outside"]["type"] == "BatchNorm"
    assert wrong.summary["largest_growth"]["type"] == "BatchNorm"
    assert wrong.summary["largest_growth"]["growth"] > 1e4


def test_feature_maps_are_those_of_the_file(page: Path) -> None:
    image = (page / "maps.pgm").read_bytes()
    assert image.startswith(b"P5 512 128 255\n")
    (file,) = (page / "tree/rank_0/Net/0/0").glob("ReLU.*_ReLU-op0.*.output.0.*.npy")
    maps = np.load(file)[0]
    pixels = np.frombuffer(image[-512 * 128 :], np.uint8).reshape(128, 512)[::16, ::16]
    np.testing.assert_array_equal(pixels, np.concatenate(list((maps / maps.max() * 255).astype(np.uint8)), axis=1))
