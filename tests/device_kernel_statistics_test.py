"""B16: statistics that a kernel computes on the device, on the test device of tests/device, whose driver runs the kernel's code."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from case_table import each_row
from cli_support import tensortap
from device_late_test import BREAKS, FORKS, GOES_ON, STANDS_STILL, reasons, train, waited
from device_operators_test import KINDS, assert_same
from device_support import alone, on_device
from device_test import TRAIN
from torch_support import PYTHON, Captured

KERNEL = ["--device-stats", "kernel"]
ON_TRIAL = "before the statistics kernel was known to count as the host does"
NOT_READY = "before the statistics kernel was ready"
OTHER_TYPE = "type that the kernel does not measure"


@pytest.fixture(scope="session")
def library(device: dict[str, str]) -> str:
    """Find the extension of the test device, which is its driver and its compiler, too."""
    words = [PYTHON, "-c", "import tapdev, tapdev_c; print(tapdev_c.__file__)"]
    return subprocess.run(words, env={**os.environ, **device}, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def driven(device: dict[str, str], library: str, tmp_path: Path) -> dict[str, str]:
    """Say what programs need in their environment; each test has a cache for its kernels."""
    return {**device, "TENSORTAP_TEST_DEVICE_DRIVER": library, "XDG_CACHE_HOME": str(tmp_path / "cache")}


def with_cache(driven: dict[str, str], folder: Path) -> dict[str, str]:
    """Give a row of a test a cache for itself."""
    return {**driven, "XDG_CACHE_HOME": str(folder / "cache")}


def not_measured(done: Captured) -> dict[str, int]:
    (facts,) = done.dump.run["devices"]
    return {one["reason"]: one["count"] for one in facts["not_measured"]}


def test_records_are_those_of_copies_and_the_program_never_waits(tmp_path: Path, driven: dict[str, str]) -> None:
    exact, _ = train(tmp_path / "wait", driven, "wait", "0")
    plain = json.loads(alone(tmp_path, driven, TRAIN, "tapdev", "0"))
    for delay in ("0", "100", "1000"):
        done, found = train(tmp_path / delay, driven, "kernel", delay)
        for key in ("losses", "parameters", "random", "readings"):
            assert found[key] == plain[key], key
        assert found["counters"]["host_waits"] == plain["counters"]["host_waits"]
        assert waited(done) == 0
        assert done.dump.run["content_mismatch"] is None
        (facts,) = done.dump.run["devices"]
        assert facts["way"] == "kernel"
        # Tensors alone: no operator measures, and nothing is taken from the device's memory.
        assert facts["launches"] == facts["kernels"] == facts["measured"] > facts["tensors"] / 2
        assert facts["no_kernel"] == []
        assert reasons(done) == {"tensor that cannot be copied without waiting": 4}
        assert assert_same(exact, done) == len(exact.dump.rows) - done.dump.run["not_looked_at"]
        # Sums that the device rounded otherwise are no difference; what was not looked at keeps the answer open.
        compared = tensortap("compare", tmp_path / "wait/dump", tmp_path / delay / "dump")
        assert compared.code == 3, compared.out
        assert "what could be compared agrees" in compared.out


MORE_KINDS = KINDS.replace(
    "grid = ",
    """
for kind in (torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz):
    cases.append(torch.arange(256, dtype=torch.int16).to(torch.uint8).view(kind))
for kind in (torch.uint16, torch.uint32, torch.uint64):
    cases.append(torch.tensor([0, 5, torch.iinfo(kind).max, 7], dtype=kind))
cases.append(torch.linspace(1e300, 2e300, 40, dtype=torch.float64))
cases.append(torch.linspace(-2, 3, 70001, dtype=torch.bfloat16))
grid = """,
    1,
)
# Types wait for their kernel and for its trial.
MORE_KINDS = MORE_KINDS.replace("for _ in range(3):", "import time\nfor _ in range(5):\n    time.sleep(0.1)", 1)


@each_row("more", [[], ["--statistics", "all"], ["--statistics", "max,nan"]])
def test_every_type_and_every_view_has_the_numbers_of_copies(tmp_path: Path, driven: dict[str, str], more: list[str]) -> None:
    made = []
    for way in ("wait", "kernel"):
        (tmp_path / way).mkdir()
        made.append(
            on_device(tmp_path / way, with_cache(driven, tmp_path), MORE_KINDS, options=["--device-stats", way, "--no-cache", *more])
        )
    assert made[0].out == made[1].out == "49\n"
    assert assert_same(made[0], made[1]) == len(made[0].dump.rows)
    (facts,) = made[1].dump.run["devices"]
    assert facts["measured"] == facts["kernels"] > 100
    assert set(not_measured(made[1])) == {NOT_READY, ON_TRIAL, OTHER_TYPE}
    # Each kernel is compiled once, and kept.
    kept = {path.name.partition("-")[0] for path in (tmp_path / "cache/tensortap/kernels").iterdir()}
    floats = {"Bfloat16", "Float16", "Float32", "Float8E4M3Fn", "Float8E4M3Fnuz", "Float8E5M2", "Float8E5M2Fnuz"}
    assert kept == floats | {f"{kind}{bits}" for kind in ("Int", "Uint") for bits in (8, 16, 32, 64)}


LARGE = """
import time, torch, tapdev, tapdev_c
small = torch.ones(4, device="tapdev")
for _ in range(20):
    small.detach()
    time.sleep(0.05)
    torch.tapdev.synchronize()
