"""`tensortap ranks` on jobs of two ranks under torchrun: what two can show, and no word about which of them is wrong."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cli_support import ROOT, Done, package_alone, tensortap
from torch_support import PYTHON, capture

PROGRAM = ROOT / "tests/rank_jobs_program.py"
KINDS = ("ddp", "fsdp", "tensor", "pipeline", "head", "scale", "noise")
FAULTS = ("head", "scale", "noise")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    # Compiles the adapter where the installation has none.
    assert capture(folder, "import torch\ntorch.ones(1) + 1\n").code == 0
    names = [*KINDS, *(f"{kind}-fault" for kind in FAULTS)]
    done = subprocess.run(
        [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(PROGRAM), str(folder), *names],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(package_alone(folder)), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def answers(jobs: Path, name: str) -> tuple[Done, dict[str, Any]]:
    done = tensortap("ranks", jobs / name, "--json")
    return done, done.object


def test_sound_jobs_of_two_ranks_raise_no_alarm(jobs: Path) -> None:  # B15
    for kind in KINDS:
        done, report = answers(jobs, kind)
        assert (done.code, report["found"]) == (0, []), (kind, report)
        # Stages of a pipeline do other work.
        assert (report["apart"]["pair"]["judged"] > 0) == (kind != "pipeline"), kind
        assert report["apart"]["pair"]["apart"] is False
    assert "apart from each other: none of " in tensortap("ranks", jobs / "ddp").out
    assert "apart from each other: not judged" in tensortap("ranks", jobs / "pipeline").out


def test_shards_alone_are_not_said_to_be_equal(jobs: Path) -> None:  # B15
    report = answers(jobs, "fsdp")[1]
    printed = tensortap("ranks", jobs / "fsdp").out
    replicas = report["replicas"]
    said = "not judged" if replicas["never_equal"] == replicas["compared"] else "two ranks cannot say"
    assert replicas["never_equal"] > 0
    assert said in next(line for line in printed.splitlines() if line.startswith("replicas: ")), printed


def test_weights_that_never_were_equal_are_found_by_their_equal_gradients(jobs: Path) -> None:  # B15
    done, report = answers(jobs, "head-fault")
    first = report["replicas"]["unequal"][0]
    assert done.code == 1
    assert report["found"] == ["replicas"]
    assert (first["parameter"], first["step"], first["role"]) == ("head.weight", 0, "weight")
    assert (sorted(first["ranks"] + first["others"]), first["undecided"]) == ([0, 1], True)
    printed = tensortap("ranks", jobs / "head-fault").out
    assert "which of the two ranks is off, two ranks cannot say" in printed


def test_data_of_another_scale_is_a_range_of_its_own(jobs: Path) -> None:  # B15
    done, report = answers(jobs, "scale-fault")
    pair = report["apart"]["pair"]
    assert done.code == 1
    assert report["found"] == ["apart"]
    assert (pair["since"]["step"], pair["larger"], pair["apart"]) == (4, 1, True)
    assert pair["times"] == pytest.approx(255, rel=0.5)
    assert "apart from each other: " in tensortap("ranks", jobs / "scale-fault").out


def test_a_gradient_that_one_rank_changes_is_found_in_its_step(jobs: Path) -> None:  # B15
    done, report = answers(jobs, "noise-fault")
    first = report["replicas"]["unequal"][0]
    assert (done.code, report["found"]) == (1, ["replicas"])
    assert (first["step"], first["undecided"]) == (3, True)
    assert "head.weight" in [one["parameter"] for one in report["replicas"]["unequal"]]
