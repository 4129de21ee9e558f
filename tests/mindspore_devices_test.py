"""`support_device` of MindSpore's configs: a process captures when its local rank is listed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from case_table import each_row
from cli_support import Done, small_model, tensortap

pytest.importorskip("onnxruntime")

# Starts itself once for each rank, with the variables that a launcher sets for it.
RANKS = """
import json, os, subprocess, sys
if len(sys.argv) == 4:
    for variables in json.load(open(sys.argv.pop())):
        subprocess.run([sys.executable, *sys.argv], env={**os.environ, **variables}, check=True)
else:
    import numpy as np, onnxruntime
    onnxruntime.InferenceSession(sys.argv[1]).run(None, {"x": np.load(sys.argv[2])})
"""
RANK_OF_TWO = [{"RANK": str(rank), "WORLD_SIZE": "2"} for rank in range(2)]


def write_config(folder: Path, devices: list[float], **changes: object) -> Path:
    common = {"dump_mode": 0, "path": str(folder / "dumps"), "net_name": "Net", "iteration": "all", "input_output": 0, "kernels": []}
    config = {
        "common_dump_settings": {**common, "support_device": devices, "op_debug_mode": 0, **changes},
        "e2e_dump_settings": {"enable": True},
    }
    (folder / "cfg.json").write_text(json.dumps(config))
    return folder / "cfg.json"


def run_ranks(folder: Path, devices: list[float], ranks: list[dict[str, str]]) -> Done:
    np.save(folder / "x.npy", np.ones((2, 3), np.float32))
    (folder / "ranks.py").write_text(RANKS)
    (folder / "ranks.json").write_text(json.dumps(ranks))
    program = (sys.executable, folder / "ranks.py", small_model(folder / "m.onnx"), folder / "x.npy", folder / "ranks.json")
    config = write_config(folder, devices)
    done = tensortap("exec", "--config", config, "--profile", "mindspore-2.10/ascend", "--json", "--", *program, cwd=folder)
    assert done.code == 0, done.err
    return done


def ranks_with_tensors(folder: Path) -> set[str]:
    return {path.relative_to(folder / "dumps").parts[0] for path in folder.rglob("dumps/**/*.npy")}


# M5
@each_row("variable", ["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"])
def test_the_listed_local_ranks_of_a_job_are_captured(variable: str, tmp_path: Path) -> None:
    ranks = [{"RANK": str(rank), "WORLD_SIZE": "4", variable: str(rank % 2)} for rank in range(4)]
    done = run_ranks(tmp_path, [1], ranks)
    assert ranks_with_tensors(tmp_path) == {"rank_1", "rank_3"}, "the second process of either machine"
    assert done.err.count("it is on device 0, which the config does not list") == 2


def test_without_local_ranks_the_rank_is_the_device(tmp_path: Path) -> None:
    run_ranks(tmp_path, [1], RANK_OF_TWO)
    assert ranks_with_tensors(tmp_path) == {"rank_1"}


def test_all_devices_that_are_listed_are_captured(tmp_path: Path) -> None:
    run_ranks(tmp_path, [1, 0], RANK_OF_TWO)
    assert ranks_with_tensors(tmp_path) == {"rank_0", "rank_1"}
