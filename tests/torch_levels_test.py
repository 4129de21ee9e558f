"""The levels of a captured PyTorch program: operators, what they call underneath, and what the program itself calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import tensortap
from torch_support import OUTPUT, Captured, capture

PROGRAM = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(1)
model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())
with torch.no_grad():
    for step in range(2):
        made = model(torch.ones(1, 1, 6, 6))
        made.add_(1)
        print(F.cosine_similarity(made, made).sum().item())
"""


def types_by_level(done: Captured) -> dict[str, set[str]]:
    """Collect the types of the ops of each level that have records."""
    recorded = {int(number) for number in done.dump.rows["op"]}
    levels: dict[str, set[str]] = {}
    for number, op in done.dump.ops.items():
        if number in recorded:
            levels.setdefault(op["level"], set()).add(op["type"])
    return levels


def capture_levels(folder: Path, levels: str) -> Captured:
    """Capture the program with these levels."""
    done = capture(folder, PROGRAM, options=["--levels", levels])
    assert done.code == 0, done.err
    assert done.dump.run["lost"] == 0
    return done


def test_a_kernel_is_a_call_that_calls_nothing(tmp_path: Path) -> None:
    done = capture_levels(tmp_path, "kernel")
    levels = types_by_level(done)
    assert set(levels) == {"kernel"}
    assert "relu" not in levels["kernel"], "it calls clamp_min underneath"
    assert levels["kernel"] & {"mkldnn_convolution", "_slow_conv2d_forward"}, levels
    assert "convolution" not in levels["kernel"]
    assert "add_" in levels["kernel"], "an operator that calls nothing is its own kernel"
    assert len(done.dump.of_type("add_", OUTPUT)) == 2
    assert done.dump.of_type("add_", OUTPUT)["step"].tolist() == [0, 1]


def test_what_the_program_calls_stands_as_a_whole(tmp_path: Path) -> None:
    levels = types_by_level(capture_levels(tmp_path, "api"))
    assert set(levels) == {"api"}
    assert {"conv2d", "relu", "add_", "cosine_similarity"} <= levels["api"], "made of several operators, or one itself"
    assert "convolution" not in levels["api"]


def test_levels_stand_beside_each_other(tmp_path: Path) -> None:
    levels = types_by_level(capture_levels(tmp_path, "op,kernel,api"))
    assert {"conv2d"} <= levels["api"]
    assert {"convolution", "relu", "add_"} <= levels["op"]
    assert levels["kernel"] & {"mkldnn_convolution", "_slow_conv2d_forward"}


@pytest.mark.parametrize("levels", ["ops", "op,module", ""])
def test_other_words_are_refused(tmp_path: Path, levels: str) -> None:
    done = tensortap("exec", "--levels", levels, "--", "true", cwd=tmp_path)
    assert done.code == 2
    assert "--levels" in done.err
