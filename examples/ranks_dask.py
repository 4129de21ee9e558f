"""The questions of ranks_duckdb.py in Dask: records are put together by step, so that no worker holds more than some steps of all ranks.

Run `tensortap export JOB --out TABLES` first. With `dask.distributed.Client(ADDRESS)` made before, the same runs on a cluster.

    python ranks_dask.py TABLES
"""

from __future__ import annotations

import json
import sys
from typing import Any

import dask.dataframe
import numpy as np
import pandas as pd
from ranks_duckdb import folder_of_tables

COUNTS = ["nan", "pos_inf", "neg_inf"]
TENSOR = ["step", "job_op", "call", "slot", "element", "phase", "moment"]


def distances_of(records: pd.DataFrame) -> pd.DataFrame:
    """Give the sum of the distances of each rank, and their number, in some steps of all ranks."""
    tensors = records.groupby(TENSOR, dropna=False, observed=True)
    norms = tensors["l2"]
    judged = (norms.transform("size") >= 3) & (norms.transform("count") == norms.transform("size"))
    judged &= (norms.transform("min") > 0) & np.isfinite(norms.transform("max"))
    judged &= (tensors["shape"].transform("nunique") == 1) & (tensors["dtype"].transform("nunique") == 1)
    near = records.assign(middle=norms.transform("median"))[judged]
    return near.assign(distance=np.log(near["l2"] / near["middle"]).abs()).groupby("rank")["distance"].agg(["sum", "count"]).reset_index()


def answers(tables: str) -> dict[str, Any]:
    """Ask both questions of a folder of tables."""
    columns = [*TENSOR, *COUNTS, "slot_kind", "shape", "dtype", "flags", "l2", "rank"]
    records = dask.dataframe.read_parquet(f"{tables}/records", columns=columns)
    written = records[(records["slot_kind"] != "in") & records["job_op"].notnull()]
    written = written.fillna(dict.fromkeys(COUNTS, 0)).astype(dict.fromkeys(["rank", "job_op", *COUNTS], "int64"))
    bad = written[(written[COUNTS] > 0).any(axis=1)].nsmallest(1, ["step", "job_op", "rank"])
    # Without tokens and the like, and memory that nothing was written to yet.
    judged = written[written["dtype"].str.contains("float|complex") & (written["flags"] & 32 == 0)]
    sums = judged.shuffle(on="step").map_partitions(distances_of, meta={"rank": "int64", "sum": "float64", "count": "int64"})
    found, parts = dask.compute(bad, sums)

    names = pd.read_parquet(f"{tables}/job_ops.parquet").set_index("job_op")["name"]
    firsts = [{**row, "op": names[row["job_op"]]} for row in found[["rank", "step", "job_op", "slot", *COUNTS]].to_dict("records")]
    means = parts.groupby("rank").sum()
    distances = [{"rank": rank, "distance": row["sum"] / row["count"]} for rank, row in means[means["count"] > 0].iterrows()]
    return {"first": firsts[0] if firsts else None, "distances": distances}


if __name__ == "__main__":
    print(json.dumps(answers(folder_of_tables(sys.argv))))
