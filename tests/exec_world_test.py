"""Under `tensortap exec` a program inherits everything from its caller, except for LD_PRELOAD and our documented variables."""

from __future__ import annotations

import os
import pty
import resource
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from case_table import each_row
from cli_support import COMMAND, ROOT
from exec_support import compile_c

OURS = (
    "variable LD_PRELOAD=",
    "variable TENSORTAP_EXEC=",
    "variable TENSORTAP_PYTORCH_LIBRARY=",
    "variable TENSORTAP_ONNXRUNTIME_LIBRARY=",
    "variable TENSORTAP_GGML_LIBRARY=",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_c(ROOT / "tests/world_program.c", tmp_path_factory.mktemp("world") / "world", "-D_GNU_SOURCE")


def nothing() -> None:
    pass


def ignore_some() -> None:
    for number in (
        signal.SIGPIPE,
        signal.SIGXFSZ,
        signal.SIGINT,
        signal.SIGHUP,
        signal.SIGTERM,
        signal.SIGUSR1,
        signal.SIGCHLD,
        signal.SIGBUS,
        signal.SIGTSTP,
    ):
        signal.signal(number, signal.SIG_IGN)


def block_some() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR2, signal.SIGCHLD, signal.SIGPIPE, signal.SIGRTMIN + 3})


def limit_some() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, 400))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.RLIM_INFINITY if os.geteuid() == 0 else 0))
    resource.setrlimit(resource.RLIMIT_STACK, (16 << 20, 32 << 20))


def mask_files() -> None:
    os.umask(0o137)


def new_session() -> None:
    os.setsid()


def no_input() -> None:
    os.close(0)


def no_errors() -> None:
    os.close(2)


def open_some() -> None:
    """Stands for descriptors that the test itself opens and hands on."""


def start(words: Sequence[str | Path], prepare: Callable[[], None], folder: Path, passed: Sequence[int] = ()) -> list[str]:
    """Run with a fixed environment and standard error in a file; give what was printed."""
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "EMPTY": "", "MINE": "a b\nc", "LC_ALL": "C"}
    with (folder / "errors").open("wb") as errors, Path("/dev/null").open("rb") as empty:
        done = subprocess.run(
            [str(word) for word in words],
            stdin=empty,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            cwd=folder,
            pass_fds=passed,
            preexec_fn=prepare,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, (folder / "errors").read_text()
    return done.stdout.decode().splitlines()


def without_ours(lines: list[str]) -> list[str]:
    # Two runs have two pipes.
    kept = [line for line in lines if not line.startswith(OURS)]
    return ["descriptor of the output" if "pipe:" in line else line for line in kept]


@each_row(
    "prepare",
    [nothing, ignore_some, block_some, limit_some, mask_files, new_session, no_input, no_errors, open_some],
)
def test_the_program_inherits_what_its_caller_gave(program: Path, tmp_path: Path, prepare: Callable[[], None]) -> None:
    passed = []
    if prepare is open_some:
        passed = [os.open(__file__, os.O_RDONLY), os.open("/", os.O_RDONLY | os.O_DIRECTORY), os.open("/dev/null", os.O_RDWR | os.O_APPEND)]
        os.lseek(passed[0], 123, os.SEEK_SET)
    try:
        plain = start([program, "a", "b c"], prepare, tmp_path, passed)
        under = start([COMMAND, "exec", "--quiet", "--", program, "a", "b c"], prepare, tmp_path, passed)
    finally:
        for file in passed:
            os.close(file)
    if prepare is new_session:
        # Each run has its own session; the program is in its caller's session, not in one that we made.
        assert sum(line.startswith("group") for line in under) == 1
        plain, under = ([line for line in lines if not line.startswith("group")] for lines in (plain, under))
    assert without_ours(under) == without_ours(plain)
    assert [line for line in under if line.startswith("variable LD_PRELOAD=")] != []


def test_the_terminal_is_the_programs(program: Path, tmp_path: Path) -> None:
    """Run on a separate terminal: the program is in its foreground, in the group of the command."""

    def take_terminal() -> None:
        os.setsid()
        os.close(os.open(os.ttyname(0), os.O_RDWR))  # the first terminal that a session opens becomes its own

    def on_terminal(words: Sequence[str | Path]) -> bool:
        master, slave = pty.openpty()
        with subprocess.Popen(
            [str(word) for word in words], stdin=slave, stdout=subprocess.PIPE, text=True, cwd=tmp_path, preexec_fn=take_terminal
        ) as started:
            os.close(slave)
            out, _ = started.communicate(timeout=60)
        os.close(master)
        line = next(line for line in out.splitlines() if line.startswith("group"))
        _, group, _, session, _, foreground = line.split()
        return group == session == foreground

    assert on_terminal([program])
    assert on_terminal([COMMAND, "exec", "--quiet", "--", program])


def test_the_exit_status_is_right_though_the_caller_ignores_ended_children(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(COMMAND), "exec", "--quiet", "--", "sh", "-c", "exit 7"],
        cwd=tmp_path,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert done.returncode == 7


def test_a_closed_standard_error_is_not_taken_by_a_file(tmp_path: Path) -> None:
    """What we report would end in that file otherwise."""
    subprocess.run(
        [str(COMMAND), "exec", "--summary", "summary.json", "--", "true"],
        cwd=tmp_path,
        check=True,
        preexec_fn=no_errors,
    )
    assert (tmp_path / "summary.json").read_text().startswith("{")
