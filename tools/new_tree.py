"""Writes the skeleton of a new tree: a system with a layout that has one NumPy file for each record.

The skeleton is the tree "demo" of tests/new_tree, which the tests hold against the conformance suite of layouts, under another name.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from project_files import ROOT

SKELETON = ROOT / "tests/new_tree"
SYSTEMS = "src/core/registry/systems.cc"
ENTRANCE = "docs/README.md"


def renamed(text: str, name: str) -> str:
    """Put a name in place of the skeleton's."""
    return text.replace("demo", name).replace("DEMO", name.upper())


def target_of(source: Path, name: str) -> Path:
    """Give the path in the project of a file of the skeleton."""
    path = Path(renamed(source.relative_to(SKELETON).as_posix(), name))
    return Path("src/core") / path if path.parts[0] == "system" else path


def with_row(systems: str, name: str) -> str:
    """Add a system to the text of the table of systems."""
    include = f'#include "system/{name}/{name}_system.h"\n'
    lines = sorted({*re.findall(r'#include "system/.*\n', systems), include})
    first = systems.index('#include "system/')
    rest = re.sub(r'#include "system/.*\n', "", systems[first:])
    return systems[:first] + "".join(lines) + re.sub(r"(kSystems\[\] = \{.*?)\};", rf"\1, {name}::kSystem}};", rest, count=1)


def write_tree(name: str, root: Path) -> list[Path]:
    """Write the skeleton's files and its rows below `root`, and list them."""
    files = {target_of(source, name): renamed(source.read_text(), name) for source in sorted(SKELETON.rglob("*")) if source.is_file()}
    files[Path(SYSTEMS)] = with_row((ROOT / SYSTEMS).read_text(), name)
    entrance = (ROOT / ENTRANCE).read_text()
    files[Path(ENTRANCE)] = entrance.replace("[msit](layouts/msit.md)", f"[msit](layouts/msit.md); [{name}](layouts/{name}.md)", 1)
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return sorted(files)


def main() -> int:
    """Write a tree into the project, or into the folder of the second argument."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    root = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        print("new tree: give a name of small letters, digits and _, that begins with a letter", file=sys.stderr)
        return 2
    if (ROOT / "src/core/system" / name).exists():
        print(f"new tree: src/core/system/{name} already exists", file=sys.stderr)
        return 2
    for path in write_tree(name, root):
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
