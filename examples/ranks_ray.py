"""The questions of ranks_duckdb.py on a cluster: a Ray task for each rank, and one that puts their answers together.

Run `tensortap export JOB --out TABLES` first; all machines of the cluster must see TABLES under the same path.

    python ranks_ray.py TABLES                      two workers on this machine
    RAY_ADDRESS=auto python ranks_ray.py TABLES     the cluster that this machine is part of (`ray start`)
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import ranks_duckdb
import ray

# What the distances need of a record.
COLUMNS = "rank, step, job_op, call, slot, slot_kind, element, phase, moment, shape, dtype, flags, l2"


@ray.remote
def of_rank(folder: str, tables: str) -> tuple[dict[str, Any] | None, pa.Table]:
    """Look at one rank: its first NaN or Inf, and the norms of what its ops wrote."""
    engine = ranks_duckdb.engine_over(f"{folder}/*.parquet", tables)
    norms = engine.sql(f"select {COLUMNS} from records where slot_kind <> 'in'").to_arrow_table()
    return ranks_duckdb.first_of(engine), norms


@ray.remote
def of_job(*parts: tuple[dict[str, Any] | None, pa.Table]) -> dict[str, Any]:
    """Put the ranks beside each other."""
    firsts = [first for first, _ in parts if first is not None]
    engine = duckdb.connect()
    engine.register("records", pa.concat_tables([norms for _, norms in parts]))
    distances = engine.execute(ranks_duckdb.DISTANCES).fetchall()
    return {
        "first": min(firsts, key=lambda first: (first["step"], first["job_op"], first["rank"]), default=None),
        "distances": [{"rank": rank, "distance": distance} for rank, distance in distances],
    }


def answers(tables: str) -> dict[str, Any]:
    """Ask both questions of a folder of tables."""
    folders = sorted(Path(tables).resolve().glob("records/rank=*"))
    parts = [of_rank.remote(str(folder), str(Path(tables).resolve())) for folder in folders]
    found: dict[str, Any] = ray.get(of_job.remote(*parts))
    return found


if __name__ == "__main__":
    chosen = ranks_duckdb.folder_of_tables(sys.argv)
    if "RAY_ADDRESS" in os.environ:
        # Its machines need ranks_duckdb.py, too.
        ray.init(logging_level="error", runtime_env={"working_dir": str(Path(__file__).parent)})
    else:
        ray.init(logging_level="error", num_cpus=2, include_dashboard=False)
    print(json.dumps(answers(chosen)))
