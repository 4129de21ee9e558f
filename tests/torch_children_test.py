"""Programs with child processes: what each of them recorded counts, whether it came to its end or was killed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tensortap as package
from cli_support import tensortap
from torch_support import Captured, capture, run_program

# The parent makes no fault. Its child makes an Inf, sends the result, and ends. With an argument, the parent kills the child first.
FAMILY = """
import multiprocessing, os, signal, sys, time, torch

def child(queue):
    scores = torch.full((2, 4), 300.0, dtype=torch.float16)
    for _ in range(3):
        squares = scores * scores
    queue.put(bool(torch.isfinite(squares).all()))
    if len(sys.argv) > 1:
        time.sleep(100)

if __name__ == "__main__":
    torch.tensor([1.0, 2.0]).sum()
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    process = spawn.Process(target=child, args=(queue,), name="squarer")
    process.start()
    print("finite:", queue.get())
    if len(sys.argv) > 1:
        os.kill(process.pid, signal.SIGKILL)
    process.join()
"""

# The workers of a pool never finish by themselves: their parent ends them.
POOL = """
import multiprocessing, torch

def work(number):
    return float((torch.ones(3) * number).sum())

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(work, range(8)))
"""


@pytest.fixture(scope="module", params=[[], ["kill"]], ids=["ended", "killed"])
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[bool, Captured]:
    folder = tmp_path_factory.mktemp("family")
    done = capture(folder, FAMILY, *request.param, options=["--stats", "--summary", str(folder / "summary.json")])
    assert done.code == 0, done.err
    return bool(request.param), done


def summary_of(done: Captured) -> dict[str, Any]:
    summary = json.loads((done.dump.folder.parent / "summary.json").read_text())
    assert isinstance(summary, dict)
    return summary


def child_of(dump: Path) -> Path:
    (child,) = dump.glob("process_*")
    return child


def test_find_names_the_child_that_made_the_value(family: tuple[bool, Captured]) -> None:
    killed, done = family
    child = child_of(done.dump.folder)
    found = tensortap("find", done.dump.folder)
    assert found.code == 1, found.out
    assert f"in {child.name} (squarer): 1 of 2 processes" in found.out
    answer = tensortap("find", done.dump.folder, "--json").object
    assert (answer["part"], answer["role"]) == (child.name, "squarer")
    assert answer["first_nonfinite"] == tensortap("find", child, "--json").object["first_nonfinite"]
    assert [part["dump"]["complete"] for part in answer["parts"]] == [True, not killed]
    assert "program.py" in answer["parts"][0]["role"]
    assert package.find(done.dump.folder) == answer
    opened = package.open(done.dump.folder)
    assert package.find(opened) == answer
    assert [(name, part["role"]) for name, part in opened.parts.items()][1] == (child.name, "squarer")
    assert package.find(opened, part="first")["first_nonfinite"] is None


def test_a_process_that_was_killed_clears_nothing(family: tuple[bool, Captured]) -> None:
    killed, done = family
    trends = tensortap("find", done.dump.folder, "--trends")
    assert trends.code == 3, trends.out  # one step shows no trend
    assert "nothing to judge in 2 processes" in trends.out
    assert ("incomplete" in trends.out) == killed


def test_exec_says_what_it_does_not_know(family: tuple[bool, Captured]) -> None:
    killed, done = family
    child = child_of(done.dump.folder)
    summary = summary_of(done)
    assert [process["part"] for process in summary["processes"]] == ["first", child.name]
    assert summary["ops"]["unknown"] == ([f"{child.name} (squarer)"] if killed else [])
    assert (f"unknown of {child.name} (squarer), which did not come to its end" in done.err) == killed
    assert summary["complete"] is not killed
    assert ("incomplete" in summary) == killed
    if killed:
        assert summary["incomplete"].startswith(f"{child.name} (squarer) did not come to its end")
    assert f"the non-finite value is in {child.name} (squarer)" in done.err


def test_what_a_process_was_outlives_it(family: tuple[bool, Captured]) -> None:
    killed, done = family
    child = child_of(done.dump.folder)
    own = json.loads((done.dump.folder / "run.json").read_text())["process"]
    told: dict[str, Any] = json.loads((child / ("session.json" if killed else "run.json")).read_text())["process"]
    assert told["parent"] == own["pid"]
    assert told["name"] == "squarer"
    assert "program.py" in own["command"]
    if killed:
        assert tensortap("repair", done.dump.folder).code == 0
        assert json.loads((child / "run.json").read_text())["process"] == told
        assert "(squarer)" in tensortap("find", done.dump.folder).out


def test_workers_of_a_pool_are_no_success(tmp_path: Path) -> None:
    done = capture(tmp_path, POOL, options=["--stats", "--summary", str(tmp_path / "summary.json")])
    assert done.code == 0, done.err
    assert "0 of 0 captured" not in done.err
    assert "SpawnPoolWorker-" in done.err
    assert summary_of(done)["records"] > 0
    assert summary_of(done)["complete"] is False
    found = tensortap("find", done.dump.folder)
    assert found.code == 3, found.out
    assert "incomplete" in found.out


def test_a_capture_of_the_package_that_ended_is_complete(tmp_path: Path) -> None:
    program = """
import json, torch, tensortap
with tensortap.capture(out="dump") as captured:
    torch.ones(3).sum()
print(json.dumps([captured.report["complete"], captured.report["ended"] is not None, captured.report["records"]]))
told = json.load(open("dump/run.json"))
del told["files"]  # the layout adds how large they are
print(json.dumps(captured.report == told))
"""
    done = run_program(tmp_path, program)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    complete, ended, records = json.loads(first)
    assert (complete, ended, second) == (True, True, "true")
    assert records > 0
