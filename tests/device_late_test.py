"""B16: copies that the program does not wait for, on the test device of tests/device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_table import each_row
from cli_support import tensortap
from device_support import alone, on_device
from device_test import EXACT, NOT_LOOKED_AT, PLACE, TRAIN, in_order
from torch_support import Captured, capture

SUMS = ("mean", "l2")
SEGMENTATION = 139


def reasons(done: Captured) -> dict[str, int]:
    """Give why tensors on devices were not captured, and how many."""
    return {one["reason"]: one["count"] for device in done.dump.run["devices"] for one in device["not_captured"]}


def waited(done: Captured) -> int:
    """Give how many copies the program waited for."""
    return sum(int(device["waited"]) for device in done.dump.run["devices"])


def train(folder: Path, device: dict[str, str], way: str, delay: str, option: str = "--stats") -> tuple[Captured, dict[str, Any]]:
    """Capture the training, and give what it printed."""
    folder.mkdir()
    done = on_device(folder, device, TRAIN, "tapdev", delay, options=["--device-stats", way, option])
    return done, json.loads(done.out)


@each_row(("option", "delays"), [("--stats", ["0", "100", "1000"]), ("--full", ["100"])])
def test_records_without_waiting_are_those_with_waiting(tmp_path: Path, device: dict[str, str], option: str, delays: list[str]) -> None:
    exact, expected = train(tmp_path / "wait", device, "wait", "100", option)
    plain = json.loads(alone(tmp_path, device, TRAIN, "tapdev", "0"))
    assert expected["counters"]["host_waits"] > plain["counters"]["host_waits"], "the test device counts waits"
    for delay in delays:
        done, found = train(tmp_path / delay, device, "auto", delay, option)
        for key in ("losses", "parameters", "random", "readings"):
            assert found[key] == plain[key], key
        assert done.dump.run["not_looked_at"] == 0
        assert done.dump.run["content_mismatch"] is None
        first, second = in_order(exact.dump.rows), in_order(done.dump.rows)
        for key in (*PLACE, *EXACT, *SUMS, "value_flags", "flags", "data_bytes"):
            np.testing.assert_array_equal(first[key], second[key], f"{delay} {key}")
        assert tensortap("find", tmp_path / delay / "dump").code == 0
        compared = tensortap("compare", tmp_path / "wait/dump", tmp_path / delay / "dump")
        assert compared.code == 0, compared.out


@each_row("delay", ["0", "100", "1000"])
def test_the_program_never_waits(tmp_path: Path, device: dict[str, str], delay: str) -> None:
    plain = json.loads(alone(tmp_path, device, TRAIN, "tapdev", delay))
    done, found = train(tmp_path / "host", device, "host", delay)
    assert found["counters"]["host_waits"] == plain["counters"]["host_waits"]
    assert found["counters"]["pinned_bytes"] - plain["counters"]["pinned_bytes"] <= 16 << 20
    assert waited(done) == 0
    for key in ("losses", "parameters", "random", "readings"):
        assert found[key] == plain[key], key
    # Host memory that such a copy fills, and its views.
    unseen = done.dump.rows[(done.dump.rows["value_flags"] & NOT_LOOKED_AT) != 0]
    assert {done.dump.ops[int(op)]["type"] for op in unseen["op"]} == {"copy_", "detach"}
    assert len(unseen) == done.dump.run["not_looked_at"]
    assert reasons(done) == {"tensor that cannot be copied without waiting": 4}


STANDS_STILL = """
import sys, time, torch, tapdev, tapdev_c
x, y = torch.zeros(64, device="tapdev"), torch.arange(64.0).to("tapdev")
torch.tapdev.synchronize()
tapdev_c.hold(True)
begin = time.monotonic()
for _ in range(5000):
    x.copy_(y)
print(time.monotonic() - begin < 100)
AFTER
"""
GOES_ON = "tapdev_c.hold(False)\nprint(float(x.sum()))"


def test_a_stream_that_stands_still_does_not_stop_the_program(tmp_path: Path, device: dict[str, str]) -> None:
    done = on_device(tmp_path, device, STANDS_STILL.replace("AFTER", GOES_ON), options=["--device-stats", "host", "--no-cache"])
    assert done.out == "True\n2016.0\n"
    missed = reasons(done)
    assert list(missed) == ["device too far behind"]
    rows = done.dump.of_type("copy_")
    seen = rows[rows["count"] == 64]
    assert len(seen) >= 4000
    assert set(seen["max"]) <= {0, 63}
    assert done.dump.run["not_looked_at"] == missed["device too far behind"]
    assert tensortap("find", tmp_path / "dump").code == 3


def test_waiting_for_room_ends_where_a_stream_stands_still(tmp_path: Path, device: dict[str, str]) -> None:
    done = on_device(tmp_path, device, STANDS_STILL.replace("AFTER", GOES_ON), options=["--no-cache"])
    assert done.out == "True\n2016.0\n"
    assert list(reasons(done)) == ["device too far behind"]


def test_a_program_ends_although_its_device_does_not(tmp_path: Path, device: dict[str, str]) -> None:
    done = on_device(tmp_path, device, STANDS_STILL.replace("5000", "50").replace("AFTER", ""))
    assert done.out == "True\n"
    assert done.dump.run["complete"]
    assert set(reasons(done)) <= {
        "tensor on a device that was not done with it when the capture ended",
        "tensor on a device whose earlier copy did not come",
    }
    assert done.dump.run["not_looked_at"] == sum(reasons(done).values()) > 0
    assert tensortap("find", tmp_path / "dump").code == 3


BREAKS = """
import torch, tapdev, tapdev_c
x, y = torch.zeros(64, device="tapdev"), torch.arange(64.0).to("tapdev")
torch.tapdev.synchronize()
tapdev_c.hold(True)
x.copy_(y)
tapdev_c.break_down()
tapdev_c.hold(False)
raised = 0
for _ in range(30):
    try:
        x.copy_(y)
    except RuntimeError:
        raised += 1
