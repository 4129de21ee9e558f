"""Checks that every folder of src/ includes only what tools/layers.txt allows it.

Also: a plugin folder (format/x, layout/x, dialect/x, source/x) is included by itself and by registry/ only; public headers include public
headers only; a source reaches the core through the C headers; getenv is called in base/environment.cc alone; folders that read files
take parts of spans by base/spans.h.
"""

from __future__ import annotations

import re
from pathlib import Path

from project_files import ROOT, files_with, report

PLUGIN_LAYERS = {"format", "layout", "dialect", "source"}
# Libraries that a folder includes in quotes: highway's way of compiling a file once for each instruction set needs it so.
FOREIGN = {"stats": ("hwy",)}
# Folders whose sizes come out of files: std::span's own functions do not check them.
READERS = {"trace", "format", "layout", "query", "read", "convert", "find", "cli"}
UNCHECKED_PART = re.compile(r"\.(subspan|first|last)\((?!\))")
# Folders of include/.
PUBLIC = ("tensortap/", "acl/")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def read_layers() -> dict[str, set[str]]:
    """Read tools/layers.txt: what each folder may include besides itself."""
    layers: dict[str, set[str]] = {}
    for line in (ROOT / "tools/layers.txt").read_text().splitlines():
        if match := re.fullmatch(r"([a-z]+):(.*)", line):
            layers[match[1]] = set(match[2].split())
    return layers


def cycle_in(layers: dict[str, set[str]]) -> list[str]:
    """Name the folders that reach themselves."""
    reached = {layer: set(below) for layer, below in layers.items()}
    for _ in layers:
        for below in reached.values():
            below |= {further for layer in list(below) for further in reached.get(layer, set())}
    return sorted(layer for layer, below in reached.items() if layer in below)


def plugin_of(parts: tuple[str, ...]) -> str | None:
    """Name the plugin folder of a path inside src/, such as format/npy."""
    return "/".join(parts[:2]) if len(parts) > 2 and parts[0] in PLUGIN_LAYERS else None


def problem_with(path: Path, included: str, layers: dict[str, set[str]]) -> str | None:
    """Say what is wrong with one include of a file in src/, if anything."""
    folder = path.parts[1]
    target = Path(included).parts
    if path.stem.endswith("_test") and (ROOT / "tests" / included).is_file():
        return None
    if included.startswith(PUBLIC) or target[0] in FOREIGN.get(folder, ()):
        return None
    if target[0] not in layers:
        return f"{target[0]}/ is no folder of tools/layers.txt"
    if folder != target[0] and target[0] not in layers[folder]:
        return f"{folder}/ may not include {target[0]}/"
    plugin = plugin_of(target)
    if plugin and plugin_of(path.parts[1:]) != plugin and folder != "registry" and not path.stem.endswith("_test"):
        return f"{plugin}/ is included by itself and by registry/ only"
    return None


def check_source(path: Path, text: str, layers: dict[str, set[str]]) -> list[str]:
    """Check one file of src/."""
    if path.parts[1] not in layers:
        return [f"{path}: {path.parts[1]}/ has no line in tools/layers.txt"]
    problems = [f"{path}: {found}" for name in INCLUDE.findall(text) if (found := problem_with(path, name, layers))]
    is_test = path.stem.endswith("_test")
    if re.search(r"\bgetenv\s*\(", text) and not is_test and path.as_posix() != "src/base/environment.cc":
        problems.append(f"{path}: getenv; add the variable to src/base/environment.cc and ask there")
    if path.parts[1] in READERS and not is_test and (bare := UNCHECKED_PART.search(text)):
        problems.append(f"{path}: .{bare[1]}() does not check its numbers; use part_of(), first_of() or after() of base/spans.h")
    return problems


def main() -> int:
    """Check the whole tree."""
    layers = read_layers()
    problems = [f"tools/layers.txt: {layer}/ reaches itself" for layer in cycle_in(layers)]
    for path in files_with(".cc", ".h", ".c", under=("src", "include")):
        text = (ROOT / path).read_text()
        if path.parts[0] == "include":
            foreign = [name for name in INCLUDE.findall(text) if not name.startswith(PUBLIC)]
            problems += [f"{path}: a public header includes {name}" for name in foreign]
        else:
            problems += check_source(path, text, layers)
    return report("layers", problems)


if __name__ == "__main__":
    raise SystemExit(main())
