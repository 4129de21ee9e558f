"""Where the processes of `tensortap exec` write, whose dumps a summary reports, and how dumps of several processes are repaired."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from case_table import each_row
from cli_support import COMMAND, small_model, tensortap
from exec_support import CHILDREN, RANKS, RUN_OPERATORS, FakeTorch

WAITING = """
#include <stdio.h>
#include <unistd.h>
int fake_torch_run(int count);
/* Runs operators when a line comes in. */
int main(void) {
  char line[8];
  puts("ready"), fflush(stdout);
  if (fgets(line, sizeof line, stdin) == 0) return 9;
  return fake_torch_run(5) == 5 ? 0 : 1;
}
"""

DYING = """
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int fake_torch_run(int count);
/* Two children, the second of which is killed in the middle; each waits until the other has begun. */
int main(int count, char** words) {
  if (count > 1) {
    fake_torch_run(5);
    if (strcmp(words[1], "killed") == 0) kill(getpid(), SIGKILL);
    return 0;
  }
  for (int i = 0; i < 2; ++i) {
    if (fork() == 0) return execl(words[0], words[0], i == 0 ? "ends" : "killed", (char*)0);
    wait(0);
  }
  return 0;
}
"""


RUNS_TWICE = """
#include <stdio.h>
#include <sys/stat.h>
int fake_torch_run(int count);
/* Runs operators, then more of them when a line comes in; "d" makes a folder where the manifest is to be. */
int main(void) {
  char line[8];
  fake_torch_run(5);
  puts("ran"), fflush(stdout);
  if (fgets(line, sizeof line, stdin) == 0) return 9;
  if (line[0] == 'd' && mkdir("dump/run.json", 0700) != 0) return 8;
  return fake_torch_run(5) == 5 ? 0 : 1;
}
"""


@pytest.fixture
def torch(tmp_path: Path) -> FakeTorch:
    torch = FakeTorch(tmp_path / "torch").build()
    torch.adapter()
    return torch


def start(torch: FakeTorch, *words: str | Path, options: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(COMMAND), "exec", "--out", "dump", "--json", *options, "--", *map(str, words)],
        cwd=torch.folder.parent,
        env={**os.environ, "XDG_CACHE_HOME": str(torch.cache)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_folder_that_another_exec_has_taken_is_refused_before_the_program_starts(torch: FakeTorch) -> None:
    program = torch.program(WAITING)
    with start(torch, program) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "ready\n"
        second = torch.exec("sh", "-c", "echo started", options=["--json"])
        assert (second.code, "started" in second.out) == (2, False)
        assert "another `tensortap exec` is running with it" in second.err
        out, err = first.communicate("go\n", timeout=60)
    assert first.returncode == 0, err
    assert json.loads(out)["dump"] == str(torch.folder.parent / "dump")
    # Its folder is free again, and not empty.
    after = torch.exec("true")
    assert (after.code, "is not empty" in after.err) == (2, True)


def test_a_folder_is_free_again_when_its_exec_was_killed(torch: FakeTorch) -> None:
    with start(torch, torch.program(WAITING)) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "ready\n"
        first.send_signal(signal.SIGKILL)
        first.wait()
        done = torch.exec(torch.program(RUN_OPERATORS), options=["--json"])
        assert done.code == 3, done.err
        assert json.loads(done.out.splitlines()[-1])["dump"] is not None


def test_what_another_exec_left_in_the_folder_is_not_reported(torch: FakeTorch) -> None:
    """The other one is on another machine, say, where the folder is not known to be taken."""
    dump = torch.folder.parent / "dump"
    with start(torch, torch.program(WAITING)) as refused:
        assert refused.stdout is not None
        assert refused.stdout.readline() == "ready\n"
        words = ["exec", "--out", "elsewhere", "--", torch.program(RUN_OPERATORS, "other")]
        elsewhere = tensortap(*words, cwd=torch.folder.parent, environment={"XDG_CACHE_HOME": str(torch.cache)})
        assert elsewhere.code == 3, elsewhere.err
        for item in (torch.folder.parent / "elsewhere").iterdir():
            item.rename(dump / item.name)
        out, err = refused.communicate("go\n", timeout=60)
    assert "not empty" in err
    summary = json.loads(out)
    assert summary["dump"] is None
    assert summary.get("records") is None


def test_nothing_is_written_through_a_link_that_takes_the_place_of_the_folder(torch: FakeTorch) -> None:
    dump = torch.folder.parent / "dump"
    precious = torch.folder.parent / "precious"
    precious.mkdir()
    (precious / "run.json").write_text('{"mine": 1}')
    with start(torch, torch.program(RUNS_TWICE), options=("--full",)) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ran\n"
        dump.rename(torch.folder.parent / "elsewhere")
        dump.symlink_to(precious)
        out, err = running.communicate("go\n", timeout=60)
    assert running.returncode == 0, err
    assert [path.name for path in precious.iterdir()] == ["run.json"]
    assert (precious / "run.json").read_text() == '{"mine": 1}'
    assert "was removed or renamed while the program ran" in err
    assert "uses none of them" not in err
    assert json.loads(out)["dump"] is None


def test_a_process_that_cannot_write_its_report_tells_exec(torch: FakeTorch) -> None:
    with start(torch, torch.program(RUNS_TWICE)) as running:
        out, err = running.communicate("d\n", timeout=60)
    summary = json.loads(out.removeprefix("ran\n"))
    assert "ended and could not finish the dump" in summary["incomplete"], err
    assert summary["lost"] == 0, "what only the report of the process tells"
    assert "run.json" in summary["unfinished"]


# ---- repair


def cut(dump: Path) -> None:
    """Leave what a process that died leaves: half a row, no manifest."""
    (dump / "run.json").unlink()
    with (dump / "records.npy").open("ab") as rows:
        rows.write(b"half a row")


@each_row("text", [CHILDREN, RANKS])
def test_repair_mends_every_part_of_an_execs_dump(torch: FakeTorch, text: str) -> None:
    assert torch.exec(torch.program(text)).code == 0
    dump = torch.folder.parent / "dump"
    parts = sorted(manifest.parent for manifest in dump.rglob("run.json"))
    assert len(parts) > 1
    for part in parts[1:]:
        cut(part)
    dry = tensortap("repair", dump, "--dry-run", "--json").object
    assert dry["healthy"] is False
    assert [part["healthy"] for part in sorted(dry["parts"], key=lambda part: part["folder"])] == [True] + [False] * (len(parts) - 1)
    done = tensortap("repair", dump)
    assert done.code == 0, done.err
    assert done.out.count("kept: ") == len(parts) - 1
    assert all(str(part) in done.out for part in parts)
    assert all((part / "run.json").exists() for part in parts)
    assert tensortap("repair", dump, "--json").object["healthy"] is True
    shutil.rmtree(dump)


def test_repair_follows_no_link_out_of_a_run(torch: FakeTorch) -> None:
    assert torch.exec(torch.program(CHILDREN)).code == 0
    dump = torch.folder.parent / "dump"
    other = torch.folder.parent / "other"
    shutil.copytree(next(dump.rglob("run.json")).parent, other)
    cut(other)
    before = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
    (dump / "process_5").symlink_to(other)
    done = tensortap("repair", dump)
    assert done.code == 0, done.err
    assert "a link leads there" in done.out
    assert {path: path.read_bytes() for path in other.rglob("*") if path.is_file()} == before


def test_a_process_that_was_killed_is_told_of_with_what_mends_its_dump(torch: FakeTorch) -> None:
    done = torch.exec(torch.program(DYING), options=["--json"])
    dump = torch.folder.parent / "dump"
    said = done.object["incomplete"]
    assert "did not come to its end" in said
    assert f"tensortap repair {dump}" in said
    assert said in done.err.replace("\n", " ")
    assert tensortap("repair", dump).code == 0
    assert tensortap("repair", dump, "--dry-run", "--json").object["healthy"] is True


# ---- what was asked for and not captured


def reasons(report: dict[str, dict[str, list[dict[str, str]]]]) -> list[str]:
    return [one["reason"] for one in report["ops"]["not_captured"]]


def test_steps_that_were_not_reached_ops_that_never_ran_and_nothing_asked_are_three_things(tmp_path: Path) -> None:
    model = small_model(tmp_path / "model.onnx")
    done = tensortap("run", model, "--runs", "2", "--steps", "5-", "--json", "--out", "late", cwd=tmp_path)
    assert reasons(done.object) == ["not run in any step that was asked for"]
    assert "the program made 2 steps, asked for: 5-" in done.err
    assert "never ran" not in done.err
    (tmp_path / "nothing").mkdir()
    config = tmp_path / "nothing.json"
    for dump in ({}, {"dump_list": [], "dump_path": str(tmp_path / "nothing"), "dump_mode": "all"}):
        config.write_text(json.dumps({"dump": dump}))
        done = tensortap("run", model, "--config", config, "--out", "none", "--json", cwd=tmp_path)
        assert done.code == 0, done.err
        assert done.object["dump"] is None
        assert "asks for nothing" in done.err
        assert "never ran" not in done.err
        assert "none seen" not in done.err
        done = tensortap(
            "exec", "--config", config, "--out", "none", "--json", "--", "sh", "-c", 'echo "$LD_PRELOAD"; exit 4', cwd=tmp_path
        )
        assert done.code == 4
        preload, summary = done.out.splitlines()
        assert preload == os.environ.get("LD_PRELOAD", "")
        assert json.loads(summary)["dump"] is None
        assert "asks for nothing" in done.err
        assert not (tmp_path / "none").exists()
        assert list((tmp_path / "nothing").iterdir()) == []


# ---- the summary


def test_the_summary_of_exec_is_short_with_the_worst_first(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    small_model(model)
    program = tmp_path / "program.py"
    program.write_text(
        "import onnxruntime, numpy\n"
        "for name in 'abcdefgh':\n"
        "  session = onnxruntime.InferenceSession('model.onnx', providers=['CPUExecutionProvider'])\n"
        "  session.run(None, {'x': numpy.full((2, 3), numpy.nan, numpy.float32)})\n"
    )
    options = ["--out", "dump", "--no-torch"]
    done = tensortap("exec", *options, "--", sys.executable, program, cwd=tmp_path, timeout=300)
    assert done.code == 0, done.err
    lines = [line for line in done.err.splitlines() if line]
    summary = lines[next(i for i, line in enumerate(lines) if line.startswith("non-finite")) :]
    assert summary == lines[-len(summary) :], "the worst news do not come first"
    assert len(summary) <= 15
