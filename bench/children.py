"""Runs each measurement in a separate process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any


def report_of(words: list[str], seconds: float, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """
    Run a program and give the JSON object that it prints last.

    Parameters
    ----------
    words
        The command.
    seconds
        How long it may take; then it is killed with all processes that it started.
    environment
        Variables on top of this process's.

    Raises
    ------
    RuntimeError
        With what the program said when it failed, printed no object, or took too long.
    """
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **(environment or {})},
    )
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as late:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise RuntimeError(f"took more than {seconds:g} s") from late
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if process.returncode != 0 or not lines:
        raise RuntimeError((err or out).strip()[-300:] or f"exit status {process.returncode}")
    report: dict[str, Any] = json.loads(lines[-1])
    return report
