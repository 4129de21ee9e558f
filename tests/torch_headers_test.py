"""The adapter against the headers of the oldest, a middle and the newest PyTorch release that can be had.

`tensortap build-adapter` runs as it does for a person; only its compiler is one that checks and, where everything is right, gives out an
adapter that observes nothing.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from cli_support import ROOT, Done, tensortap
from exec_support import FakeTorch

HEADERS = Path(os.environ.get("TENSORTAP_TEST_TORCH_HEADERS", "no headers"))


def checking_compiler(folder: Path, release: str, *options: str) -> str:
    """Make a compiler that checks what it is told to compile, with the very options, and links the fake adapter."""
    compiler = folder / "checking-compiler"
    quoted = " ".join(shlex.quote(one) for one in options)
    compiler.write_text(
        "#!/bin/sh -e\n"
        "for word; do last=$word; done\n"
        f'g++ {quoted} -fsyntax-only -Wfatal-errors "$@"\n'
        f'cc -shared -fPIC -I{ROOT}/src -I{ROOT}/include -DFAKE_RELEASE=\'"{release}"\' {ROOT}/tests/fake_adapter.c -o "$last"\n'
    )
    compiler.chmod(0o755)
    return str(compiler)


def check_adapter(folder: Path, release: str, string_abi: int, *options: str) -> Done:
    """Build the adapter for a torch that has the headers of a release, and no more."""
    headers = HEADERS / release / "torch/include"
    assert headers.is_dir(), f"{headers} is missing: `./dev setup` fetches it, TENSORTAP_TEST_TORCH_HEADERS says where"
    minor = release.split(".")[1]
    torch = FakeTorch(folder / "torch").build("-UFAKE_MINOR", f"-DFAKE_MINOR={minor}", f"-DFAKE_STRING_ABI={string_abi}")
    (torch.folder / "version.py").write_text(f"__version__ = '{release}'\n")
    (torch.folder / "include").symlink_to(headers)
    compiler = checking_compiler(folder, release, *options)
    return tensortap("build-adapter", "--libtorch", torch.folder, "--out", folder / "out", environment={"CXX": compiler}, timeout=600)


# The wheels of 2.4 have the old string ABI, other distributions of it the new one.
@pytest.mark.parametrize(("release", "string_abi"), [("2.4.1", 0), ("2.4.1", 1), ("2.9.1", 1), ("2.14.1", 1)])
def test_the_adapter_compiles_against_the_headers_of(tmp_path: Path, release: str, string_abi: int) -> None:
    done = check_adapter(tmp_path, release, string_abi)
    assert done.code == 0, done.err
    minor = release.split(".")[1]
    assert [item.name for item in (tmp_path / "out").iterdir()] == [f"tensortap_torch_2.{minor}_{string_abi}.so"]


def test_what_a_release_does_not_have_fails_the_check(tmp_path: Path) -> None:
    missing = tmp_path / "missing.h"
    missing.write_text("#include <ATen/record_function.h>\nstatic auto missing = &at::there_is_no_such_function;\n")
    done = check_adapter(tmp_path, "2.14.1", 1, "-include", str(missing))
    assert done.code == 3
    assert "there_is_no_such_function" in done.err
    assert list((tmp_path / "out").iterdir()) == []
