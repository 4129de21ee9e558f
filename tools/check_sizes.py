"""Checks the size budgets: lines of a file, lines and parameters of a function, the share of long functions.

Exceptions are listed below by name, each with its reason.
"""

from __future__ import annotations

from pathlib import Path

import lizard
from project_files import ROOT, files_with, report

FILE_LIMIT = 800
FUNCTION_LIMIT = 80
LONG_FUNCTION = 60
LONG_SHARE = 0.03
PARAMETER_LIMIT = 6
PUBLIC_HEADER_LIMIT = 20

# path -> why it may be longer.
LONG_FILES: dict[str, str] = {}
# path::function -> why it may be longer or take more parameters.
LONG_FUNCTIONS: dict[str, str] = {
    "src/stats/wide_blocks-inl.h::tensortap::HWY_NAMESPACE::add_wide_tail": "its vector types come from a tag, which counts",
}


def check_functions(path: Path) -> tuple[list[str], int, int]:
    """Check the functions of a file; give the problems, the number of functions and how many are long."""
    problems = []
    functions = lizard.analyze_file(str(ROOT / path)).function_list
    long = 0
    for function in functions:
        name = f"{path}::{function.name}"
        length = function.end_line - function.start_line + 1
        long += length > LONG_FUNCTION
        if name in LONG_FUNCTIONS:
            continue
        if length > FUNCTION_LIMIT:
            problems.append(f"{name} at line {function.start_line} has {length} lines; the limit is {FUNCTION_LIMIT}")
        if len(function.parameters) > PARAMETER_LIMIT and "test" not in path.stem:
            problems.append(f"{name} takes {len(function.parameters)} parameters; the limit is {PARAMETER_LIMIT}")
    return problems, len(functions), long


def main() -> int:
    """Check every C++ and Python file."""
    problems: list[str] = []
    functions = long = 0
    for path in files_with(".cc", ".h", ".c", ".py"):
        lines = len((ROOT / path).read_text().splitlines())
        if lines > FILE_LIMIT and str(path) not in LONG_FILES:
            problems.append(f"{path} has {lines} lines; the limit is {FILE_LIMIT}")
        found, count, count_long = check_functions(path)
        problems += found
        functions += count
        long += count_long
    if functions and long / functions > LONG_SHARE:
        problems.append(f"{long} of {functions} functions have more than {LONG_FUNCTION} lines; at most {LONG_SHARE:.0%} may")
    headers = files_with(".h", under=("include",))
    if len(headers) > PUBLIC_HEADER_LIMIT:
        problems.append(f"include/ has {len(headers)} headers; the limit is {PUBLIC_HEADER_LIMIT}")
    return report("sizes", problems)


if __name__ == "__main__":
    raise SystemExit(main())
