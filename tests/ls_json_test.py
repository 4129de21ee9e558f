"""`ls --json` byte for byte as it was recorded, on dumps of three layouts; golden/ls/README.md."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from case_table import each_row
from cli_support import COMMAND, tensortap

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")

GOLDEN = Path(__file__).resolve().parent / "golden"
RECORDED = json.loads((GOLDEN / "ls/recorded.json").read_text())


def records_of(listed: str) -> list[str]:
    """Give the lines of records. For a damaged dump there is one more line, with what is missing."""
    return [line for line in listed.splitlines() if not line.startswith('{"dump":')]


@each_row("recorded", RECORDED)
def test_json_is_as_recorded(recorded: dict[str, Any], tmp_path: Path) -> None:
    with tarfile.open(GOLDEN / f"{recorded['archive']}.tar.gz") as archive:
        archive.extractall(tmp_path)
    name, _, above = recorded["folder"].partition("/")
    (folder,) = tmp_path.glob(f"**/{name}")
    dump = folder.parent if above else folder
    lines = recorded["lines"]
    assert records_of(tensortap("ls", dump, "--json").out) == lines
    for query in recorded["queries"]:
        found = records_of(tensortap("ls", dump, "--json", *query["words"]).out)
        assert found == [lines[row] for row in query["rows"]], query["words"]
