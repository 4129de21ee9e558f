"""Collectives return before they are done: their outputs are those of their end, or left out, even if other code writes there next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch_support import INPUT, OUTPUT, TorchDump, capture

# Two ranks, of which one comes late to everything. The values of round n are n + 1 on rank 0 and 10 times that on rank 1.
PROGRAM = """
import time, torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, functional = dist.get_rank(), torch.ops._c10d_functional
LARGE = 2_000_000  # reading it takes longer than beginning to write over it

def own(round, size=64):
    if rank == 1:
        time.sleep(0.1)
    return torch.full((size,), (round + 1.0) * 10**rank)

for round in range(4):
    # A future wakes the program before it calls anybody back.
    summed = own(round, LARGE)
    dist.all_reduce(summed, async_op=True).get_future().wait()
    summed.fill_(float("nan"))

    started = functional.all_reduce(own(round), "sum", dist.group.WORLD.group_name)
    viewed = started.view(8, 8)
    functional.wait_tensor(started).mul_(0.0)

    sent = own(round)
    if rank == 0:
        dist.send(sent, 1)
    else:
        received = torch.zeros(64)
        work = dist.irecv(received, 0)
        work.wait()
        received.sub_(100.0)

    # Gloo scatters when it is waited for, and has no future. The second is still held when its output is read.
    scattered = torch.zeros(32)
    dist.reduce_scatter_tensor(scattered, own(round))
    scattered.neg_()
    held = torch.zeros(32)
    work = dist.reduce_scatter_tensor(held, own(round), async_op=True)
    work.wait()
    held = held + 0.5
    del work

    parts = [torch.zeros(64) for _ in range(2)]
    dist.all_gather(parts, own(round))
    parts[0].neg_()

    # What no program should do.
    raced = own(round)
    work = dist.broadcast(raced, 1, async_op=True)
    if rank == 0:
        raced.fill_(float("inf"))
    work.wait()
dist.destroy_process_group()
"""
NOT_WRITTEN_TO = 32
ROUNDS = [np.arange(1.0, 5.0) * 11, np.arange(1.0, 5.0)]  # sums, and what rank 0 has


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> TorchDump:
    folder = tmp_path_factory.mktemp("collectives")
    (folder / "train.py").write_text(PROGRAM)
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(folder / "train.py")]
    done = capture(folder, Path(launcher[0]), *launcher[1:], options=["--stats"])
    assert done.code == 0, done.err
    return done.dump


def rank_of(job: TorchDump, rank: int) -> TorchDump:
    return TorchDump(job.folder / f"rank_{rank}")


def extremes(rows: Any) -> list[tuple[float, float]]:
    return [(float(row["min"]), float(row["max"])) for row in rows]


@pytest.mark.parametrize("rank", [0, 1])
def test_an_output_is_what_the_collective_left(job: TorchDump, rank: int) -> None:
    dump = rank_of(job, rank)
    sums = [(value, value) for value in ROUNDS[0]]
    assert extremes(dump.of_type("c10d.allreduce_", OUTPUT)) == sums
    assert dump.of_type("c10d.allreduce_", OUTPUT)["nan"].sum() == 0
    assert extremes(dump.of_type("_c10d_functional.all_reduce", OUTPUT)) == sums
    assert extremes(dump.of_type("_c10d_functional.wait_tensor", OUTPUT)) == sums
    gathered = dump.of_type("c10d.allgather_", OUTPUT)
    assert extremes(gathered[gathered["element"] == 0]) == [(value, value) for value in ROUNDS[1]]
    assert extremes(gathered[gathered["element"] == 1]) == [(value, value) for value in ROUNDS[1] * 10]


@pytest.mark.parametrize("rank", [0, 1])
def test_an_output_that_is_made_by_waiting_is_there(job: TorchDump, rank: int) -> None:
    dump = rank_of(job, rank)
    sums = [(value, value) for value in ROUNDS[0]]
    assert extremes(dump.of_type("c10d._reduce_scatter_base_", OUTPUT)) == [one for one in sums for _ in range(2)]
    added = dump.of_type("add", INPUT)
    assert extremes(added[added["slot_index"] == 0]) == sums


def test_what_is_received_is_an_output_of_its_own_op(job: TorchDump) -> None:
    dump = rank_of(job, 1)
    assert extremes(dump.of_type("c10d.recv_", OUTPUT)) == [(value, value) for value in ROUNDS[1]]
    assert extremes(dump.of_type("c10d.recv_", INPUT)) == [(0.0, 0.0)] * 4
    # The next op has its own output, and no other.
    assert len(dump.of_type("sub_", OUTPUT)) == 4


def test_what_is_not_complete_has_no_values(job: TorchDump) -> None:
    dump = rank_of(job, 0)
    viewed = [number for number, op in dump.ops.items() if op["name"] == "view"]
    rows = dump.rows[np.isin(dump.rows["op"], viewed)]
    assert len(rows) == 8
    assert np.isnan(rows["min"]).all()
    assert (rows["flags"] & NOT_WRITTEN_TO).all()
    # A view reads no values, so that nothing of it is missing.
    assert "view" not in json.dumps(json.loads((dump.folder / "run.json").read_text())["ops"])


def test_what_was_written_over_is_left_out_and_counted(job: TorchDump) -> None:
    dump = rank_of(job, 0)
    assert np.isnan(dump.of_type("c10d.broadcast_", OUTPUT)["min"]).all()
    reasons = json.loads((dump.folder / "run.json").read_text())["ops"]
    assert "output of a collective that may have been written over before" in json.dumps(reasons)
    # The rank that only waited has it.
    assert extremes(rank_of(job, 1).of_type("c10d.broadcast_", OUTPUT)) == [(value, value) for value in ROUNDS[1] * 10]
