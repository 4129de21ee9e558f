"""Checks the size budgets: lines of a file, lines and parameters of a function, functions of a class, what a costly header reaches.

Exceptions are listed below by name, each with its reason.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import lizard
from project_files import ROOT, files_with, inside, report

# For what is built or installed, and for tests.
FILE_LIMIT = 400
# A source may hold what one other file uses, and a header is read as a whole.
SOURCE_FILE_LIMIT = 600
TEST_FILE_LIMIT = 800
FUNCTION_LIMIT = 60
TEST_FUNCTION_LIMIT = 80
PARAMETER_LIMIT = 6
PUBLIC_HEADER_LIMIT = 20
CLASS_FUNCTION_LIMIT = 25

# Header of src/ -> the share of its sources that it may reach.
REACH_LIMITS = {"base/json.h": 0.30, "plan/capture_spec.h": 0.27, "plan/where.h": 0.11, "stats/stats.h": 0.11}
# Class -> how many data members it may have: a facade connects its parts and does nothing by itself.
MEMBER_LIMITS = {"CaptureSession": 20}
# A quote behind a digit separates digits.
LITERAL_OR_COMMENT = re.compile(r"""R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\])*"|(?<!\w)'(?:\\.|[^'\\])+'|//[^\n]*|/\*.*?\*/""", re.DOTALL)
# path::function -> why it may be longer or take more parameters.
LONG_FUNCTIONS: dict[str, str] = {
    "src/capture/source/onnxruntime/program/watched_runtime.cc::tensortap::onnxruntime::watched_run": "the runtime's function has these",
    **dict.fromkeys(
        [
            "src/capture/source/acl/failed_op_functions.cc::aclmdlCreateAndGetOpDesc",
            "src/capture/source/acl/memory_functions.cc::aclrtMemcpy2d",
            "src/capture/source/acl/operator_functions.cc::aclopCompileAndExecute",
            "src/capture/source/acl/operator_functions.cc::aclopCompileAndExecuteV2",
        ],
        "its parameters are those of AscendCL",
    ),
    "tests/device/driver.h::cuLaunchKernel": "its parameters are those of the driver",
    "src/core/stats/wide_blocks-inl.h::tensortap::HWY_NAMESPACE::add_wide_tail": "its vector types come from a tag, which counts",
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


def is_test(path: Path) -> bool:
    """Say whether a file is a test, or helps tests."""
    return path.parts[0] == "tests" or "test" in path.stem


def check_functions(path: Path) -> list[str]:
    """Check the functions of a file."""
    problems = []
    functions = python_functions(path) if path.suffix == ".py" else cpp_functions(path)
    for function in functions:
        name = f"{path}::{function.name}"
        if name in LONG_FUNCTIONS:
            continue
        limit = TEST_FUNCTION_LIMIT if is_test(path) else FUNCTION_LIMIT
        if function.lines > limit:
            problems.append(f"{name} at line {function.line} has {function.lines} lines; the limit is {limit}")
        if function.parameters > PARAMETER_LIMIT and "test" not in path.stem:
            problems.append(f"{name} takes {function.parameters} parameters; the limit is {PARAMETER_LIMIT}")
    return problems


def bare(text: str) -> str:
    """Take comments, preprocessor lines and the content of literals out of C++ text."""
    text = LITERAL_OR_COMMENT.sub(lambda found: {"/": "", "'": "0"}.get(found[0][0], '""'), text)
    return re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)


def declarations_of(body: str) -> list[str]:
    """Split the inside of a class into declarations, each without what its braces hold."""
    found, current, depth = [], "", 0
    for letter in body:
        depth -= letter == "}"
        if depth == 0:
            current += letter
        depth += letter == "{"
        defines = letter == "}" and depth == 0 and re.search(r"\)[\w\s]*(:[^?]*)?\}$", current) is not None
        if depth == 0 and (letter == ";" or defines):
            found.append(re.sub(r"^\s*((public|private|protected)\s*:\s*)*(template\s*<[^>]*>\s*)?", "", current).rstrip(";"))
            current = ""
    return found


