"""What the tests of `tensortap exec` share: a torch that is none, programs that use it, adapters of every kind."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cli_support import COMMAND, ROOT, Done

TORCH_PYTHON = os.environ.get("TENSORTAP_TEST_PYTHON", "")
"""A Python with an official torch."""
RELEASE = "2.99"
"""A release that never was, so that no adapter of a real one comes in between."""
ADAPTER = f"tensortap_torch_{RELEASE}_1.so"


def compile_c(source: Path, into: Path, *options: str) -> Path:
    """Compile one C file."""
    into.parent.mkdir(parents=True, exist_ok=True)
    words = ["cc", "-O1", "-fPIC", f"-I{ROOT}/src/capture", f"-I{ROOT}/include", str(source), "-o", str(into), *options]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return into


@dataclass(frozen=True)
class FakeTorch:
    """A folder like that of the package torch, without torch in it, and a separate place for adapters."""

    folder: Path

    @property
    def library(self) -> Path:
        return self.folder / "lib" / "libtorch_cpu.so"

    @property
    def cache(self) -> Path:
        return self.folder.parent / "cache"

    def build(self, *definitions: str) -> FakeTorch:
        """Compile the library."""
        compile_c(ROOT / "tests/fake_torch.c", self.library, "-shared", "-Wl,-soname,libtorch_cpu.so", "-DFAKE_MINOR=99", *definitions)
        return self

    def program(self, text: str, name: str = "program") -> Path:
        """Compile a C program that is linked to the library."""
        source = self.folder.parent / f"{name}.c"
        source.write_text(text)
        return compile_c(
            source, self.folder.parent / name, f"-L{self.library.parent}", "-l:libtorch_cpu.so", f"-Wl,-rpath,{self.library.parent}"
        )

    def adapter_folder(self) -> Path:
        """Give the folder of the user's cache that the command looks into."""
        done = subprocess.run(
            [str(COMMAND), "exec", "--quiet", "--", "sh", "-c", 'cat "$TENSORTAP_EXEC"'],
            env={**os.environ, "XDG_CACHE_HOME": str(self.cache)},
            capture_output=True,
            text=True,
            check=True,
            cwd=self.folder.parent,
        )
        return Path(json.loads(done.stdout)["adapters"][-1])  # behind that of the package

    def adapter(self, *definitions: str, name: str = ADAPTER) -> Path:
        """Compile an adapter into the user's cache."""
        wanted = definitions if any("FAKE_RELEASE" in one for one in definitions) else (*definitions, f'-DFAKE_RELEASE="{RELEASE}.0"')
        return compile_c(ROOT / "tests/fake_adapter.c", self.adapter_folder() / name, "-shared", *wanted)

    def exec(
        self, *words: str | Path, options: Sequence[str | Path] = (), environment: dict[str, str] | None = None, command: Path = COMMAND
    ) -> Done:
        """Run a program under `tensortap exec` with the dump in ./dump."""
        line = [str(command), "exec", "--out", "dump", *map(str, options), "--", *map(str, words)]
        done = subprocess.run(
            line,
            cwd=self.folder.parent,
            env={**os.environ, "XDG_CACHE_HOME": str(self.cache), **(environment or {})},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)


RUN_OPERATORS = """
#include <stdio.h>
int fake_torch_run(int count);
int main(void) {
  const int right = fake_torch_run(5);
  printf("right %d\\n", right);
  return right == 5 ? 3 : 1;
}
"""
"""Runs five operators, says how many gave what they should, and ends with 3."""

THREADS = """
#include <pthread.h>
#include <stdio.h>
int fake_torch_run(int count);
static pthread_barrier_t barrier;
static void* work(void* sum) {
  pthread_barrier_wait(&barrier);
  *(int*)sum = fake_torch_run(1000);
  return 0;
}
int main(void) {
  pthread_t threads[16];
  int sums[16], sum = 0;
  pthread_barrier_init(&barrier, 0, 16);
  for (int i = 0; i < 16; ++i) pthread_create(&threads[i], 0, work, &sums[i]);
  for (int i = 0; i < 16; ++i) pthread_join(threads[i], 0), sum += sums[i];
  printf("right %d\\n", sum);
  return 0;
}
"""
"""Sixteen threads whose first operators come at the same time."""

CHILDREN = """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int fake_torch_run(int count);
/* With an argument a child; otherwise a launcher that runs no operator and starts three children, with ranks where RANKS is set. */
int main(int count, char** words) {
  if (count > 1) return fake_torch_run(5) == 5 ? 0 : 1;
  for (int i = 0; i < 3; ++i) {
    if (fork() == 0) return execl(words[0], words[0], "child", (char*)0);
  }
  int failed = 0, status = 0;
  while (wait(&status) > 0) failed += status != 0;
  return failed;
}
"""

RANKS = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int fake_torch_run(int count);
int main(int count, char** words) {
  if (count > 1) return fake_torch_run(5) == 5 ? 0 : 1;
  setenv("WORLD_SIZE", "2", 1);
  for (int i = 0; i < 2; ++i) {
    char rank[2] = {(char)('0' + i), 0};
    setenv("RANK", rank, 1);
    if (fork() == 0) return execl(words[0], words[0], "child", (char*)0);
  }
  int failed = 0, status = 0;
  while (wait(&status) > 0) failed += status != 0;
  return failed;
}
"""
