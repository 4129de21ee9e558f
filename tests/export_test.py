"""`tensortap export`: other readers find in every cell what NumPy reads in the dumps."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import table_support as made
from cli_support import COMMAND, tensortap

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ENGINES = os.environ.get("TENSORTAP_TEST_ENGINES", "")
OPS = made.made_ops(40)
LATER = {"name": "only.here", "type": "Mul", "module": "m"}


def job(folder: Path) -> dict[int, made.Rows]:
    """Make the dumps of a job with three ranks, of which rank 1 has an op more; the steps of rank 0 are in two files."""
    rows = {rank: made.made_rows(360, len(OPS), rank, seed=rank) for rank in (0, 1, 3)}
    rows[0]["step"][200:] += 2000
    rows[0]["valid"][7] |= 1 << 30
    rows[0]["first_nonfinite"][9], rows[0]["element"][9], rows[0]["moment"][9] = 4, 2, 1
    rows[0]["flags"][:20], rows[0]["member"][:20], rows[0]["data_offset"][:20] = 1, np.arange(20), 4096
    rows[3]["pos_inf"][:40] = 5000
    rows[3]["valid"][:40] = made.ALL_MEASURED
    rows[3] = rows[3][np.random.default_rng(1).permutation(len(rows[3]))]
    for rank, one in rows.items():
        ops = [*OPS[:5], LATER, *OPS[5:]] if rank == 1 else OPS
        made.write_dump(folder / f"rank_{rank}", one, ops)
    return rows


def expected_table(folder: Path, rows: dict[int, made.Rows], ranks: list[int]) -> Any:
    """Give the table of some ranks. The op that only rank 1 has comes behind the one that it follows there."""
    shifted = [number + (number > 4) for number in range(len(OPS))]
    columns: dict[str, list[Any]] = {}
    for rank in ranks:
        numbers = list(range(len(OPS) + 1)) if rank == 1 else shifted
        one = made.expected_export(rows[rank], str(folder / f"rank_{rank}"), numbers)
        for name, values in {**one, "rank": [rank] * len(rows[rank])}.items():
            columns.setdefault(name, []).extend(values)
    return pyarrow.table(columns)


def check_equal(read: Any, expected: Any) -> None:
    for name in expected.column_names:
        for row, (got, wanted) in enumerate(zip(read[name].to_pylist(), expected[name].to_pylist(), strict=True)):
            assert got == wanted or (got != got and wanted != wanted), (name, row, got, wanted)


def test_every_cell_is_read_back_by_other_readers(tmp_path: Path) -> None:  # B15
    rows = job(tmp_path / "job")
    expected = expected_table(tmp_path / "job", rows, [0, 1, 3])
    for form in ("parquet", "arrow"):
        done = tensortap("export", tmp_path / "job", "--to", form, "--out", tmp_path / form, "--group", "100", "--json")
        assert done.code == 0, done.err
        answer = json.loads(done.out)
        assert [answer[name] for name in ("records", "ranks", "missing_ranks", "job_ops")] == [1080, [0, 1, 3], [2], 41]
        tables = []
        for rank in (0, 1, 3):
            files = sorted((tmp_path / form / f"records/rank={rank}").iterdir())
            assert len(files) == (2 if rank == 0 else 1)
            for file in files:
                one = parquet.ParquetFile(file).read() if form == "parquet" else pyarrow.ipc.open_file(file).read_all()
                one.validate(full=True)
                tables.append(one)
        check_equal(pyarrow.concat_tables(tables), expected.drop_columns("rank"))
        assert set(tables[0].column_names) == set(expected.column_names) - {"rank"}
    assert [file.name for file in sorted((tmp_path / "parquet/records/rank=0").iterdir())] == [
        "steps=000000-000999.parquet",
        "steps=002000-002999.parquet",
    ]
    job_ops = parquet.ParquetFile(tmp_path / "parquet/job_ops.parquet").read().to_pylist()
    assert [row["name"] for row in job_ops] == [made.shown(op["name"]) for op in [*OPS[:5], LATER, *OPS[5:]]]
    assert [(row["job_op"], row["dumps"], row["first_dump"]) for row in job_ops[4:7]] == [(4, 3, 0), (5, 1, 1), (6, 3, 0)]
    ops = parquet.ParquetFile(tmp_path / "parquet/ops/rank=1/ops.parquet").read().to_pylist()
    assert [(row["job_op"], row["op"], row["type"]) for row in ops[4:7]] == [(4, 4, OPS[4]["type"]), (5, 5, "Mul"), (6, 6, OPS[5]["type"])]
    described = json.loads((tmp_path / "parquet/_tensortap.json").read_text())
    assert described["dumps"][0]["steps"] == [0, 2008]


def test_groups_of_rows_are_skipped_by_their_bounds(tmp_path: Path) -> None:  # B15
    if not Path(ENGINES).is_file():
        pytest.skip("TENSORTAP_TEST_ENGINES names no Python with DuckDB and Polars")
    rows = job(tmp_path / "job")
    assert tensortap("export", tmp_path / "job", "--out", tmp_path / "tables", "--group", "40").code == 0
    expected = expected_table(tmp_path / "job", rows, [0, 1, 3])
    with pyarrow.ipc.new_file(tmp_path / "expected.arrow", expected.schema) as file:
        file.write_table(expected)
    script = Path(__file__).parent / "engines/read_tables.py"
    done = subprocess.run([ENGINES, script, tmp_path / "tables", tmp_path / "expected.arrow"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["cells"] == dict.fromkeys(("duckdb", "polars"), expected.num_rows * expected.num_columns)
    groups = 1080 // 40
    assert answer["skipped"]["all"][0] == groups
    assert answer["skipped"]["inf"] == [1, 40]  # of 27: the first step of rank 3, whose rows are mixed in its dump
    assert answer["skipped"]["last step"][0] < groups


def test_bounds_are_those_of_the_values(tmp_path: Path) -> None:
    rows = made.made_rows(100, 10)
    rows["valid"] = made.ALL_MEASURED
    rows["min"] = np.where(np.arange(100) % 2 == 0, 0.0, -0.0)
    made.write_dump(tmp_path / "dump", rows, made.made_ops(10))
    assert tensortap("export", tmp_path / "dump", "--out", tmp_path / "tables").code == 0
    file = parquet.ParquetFile(tmp_path / "tables/records/rank=0/steps=000000-000999.parquet")
    group = file.metadata.row_group(0)
    found = {group.column(place).path_in_schema: group.column(place).statistics for place in range(group.num_columns)}
    assert (found["step"].min, found["step"].max) == (0, 9)
    assert (found["l2"].min, found["l2"].max) == (rows["l2"].min(), rows["l2"].max())
    assert (found["count"].min, found["count"].max) == (int(rows["count"].min()), int(rows["count"].max()))
    assert (found["phase"].min, found["phase"].max) == ("backward", "update")
    assert [str(found["min"].min), str(found["min"].max)] == ["-0.0", "0.0"]
    assert not found["absmax"].has_min_max, "a column with a NaN has no bounds"
    assert found["element"].null_count == 100
    assert [(one.column_index, one.descending) for one in group.sorting_columns] == [(0, False), (1, False)]


def test_a_folder_with_nothing_in_it_is_left_when_the_disk_is_full(tmp_path: Path) -> None:
    made.write_dump(tmp_path / "dump", made.made_rows(4000, 10), made.made_ops(10))
    words = [COMMAND, "export", tmp_path / "dump", "--out", tmp_path / "tables"]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert done.returncode == 3
    assert "file too large" in done.stderr
    assert f"{tmp_path}/tables/" in done.stderr, "the name that was asked for, and no temporary one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dump"]


def test_what_is_wrong_is_said_and_nothing_is_written(tmp_path: Path) -> None:
    rows = made.made_rows(90, 10)
    for name in ("a/rank_0", "a/rank_1", "lone"):
        made.write_dump(tmp_path / name, rows, made.made_ops(10))
    (tmp_path / "a/rank_1/records.npy").unlink()
    os.mkfifo(tmp_path / "a/rank_1/records.npy")
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    before = sorted(path.name for path in tmp_path.iterdir())
    cases = [
        (["lone"], 2, "--out"),
        (["--out", "new"], 2, "give one or more dumps"),
        (["nothing", "--out", "new"], 2, "nothing: no such dump"),
        (["lone", "lone", "--out", "new"], 2, "given twice"),
        (["lone", "--out", "full"], 2, "full: there already"),
        (["lone", "--out", "full/file"], 2, "full/file: there already"),
        (["lone", "--out", "full/file/new"], 2, "full/file"),
        (["lone", "--to", "orc", "--out", "new"], 2, "parquet"),
        (["lone", "--group", "0", "--out", "new"], 2, "--group"),
    ]
    for words, code, says in cases:
        done = tensortap("export", *words, cwd=tmp_path)
        assert (done.code, says in done.err) == (code, True), (words, done.code, done.err)
        assert sorted(path.name for path in tmp_path.iterdir()) == before, words
    done = tensortap("export", "a", "--out", "empty", "--json", cwd=tmp_path)
    answer = json.loads(done.out)
    assert (done.code, answer["records"], answer["ranks"]) == (0, 90, [0, 1])
    assert any("a/rank_1/records.npy" in problem for problem in answer["problems"])
    assert "a/rank_1/records.npy" in done.err
    assert (tmp_path / "empty/records/rank=0/steps=000000-000999.parquet").is_file()
