"""B16: tensors in memory that the host cannot read, on the test device of tests/device."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from case_table import each_row
from cli_support import tensortap
from device_support import alone, on_device
from torch_support import PYTHON, capture

HERE = Path(__file__).parent
TRAIN = HERE / "programs/train_on_device.py"
NOT_LOOKED_AT, UNWRITTEN = 64, 32
EXACT = ("min", "max", "absmax", "nan", "pos_inf", "neg_inf", "zero", "neg_zero", "count", "first_nonfinite", "numel", "dtype")
PLACE = ("step", "op", "call", "slot_kind", "slot_index", "element")


def is_recorded(reading: dict[str, Any], rows: npt.NDArray[Any]) -> bool:
    """Whether a record has what the program found in a tensor."""
    shape = reading["shape"]
    some = rows[(rows["dims_count"] == len(shape)) & (rows["count"] > 0)]
    for i, size in enumerate(shape):
        some = some[some["shape"][:, i] == size]
    return bool(((some["min"] == reading["min"]) & (some["max"] == reading["max"]) & (some["zero"] == reading["zero"])).any())


def in_order(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Sort records by what they are of."""
    return rows[np.lexsort([rows[key] for key in reversed(PLACE)])]


PROBE = """
import json, sys, torch, tapdev, tapdev_c
torch.manual_seed(0)
device = torch.device("tapdev")
side = torch.Stream(device)

busy, idle = torch.ones(4, device=device), torch.ones(4, device=device)

def take(way, x):
    host = torch.empty(x.shape, pin_memory=True)
    if way == "same stream" or way == "without waiting":
        host.copy_(x, non_blocking=True)
        return host.numpy().copy() if way == "without waiting" else host.numpy()
    for _ in range(20 if way == "not ordered" else 0):
        tapdev_c.unseen_fill(idle, 1.0)  # what makes the tensor comes late
    source = x.clone() if way in ("snapshot", "not ordered") else x
    if way != "not ordered":
        side.wait_stream(torch.accelerator.current_stream())
    with side:
        for _ in range(20 if way == "no snapshot" else 0):
            tapdev_c.unseen_fill(busy, 1.0)  # the copy comes after what the program does next
        host.copy_(source, non_blocking=True)
    if way == "snapshot":
        source.record_stream(side)
    return host.numpy()

def values(way):
    taken, x = [], torch.linspace(-1, 1, 1024).reshape(32, 32).to(device)
    for i in range(12):
        y = x @ x * 0.1
        taken.append(take(way, y))
        y.add_(i)
        z = y.sin()
        taken.append(take(way, z))
        del y
        x = z / 2
        del z
    torch.tapdev.synchronize()
    return [float(one.astype("float64").sum()) for one in taken]

tapdev_c.delay(0)
reference = values("same stream")
tapdev_c.delay(200)
same = lambda a, b: abs(a - b) < 1e-6
print(json.dumps({way: sum(not same(a, b) for a, b in zip(reference, values(way))) for way in
                  ("snapshot", "same stream", "without waiting", "not ordered", "no snapshot")}))
"""


def test_the_device_catches_whoever_reads_too_early(tmp_path: Path, device: dict[str, str]) -> None:
    wrong = json.loads(alone(tmp_path, device, PROBE))
    assert wrong["snapshot"] == wrong["same stream"] == 0
    assert min(wrong["without waiting"], wrong["not ordered"], wrong["no snapshot"]) > 0, wrong
    touched = subprocess.run(
        [PYTHON, "-c", "import ctypes, torch, tapdev; ctypes.string_at(torch.ones(9, device='tapdev').data_ptr(), 1)"],
        env={**os.environ, **device},
        capture_output=True,
        check=False,
    )
    assert touched.returncode < 0, "the host can touch the memory"


def test_everything_is_captured_and_nothing_is_changed(tmp_path: Path, device: dict[str, str]) -> None:
    expected = json.loads(alone(tmp_path, device, TRAIN, "tapdev", "0"))
    dumps = []
    for delay in ("0", "100", "1000"):
        folder = tmp_path / delay
        folder.mkdir()
        done = on_device(folder, device, TRAIN, "tapdev", delay, options=["--full", "--strict"])
        found = json.loads(done.out)
        assert {key: found[key] for key in ("losses", "parameters", "random")} == {
            key: expected[key] for key in ("losses", "parameters", "random")
        }
        rows = done.dump.rows
        unseen = rows[(rows["numel"] > 0) & (rows["count"] == 0) & ((rows["flags"] & UNWRITTEN) == 0)]
        assert len(unseen) == 0, unseen["op"]
        assert [one["name"] for one in found["readings"] if not is_recorded(one, rows)] == []
        assert done.dump.run["content_mismatch"] is None
        assert done.dump.run["not_looked_at"] == 0
        (one,) = done.dump.run["devices"]
        assert one["device"] == "tapdev:0"
        assert one["tensors"] > 0
        assert one["not_captured"] == []
        assert any(op["inputs"] and "0.weight" in str(op["inputs"]) for op in done.dump.ops.values()), "names of parameters"
        dumps.append(done)
    early, *others = (in_order(done.dump.rows) for done in dumps)
    for late in others:
        assert len(early) == len(late)
        for key in (*PLACE, *EXACT):
            np.testing.assert_array_equal(early[key], late[key], key)
    assert tensortap("find", tmp_path / "0/dump").code == 0
    replayed = tensortap("replay", tmp_path / "0/dump", "--runtime", PYTHON)
    assert "tapdev" in replayed.err + replayed.out


MIXED = """
import torch, tapdev, tapdev_c
x = torch.linspace(0, 12, 64, device="tapdev").reshape(4, 16).half()
y = x.exp()
z = (y - y).sum()
print(z.item())
"""


