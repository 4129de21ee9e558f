"""Adapters that come with the package: used as they are for PyTorch's own releases, tried first with builds of others. No compiler here."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import COMMAND, LIBRARIES, ROOT, Done, tensortap
from exec_support import ADAPTER, TORCH_PYTHON, FakeTorch, compile_c

NO_COMPILER = {"CXX": "/nonexistent"}
LOADED = "fake adapter loaded"


class Installation:
    """A separate tensortap, whose adapters a test may choose, and a torch that any Python here would import."""

    def __init__(self, folder: Path) -> None:
        self.command = folder / "tensortap/bin/tensortap"
        self.command.parent.mkdir(parents=True)
        shutil.copy(COMMAND, self.command)
        self.libraries = folder / "tensortap/tensortap/lib"
        shutil.copytree(LIBRARIES, self.libraries, ignore=shutil.ignore_patterns("adapters"))
        shutil.copytree(LIBRARIES.parent / "share", self.libraries.parent / "share")
        self.torch = FakeTorch(folder / "torch").build()
        (self.torch.folder / "__init__.py").write_text(f"import ctypes\nctypes.CDLL({str(self.torch.library)!r})\n")
        (self.torch.folder / "include/ATen").mkdir(parents=True)
        (self.torch.folder / "include/ATen/record_function.h").write_text("")

    def add_adapter(self, *definitions: str, name: str = ADAPTER) -> None:
        """Put an adapter into the package."""
        release = name.split("_")[2]
        target = self.libraries / "adapters" / name
        compile_c(ROOT / "tests/fake_adapter.c", target, "-shared", f'-DFAKE_RELEASE="{release}.0"', *definitions)

    def of_version(self, version: str) -> None:
        """Call the torch so."""
        (self.torch.folder / "version.py").write_text(f"__version__ = '{version}'\n")

    def run(self) -> Done:
        """Start a Python program."""
        return self.torch.exec(sys.executable, "-c", "print('started')", environment=NO_COMPILER, command=self.command)

    def assert_started(self) -> None:
        done = self.run()
        assert (done.code, done.out) == (0, "started\n"), done.err

    def cached(self) -> list[str]:
        """List what is in the cache."""
        return [str(file.name) for file in self.torch.cache.rglob("*") if file.is_file()]


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    made = Installation(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return made


def test_a_release_uses_the_one_of_the_package_untried_and_before_the_cache(installation: Installation) -> None:
    installation.add_adapter("-DFAKE_CRASH", "-DFAKE_LOADED")  # its self-test would crash
    for version in ("2.99.0", "2.99.1+cpu", "2.99.0+cu132"):
        installation.of_version(version)
        installation.assert_started()
        assert installation.cached() == []
    program = installation.torch.program("int fake_torch_run(int);\nint main(void) { return fake_torch_run(5) != 5; }\n")
    done = installation.torch.exec(program, environment=NO_COMPILER, command=installation.command)
    assert (done.code, LOADED in done.err) == (0, True), done.err


def test_a_build_of_others_is_tried_in_a_process_of_its_own_and_what_works_is_kept(installation: Installation) -> None:
    installation.add_adapter()
    for version in ("2.99.0a0+git1234", "2.99.0.post1", "2.99.0+vendor"):
        shutil.rmtree(installation.torch.cache, ignore_errors=True)
        installation.of_version(version)
        installation.assert_started()
        assert installation.cached() == [ADAPTER]


def test_a_build_of_others_that_it_does_not_fit_is_compiled_for(installation: Installation) -> None:
    installation.of_version("2.99.0a0+git1234")
    for definition in ("-DFAKE_CRASH", '-DFAKE_PROBLEM="wrong fields"', "-DFAKE_RESULT=1"):
        installation.add_adapter(definition)
        done = installation.run()
        assert (done.code, done.out) == (2, ""), done.err
        assert "this is 2.99.0a0+git1234, an unofficial build that none of them fits" in done.err
        assert "the C++ compiler that CXX names cannot be used" in done.err
        assert installation.cached() == []


def test_a_release_that_is_not_among_them_is_told_which_are(installation: Installation) -> None:
    for name in ("tensortap_torch_2.95_0.so", "tensortap_torch_2.96_1.so", "tensortap_torch_2.97_1.so", ADAPTER):
        installation.add_adapter(name=name)
    (installation.libraries / "adapters/tensortap_torch_2.94_1.so.partial").write_text("")
    installation.of_version("2.98.0")
    installation.torch.build("-UFAKE_MINOR", "-DFAKE_MINOR=98")
    done = installation.run()
    assert (done.code, done.out) == (2, ""), done.err
    assert "has adapters for torch 2.95 to 2.97, 2.99; this is 2.98.0; to compile one: " in done.err
    assert "update tensortap" in done.err
    doctor = subprocess.run([str(installation.command), "doctor"], capture_output=True, text=True, check=False)
    assert "adapters    torch 2.95 to 2.97, 2.99 (prebuilt)" in doctor.stdout


def test_a_torch_that_is_too_old_runs_and_is_told_which_are_not(installation: Installation) -> None:
    installation.torch.build('-DFAKE_ENTRY="no_such_function"', "-DFAKE_ABI_VERSION=0")
    installation.of_version("2.3.1")
    done = installation.run()
    assert (done.code, done.out) == (0, "started\n"), done.err
    assert re.search(r"\(torch 2\.3\.1\) does not export .+; torch 2\.4 and later do$", done.err, re.MULTILINE), done.err


def test_an_official_torch_needs_no_compiler_and_leaves_the_cache_empty(tmp_path: Path) -> None:
    if not (LIBRARIES / "adapters").is_dir():
        pytest.skip("this installation has no adapters; that of ./dev test has")
    program = tmp_path / "train.py"
    program.write_text("import torch\nprint((torch.ones(2, 3) @ torch.ones(3)).relu().sum().item())\n")
    cache = tmp_path / "cache"
    done = tensortap("exec", "--json", "--", TORCH_PYTHON, program, cwd=tmp_path, environment={**NO_COMPILER, "XDG_CACHE_HOME": str(cache)})
    assert done.code == 0, done.err
    said, summary = done.out.splitlines()
    assert said == "6.0"
    assert '"source":"pytorch' in summary.replace(": ", ":"), summary
    assert not list(cache.rglob("*.so"))
