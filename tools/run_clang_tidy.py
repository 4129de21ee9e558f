"""Runs clang-tidy on what the build compiles of src/ and examples/, in parallel; results are kept by content.

usage: run_clang_tidy.py BUILD_FOLDER CACHE_FOLDER

BUILD_FOLDER holds compile_commands.json, best of a unity build: the system headers cost more than the sources. A file is checked again when
it, a file of the project that it includes, its compile command or .clang-tidy has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from project_files import INCLUDE_FOLDERS, ROOT

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
TOOL = "clang-tidy-16"
CHECKED = ("src", "examples")
# GCC's warning flags that clang does not know are no finding.
EXTRA = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error"]


@cache
def closure(path: Path) -> frozenset[Path]:
    """List the project's files that a file includes, itself among them, directly or not."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for name in INCLUDE.findall(current.read_text()):
            places = (current.parent / name, *(ROOT / folder / name for folder in INCLUDE_FOLDERS))
            waiting += [place.resolve() for place in places if place.is_file()][:1]
    return frozenset(seen)


def content_key(entry: dict[str, str]) -> str:
    """Give the digest of everything that the result for a file depends on."""
    digest = hashlib.sha256(TOOL.encode() + (ROOT / ".clang-tidy").read_bytes() + entry["command"].encode())
    for path in sorted(closure(Path(entry["file"]).resolve())):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def check(entry: dict[str, str], build: Path, cache_folder: Path) -> str:
    """Check one file; give the findings as text, nothing when there are none."""
    clean = cache_folder / content_key(entry)
    if clean.exists():
        return ""
    run = subprocess.run([TOOL, "--quiet", "-p", str(build), *EXTRA, entry["file"]], check=False, capture_output=True, text=True)
    if run.returncode == 0:
        clean.touch()
        return ""
    return run.stdout or run.stderr


def main() -> int:
    """Check every file of the build but the tests."""
    build, cache_folder = Path(sys.argv[1]), Path(sys.argv[2])
    cache_folder.mkdir(parents=True, exist_ok=True)
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if "_checked.dir/" in entry["file"]:
            continue  # the same sources as of another library (cmake/modules.cmake)
        path = Path(entry["file"])
        if not path.is_file():
            continue  # made by a build, which this folder need not have had
        if any(source.relative_to(ROOT).parts[0] in CHECKED and not source.stem.endswith("_test") for source in closure(path.resolve())):
            entries[entry["file"]] = entry
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for findings in pool.map(lambda entry: check(entry, build, cache_folder), entries.values()):
            if findings:
                failed += 1
                print(findings.rstrip(), flush=True)
    if failed:
        print(f"clang-tidy: {failed} of {len(entries)} files have findings")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
