"""Runs every check and says for each whether it passed; the last line is the count.

usage: check.py [--fast | --without-lint]
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from project_files import ROOT, files_with

Check = Callable[[], int]
TOOLS = ROOT / "tools"


def command(*arguments: str | Path) -> int:
    """Run a command in the project's root; give its exit status."""
    return subprocess.run([str(argument) for argument in arguments], check=False, cwd=ROOT).returncode


def script(name: str, *arguments: str | Path) -> Check:
    """Make a check out of a script of tools/."""
    return lambda: command(sys.executable, TOOLS / name, *arguments)


def clang_format() -> int:
    """Check the format of the C and C++ files."""
    return command("clang-format-14", "--dry-run", "-Werror", *files_with(".cc", ".h", ".c"))


def ruff() -> int:
    """Check style and format of the Python files."""
    return command("ruff", "check", "--quiet", ".") | command("ruff", "format", "--quiet", "--check", ".")


def mypy() -> int:
    """Check the types of the Python files."""
    tools = command("mypy", "--no-error-summary", *files_with(".py", under=("tools",)))
    packages = [ROOT / "python" / "tensortap"] if (ROOT / "python" / "tensortap").is_dir() else []
    scripts = files_with(".py", under=("examples", "bench"))
    return tools | (command("mypy", "--no-error-summary", *packages, *scripts) if packages or scripts else 0)


def shellcheck() -> int:
    """Check the shell scripts."""
    return command("shellcheck", "dev", ".ci/run", *files_with(".sh"))


def public_headers() -> int:
    """Compile each public header alone, as C++20, and those of the C interface as C11."""
    failed = 0
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-Iinclude"]
    for header in files_with(".h", under=("include",)):
        failed |= command("g++", "-std=c++20", "-x", "c++", *flags, header)
        if 'extern "C"' in (ROOT / header).read_text():
            failed |= command("gcc", "-std=c11", "-x", "c", *flags, header)
    return failed


def run_checks(checks: Sequence[tuple[str, Check]]) -> int:
    """Run the checks one after the other; give how many failed."""
    failed = 0
    for name, check in checks:
        start = time.monotonic()
        status = check()
        failed += status != 0
        print(f"{'FAILED' if status else 'passed'}  {name} ({time.monotonic() - start:.1f} s)", flush=True)
    return failed


def main() -> int:
    """Run the checks that the command line asks for."""
    release = ROOT / "build" / "release"
    checks: list[tuple[str, Check]] = [
        ("format (clang-format)", clang_format),
        ("layers", script("check_layers.py")),
        ("sizes", script("check_sizes.py")),
        ("names of types", script("check_types.py")),
        ("text", script("check_text.py")),
        ("English", script("check_english.py")),
        ("documents against code", script("check_documents.py")),
        ("Python style (ruff)", ruff),
        ("Python types (mypy)", mypy),
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
