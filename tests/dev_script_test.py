"""./dev lists its commands and rejects others, without starting anything."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from case_table import each_row

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ["demo", "test", "unit", "py", "approve", "new", "check", "bench", "web", "fuzz", "wheel", "setup", "format", "clean"]


@pytest.fixture(autouse=True)
def no_table_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep stages of the tests out of the table of a run that these tests are a part of."""
    monkeypatch.delenv("DEV_STAGES", raising=False)


def dev(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ROOT / "dev"), *arguments], capture_output=True, text=True, timeout=20)


def test_help_names_every_command() -> None:
    done = dev("--help")
    assert done.returncode == 0
    assert re.findall(r"^  (\w+) {2,}", done.stdout, re.MULTILINE) == COMMANDS


@each_row("command", COMMANDS)
def test_every_command_has_help_and_does_not_run_then(command: str) -> None:
    done = dev(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: ./dev {command}")
    assert "building" not in done.stderr


def test_every_stage_runs_and_failures_are_reported_at_the_end() -> None:
    stages = """
    source ./dev
    two_steps() { echo "first step"; false; echo "second step"; }
    stage "a good one" true
    stage "a bad one" two_steps
    stage "one that exits" exit 3
    stage "another good one" echo "still runs"
    finish
    """
    done = subprocess.run(["bash", "-c", stages], cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert done.stdout == "first step\nstill runs\n"
    results = re.findall(r"^(passed|FAILED) +\d+ s, cores busy +\d+ %  (.+)$", done.stderr, re.MULTILINE)
    assert results == [("passed", "a good one"), ("FAILED", "a bad one"), ("FAILED", "one that exits"), ("passed", "another good one")]


def test_a_stage_that_would_end_too_late_is_skipped_and_reported() -> None:
    stages = """
    source ./dev
    begin() { if is_time_for "$1" "$2"; then stage "$2" true; fi; }
    unset DEV_STARTED DEV_TIME_LIMIT
    begin 1000 "without a limit"
    export DEV_STARTED=$(($(date +%s) - 100)) DEV_TIME_LIMIT=150
    begin 40 "in time"
    begin 60 "too late"
    finish
    """
    done = subprocess.run(["bash", "-c", stages], cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    results = re.findall(r"^(passed|FAILED|skipped) +\d+ s, cores busy +\d+ %  (.+)$", done.stderr, re.MULTILINE)
    assert results == [("passed", "without a limit"), ("passed", "in time"), ("skipped", "too late: it would end too late")]


def test_what_is_needed_ends_the_command_and_is_in_the_table(tmp_path: Path) -> None:
    stages = """
    source ./dev
    needed_stage "a good one" true
    needed_stage "a bad one" false
    stage "never" echo "runs"
    """
    words = ["bash", "-c", f"export DEV_STAGES={tmp_path / 'stages'}\n{stages}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (1, "")
    table = (tmp_path / "stages").read_text()
    assert re.findall(r"^(passed|FAILED) +\d+ s, cores busy +\d+ %  (.+)$", table, re.MULTILINE) == [
        ("passed", "a good one"),
        ("FAILED", "a bad one"),
    ]


@each_row("arguments", [("tset",), ("test", "--fsat"), ("check", "--slow"), ("wheel", "--musl")])
def test_a_wrong_word_is_usage_error(arguments: tuple[str, ...]) -> None:
    done = dev(*arguments)
    assert done.returncode == 2
    assert arguments[-1] in done.stderr
