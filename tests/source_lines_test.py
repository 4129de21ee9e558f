"""Lines of source: recorded with the ops; later a file is read only below the folders that the reader allows."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli_support import tensortap
from serve_test import serving
from torch_support import capture

PROGRAM = """
import torch
x = torch.zeros(3)
BEFORE = "the line before"
y = 1 / x  # divides
AFTER = "the line after"
z = y.exp()
"""
SECRET = "hunter2"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Capture a program; give its folder, with the dump."""
    folder = tmp_path_factory.mktemp("source")
    done = capture(folder, PROGRAM, options=["--full"])
    assert done.code in (0, 1), done.err
    return folder


def ops_of(dump: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (dump / "ops.jsonl").read_text().splitlines()]


def made_report(dump: Path, here: Path, *options: str | Path) -> tuple[str, list[str]]:
    """Make a report in a folder; give its text and the files that it lists."""
    done = tensortap("report", dump, "--out", here / "report.html", "--json", *options, cwd=here)
    assert done.code == 0, done.err
    sources = done.object["sources"]
    text = (here / "report.html").read_text()
    assert all(source in text and source in done.err for source in sources)
    return text, sources


def claiming(program: Path, folder: Path, **members: str) -> Path:
    """Copy the dump and change its ops, as a stranger could."""
    shutil.copytree(program / "dump", folder / "dump")
    lines = [json.dumps({**op, **members}) for op in ops_of(folder / "dump")]
    (folder / "dump/ops.jsonl").write_text("\n".join(lines) + "\n")
    later = (program / "program.py").stat().st_mtime + 10**8
    for file in (folder / "dump").iterdir():
        os.utime(file, (later, later))
    return folder / "dump"


def test_each_op_has_its_line(program: Path) -> None:
    lines = {op["source"]: op["source_text"] for op in ops_of(program / "dump") if op["source"]}
    assert lines["program.py:5"] == "y = 1 / x  # divides"
    assert lines["program.py:7"] == "z = y.exp()"


def test_files_below_the_current_folder_are_read_and_listed(program: Path, tmp_path: Path) -> None:
    text, sources = made_report(program / "dump", program)
    assert sources == [str((program / "program.py").resolve())]
    assert "the line before" in text and "the line after" in text
    text, sources = made_report(program / "dump", tmp_path)
    assert sources == []
    assert "y = 1 / x  # divides" in text and "the line before" not in text
    text, sources = made_report(program / "dump", tmp_path, "--source-root", program)
    assert sources == [str((program / "program.py").resolve())]
    assert "the line before" in text
    refused = tensortap("report", program / "dump", "--source-root", tmp_path / "none", cwd=tmp_path)
    assert refused.code == 2 and "--source-root: " in refused.err and "none: not a folder" in refused.err


def test_a_dump_does_not_choose_what_is_read(program: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    settings = tmp_path / "home/settings.py"
    settings.write_text(f'A = 1\nPASSWORD = "{SECRET}"\n')
    (tmp_path / "here/link.py").symlink_to(settings)
    for number, name in enumerate((str(settings), "../home/settings.py", "link.py", str(tmp_path / "here/link.py"))):
        folder = tmp_path / f"dump_{number}"
        folder.mkdir()
        dump = claiming(program, folder, source=f"{name}:1", source_text="")
        text, sources = made_report(dump, tmp_path / "here")
        assert (SECRET in text, sources) == (False, []), name
        with serving(dump, "--no-open") as server:
            assert SECRET not in json.dumps([server.json("/api/op/0"), server.json("/api/record/0")])


def test_a_line_that_is_another_by_now_opens_no_file(program: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(f"# another program\n# {SECRET}\n" * 5)
    dump = claiming(program, tmp_path)
    text, sources = made_report(dump, tmp_path)
    assert (SECRET in text, sources) == (False, [])
    assert "y = 1 / x  # divides" in text