x = torch.linspace(-3, 5, 3 << 20).to("tapdev")
x.view(-1)[(3 << 20) - 7] = float("nan")
before = tapdev_c.counters()
x.view(3, -1).t().detach()
x.detach()
torch.tapdev.synchronize()
after = tapdev_c.counters()
print(after["most_bytes"] - before["most_bytes"], after["copies"] - before["copies"])
"""


def test_a_large_tensor_takes_one_launch_and_no_memory_of_the_device(tmp_path: Path, driven: dict[str, str]) -> None:
    made = []
    for way in ("wait", "kernel"):
        (tmp_path / way).mkdir()
        made.append(on_device(tmp_path / way, driven, LARGE, options=["--device-stats", way, "--no-cache"]))
    assert made[1].out == "0 0\n"
    assert assert_same(made[0], made[1]) == len(made[0].dump.rows)
    rows = made[1].dump.of_type("detach")
    assert {(3 << 20) - 7, ((1 << 20) - 7) * 3 + 2} <= set(rows["first_nonfinite"])


SMALL = """
import time, torch, tapdev, tapdev_c
x = torch.arange(64.0).to("tapdev")
for _ in range(8):
    x.detach()
    time.sleep(0.05)
    torch.tapdev.synchronize()
counters = tapdev_c.counters()
print(float(x.sum()), counters["compilations"], counters["launches"])
"""


def test_a_kernel_is_compiled_once_for_all_programs(tmp_path: Path, driven: dict[str, str]) -> None:
    (kept,) = [run_small(tmp_path / "first", driven, 1)]
    run_small(tmp_path / "second", driven, 0)
    # The driver refuses a damaged kernel, or the trial finds it out.
    (file,) = (tmp_path / "cache/tensortap/kernels").iterdir()
    file.write_bytes(b"image of Int32\0")
    done = run_small(tmp_path / "third", driven, 0)
    assert "the statistics kernel does not count as the host does" in not_measured(done)
    file.write_bytes(b"")
    run_small(tmp_path / "fourth", driven, 1)
    assert kept.dump.run["devices"][0]["kernels"] > 3


def run_small(folder: Path, driven: dict[str, str], compilations: int) -> Captured:
    folder.mkdir()
    done = on_device(folder, driven, SMALL, options=[*KERNEL, "--no-cache"])
    assert done.out.split()[:2] == ["2016.0", str(compilations)]
    assert done.dump.run["not_looked_at"] == 0
    assert set(done.dump.of_type("detach")["max"]) == {63}
    return done


@each_row(
    ("fault", "way", "texts"),
    [
        ("counts wrong", "host", [NOT_READY, ON_TRIAL, "the statistics kernel does not count as the host does"]),
        ("writes nothing", "host", [NOT_READY, ON_TRIAL, "the statistics kernel refused this type"]),
        ("refuses code", "host", [NOT_READY, "the statistics kernel could not be made"]),
        ("refuses module", "host", [NOT_READY, "the statistics kernel could not be made"]),
        ("no context", "operators", [NOT_READY]),
        ("refuses launch", "operators", [NOT_READY]),
        ("other addresses", "kernel", [NOT_READY, ON_TRIAL]),
    ],
)
def test_a_kernel_that_is_wrong_or_missing_gives_copies_or_operators(
    tmp_path: Path, driven: dict[str, str], fault: str, way: str, texts: list[str]
) -> None:
    done = on_device(tmp_path, {**with_cache(driven, tmp_path), "TAPDEV_KERNEL": fault}, SMALL, options=[*KERNEL, "--no-cache"])
    assert done.out.split()[0] == "2016.0"
    (facts,) = done.dump.run["devices"]
    assert facts["way"] == way
    assert (facts["kernels"] > 0) == (way == "kernel")
    assert set(texts) <= set(not_measured(done))
    assert (facts["no_kernel"] != []) == (way == "operators")
    assert done.dump.run["not_looked_at"] == 0
    assert set(done.dump.of_type("detach")["max"]) == {63}


def test_a_device_without_a_driver_is_measured_by_operators(tmp_path: Path, device: dict[str, str]) -> None:
    done = on_device(tmp_path, device, SMALL, options=[*KERNEL, "--no-cache"])
    (facts,) = done.dump.run["devices"]
    assert facts["way"] == "operators"
    assert [one["reason"] for one in facts["no_kernel"]] == ["device without a kernel of ours"]
    assert facts["measured"] > 3


def test_a_program_that_ends_while_its_kernel_is_compiled_ends(tmp_path: Path, driven: dict[str, str]) -> None:
    program = "import torch, tapdev\nx = torch.arange(64.0).to('tapdev')\nprint(float(x.sum()))\n"
    for end in ("", "import os\nos._exit(0)\n", "import sys\nsys.exit(0)\n"):
        folder = tmp_path / str(len(end))
        folder.mkdir()
        done = on_device(folder, {**driven, "TAPDEV_KERNEL": "compiles slowly"}, program + end, options=KERNEL)
        assert done.out == "2016.0\n"


@each_row("program", [BREAKS, FORKS.replace("END", "os._exit(0)")])
def test_broken_devices_and_children_are_the_programs_own_affair(tmp_path: Path, driven: dict[str, str], program: str) -> None:
    done = on_device(tmp_path, driven, program, options=[*KERNEL, "--no-cache"])
    assert done.out == alone(tmp_path, driven, program)
    assert set(reasons(done)) <= {"tensor on a device that gave no copy of it", "tensor that cannot be copied without waiting"}
    assert (done.dump.run["not_looked_at"] > 0) == (program == BREAKS)


def test_a_stream_that_stands_still_does_not_stop_the_program(tmp_path: Path, driven: dict[str, str]) -> None:
    program = STANDS_STILL.replace("5000", "4200").replace("AFTER", GOES_ON)
    done = on_device(tmp_path, driven, program, options=[*KERNEL, "--no-cache"])
    assert done.out == "True\n2016.0\n"
    assert list(reasons(done)) == ["device too far behind"]
    rows = done.dump.of_type("copy_")
    assert set(rows[rows["count"] == 64]["max"]) <= {0, 63}


def test_a_recording_of_a_graph_is_left_alone(tmp_path: Path, driven: dict[str, str]) -> None:
    program = SMALL.replace(
        "counters = ", "tapdev_c.record(True)\ny = x.view(8, 8).detach()\ntapdev_c.record(False)\ny.detach()\ncounters = "
    )
    done = on_device(tmp_path, driven, program + "assert counters['broken_recordings'] == 0\n", options=[*KERNEL, "--no-cache"])
    assert set(reasons(done)) == {"recorded into a graph of the device"}
    assert done.dump.run["devices"][0]["kernels"] > 3


def test_two_devices_and_their_streams_have_their_own_launches(tmp_path: Path, driven: dict[str, str]) -> None:
    program = """
