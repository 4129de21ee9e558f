"""A tree of AscendCL's dump that several processes share, and one that was cut short."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_support import Done, small_model, tensortap

# Starts itself once for each rank; the rank that the last word names is killed when its model has run.
RANKS = """
import glob, os, signal, subprocess, sys, time
if "RANK" not in os.environ:
    ranks = [{**os.environ, "RANK": rank, "WORLD_SIZE": "2"} for rank in ("0", "1")]
    for child in [subprocess.Popen([sys.executable, *sys.argv], env=environment) for environment in ranks]:
        child.wait()
    sys.exit()
import numpy as np, onnxruntime
onnxruntime.InferenceSession(sys.argv[1]).run(None, {"x": np.load(sys.argv[2])})
if os.environ["RANK"] == sys.argv[3]:
    while not glob.glob("dump/2*/" + sys.argv[3] + "/m/1/0/Softmax.*"):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def run_ranks(tmp_path: Path, killed: str = "none") -> Done:
    """Run two ranks with an AscendCL config, one of which may be killed, into a tree that holds an older dump."""
    pytest.importorskip("onnxruntime")
    config = tmp_path / "acl.json"
    config.write_text(json.dumps({"dump": {"dump_path": str(tmp_path / "dump"), "dump_mode": "output", "dump_list": [{}]}}))
    older = tmp_path / "dump/20200102030405/.tensortap"
    older.mkdir(parents=True)
    (older / "0.old.1.json").write_text(json.dumps({"complete": True, "records": 1000, "rank": 7}))
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    (tmp_path / "ranks.py").write_text(RANKS)
    words = (sys.executable, tmp_path / "ranks.py", small_model(tmp_path / "m.onnx"), tmp_path / "x.npy", killed)
    return tensortap("exec", "--config", config, "--json", "--", *words, cwd=tmp_path)


def files_of(tmp_path: Path, rank: int) -> list[Path]:
    return [path for path in tmp_path.glob(f"dump/2*/{rank}/m/1/0/*.*") if path.is_file()]


def test_ranks_that_share_a_tree_are_summed_up(tmp_path: Path) -> None:
    done = run_ranks(tmp_path)
    assert done.code == 0, done.err
    summary = done.object
    assert {process["rank"] for process in summary["processes"]} == {0, 1}, "each rank is a device"
    assert summary["complete"] is True
    for process in summary["processes"]:
        assert process["records"] == len(files_of(tmp_path, process["rank"])) > 0
    assert summary["records"] == sum(process["records"] for process in summary["processes"])


def test_a_rank_that_was_killed_is_counted_by_what_it_left(tmp_path: Path) -> None:
    summary = run_ranks(tmp_path, killed="1").object
    assert summary["complete"] is False
    by_end = {process["complete"]: process for process in summary["processes"]}
    assert by_end[True]["rank"] == 0
    assert by_end[False]["dump"].endswith("/1")
    assert by_end[False]["records"] == len(files_of(tmp_path, 1))


def test_repair_says_what_is_whole_and_drops_what_is_cut(tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.onnx")
    assert tensortap("run", model, "--tensors", "--slots", "in,out", "--layout", "ge", "--out", tmp_path / "dump").code == 0
    whole = tensortap("ls", tmp_path / "dump", "--json").objects
    assert tensortap("repair", tmp_path / "dump", "--json").object["healthy"] is True
    file = next(tmp_path.glob("dump/2*/0/*/*/0/Softmax.*"))
    os.truncate(file, file.stat().st_size - 1)
    dry = tensortap("repair", tmp_path / "dump", "--dry-run", "--json").object
    done = tensortap("repair", tmp_path / "dump", "--json").object
    assert dry == {**done, "dry_run": True}
    assert (done["healthy"], done["records_kept"], done["records_lost"]) == (False, len(whole) - 1, 1)
    assert file.name in done["lost"][0]
    listed = tensortap("ls", tmp_path / "dump", "--json")
    assert "cut" not in listed.err
    assert len(listed.objects) == len(whole) - 1
    assert tensortap("repair", tmp_path / "dump", "--json").object["healthy"] is True
