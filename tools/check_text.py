"""Checks the project's texts: paths, white space, links, and that the documentation has what the code has."""

from __future__ import annotations

import re
from pathlib import Path

from project_files import ROOT, files_with, project_files, report

MACHINE_PATH = re.compile(r"(?<![\w.~$}/-])/(?:work|root|home|tmp)/[\w.]")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TEXT_SUFFIXES = {".md", ".cc", ".h", ".c", ".py", ".txt", ".cmake", ".json", ".toml", ".sh", ".map", ".yaml", ""}
# Registry table -> the folder where each of its rows has a page.
DOCUMENTED = {"formats": "docs/formats"}
# Files without tensors are not rows: parts of models, files made into models, and tables.
NO_TENSORS = {"onnx_graph", "atb_topology", "arrow", "parquet"}
# Prose of a page and comments of code: what clang-format and ruff do not break.
LONGEST_LINE = 140


def text_files() -> list[Path]:
    """List the files that people read and write."""
    return [
        path for path in project_files() if path.suffix in TEXT_SUFFIXES and "testdata" not in path.parts and "golden" not in path.parts
    ]


def is_test(path: Path) -> bool:
    """Say whether a file is a test, which may name temporary folders."""
    return path.parts[0] == "tests" or path.stem.endswith("_test")


def check_lines(path: Path, text: str) -> list[str]:
    """Find machine paths, trailing white space and a missing last newline."""
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        if line != line.rstrip():
            problems.append(f"{path}:{number}: white space at the end of the line")
        if not is_test(path) and path.name != "check_text.py" and (found := MACHINE_PATH.search(line)):
            problems.append(f"{path}:{number}: a path of one machine: {found[0]}")
    if text and not text.endswith("\n"):
        problems.append(f"{path}: no newline at the end")
    return problems


def check_widths(path: Path, text: str) -> list[str]:
    """Find long lines of prose in pages, except for tables, headings and code, and long comments in C and C++."""
    is_page = path.suffix == ".md"
    if not is_page and path.suffix not in {".cc", ".h", ".c"}:
        return []
    problems = []
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        in_code ^= is_page and line.lstrip().startswith("```")
        if len(line) <= LONGEST_LINE or in_code:
            continue
        if not line.lstrip().startswith(("|", "#", "    ")) if is_page else re.search(r"(^|\s)(//|\*|/\*) ", line):
            problems.append(f"{path}:{number}: {len(line)} characters; at most {LONGEST_LINE}")
    return problems


def anchors_of(text: str) -> set[str]:
    """List the anchors of a Markdown page's headings."""
    headings = re.findall(r"^#+\s+(.*?)\s*$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(path: Path, text: str) -> list[str]:
    """Find links of a Markdown page to files or headings that do not exist."""
    problems = []
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for link in LINK.findall(prose):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / path).parent / name if name else ROOT / path
        if not target.exists():
            problems.append(f"{path}: links to {link}, which does not exist")
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(target.read_text()):
            problems.append(f"{path}: links to {link}, a heading that does not exist")
    return problems


def check_environment() -> list[str]:
    """Compare docs/environment.md with the table of src/core/base/environment.cc."""
    code = (ROOT / "src/core/base/environment.cc").read_text()
    rows = re.findall(r'EnvironmentVariable\{\s*"(\w+)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\}', code)
    wanted = {name: "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', meaning)) for name, meaning in rows}
    page = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|$", (ROOT / "docs/environment.md").read_text(), re.MULTILINE))
    problems = [f"docs/environment.md lacks: | `{name}` | {text} |" for name, text in wanted.items() if page.get(name) != text]
    problems += [f"docs/environment.md names {name}, which src/core/base/environment.cc does not" for name in page if name not in wanted]
    return problems if wanted else ["src/core/base/environment.cc has no table that could be read"]


def check_registry() -> list[str]:
    """Find rows of the registry without a page, and plugin folders without a row."""
    problems = []
    for table, folder in DOCUMENTED.items():
        source = ROOT / f"src/core/registry/{table}.cc"
        if not source.exists():
            continue
        plugins = ROOT / "src/core" / table.removesuffix("s")
        included = set(re.findall(rf'#include "{table.removesuffix("s")}/(\w+)/', source.read_text()))
        for plugin in sorted(item.name for item in plugins.iterdir() if item.is_dir() and item.name not in NO_TENSORS):
            if plugin not in included:
                problems.append(f"src/core/registry/{table}.cc has no row for src/core/{table.removesuffix('s')}/{plugin}")
            if not (ROOT / folder / f"{plugin}.md").exists():
                problems.append(f"{folder}/{plugin}.md is missing: every row of the registry has its page")
    systems = (ROOT / "src/core/registry/systems.cc").read_text()
    for system in sorted(item.name for item in (ROOT / "src/core/system").iterdir() if item.is_dir()):
        if f'"system/{system}/{system}_system.h"' not in systems:
            problems.append(f"src/core/registry/systems.cc has no row for src/core/system/{system}")
    return problems


def check_features() -> list[str]:
    """Find features that docs/compatibility.md leaves out or names twice."""
    text = (ROOT / "docs/compatibility.md").read_text()
    named = re.findall(r"^\| ([ATMLB]\d+) \|", text, re.MULTILINE)
    wanted = [f"{group}{number}" for group, last in zip("ATMLB", (17, 10, 27, 18, 15), strict=True) for number in range(1, last + 1)]
    problems = [f"docs/compatibility.md has no row {feature}" for feature in wanted if feature not in named]
    problems += [f"docs/compatibility.md has {feature} more than once" for feature in set(named) if named.count(feature) > 1]
    problems += [
        f"docs/compatibility.md names {name}, which does not exist"
        for name in re.findall(r"`((?:src|tests)/[\w/.]+)`", text)
        if not (ROOT / name).exists()
    ]
    return problems


def main() -> int:
    """Check every text."""
    problems: list[str] = []
    for path in text_files():
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue
        problems += check_lines(path, text) + check_widths(path, text)
    for path in files_with(".md"):
        problems += check_links(path, (ROOT / path).read_text())
    problems += check_environment() + check_registry() + check_features()
    return report("text", problems)


if __name__ == "__main__":
    raise SystemExit(main())
