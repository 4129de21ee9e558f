"""Adapters are code: one that another user could have written is refused, by the command and in the program."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from case_table import each_row
from cli_support import tensortap
from exec_support import RUN_OPERATORS, FakeTorch

OTHER_USER = 4321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeTorch:
    """Make a torch that any Python here would import, too."""
    torch = FakeTorch(tmp_path / "torch").build()
    (torch.folder / "__init__.py").write_text("")
    (torch.folder / "version.py").write_text("__version__ = '2.99.0'\n")
    monkeypatch.setenv("PYTHONPATH", str(torch.folder.parent))
    return torch


def parts(adapter: Path, cache: Path) -> list[Path]:
    """Give the file and every folder up to the user's cache."""
    return [adapter, *[folder for folder in adapter.parents if folder == cache or cache in folder.parents]]


def assert_refused(torch: FakeTorch, part: Path, reason: str) -> None:
    """Refused in a program that loads it while it runs, and before a Python program starts."""
    done = torch.exec(torch.program(RUN_OPERATORS))
    assert (done.code, done.out) == (3, "right 5\n"), "the program must not notice"
    assert "is not used" in done.err
    assert f'"{part}"' in done.err
    assert reason in done.err
    assert not (torch.folder.parent / "dump").exists()
    done = torch.exec(sys.executable, "-c", "print('started')")
    assert (done.code, done.out) == (2, "")
    assert f'"{part}"' in done.err
    assert reason in done.err
    found = tensortap("doctor", "--json", environment={"XDG_CACHE_HOME": str(torch.cache)}).object["pytorch"]["torch"]
    assert found["adapter"] is None
    assert f'"{part}"' in found["adapter_problem"]


def assert_used(torch: FakeTorch) -> None:
    done = torch.exec(torch.program(RUN_OPERATORS), options=["--json"])
    assert json.loads(done.out.splitlines()[-1])["dump"] == str(torch.folder.parent / "dump"), done.err


@each_row("bits", [0o020, 0o002])
def test_an_adapter_that_others_can_write_is_refused(torch: FakeTorch, bits: int) -> None:
    adapter = torch.adapter()
    for part in parts(adapter, torch.cache):
        mode = part.stat().st_mode
        part.chmod(mode | bits)
        assert_refused(torch, part, "other users can write")
        part.chmod(mode)
    assert_used(torch)
    shutil.rmtree(torch.folder.parent / "dump")


@needs_root
def test_an_adapter_of_another_user_is_refused(torch: FakeTorch) -> None:
    adapter = torch.adapter()
    for part in parts(adapter, torch.cache):
        os.chown(part, OTHER_USER, OTHER_USER)
        assert_refused(torch, part, f"belongs to user {OTHER_USER}")
        os.chown(part, 0, 0)
    assert_used(torch)


def test_a_refused_adapter_runs_nothing_of_its_own(torch: FakeTorch) -> None:
    adapter = torch.adapter("-DFAKE_LOADED")
    adapter.chmod(0o777)
    done = torch.exec(torch.program(RUN_OPERATORS))
    assert "fake adapter loaded" not in done.err
    adapter.chmod(0o755)
    done = torch.exec(torch.program(RUN_OPERATORS))
    assert "fake adapter loaded" in done.err


def test_what_is_built_is_not_for_others_to_write_whatever_the_umask(torch: FakeTorch, tmp_path: Path) -> None:
    (torch.folder / "include/ATen").mkdir(parents=True)
    (torch.folder / "include/ATen/record_function.h").write_text("")
    compiler = tmp_path / "compiler"
    root = Path(__file__).parent.parent
    compiler.write_text(
        "#!/bin/sh\nfor word; do last=$word; done\n"
        f'exec cc -shared -fPIC -I{root}/src/capture -I{root}/include \'-DFAKE_RELEASE="2.99.0"\' {root}/tests/fake_adapter.c -o "$last"\n'
    )
    compiler.chmod(0o755)
    before = os.umask(0)
    try:
        environment = {"XDG_CACHE_HOME": str(torch.cache), "CXX": str(compiler)}
        done = tensortap("build-adapter", "--libtorch", torch.folder, "--json", environment=environment)
    finally:
        os.umask(before)
    assert done.code == 0, done.err
    for part in parts(Path(done.object["adapter"]), torch.cache):
        assert part.stat().st_mode & 0o022 == 0, part
    assert_used(torch)


def test_nothing_is_built_where_it_would_be_refused(torch: FakeTorch, tmp_path: Path) -> None:
    (torch.folder / "include/ATen").mkdir(parents=True)
    (torch.folder / "include/ATen/record_function.h").write_text("#error this is no torch\n")
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    done = tensortap("build-adapter", "--libtorch", torch.folder, "--out", shared)
    assert done.code == 2
    assert "does not compile" not in done.err
    assert f'other users can write "{shared}"' in done.err
    assert f"chmod go-w {shared}" in done.err
    assert list(shared.iterdir()) == []
