"""B16: what a capture can do with tensors on the processor, it can do on devices: each feature on the test device of tests/device."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensortap
from case_table import each_row
from cli_support import tensortap as command
from device_support import on_device
from live_control_test import started
from torch_support import OUTPUT, PYTHON, Captured, capture, run_program

HAS_DATA, UNWRITTEN, NOT_LOOKED_AT = 1, 32, 64
SEGMENTATION = 139
COPIES = {"_to_copy", "copy_", "item", "_local_scalar_dense"}
"""Operators that move values between the devices: on the processor alone there are others, or none."""
VALUES = ("min", "max", "absmax", "mean", "l2", "nan", "pos_inf", "neg_inf", "zero", "count", "first_nonfinite", "numel", "dtype", "digest")

# Products and sums of small whole numbers, which have the same bits in any order.
PROGRAM = """
import sys, torch
device = sys.argv[1]
if device == "tapdev":
    import tapdev, tapdev_c
    tapdev_c.delay(300)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(48.0).reshape(6, 8) % 5)

    def forward(self, x):
        h = (x @ self.weight).relu_()
        return torch.cat([h[:, ::2], h[:, 1::2]], 1) - 9

net = Net().to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=1.0, foreach=False)
for step in range(4):
    x = (torch.arange(24.0).reshape(4, 6) % 7 - step).to(device)
    optimizer.zero_grad()
    y = net(x)
    y.sum().backward()
    optimizer.step()
    z = y.detach().t()[1:, ::2]
    z = z * 2
    w = z.half() / (z.half() - z.half())
print(float(z.sum()), float(net.weight.sum()))
"""


def records(done: Captured) -> dict[tuple[Any, ...], list[Any]]:
    """Give what is known of each record of an operator that both runs have."""
    ops, rows = done.dump.ops, done.dump.rows
    found = {}
    for row in rows:
        op = ops[int(row["op"])]
        if op["type"] in COPIES or op["name"].startswith("detach"):
            continue
        place = (op["name"], *(int(row[key]) for key in ("step", "call", "slot_kind", "slot_index", "element", "phase")))
        found[place] = [np.asarray(row[key]).tobytes() for key in VALUES]
    return found


def both(folder: Path, device: dict[str, str], options: Sequence[str]) -> tuple[Captured, Captured]:
    """Capture the program on the processor and on the device."""
    program = folder / "program.py"
    program.write_text(PROGRAM)
    folders = folder / "host", folder / "device"
    for one in folders:
        one.mkdir()
    host = capture(folders[0], program, "cpu", options=options)
    assert host.code == 0, host.err
    return host, on_device(folders[1], device, program, "tapdev", options=options)


def config(folder: Path, **settings: Any) -> list[str]:
    """Write a config, and give the words that name it."""
    (folder / "config.json").write_text(json.dumps(settings))
    return ["--config", str(folder / "config.json")]


@each_row(
    "settings",
    [
        {"payload": "full", "digest": "md5", "histogram": True},
        {"where": "max > 60 or nan > 0"},
        {"sketch": {"channels": 1, "blocks": 16}, "payload": "full"},
        {"sampling": {"elements": 5}},
        {"slots": ["out"], "steps": "1-2", "levels": ["op", "module"]},
        {"levels": ["api"]},
        {"trigger": "overflow", "payload": "full"},
        {"trigger": "overflow", "limits": {"ring_ops": 6}},
    ],
)
def test_a_capture_on_the_device_has_what_one_on_the_processor_has(
    tmp_path: Path, device: dict[str, str], settings: dict[str, Any]
) -> None:
    host, done = both(tmp_path, device, config(tmp_path, **settings))
    assert host.out == done.out
    expected, found = records(host), records(done)
    assert len(expected) > 3
    assert sorted(expected) == sorted(found)
    assert [place for place in expected if expected[place] != found[place]] == []
    assert done.dump.run["not_looked_at"] == 0
    if "payload" in settings and "trigger" not in settings:
        compare_tensors(tmp_path, settings)


def compare_tensors(folder: Path, settings: dict[str, Any]) -> None:
    """Compare bytes and sketches of the records that the two dumps share."""
    host, device = (tensortap.open(folder / one / "dump") for one in ("host", "device"))
    shared = [name for name in host if name in set(device) and "_to_copy" not in name and "detach" not in name]
    assert len(shared) > 20
    rows = {name: row for row, name in enumerate(host)}, {name: row for row, name in enumerate(device)}
    for name in shared:
        if host.records["flags"][rows[0][name]] & HAS_DATA:
            np.testing.assert_array_equal(host[rows[0][name]], device[rows[1][name]], name)
        if "sketch" not in settings:
            continue
        one, other = host.sketch(rows[0][name]), device.sketch(rows[1][name])
        assert (one is None) == (other is None), name
        if one is not None and one.channels is not None:
            np.testing.assert_array_equal(one.channels.absmax, other.channels.absmax, name)
            np.testing.assert_array_equal(one.blocks.bins, other.blocks.bins, name)


def test_the_ring_holds_what_ran_before_a_trigger_fired(tmp_path: Path, device: dict[str, str]) -> None:
    done = on_device(
        tmp_path,
        device,
        "import torch, tapdev, tapdev_c\n"
        "x = torch.full((3,), 5.0, device='tapdev'); y = x.mul(2); y.neg_(); z = x / torch.zeros_like(x); print(float((z + y).sum()))\n",
        options=config(tmp_path, trigger="overflow", payload="full", limits={"ring_ops": 8}),
    )
    assert done.out == "inf\n"
    listed = command("ls", tmp_path / "dump", "--json").objects
    before = {(one["op"], one["slot"]) for one in listed if one.get("ring") or one.get("last_ops")} or {
        (one["op"], one["slot"]) for one in listed
    }
    assert {"mul", "neg_"} <= {op for op, _ in before}, listed
    assert done.dump.of_type("div", OUTPUT)["pos_inf"].tolist() == [3]


CRASHES = """
import ctypes, resource, torch, tapdev, tapdev_c
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
tapdev_c.delay(2000)
def fragile(a, b):
    END
