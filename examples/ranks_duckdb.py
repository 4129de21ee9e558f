"""Which rank of a job had NaN or Inf first, and how far ranks are from each other, asked of the tables of a job in SQL.

Run `tensortap export JOB --out TABLES` first. The distances are those of `tensortap ranks JOB --json`; the first NaN or Inf is the first
that an op wrote, of which `ranks` leaves out what does no harm or is there on purpose.

    python ranks_duckdb.py TABLES
"""

from __future__ import annotations

import json
import sys

import duckdb

# What ops read may be memory that nothing was written to yet.
FIRST = """
    select rank, step, name as op, slot, nan, pos_inf, neg_inf
    from records join job_ops using (job_op)
    where slot_kind <> 'in' and (nan > 0 or pos_inf > 0 or neg_inf > 0)
    order by step, job_op, rank limit 1"""

# The distance of a tensor of a rank is |ln(l2 / median)| over the ranks; of a rank, the mean over its tensors.
DISTANCES = """
    with tensors as (
        select step, job_op, call, slot, element, phase, moment, median(l2) as middle
        from records where slot_kind <> 'in'
        group by all
        having count(*) >= 3 and count(l2) = count(*) and min(l2) > 0 and isfinite(max(l2))
           and count(distinct shape) = 1 and count(distinct dtype) = 1)
    select rank, avg(abs(ln(l2 / middle))) as distance
    from records join tensors
      on records.step = tensors.step and records.job_op = tensors.job_op and records.call = tensors.call and records.slot = tensors.slot
     and records.element is not distinct from tensors.element and records.phase = tensors.phase and records.moment = tensors.moment
    group by rank order by rank"""


def answers(tables: str) -> dict[str, object]:
    """Ask both questions of a folder of tables."""
    engine = duckdb.connect()
    quoted = tables.replace("'", "''")
    engine.execute(f"create view records as select * from read_parquet('{quoted}/records/*/*.parquet', hive_partitioning = true)")
    engine.execute(f"create view job_ops as select * from read_parquet('{quoted}/job_ops.parquet')")
    found = engine.execute(FIRST)
    columns = [column[0] for column in found.description or []]
    row = found.fetchone()
    distances = engine.execute(DISTANCES).fetchall()
    return {
        "first": dict(zip(columns, row, strict=True)) if row else None,
        "distances": [{"rank": rank, "distance": distance} for rank, distance in distances],
    }


if __name__ == "__main__":
    print(json.dumps(answers(sys.argv[1])))
