"""The source distribution has every file of which the build made what is installed; install_test.py installs from it."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from cli_support import BUILD, ROOT

# Folders for tests alone, and the one for files that are made or fetched.
ELSEWHERE = ("tests/", "examples/", "bench/", "fuzz/", "build/")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Make the source distribution, and give the names of its files below its folder."""
    folder = tmp_path_factory.mktemp("sources")
    make = [sys.executable, "-c", "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])", str(folder)]
    subprocess.run(make, cwd=ROOT, capture_output=True, check=True)
    (sources,) = folder.glob("tensortap-*.tar.gz")
    with tarfile.open(sources) as archive:
        return {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}


def test_it_has_what_the_compiler_read(packed: set[str]) -> None:
    listed = subprocess.run(["ninja", "-C", str(BUILD), "-t", "deps"], capture_output=True, text=True, check=True).stdout
    read = {os.path.relpath(os.path.normpath(BUILD / line.strip()), ROOT) for line in listed.splitlines() if line.startswith("    ")}
    ours = {name for name in read if not name.startswith(("..", *ELSEWHERE)) and not name.endswith("_test.cc")}
    assert len(ours) > 500, "the build folder has no list of what was read"
    assert ours <= packed, sorted(ours - packed)


def test_it_has_the_package_and_what_configures_the_build(packed: set[str]) -> None:
    there = [path for folder in ("python", "cmake", "web/dist", "include") for path in (ROOT / folder).rglob("*") if path.is_file()]
    names = {str(path.relative_to(ROOT)) for path in [*there, Path(ROOT / "CMakeLists.txt"), Path(ROOT / "pyproject.toml")]}
    wanted = {name for name in names if "__pycache__" not in name and not name.endswith((".pyc", ".so"))}
    assert wanted <= packed, sorted(wanted - packed)
