"""The project's own files, for the checks: what git tracks or would track."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The storeys of src/ (tools/layers.txt). A file of one is included without its name.
STOREYS = ("core", "capture", "analysis")
INCLUDE_FOLDERS = (*(f"src/{storey}" for storey in STOREYS), "src", "include")


@cache
def project_files() -> tuple[Path, ...]:
    """List every file of the work tree that git does not ignore, relative to the root."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=False, capture_output=True) if shutil.which("git") else None
    if listed is None or listed.returncode != 0:  # An unpacked archive, or no git: take everything but the build folder.
        found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        return tuple(sorted(path for path in found if path.parts[0] not in ("build", ".git")))
    names = {name for name in listed.stdout.decode().split("\0") if name}
    return tuple(sorted(Path(name) for name in names if (ROOT / name).is_file()))


def files_with(*suffixes: str, under: tuple[str, ...] = ()) -> list[Path]:
    """List the project's files that end like this, in these top folders (all without `under`)."""
    return [path for path in project_files() if path.suffix in suffixes and (not under or path.parts[0] in under)]


def inside(path: Path) -> tuple[str, ...]:
    """Split the path of a file in src/ into its folder and what is below it, without the storey."""
    parts = path.parts[1:]
    return parts[1:] if parts[0] in STOREYS else parts


def report(check: str, problems: list[str]) -> int:
    """Print the problems of a check; the exit status says whether there were any."""
    for problem in problems:
        print(f"{check}: {problem}")
    return 1 if problems else 0
