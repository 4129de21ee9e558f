"""Checks that every folder of src/ includes only what tools/layers.txt allows it, and that it uses all that it is allowed.

Also: a folder lies in its storey, and capture and analysis never include each other; a plugin folder (system/x, source/x) is included by
itself and by registry/ only, a file format (format/x) by every folder that may include format/ and by another format that has a line
for it; a folder that has rooms has all its files in them; no circle of units (a header and its source) is larger than LARGEST_CIRCLE;
header names are unique; public headers include public headers only; a source reaches the core through the C headers; getenv is called in
base/environment.cc alone; folders that read files take parts of spans by base/spans.h.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from include_circles import circles
from project_files import ROOT, files_with, inside, report

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
# How many units may include each other in a circle.
LARGEST_CIRCLE = 4


@dataclass
class Layers:
    """What tools/layers.txt says."""

    folders: dict[str, set[str]] = field(default_factory=dict)  # what a folder may include besides itself
    storeys: dict[str, str] = field(default_factory=dict)  # by folder
    formats: dict[str, set[str]] = field(default_factory=dict)  # the formats that a format depends on
    rooms: dict[str, dict[str, set[str]]] = field(default_factory=dict)  # by folder and room: other rooms of the folder

    def place_of(self, folder: str) -> str:
        """Name the place of a folder inside src/."""
        return f"{self.storeys[folder]}/{folder}" if folder in self.storeys else folder

    def room_of(self, parts: tuple[str, ...]) -> tuple[str, str] | None:
        """Name the folder with rooms and the room that a file lies in, "" for none; None where the folder has no rooms."""
        for depth in (1, 2):
            folder = "/".join(parts[:depth])
            if folder in self.rooms:
                return folder, parts[depth] if len(parts) > depth + 1 else ""
        return None


def read_layers() -> Layers:
    """Read tools/layers.txt."""
    layers = Layers()
    for line in (ROOT / "tools/layers.txt").read_text().splitlines():
        name, colon, rest = line.partition(":")
        words = set(rest.split())
        if not colon or line.startswith("#"):
            continue
        if name.startswith("storey "):
            layers.storeys |= dict.fromkeys(words, name.removeprefix("storey "))
        elif "/" not in name:
            layers.folders[name] = words
        elif name.startswith("format/"):
            layers.formats[name] = words
        else:
            folder, _, room = name.rpartition("/")
            layers.rooms.setdefault(folder, {})[room] = words
    return layers


def repeated_headers(paths: list[Path]) -> list[str]:
    """Report names of headers in src/ that two files have."""
    places: dict[str, list[Path]] = {}
    for path in paths:
        if path.suffix == ".h" and path.parts[0] == "src" and not ("system" in path.parts and path.name in REPEATED_HEADERS):
            places.setdefault(path.name, []).append(path)
    return [f"{files[-1]}: the name is that of {files[0]}, too" for files in places.values() if len(files) > 1]


def cycle_in(layers: Mapping[str, set[str]]) -> list[str]:
    """Name the folders that reach themselves."""
    reached = {layer: set(below) for layer, below in layers.items()}
    for _ in layers:
        for below in reached.values():
            below |= {further for layer in list(below) for further in reached.get(layer, set())}
    return sorted(layer for layer, below in reached.items() if layer in below)


def check_storeys(layers: Layers) -> list[str]:
    """Check that no line lets capture and analysis include each other."""
    problems = []
    for folder, below in layers.folders.items():
        storey = layers.storeys.get(folder, "")
        for other in sorted(below):
            if {storey, layers.storeys.get(other, "")} == {"capture", "analysis"} or (
                storey == "core" and layers.storeys.get(other) != "core"
            ):
                problems.append(f"tools/layers.txt: {folder}/ is {storey} and may not include {other}/")
    return problems


def plugin_of(parts: tuple[str, ...]) -> str | None:
    """Name the plugin folder of a path inside src/, such as format/npy."""
    return "/".join(parts[:2]) if len(parts) > 2 and parts[0] in PLUGIN_LAYERS else None


def problem_between_rooms(own: tuple[str, ...], target: tuple[str, ...], layers: Layers) -> str | None:
    """Say what is wrong with an include of another room, if anything."""
    here, there = layers.room_of(own), layers.room_of(target)
    if here is None or there is None or here[0] != there[0] or here[1] == there[1] or not here[1]:
        return None
    folder, room = here
    if there[1] not in layers.rooms[folder].get(room, set()):
        return f"{folder}/{room}/ may not include {folder}/{there[1]}/"
    return None


def problem_with(path: Path, included: str, layers: Layers) -> str | None:
    """Say what is wrong with one include of a file in src/, if anything."""
    own = inside(path)
    folder = own[0]
    target = Path(included).parts
    is_test = path.stem.endswith("_test")
    if is_test and (ROOT / "tests" / included).is_file():
        return None
    if included.startswith(PUBLIC) or target[0] in FOREIGN.get(folder, ()):
        return None
    if target[0] not in layers.folders:
        return f"{target[0]}/ is no folder of tools/layers.txt"
    if folder != target[0] and target[0] not in layers.folders[folder]:
        return f"{folder}/ may not include {target[0]}/"
    plugin, own_plugin = plugin_of(target), plugin_of(own)
    if is_test or folder == "registry":
        return None
    if plugin in (None, own_plugin):
        return problem_between_rooms(own, target, layers)
    if target[0] != "format":
        return f"{plugin}/ is included by itself and by registry/ only"
    if folder == "format" and plugin not in layers.formats.get(own_plugin or "", ()):
        return f"{own_plugin}/ stands on {plugin}/ and has no line for it in tools/layers.txt"
    return None


def problem_with_place(path: Path, layers: Layers) -> str | None:
    """Say what is wrong with where a file of src/ lies, if anything."""
    parts = inside(path)
    if parts[0] not in layers.folders:
        return f"{parts[0]}/ has no line in tools/layers.txt"
    place = f"src/{layers.place_of(parts[0])}/"
    if not path.as_posix().startswith(place):
        return f"its folder belongs in {place}"
    room = layers.room_of(parts)
    if room is not None and path.suffix in (".h", ".cc", ".c") and room[1] not in layers.rooms[room[0]]:
        return f"lies in no room of {room[0]}/ that tools/layers.txt has"
    return None


def check_source(path: Path, text: str, layers: Layers) -> list[str]:
    """Check one file of src/."""
    if misplaced := problem_with_place(path, layers):
        return [f"{path}: {misplaced}"]
    problems = [f"{path}: {found}" for name in INCLUDE.findall(text) if (found := problem_with(path, name, layers))]
    is_test = path.stem.endswith("_test")
    if re.search(r"\bgetenv\s*\(", text) and not is_test and not path.as_posix().endswith("/base/environment.cc"):
        problems.append(f"{path}: getenv; add the variable to src/core/base/environment.cc and ask there")
    if inside(path)[0] in READERS and not is_test and (bare := UNCHECKED_PART.search(text)):
        problems.append(f"{path}: .{bare[1]}() does not check its numbers; use part_of(), first_of() or after() of base/spans.h")
    return problems


def unused_permissions(texts: Iterable[tuple[Path, str]], layers: Layers) -> list[str]:
    """Report permissions of tools/layers.txt that no include uses."""
    used = set()
    for path, text in texts:
        own = inside(path)
        for name in INCLUDE.findall(text):
            target = Path(name).parts
            used.add((own[0], target[0]))
            used.add((plugin_of(own) or "", plugin_of(target) or ""))
            here, there = layers.room_of(own), layers.room_of(target)
            if here and there and here[0] == there[0]:
                used.add((f"{here[0]}/{here[1]}", f"{there[0]}/{there[1]}"))
    allowed = [(name, other) for lines in (layers.folders, layers.formats) for name, below in lines.items() for other in below]
    allowed += [
        (f"{folder}/{room}", f"{folder}/{other}") for folder, rooms in layers.rooms.items() for room in rooms for other in rooms[room]
    ]
    return [f"tools/layers.txt: {name} may include {other}, and does not" for name, other in sorted(allowed) if (name, other) not in used]


def check_circles(texts: Iterable[tuple[Path, str]], layers: Layers) -> list[str]:
    """Report circles of more than LARGEST_CIRCLE units."""
    units: dict[str, set[str]] = {}
    for path, text in texts:
        name = Path(*inside(path)).with_suffix("").as_posix()
        if not name.endswith("_test"):
            units.setdefault(name, set()).update(included.removesuffix(".h") for included in INCLUDE.findall(text))
    return [
        f"{len(found)} units include each other in a circle: {', '.join(found)}" for found in circles(units) if len(found) > LARGEST_CIRCLE
    ]


def main() -> int:
    """Check the whole tree."""
    layers = read_layers()
    problems = [f"tools/layers.txt: {layer}/ reaches itself" for layer in cycle_in(layers.folders)]
    for folder, rooms in layers.rooms.items():
        problems += [f"tools/layers.txt: {folder}/{room}/ reaches itself" for room in cycle_in(rooms)]
    problems += check_storeys(layers)
    sources = files_with(".cc", ".h", ".c", under=("src", "include"))
    problems += repeated_headers(sources)
    texts = []
    for path in sources:
        text = (ROOT / path).read_text()
        if path.parts[0] == "include":
            foreign = [name for name in INCLUDE.findall(text) if not name.startswith(PUBLIC)]
            problems += [f"{path}: a public header includes {name}" for name in foreign]
        else:
            problems += check_source(path, text, layers)
            texts.append((path, text))
    if not problems:
        problems = unused_permissions(texts, layers) + check_circles(texts, layers)
    return report("layers", problems)


if __name__ == "__main__":
    raise SystemExit(main())