library = torch.library.Library("crash", "DEF")
library.define("fragile(Tensor a, Tensor b) -> Tensor")
library.impl("fragile", fragile, "PrivateUse1")
x = torch.arange(6.0).reshape(2, 3).to("tapdev")
print(torch.ops.crash.fragile(x + 1, x * 3), flush=True)
"""


@each_row(("end", "code"), [("ctypes.string_at(0)", SEGMENTATION), ("raise RuntimeError('no')", 1)])
def test_what_an_op_read_is_kept_when_it_ends_the_program(tmp_path: Path, device: dict[str, str], end: str, code: int) -> None:
    options = config(tmp_path, trigger="exception", payload="full", limits={"keep_free": 0})
    done = capture(tmp_path, CRASHES.replace("END", end), options=options, environment=device)
    assert done.code in (code, -11), done.err
    assert "fragile" in done.err
    listed = command("ls", tmp_path / "dump", "--json")
    kept = {one["slot"]: one for one in listed.objects if one.get("failed_op")}
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for slot, expected in (("in0", x + 1), ("in1", x * 3)):
        name = f"{kept[slot]['op']}:{slot}@{kept[slot]['step']}"
        shown = command("show", tmp_path / "dump", name, "--json")
        np.testing.assert_array_equal(np.array(shown.object["values"], np.float32), expected, name)


TRAINING = """
import os, time, torch, tapdev, tapdev_c
net = torch.nn.Linear(5, 3).to("tapdev")
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for step in range(100000):
    if os.path.exists("stop"):
        break
    optimizer.zero_grad()
    net(torch.ones(4, 5, device="tapdev")).square().mean().backward()
    optimizer.step()
    time.sleep(0.01)
"""


def test_a_running_program_is_told_to_capture(tmp_path: Path, device: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in device.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "train.py").write_text(TRAINING)
    with started(tmp_path, PYTHON, "train.py", options=["--idle"]) as running:
        assert running.sessions()[0]["records"] == 0
        begin = running.from_step("dump", "--ops", "addmm")
        running.wait_for(begin + 3)
        end = running.from_step("dump", "--off")
        running.wait_for(end + 2)
        assert running.end().code == 0
        rows = running.dump.rows
        assert set(rows["step"]) == set(range(begin, end))
        assert {running.dump.ops[int(row["op"])]["type"] for row in rows} == {"addmm"}
        assert np.all(rows["count"] == rows["numel"])
        assert not np.any(rows["value_flags"] & NOT_LOOKED_AT)


def test_a_budget_leaves_steps_out_and_tells_nothing_wrong_of_the_others(tmp_path: Path, device: dict[str, str]) -> None:
    program = TRAINING.replace("range(100000)", "range(60)")
    done = on_device(tmp_path, device, program, options=["--budget", "5%"])
    seen = set(done.dump.rows["step"].tolist())
    assert 0 < len(seen) < 60, "copies cost more than that"
    rows = done.dump.rows
    assert np.all((rows["count"] == rows["numel"]) | ((rows["flags"] & UNWRITTEN) != 0))
    assert done.dump.run["not_looked_at"] == 0
    assert command("find", tmp_path / "dump").code in (0, 3)


SAVED = """
import numpy, torch, tapdev, tapdev_c
tapdev_c.delay(500)
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).to("tapdev")
saved = {}
with torch.no_grad():
    for call in range(2):
        x = torch.randn(2, 4)
        saved[f"x{call}"] = x.numpy().copy()
        saved[f"y{call}"] = model(x.to("tapdev")).cpu().numpy().copy()
