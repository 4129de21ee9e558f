"""Read exported tables with DuckDB and Polars and hold every cell against an Arrow file: TABLES EXPECTED.

Answers with a JSON object: cells by engine, and which row groups DuckDB read for some questions.
"""

import json
import sys
import tempfile
from pathlib import Path

import duckdb
import polars
import pyarrow


def same(read: pyarrow.Table, expected: pyarrow.Table) -> int:
    """Count the cells that are equal, which all have to be; NaN is equal to NaN."""
    cells = 0
    for name in expected.column_names:
        for row, (got, wanted) in enumerate(zip(read[name].to_pylist(), expected[name].to_pylist(), strict=True)):
            assert got == wanted or (got != got and wanted != wanted), (name, row, got, wanted)
            cells += 1
    return cells


def skipped(tables: str) -> dict[str, list[int]]:
    """Ask DuckDB questions; gives for each how many row groups it read and how many rows."""
    profile = Path(tempfile.mkdtemp()) / "profile.json"
    connection = duckdb.connect()
    connection.execute("pragma enable_profiling='json'")
    connection.execute(f"pragma profiling_output='{profile}'")
    counts = {}
    questions = {
        "all": "sum(l2) from {0}",
        "last step": "sum(l2) from {0} where step = (select 8)",
        "inf": "sum(l2) from {0} where pos_inf > 1000",
    }
    for name, question in questions.items():
        connection.execute("select " + question.format(f"read_parquet('{tables}/records/*/*.parquet')")).fetchall()
        query = json.loads(profile.read_text())["query"]
        counts[name] = [query["total_row_groups_scanned"], query["total_rows_scanned"]]
    return counts


def main() -> None:
    """Read, compare and answer."""
    tables, expected_file = sys.argv[1:]
    expected = pyarrow.ipc.open_file(expected_file).read_all()
    order = ["rank", "step", "job_op", "row"]
    by_duckdb = duckdb.sql(f"select * from read_parquet('{tables}/records/**/*.parquet', hive_partitioning=true)").to_arrow_table()
    by_polars = polars.read_parquet(f"{tables}/records/", hive_partitioning=True).to_arrow()
    cells = {
        name: same(table.sort_by([(key, "ascending") for key in order]), expected)
        for name, table in {"duckdb": by_duckdb, "polars": by_polars}.items()
    }
    print(json.dumps({"cells": cells, "skipped": skipped(tables)}))


if __name__ == "__main__":
    main()
