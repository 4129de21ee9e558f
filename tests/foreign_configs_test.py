"""Dump configs of MindSpore and AscendCL from end to end: what needs a process, a job of several, or a real model."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_support import COMMAND, Done, save, small_model, tensortap
from onnx import helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")


def mindspore_config(folder: Path, saved: str = "tensor") -> Path:
    common = {
        "dump_mode": 0,
        "path": str(folder / "dumps").replace(".", "_"),
        "net_name": "Net",
        "iteration": "all",
        "input_output": 0,
        "kernels": [],
        "support_device": [0],
        "saved_data": saved,
    }
    file = folder / "cfg.json"
    file.write_text(json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True}}))
    return file


def rank_of(config: Path) -> Path:
    return Path(json.loads(config.read_text())["common_dump_settings"]["path"]) / "rank_0"


# M15
def test_a_real_model_under_mindspores_variable_has_the_records_of_a_native_dump(tmp_path: Path) -> None:
    models = Path(os.environ.get("TENSORTAP_TEST_MODELS", ""))
    model = models / "magika/magika/models/standard_v3_3/model.onnx"
    if not model.exists():
        pytest.skip("no models: run ./dev setup")
    config = mindspore_config(tmp_path, "full")
    done = tensortap("run", model, "--seed", "3", environment={"MINDSPORE_DUMP_CONFIG": str(config)}, cwd=tmp_path)
    assert done.code == 0, done.err
    rank = rank_of(config)
    listed = tensortap("ls", rank.parent, "--json").objects
    assert len(listed) == len(list(rank.rglob("*.npy")))
    native = tmp_path / "native"
    assert tensortap("run", model, "--seed", "3", "--full", "--out", native).code == 0
    natives = {
        ("/".join(re.findall("[^/]+", re.sub("[^A-Za-z0-9_/-]", "_", record["op"].replace(".", "/")))), record["slot"]): record
        for record in tensortap("ls", native, "--json").objects
    }
    compared = 0
    for record in listed:
        if not record["slot"].startswith("out") or record["type"] in ("Input", "Initializer"):
            continue
        name = record["op"].removeprefix("Default/").rsplit("/", 1)[0]
        other = natives[name, record["slot"]]
        assert record["shape"] == other["shape"]
        assert f"{record['max']:g}" == f"{other['max']:g}"
        compared += 1
    assert compared == 96


def test_files_that_find_no_room_are_counted_and_the_run_goes_on(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"], name="relu"), helper.make_node("ReduceMax", ["a"], ["y"], name="largest")]
    model = save(nodes, tmp_path / "m.onnx", shape=(300, 300))
    config = mindspore_config(tmp_path)
    # As if the disk ended after 200,000 bytes of a file; the signal for that stays ignored, as Python has it.
    done = subprocess.run(
        [str(COMMAND), "run", str(model), "--config", str(config)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
        restore_signals=False,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 lost" in done.stderr
    assert "file too large: ulimit -f" in done.stderr
    rank = rank_of(config)
    assert [file.name.split(".")[0] for file in rank.rglob("*.npy")] == ["ReduceMax"], "no file that only looks whole"
    report = json.loads((rank / ".dump_metadata/tensortap_run.json").read_text())
    assert sum(loss["count"] for loss in report["losses"]) == 2


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