def test_what_is_not_looked_at_clears_nothing(tmp_path: Path, device: dict[str, str]) -> None:
    done = on_device(tmp_path, device, MIXED, options=["--device-stats", "off"])
    unseen = int(((done.dump.rows["value_flags"] & NOT_LOOKED_AT) != 0).sum())
    assert unseen > 0
    assert done.dump.run["not_looked_at"] == unseen
    sentence = f"{unseen} records were not looked at (tensor on a device)"
    assert sentence in done.err
    assert "none seen" not in done.err
    found = tensortap("find", tmp_path / "dump")
    assert (found.code, sentence in found.out) == (3, True)
    assert capture_strict(tmp_path, device, "off") == 1


def capture_strict(folder: Path, device: dict[str, str], way: str) -> int:
    """Give the exit code of a strict capture."""
    again = folder / "strict"
    again.mkdir()
    return capture(again, MIXED, options=["--strict", "--device-stats", way], environment=device).code


def test_the_operator_that_overflowed_is_found(tmp_path: Path, device: dict[str, str]) -> None:
    on_device(tmp_path, device, MIXED)
    found = tensortap("find", tmp_path / "dump")
    assert found.code == 1
    assert "exp" in found.out.split("\n")[0], found.out


def test_the_overflow_trigger_keeps_what_made_it(tmp_path: Path, device: dict[str, str]) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"trigger": "overflow", "payload": "full"}')
    done = on_device(tmp_path, device, MIXED, options=["--config", str(config)])
    assert "exp" in {op["type"] for op in done.dump.ops.values() if len(done.dump.of_type(op["type"]))}
    assert int(done.dump.of_type("exp", 0)["pos_inf"].sum()) > 0


COPIES = """
import torch, tapdev, tapdev_c
tapdev_c.delay(3000)
total = 0.0
for i in range(3):
    x = torch.full((50, 70), 2.0, device="tapdev") + i
    late = torch.empty(50, 70, pin_memory=True)
    late.copy_(x, non_blocking=True)
    fresh = x.to("cpu", non_blocking=True)
    seen = late.view(-1)[:1]
    torch.tapdev.synchronize()
    total += float(late.sum()) + float(fresh.sum())
print(total)
"""


@each_row("way", ["auto", "wait", "host", "off"])
def test_copies_that_are_not_there_yet_are_not_read(tmp_path: Path, device: dict[str, str], way: str) -> None:
    done = on_device(tmp_path, device, COPIES, options=["--device-stats", way])
    rows = done.dump.rows
    assert int(rows["nan"].sum()) == 0, "of memory that the copy had not filled"
    assert done.dump.run["content_mismatch"] is None
    assert done.out == alone(tmp_path, device, COPIES)
    sums = done.dump.of_type("sum", 1)
    assert sorted(sums["min"]) == [2, 2, 3, 3, 4, 4]
    if way in ("auto", "wait"):
        copied = done.dump.of_type("copy_", 0)
        assert sorted(copied["min"]) == [2, 3, 4]


RECORDED = """
import torch, tapdev, tapdev_c
x = torch.ones(8, 8, device="tapdev")
tapdev_c.record(True)
y = x * 2
z = y + 1
tapdev_c.record(False)
print(float((x + 1).sum()), tapdev_c.counters()["broken_recordings"])
"""


def test_a_recording_of_a_graph_is_left_alone_and_counted(tmp_path: Path, device: dict[str, str]) -> None:
    done = on_device(tmp_path, device, RECORDED)
    assert done.out == alone(tmp_path, device, RECORDED)
    (one,) = done.dump.run["devices"]
    (missed,) = one["not_captured"]
    assert missed == {"reason": "recorded into a graph of the device", "count": missed["count"]}
    assert missed["count"] >= 2
    assert done.dump.run["not_looked_at"] > 0
    assert tensortap("find", tmp_path / "dump").code == 3


UNSEEN = """
import torch, tapdev, tapdev_c
x = torch.empty(33, 9, device="tapdev")
tapdev_c.unseen_fill(x, 3.0)
y = x + 1
print(float(y.sum()))
"""


def test_memory_that_a_kernel_filled_unseen_is_read(tmp_path: Path, device: dict[str, str]) -> None:
    done = on_device(tmp_path, device, UNSEEN)
    read = done.dump.of_type("add", 1)
    assert set(read["min"][read["dims_count"] == 2]) == {3}
    assert tensortap("find", tmp_path / "dump").code == 0


def test_the_trigger_watch_says_what_it_does_not_watch(tmp_path: Path, device: dict[str, str]) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"trigger": "watch"}')
    done = on_device(tmp_path, device, RECORDED.replace("True", "False"), options=["--config", str(config)])
    assert any("not watched" in note for note in done.dump.run["notes"])


def test_other_trees_have_the_values(tmp_path: Path, device: dict[str, str]) -> None:
    on_device(tmp_path, device, UNSEEN, options=["--layout", "mindspore", "--tensors"])
    (made,) = (tmp_path / "dump").rglob("add.*.output.0.*.npy")
    np.testing.assert_array_equal(np.load(made), np.full((33, 9), 4, np.float32))


def test_doctor_lists_the_devices(tmp_path: Path, device: dict[str, str]) -> None:
    (tmp_path / "sitecustomize.py").write_text("import tapdev")
    environment = {**device, "PYTHONPATH": f"{tmp_path}:{device['PYTHONPATH']}"}
    done = tensortap("doctor", "--json", "--python", PYTHON, environment=environment)
    (one, *_) = done.object["pytorch"]["torch"]["devices"]
    assert one["device"] == "tapdev:0"
    assert "tapdev:0" in tensortap("doctor", "--python", PYTHON, environment=environment).out
