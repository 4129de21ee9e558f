"""Asks exported tables one question with one engine: ranks_questions.py (duckdb | polars) QUESTION TABLES.

Prints {"seconds", "cpu", "peak_bytes", "rows", "row_count"} as JSON: of the question and the first opening of the files, without the start
of Python; the peak is that of the whole process. The rows are those of the answer, ten at most. Without a question it lists those of the
engine.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from resident import peak_bytes

sys.path.append(str(Path(__file__).resolve().parent.parent / "examples"))

SQL = {
    "replicas": """
        select step, job_op, count(distinct digest) as contents from records where slot_kind = 'weight'
        group by all having contents > 1 order by step, job_op""",
    "gradients": """
        select step, rank, sqrt(sum(l2 * l2)) as norm from records where slot_kind = 'grad' group by all order by norm desc""",
    "trends": """
        select rank, job_op, regr_slope(log2(l2), step) as slope from records
        where l2 > 0 and isfinite(l2) group by all order by abs(slope) desc""",
    "missing": """
        with having_it as (select step, job_op, call, count(distinct rank) as ranks from records group by all)
        select * from having_it where ranks < (select max(ranks) from having_it) order by step, job_op""",
    "shapes": """
        select step, job_op, call, slot from records group by all
        having count(distinct shape) > 1 or count(distinct dtype) > 1 order by step, job_op""",
    "durations": """
        with means as (select job_op, rank, avg(duration_ns) as mean from records group by all),
             medians as (select job_op, median(mean) as middle from means group by all)
        select rank, sum(mean) / sum(middle) as ratio from means join medians using (job_op) group by all order by ratio desc""",
    "progress": "select rank, max(step) as last from records group by all order by last",
}
"""Those of `tensortap ranks` that the records answer; the first two are those of examples/ranks_duckdb.py."""
Rows = list[tuple[Any, ...]]


def duckdb_questions() -> dict[str, Callable[[str], Rows]]:
    """List the questions in SQL."""
    import ranks_duckdb

    def ask(sql: str) -> Callable[[str], Rows]:
        return lambda tables: ranks_duckdb.engine_over(f"{tables}/records/*/*.parquet", tables).execute(sql).fetchall()

    return {name: ask(sql) for name, sql in ({"nonfinite": ranks_duckdb.FIRST, "apart": ranks_duckdb.DISTANCES} | SQL).items()}


def polars_questions() -> dict[str, Callable[[str], Rows]]:
    """List those questions that are a line or two in Polars."""
    import polars as pl
    from polars import col

    wrong = (col("slot_kind") != "in") & ((col("nan") > 0) | (col("pos_inf") > 0) | (col("neg_inf") > 0))
    grows = pl.cov(col("l2").log(2), col("step")) / col("step").var()
    tensor = ["step", "job_op", "call", "slot"]

    def over(question: Callable[[pl.LazyFrame], pl.LazyFrame]) -> Callable[[str], Rows]:
        def ask(tables: str) -> Rows:
            return list(question(pl.scan_parquet(f"{tables}/records/", hive_partitioning=True)).collect(engine="streaming").rows())

        return ask

    return {
        "nonfinite": over(
            lambda records: records.filter(wrong).select("step", "job_op", "rank").bottom_k(1, by=["step", "job_op", "rank"])
        ),
        "replicas": over(
            lambda records: (
                records.filter(col("slot_kind") == "weight")
                .group_by("step", "job_op")
                .agg(col("digest").n_unique())
                .filter(col("digest") > 1)
            )
        ),
        "gradients": over(
            lambda records: records.filter(col("slot_kind") == "grad").group_by("step", "rank").agg((col("l2") ** 2).sum().sqrt())
        ),
        "trends": over(lambda records: records.filter(col("l2") > 0).group_by("rank", "job_op").agg(slope=grows).sort("slope")),
        "shapes": over(
            lambda records: (
                records.group_by(tensor).agg(col("shape", "dtype").n_unique()).filter((col("shape") > 1) | (col("dtype") > 1)).sort(tensor)
            )
        ),
        "progress": over(lambda records: records.group_by("rank").agg(col("step").max())),
    }


def main() -> None:
    """Ask and print."""
    questions = {"duckdb": duckdb_questions, "polars": polars_questions}[sys.argv[1]]()
    if len(sys.argv) == 2:
        print(json.dumps(list(questions)))
        return
    start, cpu = time.perf_counter(), time.process_time()
    rows = questions[sys.argv[2]](sys.argv[3])
    spent = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "peak_bytes": peak_bytes()}
    print(json.dumps({**spent, "rows": rows[:10], "row_count": len(rows)}, default=str))


if __name__ == "__main__":
    main()
