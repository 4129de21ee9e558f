"""Jobs whose ranks do not come to their end: `ranks` and `find` name the one that left first, its place, and what became of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_support import tensortap
from torch_support import capture

# In step 2, rank 1 is killed or leaves; the other ranks wait for it.
TRAINING = """
import datetime, os, signal, sys
import torch, torch.nn as nn, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(4):
    optimizer.zero_grad()
    y = model(torch.randn(2, 4))
    if dist.get_rank() == 1 and step == 2:
        if sys.argv[1] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        break
    y.sum().backward()
    optimizer.step()
"""


def run_job(folder: Path, how: str) -> Path:
    (folder / "train.py").write_text(TRAINING)
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node=3", "train.py", how]
    done = capture(folder, Path("-m"), *torchrun, options=["--stats"])
    assert done.code != 0
    return done.dump.folder


def ends_of(job: Path) -> tuple[int, dict[int, dict[str, Any]], dict[str, Any]]:
    done = tensortap("ranks", job, "--json")
    report = done.object
    return done.code, {rank["rank"]: rank["end"] for rank in report["progress"]}, report


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_job(tmp_path_factory.mktemp("killed"), "kill")


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_job(tmp_path_factory.mktemp("left"), "leave")


def test_a_killed_rank_is_named_with_its_last_op_and_the_answer_is_incomplete(killed: Path) -> None:  # B15
    code, ends, report = ends_of(killed)
    assert (code, "died" in report["found"]) == (3, True), report["found"]
    assert (ends[1]["how"], ends[1]["step"], ends[1]["op"]) == ("died", 2, "Sequential.2/addmm")
    assert ends[1]["waits"] is False
    said = tensortap("ranks", killed).out.partition("last step: ")[2].splitlines()
    assert said[1] == f"  rank 1: died in step 2; its last op is Sequential.2/addmm (addmm), {ends[1]['source']}"


def test_a_collective_that_fails_since_a_rank_left_is_the_failed_op(left: Path) -> None:  # B15
    code, ends, report = ends_of(left)
    failed = [rank for rank in (0, 2) if ends[rank]["how"] == "failed"]
    assert code == 1
    assert failed, ends
    assert "failed" in report["found"]
    for rank in failed:
        assert (ends[rank]["type"], ends[rank]["step"], ends[rank]["waits"]) == ("c10d.allreduce_", 2, True)
        found = tensortap("find", left / f"rank_{rank}", "--json")
        assert found.code == 1
        assert found.object["failed_op"]["type"] == "c10d.allreduce_"
        assert "the collective failed" in found.object["failed_op"]["error"]
    # The rank that left comes first, though nothing failed there.
    said = tensortap("ranks", left).out.partition("last step: ")[2].splitlines()
    assert said[1].startswith("  rank 1: ended in step 2; its last op is Sequential.2/addmm (addmm)")
    job = tensortap("find", left)
    assert (job.code, "failed op: AccumulateGrad/c10d.allreduce_" in job.out) == (1, True), job.out


def test_a_rank_without_a_dump_makes_the_answer_incomplete(left: Path, tmp_path: Path) -> None:  # B15
    (tmp_path / "job").mkdir()
    (tmp_path / "job/rank_1").symlink_to(left / "rank_1")
    done = tensortap("ranks", tmp_path / "job")
    assert done.code == 3
    assert "ranks 0, 2: no dump" in done.err
