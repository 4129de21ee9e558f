"""B16: statistics that the device computes by operators of torch, on the test device of tests/device."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from case_table import each_row
from cli_support import tensortap
from device_late_test import BREAKS, FORKS, GOES_ON, STANDS_STILL, reasons, train, waited
from device_support import alone, on_device
from device_test import EXACT, NOT_LOOKED_AT, PLACE, TRAIN, in_order
from torch_support import Captured

OPERATORS = ["--device-stats", "operators"]
WORDS = "min max mean std l2 absmax nan pos_inf neg_inf zero neg_zero positive negative histogram mean_abs subnormal"
ON_TRIAL = "before the device's operators were known to count as the host does"
BITS = {word: 1 << number for number, word in enumerate(WORDS.split())}


def assert_same(exact: Captured, done: Captured) -> int:
    """Compare records with those of copies: sums within the bounds of docs/statistics.md. Gives how many were looked at."""
    first, second = in_order(exact.dump.rows), in_order(done.dump.rows)
    for key in PLACE:
        np.testing.assert_array_equal(first[key], second[key], key)
    seen = (second["value_flags"] & NOT_LOOKED_AT) == 0
    first, second = first[seen], second[seen]
    for key in (*EXACT, "positive", "negative", "subnormal", "min_integer", "max_integer", "valid", "value_flags", "flags"):
        asked = (first["valid"] & BITS[key]) != 0 if key in BITS else slice(None)
        np.testing.assert_array_equal(first[key][asked], second[key][asked], key)
    size = first["l2"] / np.sqrt(np.maximum(first["count"], 1))
    for key, scale in (("mean", size), ("mean_abs", size), ("l2", first["l2"]), ("std", first["std"] + size)):
        with np.errstate(invalid="ignore"):
            near = np.abs(first[key] - second[key]) <= np.nan_to_num(scale, posinf=0) * 2**-17
        alike = (first[key] == second[key]) | (np.isnan(first[key]) & np.isnan(second[key])) | ((first["valid"] & BITS[key]) == 0)
        assert (near | alike).all(), (key, first[~(near | alike)][key], second[~(near | alike)][key])
    return int(seen.sum())


def test_records_are_those_of_copies_and_the_program_never_waits(tmp_path: Path, device: dict[str, str]) -> None:
    exact, _ = train(tmp_path / "wait", device, "wait", "0")
    plain = json.loads(alone(tmp_path, device, TRAIN, "tapdev", "0"))
    for delay in ("0", "100", "1000"):
        done, found = train(tmp_path / delay, device, "operators", delay)
        for key in ("losses", "parameters", "random", "readings"):
            assert found[key] == plain[key], key
        assert found["counters"]["host_waits"] == plain["counters"]["host_waits"]
        assert waited(done) == 0
        assert done.dump.run["content_mismatch"] is None
        (facts,) = done.dump.run["devices"]
        assert facts["way"] == "operators"
        assert facts["launches"] > facts["measured"] > facts["tensors"] / 2
        # Host memory that a copy without a wait fills, as with `host`.
        assert reasons(done) == {"tensor that cannot be copied without waiting": 4}
        assert assert_same(exact, done) == len(exact.dump.rows) - done.dump.run["not_looked_at"]


KINDS = """
import math, sys, torch, tapdev, tapdev_c
inf, nan = math.inf, math.nan
odd = [1.0, -2.5, nan, inf, -inf, 0.0, -0.0, 3e-42, -3e-42, 7.0, 1e-6, -1e-6]
cases = [torch.tensor(odd, dtype=kind) for kind in (torch.float32, torch.float16, torch.bfloat16, torch.float64)]
cases += [torch.tensor(values) for values in ([nan, inf, -inf], [inf, inf, 1.0], [-inf, 2.0, nan], [nan], [-0.0, -0.0], [5.0] * 3)]
cases += [torch.tensor([-3.4e38, 3.4e38, 1e38]), torch.full((1000,), 3e-45), torch.full((999,), 1e6) + torch.linspace(-1, 1, 999)]
for kind in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
    least, most = torch.iinfo(kind).min, torch.iinfo(kind).max
    cases += [torch.tensor([least, most, 0, 5, 0], dtype=kind), torch.tensor([most, most], dtype=kind), torch.tensor(7, dtype=kind)]
cases += [torch.tensor([True, False, True]), torch.tensor(2.5), torch.tensor([1 + 2j, nan]), torch.tensor([1.5, -2]).to(torch.float8_e5m2)]
grid = torch.arange(24.0).reshape(2, 3, 4) - 11
grid[1, 2, 1], grid[0, 1, 3] = nan, -inf
moved = [case.to("tapdev") for case in cases] + [torch.empty(0, device="tapdev")]
there = grid.to("tapdev")
moved += [there.transpose(0, 2), there[:, ::2, 1:], there[1], there[:, 1:2].expand(2, 5, 4), there[0, :, 0], there[..., 3].t()]
moved += [there.reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)]
# Until the trial of a type has an answer, its tensors are copied.
for _ in range(3):
    for tensor in moved:
        tensor.view_as(tensor)
    torch.tapdev.synchronize()
