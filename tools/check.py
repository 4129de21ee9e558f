"""Runs every check and says for each whether it passed; the last line is the count.

usage: check.py [--fast | --without-lint]
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from project_files import ROOT, files_with

TOOLS = ROOT / "tools"


@dataclass(frozen=True)
class Ended:
    """How commands ended: 0 when all of them did well, and what they printed."""

    status: int
    printed: str

    def __or__(self, other: Ended) -> Ended:
        return Ended(self.status | other.status, self.printed + other.printed)


Check = Callable[[], Ended]


def command(*arguments: str | Path) -> Ended:
    """Run a command in the project's root."""
    words = [str(argument) for argument in arguments]
    done = subprocess.run(words, check=False, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return Ended(done.returncode, done.stdout)


def script(name: str, *arguments: str | Path) -> Check:
    """Make a check out of a script of tools/."""
    return lambda: command(sys.executable, TOOLS / name, *arguments)


def clang_format() -> Ended:
    """Check the format of the C and C++ files."""
    return command("clang-format-14", "--dry-run", "-Werror", *files_with(".cc", ".h", ".c"))


def ruff() -> Ended:
    """Check style and format of the Python files."""
    return command("ruff", "check", "--quiet", ".") | command("ruff", "format", "--quiet", "--check", ".")


def mypy() -> Ended:
    """Check the types of the Python files."""
    tools = command("mypy", "--no-error-summary", *files_with(".py", under=("tools",)))
    packages = [ROOT / "python" / "tensortap"] if (ROOT / "python" / "tensortap").is_dir() else []
    scripts = files_with(".py", under=("examples", "bench"))
    return tools | command("mypy", "--no-error-summary", *packages, *scripts) if packages or scripts else tools


def shellcheck() -> Ended:
    """Check the shell scripts."""
    return command("shellcheck", "dev", ".ci/run", *files_with(".sh"))


def public_headers() -> Ended:
    """Compile each public header alone, as C++20, and those of the C interface as C11."""
    ended = Ended(0, "")
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-Iinclude"]
    for header in files_with(".h", under=("include",)):
        ended |= command("g++", "-std=c++20", "-x", "c++", *flags, header)
        if 'extern "C"' in (ROOT / header).read_text():
            ended |= command("gcc", "-std=c11", "-x", "c", *flags, header)
    return ended


def timed(check: Check) -> tuple[Ended, float]:
    """Run a check; gives how long it took, in seconds, as well."""
    start = time.monotonic()
    return check(), time.monotonic() - start


def run_checks(checks: Sequence[tuple[str, Check]]) -> int:
    """Run the checks, one on each processor; give how many failed."""
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as processors:
        for (name, _), (ended, seconds) in zip(checks, processors.map(timed, [check for _, check in checks]), strict=True):
            failed += ended.status != 0
            print(f"{ended.printed}{'FAILED' if ended.status else 'passed'}  {name} ({seconds:.1f} s)", flush=True)
    return failed


def main() -> int:
    """Run the checks that the command line asks for."""
    release = ROOT / "build" / "release"
    # The longest one first.
    checks: list[tuple[str, Check]] = [
        ("Python types (mypy)", mypy),
        ("format (clang-format)", clang_format),
        ("layers", script("check_layers.py")),
        ("sizes", script("check_sizes.py")),
        ("names of types", script("check_types.py")),
        ("text", script("check_text.py")),
        ("English", script("check_english.py")),
        ("documents against code", script("check_documents.py")),
        ("Python style (ruff)", ruff),
        ("shell scripts (shellcheck)", shellcheck),
        ("public headers compile alone", public_headers),
        ("the page of the web view", script("check_web.py", *sys.argv[1:])),
    ]
    if "--fast" not in sys.argv[1:]:
        checks.append(("symbols", script("check_symbols.py", release)))
    if not {"--fast", "--without-lint"} & set(sys.argv[1:]):
        checks.append(("lint (clang-tidy)", script("run_clang_tidy.py", ROOT / "build" / "lint", ROOT / "build" / "tidy")))
    failed = run_checks(checks)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
