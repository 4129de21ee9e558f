"""Checks the size budgets: lines of a file, lines and parameters of a function, the share of long functions.

Exceptions are listed below by name, each with its reason.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
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
    "src/source/onnxruntime/watched_runtime.cc::tensortap::onnxruntime::watched_run": "the parameters are those of the runtime's function",
    **dict.fromkeys(
        [
            "src/source/acl/failed_op_functions.cc::aclmdlCreateAndGetOpDesc",
            "src/source/acl/memory_functions.cc::aclrtMemcpy2d",
            "src/source/acl/operator_functions.cc::aclopCompileAndExecute",
            "src/source/acl/operator_functions.cc::aclopCompileAndExecuteV2",
        ],
        "its parameters are those of AscendCL",
    ),
    "src/stats/wide_blocks-inl.h::tensortap::HWY_NAMESPACE::add_wide_tail": "its vector types come from a tag, which counts",
}


@dataclass(frozen=True)
class Function:
    """One function of a file: a docstring and keyword-only parameters are not counted."""

    name: str
    line: int
    lines: int
    parameters: int


def python_functions(path: Path) -> list[Function]:
    """List the functions of a Python file."""
    found = []
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node) is not None:
                lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
            positional = [argument for argument in node.args.posonlyargs + node.args.args if argument.arg not in ("self", "cls")]
            found.append(Function(node.name, node.lineno, lines, len(positional)))
    return found


def cpp_functions(path: Path) -> list[Function]:
    """List the functions of a C or C++ file."""
    functions = lizard.analyze_file(str(ROOT / path)).function_list
    return [Function(f.name, f.start_line, f.end_line - f.start_line + 1, len(f.parameters)) for f in functions]


def check_functions(path: Path) -> tuple[list[str], int, int]:
    """Check the functions of a file; give the problems, the number of functions and how many are long."""
    problems = []
    functions = python_functions(path) if path.suffix == ".py" else cpp_functions(path)
    for function in functions:
        name = f"{path}::{function.name}"
        if name in LONG_FUNCTIONS:
            continue
        if function.lines > FUNCTION_LIMIT:
            problems.append(f"{name} at line {function.line} has {function.lines} lines; the limit is {FUNCTION_LIMIT}")
        if function.parameters > PARAMETER_LIMIT and "test" not in path.stem:
            problems.append(f"{name} takes {function.parameters} parameters; the limit is {PARAMETER_LIMIT}")
    return problems, len(functions), sum(function.lines > LONG_FUNCTION for function in functions)


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