def members_of(name: str, body: str) -> tuple[set[str], list[str]]:
    """Give the names of a class's functions, constructors and operators left out, and its data members."""
    functions, data = set(), []
    for declaration in declarations_of(body):
        if re.match(r"(using|friend|static_assert|class|struct|enum|union|static constexpr)\b|[^(]*\(\s*\*|.*\boperator\b", declaration):
            continue
        called = re.search(r"(~?\w+)\s*\(", re.sub(r"<[^()]*>", "", re.split(r"=|\}", declaration)[0]))
        if called is None:
            data += [declaration] if declaration.strip() else []
        elif called[1].lstrip("~") != name:
            functions.add(called[1])
    return functions, data


def check_classes(path: Path) -> list[str]:
    """Count the functions of each class of a header, and the data members of a facade."""
    problems = []
    text = bare((ROOT / path).read_text())
    for match in re.finditer(r"\bclass\s+(\w+)(?:\s+final)?\s*(?::[^;{]*)?\{", text):
        if text[: match.start()].rstrip().endswith("enum"):
            continue
        depth, end = 1, match.end()
        while depth > 0 and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        functions, data = members_of(match[1], text[match.end() : end - 1])
        if len(functions) > CLASS_FUNCTION_LIMIT:
            problems.append(f"{path}: class {match[1]} has {len(functions)} functions; the limit is {CLASS_FUNCTION_LIMIT}")
        if len(data) > MEMBER_LIMITS.get(match[1], len(data)):
            problems.append(f"{path}: class {match[1]} has {len(data)} data members; the limit is {MEMBER_LIMITS[match[1]]}")
    return problems


def reached_share(header: str, includes: dict[str, set[str]]) -> float:
    """Give the share of the sources that include a header, by whatever way."""
    reached = {header}
    waiting = [header]
    while waiting:
        found = waiting.pop()
        users = {path for path, included in includes.items() if found in included} - reached
        reached |= users
        waiting += users
    sources = [path for path in includes if path.endswith(".cc")]
    return sum(path in reached for path in sources) / len(sources)


def check_includes() -> list[str]:
    """Hold what compiles slowly away from the files that do not need it."""
    includes = {}
    for path in files_with(".cc", ".h", under=("src",)):
        text = (ROOT / path).read_text()
        includes[Path(*inside(path)).as_posix()] = set(re.findall(r'^#include "([^"]+)"', text, re.MULTILINE))
    problems = []
    for header, limit in REACH_LIMITS.items():
        share = reached_share(header, includes)
        if share > limit:
            problems.append(f"src/{header} reaches {share:.1%} of the sources; the limit is {limit:.0%}")
    return problems


def main() -> int:
    """Check every C++ and Python file, and how long the files of the page are."""
    problems: list[str] = []
    for path in files_with(".ts", ".tsx", ".css", under=("web",)):
        if "dist" not in path.parts and (lines := len((ROOT / path).read_text().splitlines())) > FILE_LIMIT:
            problems.append(f"{path} has {lines} lines; the limit is {FILE_LIMIT}")
    for path in files_with(".cc", ".h", ".c", ".py"):
        lines = len((ROOT / path).read_text().splitlines())
        limit = TEST_FILE_LIMIT if is_test(path) else SOURCE_FILE_LIMIT if path.suffix == ".cc" else FILE_LIMIT
        if lines > limit:
            problems.append(f"{path} has {lines} lines; the limit is {limit}")
        problems += check_functions(path)
        problems += check_classes(path) if path.suffix == ".h" else []
    problems += check_includes()
    headers = files_with(".h", under=("include",))
    if len(headers) > PUBLIC_HEADER_LIMIT:
        problems.append(f"include/ has {len(headers)} headers; the limit is {PUBLIC_HEADER_LIMIT}")
    return report("sizes", problems)


if __name__ == "__main__":
    raise SystemExit(main())
