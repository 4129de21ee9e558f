"""The example acl_classify: built by CMake and by hand, with real files and magika's model."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from acl_support import compile_program, dumped_ops, reference, run_program, time_folders
from cli_support import BUILD, LIBRARIES, ROOT
from onnxruntime_api import MODELS

MODEL = MODELS / "magika" / "magika" / "models" / "standard_v3_3"
EXAMPLE = ROOT / "examples" / "acl_classify"
# Kinds of real files that everybody can tell.
KNOWN = {"examples/magika_demo.py": "python", "README.md": "markdown", "pyproject.toml": "toml", "examples/acl_classify/acl.json": "json"}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Copy the model under the name that the config has, with its labels beside it."""
    if not MODEL.exists():
        pytest.skip("the models for tests are missing")
    labels = json.loads((MODEL / "config.min.json").read_text())["target_labels_space"]
    (tmp_path / "labels.txt").write_text("\n".join(labels) + "\n")
    return Path(shutil.copy(MODEL / "model.onnx", tmp_path / "magika.onnx"))


def features(content: bytes) -> np.ndarray:
    """Compute magika's input in another way than the example: by the description in the demo."""
    import sys

    sys.path.insert(0, str(ROOT / "examples"))
    from magika_demo import model_input, read_config

    return model_input(content, read_config(MODEL))


def check_answers(program: Path, model: Path, libraries: Path, folder: Path) -> None:
    """Run on real files; kinds and scores must be those that the runtime gives in Python."""
    files = [ROOT / name for name in KNOWN]
    done = run_program(program, model, folder / "labels.txt", *files, cwd=folder, libraries=libraries)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    labels = (folder / "labels.txt").read_text().split()
    for line, path, kind in zip(lines, files, KNOWN.values(), strict=True):
        found = re.fullmatch(rf"{re.escape(str(path))}: (\S+) (\S+)", line)
        assert found, line
        scores = reference(model, features(path.read_bytes()))[0][0]
        assert found[1] == labels[int(np.argmax(scores))] == kind
        assert float(found[2]) == pytest.approx(float(scores.max()), rel=1e-5)


def test_the_built_example_classifies_real_files(model: Path, tmp_path: Path) -> None:
    program = BUILD / "examples" / "acl_classify"
    if not program.exists():
        pytest.skip("examples/acl_classify is not built")
    check_answers(program, model, BUILD, tmp_path)


def test_it_dumps_what_its_config_says(model: Path, tmp_path: Path) -> None:
    program = compile_program(EXAMPLE / "acl_classify.cc", tmp_path / "classify")
    shutil.copy(EXAMPLE / "acl.json", tmp_path)
    (tmp_path / "dump").mkdir()
    check_answers(program, model, LIBRARIES, tmp_path)
    (dump,) = time_folders(tmp_path / "dump")
    steps = dump / "0" / "magika" / "1"
    assert sorted(path.name for path in steps.iterdir()) == ["0", "1", "2", "3"]
    assert len(dumped_ops(steps / "0")) > 50


def test_it_builds_against_an_installation(model: Path, tmp_path: Path) -> None:
    """An installation has headers and libraries only, in the folders that the package has."""
    installed = tmp_path / "installed"
    (installed / "lib").mkdir(parents=True)
    shutil.copytree(ROOT / "include" / "acl", installed / "include" / "acl")
    for name in ("acl", "onnxruntime", "capture"):
        shutil.copy(LIBRARIES / f"libtensortap_{name}.so", installed / "lib")
    program = compile_program(
        EXAMPLE / "acl_classify.cc", tmp_path / "classify", include=installed / "include", libraries=installed / "lib"
    )
    check_answers(program, model, installed / "lib", tmp_path)
