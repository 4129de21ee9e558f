"""A table in one case: every row is tried, and every row that fails is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from case_table import each_row


def test_all_rows_that_fail_are_told_and_each_has_a_folder(tmp_path: Path) -> None:
    seen = []

    @each_row("number, word", [(1, "one"), (2, "two"), (3, "three")])
    def case(number: int, word: str, tmp_path: Path) -> None:
        (tmp_path / word).write_text(word)
        seen.append(tmp_path)
        assert number == 2

    with pytest.raises(pytest.fail.Exception, match=r"(?s)2 of 3 rows.*'one'.*'three'"):
        case(tmp_path=tmp_path)
    assert len(set(seen)) == 3

    @each_row("number", [1, 2])
    def skips(number: int) -> None:
        pytest.skip(f"no {number}")

    with pytest.raises(pytest.skip.Exception, match="no 1"):
        skips()
