"""Which rank of a job had NaN or Inf first, and how far ranks are from each other, asked of the tables of a job in SQL.

Run `tensortap export JOB --out TABLES` first. The distances are those of `tensortap ranks JOB --json`; the first NaN or Inf is the first
that an op wrote, of which `ranks` leaves out what does no harm or is there on purpose.

    python ranks_duckdb.py TABLES
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import duckdb

# An op may read memory that nothing was written to yet.
FIRST = """
    select rank, step, job_op, name as op, slot, nan, pos_inf, neg_inf
    from records join job_ops using (job_op)
    where slot_kind <> 'in' and (nan > 0 or pos_inf > 0 or neg_inf > 0)
    order by step, job_op, rank limit 1"""

# The distance of a tensor of a rank is |ln(l2 / median)| over the ranks; of a rank, the mean over its tensors. Tokens and the like are left
# out, and so is memory that nothing was written to yet (flag 32).
DISTANCES = """
    with judged as (select * from records where slot_kind <> 'in' and regexp_matches(dtype, 'float|complex') and flags & 32 = 0),
    tensors as (
        select step, job_op, call, slot, element, phase, moment, median(l2) as middle
        from judged
        group by all
        having count(*) >= 3 and count(l2) = count(*) and min(l2) > 0 and isfinite(max(l2))
           and count(distinct shape) = 1 and count(distinct dtype) = 1)
    select rank, avg(abs(ln(l2 / middle))) as distance
    from judged join tensors
      on judged.step = tensors.step and judged.job_op = tensors.job_op and judged.call = tensors.call and judged.slot = tensors.slot
     and judged.element is not distinct from tensors.element and judged.phase = tensors.phase and judged.moment = tensors.moment
    group by rank order by rank"""


def folder_of_tables(words: list[str]) -> str:
    """Give the folder that the words of the command line name; ends the program where it has no tables."""
    if len(words) != 2:
        problem = f"give the folder of the tables: python {Path(words[0]).name} TABLES"
    elif not Path(words[1]).is_dir():
        problem = f"there is no folder {words[1]}"
    elif not any(Path(words[1]).glob("records/rank=*/*.parquet")):
        problem = f"{words[1]} has no tables: make them with `tensortap export JOB --to parquet --out {words[1]}`"
    else:
        return words[1]
    print(problem, file=sys.stderr)
    raise SystemExit(2)


def engine_over(files: str, tables: str) -> duckdb.DuckDBPyConnection:
    """Make an engine with the views `records`, of these files, and `job_ops`."""
    engine = duckdb.connect()
    for view, path in (("records", files), ("job_ops", f"{tables}/job_ops.parquet")):
        quoted = path.replace("'", "''")
        engine.execute(f"create view {view} as select * from read_parquet('{quoted}', hive_partitioning = true)")
    return engine


def first_of(engine: duckdb.DuckDBPyConnection) -> dict[str, Any] | None:
    """Ask for the first NaN or Inf."""
    found = engine.execute(FIRST)
    row = found.fetchone()
    return dict(zip([column[0] for column in found.description or []], row, strict=True)) if row else None


def answers(tables: str) -> dict[str, Any]:
    """Ask both questions of a folder of tables."""
    engine = engine_over(f"{tables}/records/*/*.parquet", tables)
    distances = engine.execute(DISTANCES).fetchall()
    return {"first": first_of(engine), "distances": [{"rank": rank, "distance": distance} for rank, distance in distances]}


if __name__ == "__main__":
    print(json.dumps(answers(folder_of_tables(sys.argv))))