saved["bias"] = model[0].bias.detach().cpu().numpy()
numpy.savez("saved.npz", **saved)
"""


def test_files_of_msits_tree_hold_what_the_program_computed(tmp_path: Path, device: dict[str, str]) -> None:
    on_device(tmp_path, device, SAVED, options=["--layout", "msit", "--tensors", "--slots", "in,out"])
    (process,) = (tmp_path / "dump").glob("msit_dump_*/tensors/0_*")
    saved = np.load(tmp_path / "saved.npz")

    def elements(pattern: str) -> list[bytes]:
        return [path.read_bytes().partition(b"$End=1\n")[2] for path in sorted(process.glob(pattern))]

    products = "*/*_Linear/0_AddmmOperation/"
    assert elements(products + "before/intensor0.bin") == [saved["bias"].tobytes()] * 2
    assert elements(products + "before/intensor1.bin") == [saved["x0"].tobytes(), saved["x1"].tobytes()]
    assert elements("*/*_ReLU/0_ReluOperation/after/outtensor0.bin") == [saved["y0"].tobytes(), saved["y1"].tobytes()]


def test_the_folder_of_msits_tree_has_the_number_of_the_tensors_device(tmp_path: Path, device: dict[str, str]) -> None:
    program = SAVED.replace('"tapdev")', '"tapdev:1")') + "on_the_host = torch.ones(3) + 1\n"
    on_device(tmp_path, device, program, options=["--layout", "msit", "--tensors"])
    (first,) = (tmp_path / "dump").glob("msit_dump_*/tensors/0_*")
    (second,) = (tmp_path / "dump").glob("msit_dump_*/tensors/1_*")
    saved = np.load(tmp_path / "saved.npz")
    made = sorted(second.glob("*/*_ReLU/0_ReluOperation/after/outtensor0.bin"))
    assert [path.read_bytes().partition(b"$End=1\n")[2] for path in made] == [saved["y0"].tobytes(), saved["y1"].tobytes()]
    assert not list(first.rglob("*ReluOperation*"))
    assert [path.parents[1].name for path in first.rglob("outtensor0.bin") if "AddOperation" in str(path)], "what the host computed"


def test_the_time_of_an_op_on_a_device_is_said_to_be_that_of_its_launch(tmp_path: Path, device: dict[str, str]) -> None:
    on_device(tmp_path, device, PROGRAM, "tapdev", options=["--stats"])
    assert "of the launch: the op ran on tapdev:0" in command("show", tmp_path / "dump", "Net/relu_:out0").out
    on_host = tmp_path / "on_host"
    on_host.mkdir()
    capture(on_host, PROGRAM, "cpu", options=["--stats"])
    shown = command("show", on_host / "dump", "Net/relu_:out0").out
    assert "duration" in shown and "launch" not in shown


@each_row("layout", ["mindspore", "ge"])
def test_files_of_other_trees_hold_it_too(tmp_path: Path, device: dict[str, str], layout: str) -> None:
    on_device(tmp_path, device, SAVED, options=["--layout", layout, "--tensors"])
    saved = np.load(tmp_path / "saved.npz")
    dump = tensortap.open(tmp_path / "dump")
    made = [dump[row].tobytes() for row, name in enumerate(dump) if "relu" in name.lower() and ":out" in name]
    assert made == [saved["y0"].tobytes(), saved["y1"].tobytes()]


COMPILED = """
import torch, tapdev, tapdev_c
def f(x, y):
    return (x * 2 + y).relu().sum(1) - 3
