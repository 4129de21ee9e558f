"""What ./dev wheel is made of: the version's one place, and the check that auditwheel's word is the tag of the wheel."""

from __future__ import annotations

import ast
import base64
import csv
import email
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import tomllib
from case_table import each_row
from checks_test import tool
from cli_support import COMMAND, ROOT
from packaging.requirements import Requirement

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
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dynamic-metadata"][0]
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


SUPPORTED = (
    "it runs on Linux with glibc, and has a wheel that needs no compiler for x86_64 and aarch64 (glibc 2.28, Python 3.11 and newer)."
)


@each_row(
    ("system", "machine", "target", "said"),
    [
        ("Linux", "aarch64", "aarch64-linux-gnu", "goes on"),
        ("Linux", "riscv64", "riscv64-linux-gnu", f"this is riscv64, which is untested; {SUPPORTED} goes on"),
        ("Linux", "x86_64", "x86_64-alpine-linux-musl", f"the C library of x86_64-alpine-linux-musl is musl; {SUPPORTED}"),
        ("Darwin", "arm64", "arm64-apple-darwin", f"this is Darwin; {SUPPORTED}"),
    ],
)
def test_building_for_a_foreign_system_is_told_what_works(tmp_path: Path, system: str, machine: str, target: str, said: str) -> None:
    script = tmp_path / "say.cmake"
    script.write_text(f'include({ROOT}/cmake/system.cmake)\ntensortap_check_system({system} {machine} "{target}")\nmessage("goes on")\n')
    done = subprocess.run(["cmake", "-P", str(script)], capture_output=True, text=True, check=False)
    text = re.sub(r"CMake \w+ at .*:|Call Stack[^\n]*\n[^\n]*", "", done.stderr)
    assert " ".join(text.split()).removeprefix("tensortap: ") == said
    assert (done.returncode == 0) == said.endswith("goes on")


