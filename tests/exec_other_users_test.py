"""Processes of a captured program that run as another user: `exec` reports why they are not captured, but only if such processes exist."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_support import COMMAND, LIBRARIES, Done, save, tensortap
from onnx import helper

OTHER_USER = 4321
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
LONG_ENOUGH = ["sleep", "1"]
"""A program that still runs when `exec` first looks at the processes, a tenth of a second after the start."""
AS_ANOTHER = ["setpriv", f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"]


@pytest.fixture
def installation() -> Iterator[Path]:
    """Copy the command and its libraries to where everybody can read them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "lib").mkdir()
        for library in LIBRARIES.glob("libtensortap_*.so"):
            shutil.copy(library, folder / "lib")
        shutil.copytree(LIBRARIES / "before_libasan.so", folder / "lib/before_libasan.so")
        (folder / "bin").mkdir()
        shutil.copy(COMMAND, folder / "bin/tensortap")
        yield folder


def run(installation: Path, *words: str) -> Done:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(installation / "lib")}
    command = [str(installation / "bin/tensortap"), "exec", "--out", "dump", *words]
    done = subprocess.run(command, cwd=installation, env=environment, capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def test_an_installation_that_others_cannot_read_is_said(installation: Path) -> None:
    program = ["--", *AS_ANOTHER, *LONG_ENOUGH]
    assert "ld.so" not in run(installation, *program).err
    (installation / "lib").chmod(0o700)
    done = run(installation, *program)
    assert "they cannot read" in done.err
    assert "ERROR: ld.so" in done.err
    assert f"`chmod o+x {installation}/lib`" in done.err
    (installation / "lib").chmod(0o755)
    (installation / "lib/libtensortap_preload.so").chmod(0o640)
    done = run(installation, *program)
    assert "ERROR: ld.so" in done.err
    assert f"`chmod o+r {installation}/lib/libtensortap_preload.so`" in done.err


def test_a_dump_that_others_cannot_write_is_said_where_there_are_others(tmp_path: Path) -> None:
    child = ["--", "sh", "-c", f"{shlex.join([*AS_ANOTHER, *LONG_ENOUGH])}; exit 3"]
    done = tensortap("exec", *child, cwd=tmp_path)
    assert done.code == 3
    assert "processes that ran as another user were not captured" in done.err
    assert "--mode shared" in done.err
    assert "another user" not in tensortap("exec", "--quiet", *child, cwd=tmp_path).err
    assert "another user" not in tensortap("exec", "--", *LONG_ENOUGH, cwd=tmp_path).err


def test_a_user_who_cannot_become_another_is_told_nothing(installation: Path) -> None:
    (installation / "work").mkdir()
    os.chown(installation / "work", OTHER_USER, OTHER_USER)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(installation / "lib")}
    command = [*AS_ANOTHER, str(installation / "bin/tensortap"), "exec", "--", *LONG_ENOUGH]
    done = subprocess.run(command, cwd=installation / "work", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "another user" not in done.stderr


def test_a_shared_dump_takes_the_records_of_another_user() -> None:
    """With everything readable and the folder of the dump open to them, nothing is said and everything is captured."""
    reads = [*AS_ANOTHER, sys.executable, "-c", f"import onnxruntime; open({str(COMMAND)!r}, 'rb')"]
    if subprocess.run(reads, capture_output=True, check=False).returncode != 0:
        pytest.skip("the environment of the tests is closed to other users")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = save([helper.make_node("Relu", ["x"], ["y"], name="relu")], folder / "m.onnx")
        script = folder / "program.py"
        script.write_text(
            "import numpy as np, onnxruntime\n"
            f"session = onnxruntime.InferenceSession({str(model)!r})\n"
            "session.run(None, {'x': np.ones((2, 3), np.float32)})\n"
        )
        for dump in ("shared", "private"):
            (folder / dump).mkdir()
            (folder / dump).chmod(0o777)
        for path, mode in ((folder, 0o755), (model, 0o644), (script, 0o644)):
            path.chmod(mode)
        program = ["--no-torch", "--", *AS_ANOTHER, sys.executable, str(script)]
        done = tensortap("exec", "--mode", "shared", "--out", "shared", *program, cwd=folder)
        assert done.code == 0, done.err
        assert "another user" not in done.err
        assert (folder / "shared/records.npy").stat().st_uid == OTHER_USER
        done = tensortap("exec", "--out", "private", *program, cwd=folder)
        assert done.code == 0, done.err
        assert "the dump is for its owner alone" in done.err
        assert "Permission denied" in done.err
