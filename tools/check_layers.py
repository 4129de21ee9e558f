"""Checks that every folder of src/ includes only what tools/layers.txt allows it.

Also: a plugin folder (system/x, source/x) is included by itself and by registry/ only, a file format (format/x) by every folder that may
include format/ and by another format that has a line for it; header names are unique; public headers include public headers only; a
source reaches the core through the C headers; getenv is called in base/environment.cc alone; folders that read files take parts of spans
by base/spans.h.
"""

from __future__ import annotations

import re
from pathlib import Path

from project_files import ROOT, files_with, report

PLUGIN_LAYERS = {"format", "system", "source"}
# Header names that a folder of a system may have again.
REPEATED_HEADERS = {"dialect.h", "reader.h", "writer.h", "repair.h", "grammar.h", "rows.h", "statistics.h"}
# Libraries that a folder includes in quotes: highway's way of compiling a file once for each instruction set needs it so.
FOREIGN = {"stats": ("hwy",), "compare": ("hwy",)}
# Folders whose sizes come out of files: std::span's own functions do not check them.
READERS = {"trace", "format", "layout", "tree", "system", "query", "graph", "read", "convert", "find", "compare", "replay", "cli"}
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


def read_neighbours() -> dict[str, set[str]]:
    """Read tools/layers.txt: the formats that each format depends on."""
    lines = (ROOT / "tools/layers.txt").read_text().splitlines()
    found = (re.fullmatch(r"([a-z_]+/[a-z_]+):(.*)", line) for line in lines)
    return {match[1]: set(match[2].split()) for match in found if match}


def repeated_headers(paths: list[Path]) -> list[str]:
    """Report names of headers in src/ that two files have."""
    places: dict[str, list[Path]] = {}
    for path in paths:
        if path.suffix == ".h" and path.parts[0] == "src" and not (path.parts[1] == "system" and path.name in REPEATED_HEADERS):
            places.setdefault(path.name, []).append(path)
    return [f"{files[-1]}: the name is that of {files[0]}, too" for files in places.values() if len(files) > 1]


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
    plugin, own = plugin_of(target), plugin_of(path.parts[1:])
    if plugin in (None, own) or folder == "registry" or path.stem.endswith("_test"):
        return None
    if target[0] != "format":
        return f"{plugin}/ is included by itself and by registry/ only"
    if folder == "format" and plugin not in read_neighbours().get(own or "", ()):
        return f"{own}/ stands on {plugin}/ and has no line for it in tools/layers.txt"
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
    sources = files_with(".cc", ".h", ".c", under=("src", "include"))
    problems += repeated_headers(sources)
    for path in sources:
        text = (ROOT / path).read_text()
        if path.parts[0] == "include":
            foreign = [name for name in INCLUDE.findall(text) if not name.startswith(PUBLIC)]
            problems += [f"{path}: a public header includes {name}" for name in foreign]
        else:
            problems += check_source(path, text, layers)
    return report("layers", problems)


if __name__ == "__main__":
    raise SystemExit(main())
