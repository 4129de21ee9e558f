"""The command as a wheel installs it: a native program that finds everything from its own place."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from case_table import each_row
from cli_support import BUILD, COMMAND, INSTALLED, small_model

pytestmark = pytest.mark.skipif(INSTALLED is None, reason="the command under test is not installed")
BARE = {"PATH": "/nonexistent", "LANG": "C.UTF-8"}


def run(*words: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run with nothing in the environment that could name a Python, a runtime or a library."""
    return subprocess.run([str(word) for word in words], cwd=cwd, env={**BARE, **environment}, capture_output=True, text=True, check=False)


def runtime_of(command: Path, cwd: Path, **environment: str) -> dict[str, object]:
    """Ask the command which ONNX Runtime it would use."""
    done = run(command, "doctor", "--json", cwd=cwd, **environment)
    (first, *_) = json.loads(done.stdout)["runtimes"]
    assert isinstance(first, dict)
    return first


def test_the_command_is_a_native_program() -> None:
    assert COMMAND.read_bytes()[:4] == b"\x7fELF"
    assert os.access(COMMAND, os.X_OK)


@each_row("how", ["by its path", "by a link", "by PATH", "by python -m"])
def test_it_runs_a_model_however_it_is_started(tmp_path: Path, how: str) -> None:
    small_model(tmp_path / "model.onnx")
    (tmp_path / "link").symlink_to(COMMAND)
    python = COMMAND.parent / "python"
    words = {
        "by its path": [COMMAND],
        "by a link": [tmp_path / "link"],
        "by PATH": ["tensortap"],
        "by python -m": [python, "-m", "tensortap"],
    }
    environment = {"PATH": str(COMMAND.parent)} if how == "by PATH" else {}
    done = run("/usr/bin/env", *words[how], "run", "model.onnx", "--verify", "--json", "--out", "d", cwd=tmp_path, **environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["identical"] is True


def test_the_runtime_beside_the_package_is_used(tmp_path: Path) -> None:
    found = runtime_of(COMMAND, tmp_path)
    assert (found["origin"], found["usable"]) == ("beside tensortap", True)
    assert str(found["path"]).startswith(str(INSTALLED))


def test_the_python_beside_the_command_knows_where_its_runtime_is(tmp_path: Path) -> None:
    """An environment that has onnxruntime somewhere else, as with --system-site-packages or a .pth file."""
    assert INSTALLED is not None
    venv.create(tmp_path / "venv", symlinks=True)
    site = next((tmp_path / "venv").glob("lib/python3*/site-packages"))
    shutil.copytree(INSTALLED / "tensortap", site / "tensortap")
    shutil.copy(COMMAND, tmp_path / "venv/bin")
    (site / "more.pth").write_text(f"{INSTALLED}\n")
    found = runtime_of(tmp_path / "venv/bin/tensortap", tmp_path)
    assert (found["origin"], found["usable"]) == ("python3 beside the command", True)
    other = runtime_of(tmp_path / "venv/bin/tensortap", tmp_path, VIRTUAL_ENV=str(COMMAND.parents[1]))
    assert other["origin"] == "VIRTUAL_ENV"


@pytest.mark.skipif("TENSORTAP_TEST_PYTHON" not in os.environ, reason="no environment with torch")
def test_pytorch_programs_need_no_runtime(tmp_path: Path) -> None:
    assert INSTALLED is not None
    venv.create(tmp_path / "venv", symlinks=True)
    shutil.copytree(INSTALLED / "tensortap", next((tmp_path / "venv").glob("lib/python3*/site-packages")) / "tensortap")
    shutil.copy(COMMAND, tmp_path / "venv/bin")
    command = tmp_path / "venv/bin/tensortap"
    with_torch = run(command, "doctor", "--python", os.environ["TENSORTAP_TEST_PYTHON"], cwd=tmp_path)
    assert with_torch.returncode == 0, with_torch
    assert "-    runtime" in with_torch.stdout and "pip install onnxruntime" in with_torch.stdout
    neither = run(command, "doctor", "--python", tmp_path / "venv/bin/python", cwd=tmp_path)
    assert neither.returncode == 3
    assert "FAIL runtime" in neither.stdout
    small_model(tmp_path / "model.onnx")
    model = run(command, "run", "model.onnx", cwd=tmp_path)
    assert model.returncode in (2, 3)
    assert "pip install onnxruntime" in model.stderr


@each_row("option", ["--target", "--prefix"])
def test_it_runs_wherever_pip_puts_it(tmp_path: Path, option: str) -> None:
    wheel = next((BUILD.parent / "wheel").glob("*.whl"))
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-index",
        "--ignore-installed",
    ]
    subprocess.run([*pip, option, str(tmp_path / "place"), str(wheel)], check=True, stdout=subprocess.DEVNULL)
    command = tmp_path / "place/bin/tensortap"
    assert run(command, "--version", cwd=tmp_path).stdout.startswith("tensortap ")
    done = run(command, "exec", "--quiet", "--", "/bin/true", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    package = next((tmp_path / "place").rglob("tensortap/__init__.py")).parents[1]
    started = run(sys.executable, "-P", "-m", "tensortap", "doctor", "--json", cwd=tmp_path, PYTHONPATH=str(package))
    assert str(tmp_path / "place") in started.stdout


def test_without_the_command_python_m_says_what_to_do(tmp_path: Path) -> None:
    assert INSTALLED is not None
    shutil.copytree(INSTALLED / "tensortap", tmp_path / "tensortap")
    for name in ("numpy", "numpy.libs"):
        (tmp_path / name).symlink_to(INSTALLED / name)
    done = subprocess.run([sys.base_prefix + "/bin/python3", "-m", "tensortap"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("tensortap: ") and "--force-reinstall" in done.stderr


def test_the_program_under_exec_is_told_of_no_environment(tmp_path: Path) -> None:
    done = run(COMMAND, "exec", "--quiet", "--", "/usr/bin/env", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = {line.split("=")[0] for line in done.stdout.splitlines()}
    assert {name for name in names - set(BARE) if name != "LD_PRELOAD" and not name.startswith("TENSORTAP_")} == set()


@each_row("words", [[COMMAND], [COMMAND.parent / "python", "-m", "tensortap"]])
def test_the_program_under_exec_ignores_what_its_caller_ignored(tmp_path: Path, words: list[str | Path]) -> None:
    done = run(*words, "exec", "--quiet", "--", "/bin/grep", "SigIgn", "/proc/self/status", cwd=tmp_path)
    plain = run("/bin/grep", "SigIgn", "/proc/self/status", cwd=tmp_path)
    assert done.stdout == plain.stdout, done.stderr