import time, torch, tapdev, tapdev_c
side = [torch.Stream(f"tapdev:{place}") for place in (0, 1)]
for turn in range(6):
    for place in (0, 1):
        x = torch.full((8,), float(10 * turn + place)).to(f"tapdev:{place}")
        torch.tapdev.synchronize()
        tapdev_c.set_device(place)
        torch.tapdev.synchronize()
        tapdev_c.set_device(0)
        time.sleep(0.05)
        with side[place]:
            x.detach()
            x += 1
        for one in side:
            one.synchronize()
        assert x.tolist() == [10 * turn + place + 1] * 8
print(tapdev_c.current_device())
"""
    done = on_device(tmp_path, driven, program, options=[*KERNEL, "--no-cache"])
    assert done.out == "0\n"
    facts = {one["device"]: one for one in done.dump.run["devices"]}
    assert set(facts) == {"tapdev:0", "tapdev:1"}
    for one in facts.values():
        assert one["way"] == "kernel"
        assert one["kernels"] > 5
    assert done.dump.of_type("detach", 0)["max"].tolist() == [10 * turn + place for turn in range(6) for place in (0, 1)]


def test_conditions_and_tensors_work_as_with_copies(tmp_path: Path, driven: dict[str, str]) -> None:
    program = SMALL.replace("counters = ", "y = (x * 1e4).half()\nfor _ in range(4):\n    y.detach()\n    time.sleep(0.1)\ncounters = ")
    for name, options in (("where", ["--where", "pos_inf > 0"]), ("full", ["--full"])):
        (tmp_path / name).mkdir()
        done = on_device(tmp_path / name, driven, program, options=[*KERNEL, "--no-cache", *options])
        assert tensortap("find", tmp_path / name / "dump").code == 1
        assert done.dump.rows["pos_inf"].max() == 57
        assert np.isin("detach", done.dump.rows["op_type"] if "op_type" in (done.dump.rows.dtype.names or ()) else ["detach"])
    assert done.dump.rows["data_bytes"].max() > 0
