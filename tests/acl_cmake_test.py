"""Build files of AscendCL programs in the styles of the public ones, unmodified, in the folder that `tensortap doctor --acl-home` makes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from acl_support import PROGRAMS, image_model, reference
from case_table import each_row
from cli_support import LIBRARIES, tensortap

STYLES = ["acllib", "runtime", "toolkit", "installed"]


def run(*words: str | Path, cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the folder below a separate cache."""
    cache = tmp_path_factory.mktemp("cache")
    done = tensortap("doctor", "--acl-home", environment={"XDG_CACHE_HOME": str(cache)})
    assert done.code == 0, done.err
    again = tensortap("doctor", "--acl-home", "--json", environment={"XDG_CACHE_HOME": str(cache)})
    assert again.objects == [{"acl_home": done.out.strip()}]
    assert Path(done.out.strip()).is_relative_to(cache)
    return Path(done.out.strip())


def clean_environment(home: Path, style: str) -> dict[str, str]:
    """Give what a user has who exported what the sample's own description says, and nothing of the test's."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    stubs = {"acllib": home / "acllib/lib64/stub", "runtime": home / "runtime/lib64/stub"}
    named = {
        "acllib": {"DDK_PATH": str(home), "NPU_HOST_LIB": str(stubs["acllib"])},
        "runtime": {"DDK_PATH": str(home), "NPU_HOST_LIB": str(stubs["runtime"])},
        "toolkit": {"ASCEND_TOOLKIT_HOME": str(home)},
        "installed": {"INSTALL_DIR": str(home)},
    }
    return {**environment, **named[style]}


@each_row("style", STYLES)
def test_a_sample_configures_links_and_runs(style: str, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    shutil.copy(PROGRAMS / "cmake" / f"{style}.cmake", source / "CMakeLists.txt")
    shutil.copy(PROGRAMS / "sample_flow.cc", source)
    environment = clean_environment(home, style)
    build = tmp_path / "build"
    # As the samples' descriptions have it; the libraries are then found by what the environment's script sets.
    done = run(
        "cmake", "-S", source, "-B", build, "-DCMAKE_CXX_COMPILER=g++", "-DCMAKE_SKIP_RPATH=TRUE", cwd=tmp_path, environment=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    done = run("cmake", "--build", build, cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    model = image_model(tmp_path / "resnet50.om", [1, 3, 8, 8])
    image = np.random.default_rng(1).random((1, 3, 8, 8), np.float32)
    image.tofile(tmp_path / "image.bin")
    script = f". '{home}/set_env.sh' && '{build}/main' '{model}' '{tmp_path}/out' '{tmp_path}/image.bin'"
    done = run("bash", "-c", script, cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "prob 1 4\n"
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out0.bin", np.float32), reference(model, image)[0].ravel())


def test_the_runtime_beside_the_package_is_found_through_the_links(home: Path, tmp_path: Path) -> None:
    if LIBRARIES.name != "lib":
        pytest.skip("tensortap is not installed: there is no package beside it")
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "TENSORTAP_ONNXRUNTIME", "PATH")}
    environment["PATH"] = "/usr/bin:/bin"
    done = run("g++", PROGRAMS / "sample_flow.cc", f"-I{home}/include", f"-L{home}/lib64", "-lascendcl", f"-Wl,-rpath,{home}/lib64",
               "-o", tmp_path / "main", cwd=tmp_path, environment=environment)  # fmt: skip
    assert done.returncode == 0, done.stderr
    model = image_model(tmp_path / "m.onnx", [1, 3, 8, 8])
    np.zeros((1, 3, 8, 8), np.float32).tofile(tmp_path / "image.bin")
    done = run(tmp_path / "main", model, tmp_path / "out", tmp_path / "image.bin", cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    made = Path(tensortap("doctor", "--acl-home", environment={"XDG_CACHE_HOME": str(tmp_path)}).out.strip())
    other = tmp_path / "other"
    other.mkdir()
    shutil.rmtree(made)
    made.symlink_to(other)
    done = tensortap("doctor", "--acl-home", environment={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.code == 2, done.out + done.err
    assert "is not a folder of yours" in done.err
    assert not list(other.iterdir())
