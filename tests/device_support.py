"""What the tests on the test device of tests/device share."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from torch_support import PYTHON, Captured, capture

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def device(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Compile the test device once; what programs on it need in their environment."""
    cache = os.environ.get("XDG_CACHE_HOME")
    folder = Path(cache) / "tapdev" if cache else tmp_path_factory.mktemp("tapdev")
    environment = {"TAPDEV_BUILD": str(folder), "PYTHONPATH": str(HERE / "device")}
    subprocess.run([PYTHON, "-c", "import tapdev"], env={**os.environ, **environment}, check=True, timeout=600)
    return environment


def on_device(folder: Path, device: dict[str, str], program: str | Path, *arguments: str, options: Sequence[str] = ()) -> Captured:
    """Run a program on the device under capture; it must end normally."""
    done = capture(folder, program, *arguments, options=options, environment=device)
    assert done.code == 0, done.err
    return done


def alone(folder: Path, device: dict[str, str], program: str | Path, *arguments: str) -> str:
    """Run it without capture."""
    if isinstance(program, str):
        (folder / "alone.py").write_text(program)
        program = folder / "alone.py"
    words = [PYTHON, str(program), *arguments]
    return subprocess.run(words, cwd=folder, env={**os.environ, **device}, capture_output=True, text=True, check=True, timeout=240).stdout