print(len(moved))
"""


@each_row("more", [[], ["--statistics", "all"], ["--statistics", "max,nan"]])
def test_every_type_and_every_view_has_the_numbers_of_copies(tmp_path: Path, device: dict[str, str], more: list[str]) -> None:
    made = []
    for way in ("wait", "operators"):
        (tmp_path / way).mkdir()
        made.append(on_device(tmp_path / way, device, KINDS, options=["--device-stats", way, "--no-cache", *more]))
    assert made[0].out == made[1].out == "40\n"
    assert assert_same(made[0], made[1]) == len(made[0].dump.rows)
    (facts,) = made[1].dump.run["devices"]
    assert facts["measured"] > 100
    assert {one["reason"] for one in facts["not_measured"]} == {ON_TRIAL, "type that the device's operators do not measure"}


LARGE = """
import torch, tapdev, tapdev_c
x = torch.linspace(-3, 5, 9 << 20).to("tapdev")
x.view(-1)[(9 << 20) - 7] = float("nan")
before = tapdev_c.counters()["most_bytes"]
x.view(3, -1).t().detach()
x.detach()
print(before, tapdev_c.counters()["most_bytes"])
"""


def test_a_large_tensor_is_measured_in_parts_of_bounded_memory(tmp_path: Path, device: dict[str, str]) -> None:
    made = []
    for way in ("wait", "operators"):
        (tmp_path / way).mkdir()
        made.append(on_device(tmp_path / way, device, LARGE, options=["--device-stats", way, "--no-cache"]))
    before, after = (int(word) for word in made[1].out.split())
    assert before > 36 << 20
    # All masks of the whole tensor would take 63 MiB, and its numbers in float64 72 MiB.
    assert max(before, after) <= (64 << 20) + (112 << 20)
    assert assert_same(made[0], made[1]) == len(made[0].dump.rows)
    rows = made[1].dump.of_type("detach")
    assert set(rows["first_nonfinite"]) == {(9 << 20) - 7, ((3 << 20) - 7) * 3 + 2}


def test_nothing_of_the_program_sees_the_operators(tmp_path: Path, device: dict[str, str]) -> None:
    program = """
import torch, tapdev
from torch.utils._python_dispatch import TorchDispatchMode
seen = []
class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        seen.append(str(function))
        return function(*arguments, **(named or {}))
torch.use_deterministic_algorithms(True)
torch.manual_seed(5)
x = torch.randn(40, 3, device="tapdev", requires_grad=True)
with Mode(), torch.profiler.profile() as profile:
    y = (x * 2).sum()
    y.backward()
with torch.inference_mode():
    z = (x + 1).mul_(2)
print(seen, x.grad.sum().item(), z.sum().item(), torch.rand(2), sorted({one.name for one in profile.events() if one.name[:6] == "aten::"}))
"""
    done = on_device(tmp_path, device, program, options=OPERATORS)
    assert done.out == alone(tmp_path, device, program)
    assert done.dump.run["devices"][0]["measured"] > 3


@each_row("program", [BREAKS, FORKS.replace("END", "os._exit(0)")])
def test_broken_devices_and_children_are_the_programs_own_affair(tmp_path: Path, device: dict[str, str], program: str) -> None:
    done = on_device(tmp_path, device, program, options=[*OPERATORS, "--no-cache"])
    assert done.out == alone(tmp_path, device, program)
    assert set(reasons(done)) <= {"tensor on a device that gave no copy of it", "tensor that cannot be copied without waiting"}
    assert (done.dump.run["not_looked_at"] > 0) == (program == BREAKS)


def test_a_stream_that_stands_still_does_not_stop_the_program(tmp_path: Path, device: dict[str, str]) -> None:
    program = STANDS_STILL.replace("5000", "4200").replace("AFTER", GOES_ON)
    done = on_device(tmp_path, device, program, options=[*OPERATORS, "--no-cache"])
    assert done.out == "True\n2016.0\n"
    assert list(reasons(done)) == ["device too far behind"]
    rows = done.dump.of_type("copy_")
    assert set(rows[rows["count"] == 64]["max"]) <= {0, 63}


SPENT = """
import torch, tapdev, tapdev_c
x = torch.arange(64.0).to("tapdev")
torch.tapdev.synchronize()
x.detach()
tapdev_c.spend_memory(True)
for _ in range(20):
    x.view(8, 8).view(64)