@each_row(
    ("loaders", "refused"),
    [
        (["lib/ld-musl-x86_64.so.1"], True),
        (["lib/ld-musl-x86_64.so.1", "lib64/ld-linux-x86-64.so.2"], False),  # Debian with the package musl
        (["lib64/ld64.so.2"], False),
        ([], False),
    ],
)
def test_a_system_of_musl_is_told_what_works_before_a_compiler_is_missed(tmp_path: Path, loaders: list[str], *, refused: bool) -> None:
    for loader in loaders:
        (tmp_path / loader).parent.mkdir(exist_ok=True)
        (tmp_path / loader).touch()
    script = tmp_path / "say.cmake"
    script.write_text(f'include({ROOT}/cmake/system.cmake)\ntensortap_check_c_library("{tmp_path}")\n')
    done = subprocess.run(["cmake", "-P", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == refused
    said = f"tensortap: the C library of this system is musl ({tmp_path}/{loaders[0]}); {SUPPORTED}" if refused else ""
    assert said in " ".join(done.stderr.split())
    project = (ROOT / "CMakeLists.txt").read_text()
    assert project.index("tensortap_check_c_library") < project.index("project(tensortap")


def test_an_old_python_is_told_which_it_takes(tmp_path: Path) -> None:
    folder = tmp_path / "index/tensortap"
    folder.mkdir(parents=True)
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].replace(">", "&gt;")
    files = ["tensortap-1.2.3-cp311-cp311-manylinux_2_28_x86_64.whl", "tensortap-1.2.3.tar.gz"]
    (folder / "index.html").write_text("".join(f'<a href="{file}" data-requires-python="{needed}">{file}</a>\n' for file in files))
    words = ["--index-url", f"file://{folder.parent}", "--no-deps", "--python-version", "3.10", "tensortap"]
    command = [sys.executable, "-m", "pip", "--isolated", "download", "-q", "--disable-pip-version-check", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "1.2.3 Requires-Python >=3.11" in done.stderr


def test_building_with_an_old_python_is_told_which_it_takes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    system = project["build-system"]
    assert not [one for one in system["requires"] if Requirement(one).marker is None]
    assert not [one for one in map(Requirement, system["requires"]) if one.marker and one.marker.evaluate({"python_version": "3.10"})]
    folder = ROOT / system["backend-path"][0]
    ast.parse((folder / f"{system['build-backend']}.py").read_text(), feature_version=(3, 6))
    old = f"import sys; sys.version_info = (3, 10, 13); sys.path.insert(0, {str(folder)!r}); import {system['build-backend']}"
    done = subprocess.run([sys.executable, "-c", old], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    oldest = project["project"]["requires-python"].removeprefix(">=")
    assert done.stderr.startswith(f"tensortap: this is Python 3.10; tensortap needs Python {oldest} or newer")
    assert done.stderr.count("\n") == 1


def test_the_command_says_the_version_of_the_changelog() -> None:
    done = subprocess.run([str(COMMAND), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tensortap", version_of_python((ROOT / "CHANGELOG.md").read_text())]


README = """# tensortap
See [the `docs`](docs/a.md#part), [here](#use), [there](https://example.org/x) and ![a picture](docs/a.png).

    [code](docs/a.md)

```console
$ tensortap [options](docs/a.md)
```
[LICENSE](LICENSE)
"""


@each_row(
    ("address", "first", "last"),
    [
        ("", "See the `docs`, [here](#use), [there](https://example.org/x) and a picture.", "LICENSE"),
        (
            "https://example.org/tree/",
            "See [the `docs`](https://example.org/tree/docs/a.md#part), [here](#use), [there](https://example.org/x) and "
            "![a picture](https://example.org/tree/docs/a.png).",
            "[LICENSE](https://example.org/tree/LICENSE)",
        ),
    ],
)
def test_the_text_for_a_package_index_has_no_relative_link(address: str, first: str, last: str) -> None:
    lines = tool("metadata.index_readme").index_text(README, address).splitlines()
    assert (lines[1], lines[-1]) == (first, last)
    assert lines[2:-1] == README.splitlines()[2:-1], "code stays as it is"


def test_every_library_that_is_linked_in_is_listed_with_its_licence() -> None:
    parts = tool("linked_parts")
    text = (ROOT / "docs/dependencies.md").read_text()
    rows = re.findall(r"^\| (\S+)[^|]*\|[^|]*\|[^|]*\| ([^|]+) \| (?:header only|static|compiled in)", text, re.MULTILINE)
    rows += re.findall(r"^\| (\S+) \(npm\) \|.* in `web/dist[^|]*\| (\S+)", text, re.MULTILINE)
    listed = {part.name: part.licence for part in parts.PARTS if part.name != "libstdc++"}
    assert {name: licence.split(",")[0] for name, licence in rows} == listed
    bill = json.loads(parts.bill_of_materials("1.2.3"))
    assert bill["metadata"]["component"]["version"] == "1.2.3"
    assert [one["name"] for one in bill["components"]] == [part.name for part in parts.PARTS]
    assert all(one["version"] and one["purl"].startswith("pkg:") for one in bill["components"])
    assert all(len(part.licence_text()) > 500 for part in parts.PARTS)
    assert next(part.licence_text() for part in parts.PARTS if part.name == "preact").endswith(b"SOFTWARE.\n")


def small_wheel(folder: Path) -> Path:
    """Write a wheel as pip builds it, with the files that matter."""
    path = folder / "tensortap-1.2.3-cp311-cp311-linux_x86_64.whl"
    information = "tensortap-1.2.3.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tensortap/__init__.py", "")
        archive.writestr("tensortap/_core.cpython-311-x86_64-linux-gnu.so", "for one Python")
        program = zipfile.ZipInfo("tensortap-1.2.3.data/scripts/tensortap", (2026, 1, 2, 3, 4, 6))
        program.external_attr = 0o100755 << 16
        archive.writestr(program, "program")
        metadata = "Metadata-Version: 2.4\nName: tensortap\nVersion: 1.2.3\nLicense-Expression: Apache-2.0\nLicense-File: LICENSE\n"
        archive.writestr(f"{information}/METADATA", f"{metadata}\nLicense-File: is of the text\n")
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n\n")
        archive.writestr(f"{information}/licenses/LICENSE", "license")
        archive.writestr(f"{information}/RECORD", "")
    return path


def finish(folder: Path, wheel: Path) -> list[Path]:
    core = folder / "core.so"
    core.write_text("for several Pythons")
    words = ["--platform", "manylinux_2_28_x86_64", "--command", str(COMMAND), "--out", str(folder), "--core-abi3", str(core), str(wheel)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run([sys.executable, str(ROOT / "tools/finish_wheel.py"), *words], env=environment, check=True, capture_output=True)
    return sorted(folder.glob("*manylinux*.whl"))


def test_finished_wheels_have_tags_licences_and_a_list_that_is_right(tmp_path: Path) -> None:
    wheels = finish(tmp_path, small_wheel(tmp_path))
    tags = ["cp311-cp311-manylinux_2_28_x86_64", "cp312-abi3-manylinux_2_28_x86_64"]
    assert [wheel.name for wheel in wheels] == [f"tensortap-1.2.3-{tag}.whl" for tag in tags]
    for wheel, tag, core in zip(wheels, tags, ["_core.cpython-311-x86_64-linux-gnu.so", "_core.abi3.so"], strict=True):
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            files = {name: archive.read(name) for name in names}
            assert archive.getinfo("tensortap-1.2.3.data/scripts/tensortap").external_attr >> 16 == 0o100755
        assert len(set(names)) == len(names)
        assert [name for name in names if "_core" in name] == [f"tensortap/{core}"]
        assert f"Tag: {tag}\n" in files["tensortap-1.2.3.dist-info/WHEEL"].decode()
        metadata = email.message_from_bytes(files["tensortap-1.2.3.dist-info/METADATA"])
        assert {f"tensortap-1.2.3.dist-info/licenses/{file}" for file in metadata.get_all("License-File", [])} == {
            name for name in names if "/licenses/" in name
        }
        assert "GCC-exception-3.1" in metadata["License-Expression"]
        assert "tensortap-1.2.3.dist-info/sboms/tensortap.cdx.json" in names
        record = csv.reader(files["tensortap-1.2.3.dist-info/RECORD"].decode().splitlines())
        said = {name: (digest, size) for name, digest, size in record}
        assert set(said) == set(names)
        for name, (digest, size) in said.items():
            if digest:
                computed = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
                assert (digest, size) == (f"sha256={computed}", str(len(files[name]))), name


def test_a_file_that_names_the_folder_of_the_build_is_found(tmp_path: Path) -> None:
    wheel = small_wheel(tmp_path)
    find = tool("check_wheel").folder_problems
    assert find(wheel, tmp_path) == []
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("tensortap/lib/adapters/some.so", b"\0" + str(tmp_path / "build/ATen/core/ivalue.h").encode() + b"\0")
    assert find(wheel, tmp_path) == [f"tensortap/lib/adapters/some.so names {tmp_path}"]


def test_the_same_input_makes_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        wheel = small_wheel(tmp_path / name)
        os.utime(wheel, (len(made), len(made)))
        made.append([path.read_bytes() for path in finish(tmp_path / name, wheel)])
    assert made[0] == made[1]


def test_the_man_page_has_every_command_and_option_of_help(tmp_path: Path) -> None:
    with zipfile.ZipFile(finish(tmp_path, small_wheel(tmp_path))[0]) as archive:
        page = archive.read("tensortap-1.2.3.data/data/share/man/man1/tensortap.1").decode().replace("\\-", "-")
    assert page.startswith('.TH TENSORTAP 1 "" "tensortap 1.2.3"')
    for words in ([], ["run"], ["exec"], ["convert"]):
        text = subprocess.run([str(COMMAND), *words, "--help"], capture_output=True, text=True, check=True).stdout
        options = re.findall(r"^  ((?:-\w,)?--[\w-]+|[a-z]+(?:-[a-z]+)?) ", text, re.MULTILINE)
        assert len(options) > 3
        assert [name for name in options if not re.search(rf"^\.B {re.escape(name)}( |$)", page, re.MULTILINE)] == [], words


def test_the_stub_of_libstdcxx_has_what_every_system_has_and_no_more(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "tools/make_libstdcxx_stub.py"), "g++", str(tmp_path)], check=True)
    command = ["nm", "-D", "--with-symbol-versions", str(tmp_path / "libstdc++.so.6")]
    names = {line.split()[-1] for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()}
    assert "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE@@GLIBCXX_3.4.22" in names
    assert not [name for name in names if re.search(r"GLIBCXX_3\.4\.(2[3-9]|3\d)|CXXABI_1\.3\.1[2-9]", name)]
    # A program that asks for more takes it from the archive behind it.
    code = '#include <charconv>\nextern "C" char* f(char* to, double x) { return std::to_chars(to, to + 64, x).ptr; }\n'
    (tmp_path / "some.cc").write_text(code)
    link = ["-shared", "-fPIC", "-nodefaultlibs", str(tmp_path / "libstdc++.so.6")]
    link += ["-Wl,-Bstatic", "-lstdc++", "-Wl,-Bdynamic", "-lc", "-lgcc_s", "-lm"]
    library = tmp_path / "tensortap_torch_2.8_1.so"
    subprocess.run(["g++", "-std=c++20", str(tmp_path / "some.cc"), *link, "-o", str(library)], check=True)
    assert not [problem for problem in tool("check_symbols").portable_problems(library) if "GLIBCXX" in problem]


def test_the_newest_torch_is_the_same_everywhere() -> None:
    releases = tool("torch_releases").RELEASES
    assert [release.minor for release in releases] == [f"2.{minor}" for minor in range(4, 4 + len(releases))]
    source = (ROOT / "src/cli/launch/torch_installation.cc").read_text()
    assert re.search(r"kNewestMinor = (\d+);", source)[1] == releases[-1].minor.split(".")[1]  # type: ignore[index]
    assert f"PyTorch (2.4 to {releases[-1].minor}," in (ROOT / "README.md").read_text()
    assert releases[-1].minor in re.search(r"TESTED_TORCHES=\((.*)\)", (ROOT / "dev").read_text())[1].split()  # type: ignore[index]
