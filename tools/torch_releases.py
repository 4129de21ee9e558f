"""The releases of torch that the wheel has adapters for, and their headers.

The newest patch of each minor release that has the function which captures enter by. The headers are those of the wheels for another
system, which are a tenth of the size; `sha256` is that of the file. `string_abis` are those that builds of the release have: the packages
of the index changed from 0 to 1 with 2.7 (with 2.6 for some), other distributions had 1 before.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from fetch_test_assets import download


@dataclass(frozen=True)
class Release:
    """One release of torch."""

    version: str
    sha256: str
    string_abis: tuple[int, ...] = (1,)

    @property
    def minor(self) -> str:
        """Give "2.8" of 2.8.0."""
        return self.version.rpartition(".")[0]


RELEASES = [
    Release("2.4.1", "72b484d5b6cec1a735bf3fa5a1c4883d01748698c5e9cfdbeb4ffab7c7987e0d", (0, 1)),
    Release("2.5.1", "8c712df61101964eb11910a846514011f0b6f5920c55dbf567bff8a34163d5b1", (0, 1)),
    Release("2.6.0", "9a610afe216a85a8b9bc9f8365ed561535c93e804c2a317ef7fabcc5deda0989", (0, 1)),
    Release("2.7.1", "787687087412c4bd68d315e39bc1223f08aae1d16a9e9771d95eabbb04ae98fb"),
    Release("2.8.0", "619c2869db3ada2c0105487ba21b5008defcc472d23f8b80ed91ac4a380283b0"),
    Release("2.9.1", "c0d25d1d8e531b8343bea0ed811d5d528958f1dcbd37e7245bc686273177ad7e"),
    Release("2.10.0", "13ec4add8c3faaed8d13e0574f5cd4a323c11655546f91fbe6afa77b57423574"),
    Release("2.11.0", "4b5866312ee6e52ea625cd211dcb97d6a2cdc1131a5f15cc0d87eec948f6dd34"),
    Release("2.12.1", "d2dd0f2c5f7ccbddaf34cade0deaf476808368f902b9cdb7f36a2ab42301bc0e"),
    Release("2.13.0", "2fe228aba290d14b9f31b049be550dbd469c3fd3013d7a19705b30454da97027"),
    Release("2.14.1", "420dbf314c180ee4b86e9bc00aee5746a7d6e5bacdd7df925af671ed393f0b2e"),
    Release("2.15.0", "593e5fd0c204284890d1c3dff643be34e549e1d24523e13402510f960d4da438"),
]
INCLUDES = "torch/include"


def fetch_headers(release: Release, target: Path) -> None:
    """Unpack all headers of a release below `target`."""
    options = ["--implementation=cp", "--python-version=3.12", "--abi=cp312"]
    options += [f"--platform=macosx_{major}_0_arm64" for major in (14, 11)]
    # The packages that this machine may install are not those that we may compile for.
    os.environ["PIP_CONSTRAINT"] = os.devnull
    print(f"dev: fetching the headers of torch {release.version}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        wheel = download(f"torch=={release.version}", Path(scratch), *options)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if digest != release.sha256:
            raise SystemExit(f"dev: {wheel.name} is not the file that was expected: its SHA-256 is {digest}")
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.startswith(f"{INCLUDES}/") and not name.endswith("/")]
            archive.extractall(target, names)
    # The compiler takes headers with the same content and time for one, and would not say that it read the second.
    for seconds, name in enumerate(names):
        os.utime(target / name, (seconds, seconds))


def headers_read(sources: Path, includes: Path) -> list[Path]:
    """List the headers below `includes` that the adapter's sources read."""
    text = "".join(f'#include "{source}"\n' for source in sorted(sources.glob("source/pytorch/adapter/*.cc")))
    folders = [f"-I{sources}", "-isystem", str(includes), "-isystem", str(includes / "torch/csrc/api/include")]
    command = ["g++", "-std=c++20", "-w", "-M", *folders, "-x", "c++", "-"]
    rule = subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout
    paths = (Path(os.path.normpath(word)) for word in re.sub(r"\\\n", " ", rule).split()[1:])
    return sorted({path for path in paths if path.is_relative_to(includes)})


def included(sources: Path) -> str:
    """Give a word that changes when the adapter's sources include something else."""
    lines = [line for file in sorted(sources.glob("source/pytorch/adapter/*")) for line in re.findall(r"#include <.+", file.read_text())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def headers_of(release: Release, sources: Path, cache: Path) -> Path:
    """Give the include folder of a release: what the adapter's sources read of it, kept in `cache`."""
    kept = cache / release.version
    stamp = f"{release.sha256} {included(sources)}"
    if not (kept / ".of").exists() or (kept / ".of").read_text() != stamp:
        cache.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(kept, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            everything = Path(scratch).resolve()
            fetch_headers(release, everything)
            for header in headers_read(sources, everything / INCLUDES):
                copy = kept / header.relative_to(everything)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(header, copy)
        (kept / ".of").write_text(stamp)
    return kept / INCLUDES