g = torch.compile(f)
print(g(torch.arange(12.0).reshape(3, 4).to("tapdev"), torch.ones(4, device="tapdev")).cpu().tolist())
"""


@each_row("route", ["eager", "aot"])
def test_what_torch_compiles_is_captured_by_both_routes(tmp_path: Path, device: dict[str, str], route: str) -> None:
    done = on_device(tmp_path, device, COMPILED, options=["--compile", route, "--strict"])
    assert done.out == "[13.0, 45.0, 77.0]\n"
    for op, expected in (("mul", [22]), ("add", [23]), ("relu", [23]), ("sum", [80]), ("sub", [77])):
        assert done.dump.of_type(op, OUTPUT)["max"].tolist() == expected, op
    assert done.dump.run["not_looked_at"] == 0
    assert command("find", tmp_path / "dump").code == 0


def outcomes(lines: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Count how calls that were made again came out."""
    found: dict[str, int] = {}
    for line in lines:
        found[line["outcome"]] = found.get(line["outcome"], 0) + 1
    return found


def test_a_torch_without_the_device_replays_the_calls_on_the_processor(tmp_path: Path, device: dict[str, str]) -> None:
    (tmp_path / "program.py").write_text(PROGRAM + "v = torch.zeros(2, 3, device=device) + torch.full((3,), 2.0, device=device)\n")
    on_device(tmp_path, device, tmp_path / "program.py", "tapdev", options=["--full"])
    done = command("replay", tmp_path / "dump", "--runtime", PYTHON, "--json")
    assert done.code == 0, done.err
    *lines, _summary = done.objects
    counted = outcomes(lines)
    assert counted.get("differs", 0) == 0, counted
    assert counted["equal"] > 40
    assert not [line for line in lines if line["outcome"] == "not replayed" and line["function"].startswith(("aten::mm", "aten::mul"))]
    assert "tapdev" in done.err, "it is said that the calls run on the processor"


TORCHAIR = """
import numpy, torch, tapdev, tapdev_c
from tensortap import torchair
config = torchair.CompilerConfig()
config.debug.data_dump.type = "npy"
f = torch.compile(lambda x: (x * 2).relu() - 1, backend=torchair.get_npu_backend(compiler_config=config))
x = torch.arange(-3.0, 3.0).to("tapdev")
print(f(x).cpu().tolist())
"""


def test_graphs_of_torchair_have_their_values(tmp_path: Path, device: dict[str, str]) -> None:
    pytest.importorskip("tensortap.torchair", reason="the module is not built")
    package = run_program(tmp_path, "import os; print(os.environ['PYTHONPATH'])").stdout.strip()
    done = run_program(tmp_path, TORCHAIR, TAPDEV_BUILD=device["TAPDEV_BUILD"], PYTHONPATH=f"{package}:{device['PYTHONPATH']}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[-1.0, -1.0, -1.0, -1.0, 1.0, 3.0]\n"
    values = [np.load(path).tolist() for path in sorted(tmp_path.glob("worldsize1_global_rank0/graph_*/*/*.npy"))]
    assert [-1.0, -1.0, -1.0, -1.0, 1.0, 3.0] in values, sorted(map(str, tmp_path.rglob("*")))
    assert [-6.0, -4.0, -2.0, 0.0, 2.0, 4.0] in values


@each_row("layout", ["tap", "ge", "mindspore", "msit"])
def test_no_tree_clears_what_was_not_looked_at(tmp_path: Path, device: dict[str, str], layout: str) -> None:
    done = on_device(tmp_path, device, SAVED, options=["--layout", layout, "--device-stats", "off"])
    sentence = "records were not looked at (tensor on a device)"
    assert sentence in done.err
    found = command("find", tmp_path / "dump")
    assert (found.code, sentence in found.out + found.err) == (3, True), found.out
    compared = command("compare", tmp_path / "dump", tmp_path / "dump")
    assert (compared.code, sentence in compared.out + compared.err) == (3, True), compared.out
    listed = command("ls", tmp_path / "dump")
    assert sentence in listed.out + listed.err
    reported = command("report", tmp_path / "dump", "--out", tmp_path / "report.html")
    assert sentence in reported.out + reported.err
    assert sentence in (tmp_path / "report.html").read_text()
    add_another_process(tmp_path / "dump", layout)
    found = command("find", tmp_path / "dump")
    assert (found.code, sentence in found.out + found.err) == (3, True), found.out


def add_another_process(dump: Path, layout: str) -> None:
    """Make it the tree of several processes, as far as reports are concerned."""
    if layout == "mindspore":
        shutil.copytree(dump / "rank_0", dump / "rank_1")
    for report in list(dump.rglob(".tensortap/*.json")):
        shutil.copy(report, report.with_name("1" + report.name))
