"""Programs built with sanitizers, and children that are such programs, run under `tensortap exec` as they run plainly."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from case_table import each_row
from cli_support import COMMAND, LIBRARIES
from exec_support import RUN_OPERATORS, FakeTorch

PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int shared;
static void* write_shared(void* wait) { return usleep(wait ? 100000 : 0), shared = 1, (void*)0; }
int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "";
  if (strcmp(what, "child") == 0) {
    int status = 0;
    if (fork() == 0) return execl(words[0], words[0], words[2], (char*)0), 99;
    return wait(&status), WEXITSTATUS(status);
  }
  volatile int* memory = malloc(10 * sizeof(int));
  memory[0] = 41;
  if (strcmp(what, "overflow") == 0) memory[0] = memory[10];
  if (strcmp(what, "race") == 0) {
    pthread_t thread;
    pthread_create(&thread, 0, write_shared, 0);
    /* The same line in both threads: the report names the one that came second. Well after it: a race at one moment can be missed. */
    write_shared(&thread);
    pthread_join(thread, 0);
  }
  if (strcmp(what, "undefined") == 0) memory[0] = memory[0] << (memory[0] - 1);
  if (strcmp(what, "leak") == 0) {
    memory = 0;
    return printf("leaked\\n"), 0;
  }
  printf("%d\\n", memory[0] + 1);
  free((void*)memory);
  return 5;
}
"""

BUILDS = {
    "gcc address": ["gcc", "-fsanitize=address"],
    "gcc address static": ["gcc", "-fsanitize=address", "-static-libasan"],
    "gcc undefined": ["gcc", "-fsanitize=undefined"],
    "gcc leak": ["gcc", "-fsanitize=leak"],
    "gcc thread": ["gcc", "-fsanitize=thread"],
    "clang address": ["clang-14", "-fsanitize=address"],
    "clang address shared": ["clang-14", "-fsanitize=address", "-shared-libasan"],
    "clang undefined": ["clang-14", "-fsanitize=undefined"],
}


def build(folder: Path, compiler: list[str]) -> Path:
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no {compiler[0]}")
    (folder / "program.c").write_text(PROGRAM)
    options = ["-g", "-O0"]
    if "-shared-libasan" in compiler:
        where = subprocess.run(
            [compiler[0], "-print-file-name=libclang_rt.asan-x86_64.so"], capture_output=True, text=True, check=True
        ).stdout.strip()
        options.append(f"-Wl,-rpath,{Path(where).parent}")
    done = subprocess.run(
        [*compiler, *options, "program.c", "-o", "program", "-pthread"], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"this compiler lacks the sanitizer: {done.stderr[:200]}")
    return folder / "program"


def outcome(words: list[str], folder: Path) -> tuple[int, str, list[str]]:
    """Give exit status, output, and what the sanitizer found."""
    environment = {key: value for key, value in os.environ.items() if not key.endswith("SAN_OPTIONS")}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    found = re.findall(r"^SUMMARY: .*|runtime error: .*|does not come first.*", done.stderr, re.MULTILINE)
    return done.returncode, done.stdout, [re.sub(r"0x[0-9a-f]+|\(\S+\+0x\S+\)", "ADDRESS", line) for line in found]


@each_row("name", BUILDS)
def test_a_sanitized_program_and_its_children_run_as_without_us(tmp_path: Path, name: str) -> None:
    program = build(tmp_path, BUILDS[name])
    script = tmp_path / "script"
    script.write_text(f'#!/bin/sh\n{program} "$@"\n')
    script.chmod(0o755)
    for words in ([], ["overflow"], ["undefined"], ["leak"], ["race"], ["child", ""], ["child", "overflow"]):
        for command in (["./program"], ["./script"]):
            plain = outcome([*command, *words], tmp_path)
            assert outcome([str(COMMAND), "exec", "--quiet", "--", *command, *words], tmp_path) == plain
            assert "does not come first" not in "".join(plain[2])


def test_an_installation_whose_path_cannot_be_preloaded_starts_them_too(tmp_path: Path) -> None:
    """A path with a space is preloaded through a link."""
    program = build(tmp_path, BUILDS["gcc address"])
    folder = tmp_path / "with space"
    (folder / "lib").mkdir(parents=True)
    for library in LIBRARIES.glob("libtensortap_*.so"):
        shutil.copy(library, folder / "lib")
    shutil.copytree(LIBRARIES / "before_libasan.so", folder / "lib/before_libasan.so")
    (folder / "bin").mkdir()
    shutil.copy(COMMAND, folder / "bin/tensortap")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder / "lib")}
    words = [str(folder / "bin/tensortap"), "exec", "--quiet", "--", str(program)]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (5, "42\n"), done.stderr


def test_a_sanitized_program_with_operators_is_captured(tmp_path: Path) -> None:
    torch = FakeTorch(tmp_path / "torch").build()
    torch.adapter()
    source = tmp_path / "program.c"
    source.write_text(RUN_OPERATORS)
    links = [f"-L{torch.library.parent}", "-l:libtorch_cpu.so", f"-Wl,-rpath,{torch.library.parent}"]
    subprocess.run(["gcc", "-fsanitize=address", str(source), "-o", str(tmp_path / "program"), *links], check=True)
    done = torch.exec(tmp_path / "program", environment={"ASAN_OPTIONS": "detect_leaks=0"})
    assert (done.code, done.out) == (3, "right 5\n"), done.err
    assert (tmp_path / "dump/run.json").exists()