print(raised, x.view(8, 8).shape)
"""


@each_row("way", ["auto", "host"])
def test_a_broken_device_is_the_programs_own_affair(tmp_path: Path, device: dict[str, str], way: str) -> None:
    done = on_device(tmp_path, device, BREAKS, options=["--device-stats", way, "--no-cache"])
    assert done.out == alone(tmp_path, device, BREAKS)
    assert reasons(done).get("tensor on a device that gave no copy of it", 0) > 0
    assert done.dump.run["not_looked_at"] > 0
    assert tensortap("find", tmp_path / "dump").code == 3


SPENT = """
import torch, tapdev, tapdev_c
tapdev_c.spend_pinned(True)
x = torch.arange(64.0).to("tapdev") * 2
print(float(x.sum()))
"""


@each_row("way", ["auto", "host"])
def test_without_pinned_memory_copies_are_waited_for_or_counted(tmp_path: Path, device: dict[str, str], way: str) -> None:
    done = on_device(tmp_path, device, SPENT, options=["--device-stats", way])
    assert done.out == alone(tmp_path, device, SPENT)
    assert (waited(done) > 0) == (way == "auto")
    assert set(reasons(done)) == (set() if way == "auto" else {"tensor that cannot be copied without waiting"})


FORKS = """
import os, sys, torch, tapdev, tapdev_c
x, y = torch.zeros(64, device="tapdev"), torch.arange(64.0).to("tapdev")
torch.tapdev.synchronize()
tapdev_c.hold(True)
for _ in range(40):
    x.copy_(y)
child = os.fork()
if child == 0:
    END
code = os.waitpid(child, 0)[1]
tapdev_c.hold(False)
print(code, float(x.sum()))
"""


@each_row("end", ["os._exit(0)", "sys.exit(0)"])
def test_a_child_leaves_the_copies_of_its_parent_alone(tmp_path: Path, device: dict[str, str], end: str) -> None:
    done = on_device(tmp_path, device, FORKS.replace("END", end), options=["--no-cache"])
    assert done.out == "0 2016.0\n"
    assert done.dump.run["not_looked_at"] == 0
    assert reasons(done) == {}


DIES = """
import ctypes, resource, torch, tapdev, tapdev_c
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
x, y = torch.zeros(64, device="tapdev"), torch.full((64,), float("nan")).to("tapdev")
torch.tapdev.synchronize()
tapdev_c.hold(True)
for _ in range(40):
    x.copy_(y)
END
"""


@each_row("end", ["ctypes.string_at(0)", "import os; os.kill(os.getpid(), 9)"])
def test_what_was_on_its_way_when_the_program_died_is_not_cleared(tmp_path: Path, device: dict[str, str], end: str) -> None:
    done = capture(tmp_path, DIES.replace("END", end), environment=device)
    assert done.code in (SEGMENTATION, -11, 137, -9), done.err
    found = tensortap("find", tmp_path / "dump")
    assert found.code != 0, found.out


@each_row("settings", [{"trigger": "overflow"}, {"trigger": "exception"}, {"trigger": "overflow", "limits": {"ring_ops": 4}}])
def test_triggers_that_need_values_at_once_wait_and_say_so(tmp_path: Path, device: dict[str, str], settings: dict[str, Any]) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**settings, "payload": "full"}))
    text = "import torch, tapdev\nx = torch.full((3,), 5.0, device='tapdev')\nprint(float((x / torch.zeros_like(x)).sum()))\n"
    done = on_device(tmp_path, device, text, options=["--config", str(tmp_path / "config.json")])
    assert done.out == "inf\n"
    assert waited(done) > 0
    assert any("at once" in note for note in done.dump.run["notes"])


CHANGES = """
import torch, tapdev, tapdev_c
tapdev_c.delay(2000)
total = torch.zeros(1000, device="tapdev")
for i in range(200):
    total.add_(torch.full((1000,), float(i), device="tapdev"))
    total.mul_(0.5)
print(float(total.sum()))
"""


def test_values_that_are_written_over_at_once_are_those_of_their_time(tmp_path: Path, device: dict[str, str]) -> None:
    done = on_device(tmp_path, device, CHANGES, options=["--full"])
    expected, total = [], np.zeros(1000, np.float32)
    for i in range(200):
        total = total + np.float32(i)
        expected.append(float(total[0]))
        total = total * np.float32(0.5)
    made = in_order(done.dump.of_type("add_", 0))
    assert made["max"].tolist() == pytest.approx(expected, abs=0)
    assert waited(done) == 0
