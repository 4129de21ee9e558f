"""The commands and the Python of README.md run as printed, on the demo's model."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- tested -->\n```(\w+)\n(.*?)```", re.DOTALL)


def blocks(language: str) -> Iterator[str]:
    for name, text in BLOCK.findall((ROOT / "README.md").read_text()):
        if name == language:
            yield text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = Path(os.environ["TENSORTAP_TEST_MODELS"]) / "magika/magika/models/standard_v3_3"
    made = tmp_path_factory.mktemp("readme")
    shutil.copyfile(models / "model.onnx", made / "model.onnx")
    prepare = [
        sys.executable,
        str(ROOT / "examples/magika_demo.py"),
        "prepare",
        str(models),
        str(ROOT / "README.md"),
        str(made / "bytes.npy"),
    ]
    subprocess.run(prepare, check=True)
    return made


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    command = Path(os.environ["TENSORTAP_COMMAND"])
    return {**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}


def test_commands_of_the_readme_succeed(folder: Path, environment: dict[str, str]) -> None:
    commands = [line[2:] for text in blocks("console") for line in text.splitlines() if line.startswith("$ ")]
    assert len(commands) >= 5
    for command in commands:
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert done.stdout or done.stderr, f"{command} said nothing"


def test_python_of_the_readme_runs_on_that_dump(folder: Path, environment: dict[str, str]) -> None:
    programs = list(blocks("python"))
    assert len(programs) >= 2
    for program in programs:
        done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{program}\n{done.stdout}{done.stderr}"
        assert done.stdout.strip()
