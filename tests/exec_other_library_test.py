"""Programs that are linked to another C library than glibc: their loader takes what `exec` preloads, and they run as without it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cli_support import tensortap
from exec_support import RUN_OPERATORS, FakeTorch

pytestmark = pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="no musl-gcc (Debian: musl-tools)")

SAYS = """
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  /* The stub has its own dlsym(). */
  int (*say)(const char*) = 0;
  *(void**)&say = dlsym(RTLD_DEFAULT, "puts");
  return say == 0 || say("here") < 0 ? 1 : 4;
}
"""
STARTS = """
#include <unistd.h>
int main(int count, char** words) {
  (void)count;
  return execv(words[1], words + 1);
}
"""
SAID = "which uses another C library than glibc"


def compile_with_musl(folder: Path, name: str, text: str, *options: str) -> Path:
    """Compile a C program for musl."""
    (folder / f"{name}.c").write_text(text)
    subprocess.run(["musl-gcc", *options, f"{name}.c", "-o", name], cwd=folder, check=True, capture_output=True)
    return folder / name


def test_a_program_of_another_c_library_runs_as_without_us_and_is_told_of_once(tmp_path: Path) -> None:
    compile_with_musl(tmp_path, "says", SAYS)
    compile_with_musl(tmp_path, "starts", STARTS)
    compile_with_musl(tmp_path, "static", '#include <stdio.h>\nint main(void) { puts("static"); return 5; }', "-static")
    (tmp_path / "script").write_text("#!/usr/bin/env sh\n./says\necho rc $?\n")
    (tmp_path / "script").chmod(0o755)
    rows = {
        "./says": ("here\n", 4),
        "./script": ("here\nrc 4\n", 0),
        "./starts ./says": ("here\n", 4),
        "./starts /bin/sh -c './says; ./static'": ("here\nstatic\n", 5),
        "env LONG=1 ./says": ("here\n", 4),
    }
    for command, (out, code) in rows.items():
        done = tensortap("exec", "--", "sh", "-c", command, cwd=tmp_path)
        assert (done.code, done.out) == (code, out), (command, done.err)
        assert done.err.count(SAID) == 1, (command, done.err)
    assert SAID not in tensortap("exec", "--", "sh", "-c", "./static", cwd=tmp_path).err


def test_what_such_a_program_starts_is_captured(tmp_path: Path) -> None:
    torch = FakeTorch(tmp_path / "torch").build()
    torch.adapter()
    program = torch.program(RUN_OPERATORS)
    done = torch.exec(compile_with_musl(tmp_path, "starts", STARTS), program)
    assert (done.code, done.out) == (3, "right 5\n"), done.err
    assert (tmp_path / "dump/run.json").exists()
