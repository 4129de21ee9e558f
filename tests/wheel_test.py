"""What ./dev wheel is made of: the version's one place, and the check that auditwheel's word is the tag of the wheel."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import tomllib
from case_table import each_row
from checks_test import tool
from cli_support import ROOT

HEADINGS = "# Changelog\n\nText of 9.9.9.\n\n{}\n\n- text of 8.8.8\n\n## 0.1.0 (2026-01-01)\n"


@each_row(
    ("heading", "version"),
    [
        ("## Unreleased (0.2.0)", "0.2.0"),
        ("## 0.2.0 (2026-11-25)", "0.2.0"),
        ("## 10.20.30 (2027-01-02)", "10.20.30"),
        ("## News", "0.1.0"),
    ],
)
def test_the_version_is_that_of_the_newest_heading(tmp_path: Path, heading: str, version: str) -> None:
    changelog = HEADINGS.format(heading)
    assert version_of_python(changelog) == version
    assert version_of_cmake(tmp_path, changelog) == version


def version_of_python(changelog: str) -> str | None:
    """Read the version as scikit-build-core does it by pyproject.toml."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["metadata"]["version"]
    found = re.search(settings["regex"], changelog)
    return found["value"] if found else None


def version_of_cmake(folder: Path, changelog: str) -> str | None:
    """Read the version as CMakeLists.txt does it."""
    (folder / "cmake").mkdir(exist_ok=True)
    (folder / "CHANGELOG.md").write_text(changelog)
    (folder / "cmake/version.cmake").write_text((ROOT / "cmake/version.cmake").read_text())
    (folder / "say.cmake").write_text('include(cmake/version.cmake)\nmessage("version ${tensortap_version}")\n')
    done = subprocess.run(["cmake", "-P", "say.cmake"], cwd=folder, capture_output=True, text=True, check=False)
    found = re.search(r"^version (.+)$", done.stderr, re.MULTILINE)
    return found[1] if found else None


def test_a_changelog_without_a_version_builds_nothing(tmp_path: Path) -> None:
    assert version_of_python("# Changelog\n\n## News\n") is None
    assert version_of_cmake(tmp_path, "# Changelog\n\n## News\n") is None


AUDITED = {
    "overall_tag": "manylinux_2_28_x86_64",
    "external_libs": {"libc.so.6": "/lib/libc.so.6"},
    "versioned_symbols": {"libc.so.6": ["GLIBC_2.28"]},
}


@each_row(
    ("change", "complaint"),
    [
        ({}, []),
        # What auditwheel says of the symbols alone is not what it says of the wheel.
        ({"overall_tag": "linux_x86_64", "sym_tag": "manylinux_2_28_x86_64", "external_libs": {"libre2.so.9": None}}, ["'libre2.so.9'"]),
        ({"overall_tag": "manylinux_2_35_x86_64", "versioned_symbols": {"libm.so.6": ["GLIBC_2.35"]}}, ["manylinux_2_35", "GLIBC_2.35"]),
    ],
)
def test_a_wheel_that_auditwheel_calls_otherwise_is_found(change: dict[str, object], complaint: list[str]) -> None:
    problems = tool("check_wheel").problems_in({**AUDITED, **change}, "manylinux_2_28_x86_64")
    assert len(problems) == bool(complaint)
    assert all(part in problems[0] for part in complaint)


def test_an_architecture_without_a_wheel_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "uname").write_text("#!/bin/sh\necho riscv64\n")
    (tmp_path / "uname").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    stubs = tmp_path / "stubs"
    done = subprocess.run([str(ROOT / "tools/make_glibc_stubs.sh"), "python3", str(stubs)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "make_glibc_stubs.sh: there is no wheel for riscv64: x86_64 and aarch64 have one\n"
    assert not stubs.exists()