tapdev_c.spend_memory(False)
x.detach()
print(float(x.sum()))
"""


def test_without_memory_of_the_device_tensors_are_copied(tmp_path: Path, device: dict[str, str]) -> None:
    done = on_device(tmp_path, device, SPENT, options=[*OPERATORS, "--no-cache"])
    assert done.out == "2016.0\n"
    (facts,) = done.dump.run["devices"]
    # After some attempts nothing more is tried: each makes torch free memory that it keeps.
    assert {one["reason"] for one in facts["not_measured"]} == {ON_TRIAL, "no memory on the device to measure in"}
    assert facts["tensors"] > 80
    assert 0 < facts["measured"] < 10
    assert reasons(done) == {}
    assert done.dump.run["not_looked_at"] == 0


@each_row(
    ("fault", "name", "reasons_given"),
    [
        ("TAPDEV_LACKS", "argmax.out", ["the device lacks an operator that measures"]),
        ("TAPDEV_LACKS", "masked_fill_.Scalar", ["the device lacks an operator that measures"]),
        ("TAPDEV_WRONG", "amin", [ON_TRIAL, "the device's operators do not count as the host does"]),
        ("TAPDEV_WRONG", "argmax", [ON_TRIAL, "the device's operators do not count as the host does"]),
    ],
)
def test_a_device_that_lacks_an_operator_or_has_a_wrong_one_gives_copies(
    tmp_path: Path, device: dict[str, str], fault: str, name: str, reasons_given: list[str]
) -> None:
    done = on_device(tmp_path, {**device, fault: name}, SPENT.replace("(True)", "(False)"), options=[*OPERATORS, "--no-cache"])
    (facts,) = done.dump.run["devices"]
    assert facts["way"] == "host"
    assert facts["measured"] == facts["launches"] == facts["waited"] == 0
    assert [one["reason"] for one in facts["not_measured"]] == reasons_given
    assert done.dump.run["not_looked_at"] == 0


WIDE = """
import torch, tapdev, tapdev_c
x = torch.zeros(3, 1 << 20).to("tapdev")[:, 0]
tapdev_c.spend_memory(True)
y = x.view(3, 1)
tapdev_c.spend_memory(False)
print(float(x.sum()), y.shape)
"""


@each_row("way", ["auto", "host", "wait", "operators"])
def test_a_gather_without_memory_of_the_device_is_counted(tmp_path: Path, device: dict[str, str], way: str) -> None:
    done = on_device(tmp_path, device, WIDE, options=["--device-stats", way, "--no-cache"])
    assert done.out == alone(tmp_path, device, WIDE)
    assert reasons(done) == {"tensor on a device that gave no copy of it": 2}
    assert done.dump.run["not_looked_at"] == 2
    assert tensortap("find", tmp_path / "dump").code == 3


@each_row("way", ["auto", "operators"])
def test_two_devices_are_counted_apart(tmp_path: Path, device: dict[str, str], way: str) -> None:
    program = """
import torch, tapdev, tapdev_c
x = torch.arange(8.0).to("tapdev:0")
y = torch.arange(8.0).to("tapdev:1") - 1
for place in (0, 1):
    tapdev_c.set_device(place)
    torch.tapdev.synchronize()
tapdev_c.set_device(0)
y = torch.arange(8.0).to("tapdev:1") - 1
z = (y * 2).to("tapdev:0") + x
print(tapdev_c.current_device(), float(z.sum()))
"""
    done = on_device(tmp_path, device, program, options=["--device-stats", way, "--no-cache"])
    assert done.out == alone(tmp_path, device, program) == "0 68.0\n"
    facts = {one["device"]: one for one in done.dump.run["devices"]}
    assert set(facts) == {"tapdev:0", "tapdev:1"}
    for one in facts.values():
        assert one["way"] == way
        assert one["tensors"] > 2
        assert (one["measured"] > 0) == (one["launches"] > 0) == (way == "operators")
    assert done.dump.run["not_looked_at"] == 0
    assert done.dump.of_type("mul", 0)["max"].tolist() == [12]


def test_conditions_triggers_and_tensors_work_as_with_copies(tmp_path: Path, device: dict[str, str]) -> None:
    program = "import torch, tapdev\nx = torch.full((3,), 9e4, device='tapdev')\ny = x.half() * 2\nprint(float(y.sum()))\n"
    for name, options, code in (("where", ["--where", "pos_inf > 0"], 1), ("full", ["--full"], 1)):
        (tmp_path / name).mkdir()
        done = on_device(tmp_path / name, device, program, options=[*OPERATORS, *options])
        assert done.out == "inf\n"
        found = tensortap("find", tmp_path / name / "dump")
        assert found.code == code, found.out
        assert done.dump.rows["pos_inf"].max() == 3
    assert done.dump.rows["data_bytes"].max() > 0
