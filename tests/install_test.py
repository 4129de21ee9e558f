"""``pip install`` of the source distribution in a fresh environment: the command and the module need neither sources nor build tree.

The other Python tests run the wheel that ./dev test makes of the release build. This one has the same files, out of the source
distribution; it is compiled without optimisation, which takes a third of the time.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from cli_support import COMMAND, INSTALLED, LIBRARIES, ROOT, small_model

pytestmark = [
    pytest.mark.skipif("TENSORTAP_SKIP_INSTALL" in os.environ, reason="TENSORTAP_SKIP_INSTALL is set"),
    pytest.mark.timeout(1800),
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install from the source distribution, which is gone afterwards; give the environment's folder."""
    folder = tmp_path_factory.mktemp("install")
    make = [sys.executable, "-c", "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])", str(folder)]
    subprocess.run(make, cwd=ROOT, capture_output=True, check=True)
    (sources,) = folder.glob("tensortap-*.tar.gz")
    venv.create(folder / "venv", with_pip=True)
    pip = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    fetched = [f"TENSORTAP_{name.upper()}_SOURCE={ROOT / 'build' / name}" for name in ("re2", "httplib")]
    environment["SKBUILD_CMAKE_DEFINE"] = ";".join([*fetched, "CMAKE_CXX_FLAGS_DEBUG=-O0"])
    environment["SKBUILD_CMAKE_BUILD_TYPE"] = "Debug"
    done = subprocess.run([*pip, f"{sources}[onnx]"], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    sources.unlink()
    return folder / "venv"


def run(installed: Path, *words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    # Neither the environment nor the runtime is named: the command finds the one that it is installed in.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("TENSORTAP", "PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run([str(word) for word in words], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_command_runs_a_model(installed: Path, tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    command = installed / "bin/tensortap"
    doctor = run(installed, command, "doctor", "--json", cwd=tmp_path)
    assert doctor.returncode == 0, doctor
    runtimes = json.loads(doctor.stdout)["runtimes"]
    assert str(installed) in runtimes[0]["path"]
    done = run(installed, command, "run", "model.onnx", "--full", "--verify", "--overhead", "--json", "--out", "d", cwd=tmp_path)
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["identical"] is True
    assert run(installed, command, "ls", "d", cwd=tmp_path).stdout.count("softmax_1") == 1


def test_the_module_opens_and_runs(installed: Path, tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    program = """
import tensortap
result = tensortap.run("model.onnx", out="d", payload="full", verify=True)
assert result.identical
print(tensortap.__version__, tensortap.open("d")["softmax_1:out0"].shape)
"""
    done = run(installed, installed / "bin/python", "-c", program, cwd=tmp_path)
    assert done.returncode == 0, done
    assert done.stdout.split() == ["0.1.0", "(2,", "4)"]


def test_the_package_is_typed_and_brings_its_header(installed: Path) -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    package = installed / "lib" / version / "site-packages" / "tensortap"
    for name in (
        "py.typed",
        "_core.pyi",
        "include/tensortap/capture.h",
        "lib/libtensortap_capture.so",
        "lib/libtensortap_onnxruntime.so",
        "lib/libtensortap_ggml.so",
        "lib/libtensortap_acl.so",
        "lib/libtensortap_atb.so",
        "lib/libtensortap_atb_abi0.so",
        "include/acl/acl.h",
    ):
        assert (package / name).is_file(), name
    assert not list(package.rglob("*test*"))


@pytest.mark.skipif(INSTALLED is None, reason="the command under test is not installed")
def test_its_files_are_those_of_the_wheel_under_test(installed: Path) -> None:
    assert INSTALLED is not None
    package = next((installed / "lib").glob("python*/site-packages"))

    def files(folder: Path) -> set[str]:
        found = (path.relative_to(folder).as_posix() for path in folder.glob("tensortap*/**/*") if path.is_file())
        return {name for name in found if "__pycache__" not in name and not name.endswith("direct_url.json")}

    # What ./dev wheel adds to what pip makes.
    added = r"tensortap/lib/adapters/.+\.so|tensortap-.+/(licenses/linked|sboms)/.+"
    assert files(package) == {name for name in files(INSTALLED) if not re.fullmatch(added, name)}
    pairs = [(installed / "bin/tensortap", COMMAND)]
    pairs += [(package / f"tensortap/lib/libtensortap_{name}.so", LIBRARIES / f"libtensortap_{name}.so") for name in ("capture", "acl")]
    for built in pairs:
        dynamic = [subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True).stdout for path in built]
        ours = [re.findall(r"NEEDED.*\[(libtensortap.*)\]", text) for text in dynamic]
        assert ours[0] == ours[1]
        places, under_test = (set(re.findall(r"RUNPATH.*\[(.*)\]", text)[0].split(":")) for text in dynamic)
        assert places <= under_test, "a wheel for several Pythons has more"


@pytest.mark.parametrize(("name", "what"), [("re2", "RE2's sources are"), ("httplib", "cpp-httplib's header is")])
def test_without_fetched_sources_it_stops_with_one_sentence(tmp_path: Path, name: str, what: str) -> None:
    configure = [
        "cmake",
        "-S",
        ROOT,
        "-B",
        tmp_path / "build",
        "-G",
        "Ninja",
        "-DTENSORTAP_TESTS=OFF",
        f"-DTENSORTAP_{name.upper()}_SOURCE={tmp_path}/{name}",
    ]
    done = subprocess.run(configure, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert said.count("CMake Error") == 1
    assert f"tensortap: {what} not in {tmp_path}/{name}. Run `tools/fetch_sources.sh build` (or ./dev setup)" in said


def test_nothing_refers_to_the_folder_it_was_built_in(installed: Path) -> None:
    package = next((installed / "lib").glob("python*/site-packages/tensortap"))
    for file in (*filter(Path.is_file, package.rglob("*.so")), installed / "bin/tensortap"):
        dynamic = subprocess.run(["readelf", "-d", str(file)], capture_output=True, text=True, check=True).stdout
        paths = [line for line in dynamic.splitlines() if "RUNPATH" in line or "RPATH" in line]
        assert all("$ORIGIN" in line and "/tmp" not in line for line in paths), (file, paths)
