"""`tensortap ranks` on jobs of four ranks under torchrun, sound and with a planted fault each."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cli_support import ROOT, Done, package_alone, tensortap
from torch_support import PYTHON, capture

PROGRAM = ROOT / "tests/rank_jobs_program.py"
KINDS = ("ddp", "fsdp", "tensor", "pipeline", "loader", "precision")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run all of them in one job: four processes that import torch once."""
    folder = tmp_path_factory.mktemp("jobs")
    # Compiles the adapter where the installation has none.
    assert capture(folder, "import torch\ntorch.ones(1) + 1\n").code == 0
    names = [f"{kind}{fault}" for kind in KINDS for fault in ("", "-fault")]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4"]
    cut = ("shards", "uneven")
    for words in ([*torchrun, str(PROGRAM), str(folder), *names, *cut], [str(PROGRAM), str(folder / "one"), *cut]):
        done = subprocess.run(
            [PYTHON, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(package_alone(folder)), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    return folder


def answers(jobs: Path, name: str) -> tuple[Done, dict[str, Any]]:
    done = tensortap("ranks", jobs / name, "--json")
    return done, done.object


def test_a_sound_job_raises_no_alarm(jobs: Path) -> None:  # B15
    for kind in KINDS:
        done, report = answers(jobs, kind)
        assert (done.code, report["found"]) == (0, []), (kind, report)
        assert [rank["rank"] for rank in report["ranks"]] == [0, 1, 2, 3]


def test_a_layer_of_another_seed_is_no_replica(jobs: Path) -> None:  # B15
    done, report = answers(jobs, "ddp-fault")
    first = report["replicas"]["unequal"][0]
    assert done.code == 1
    assert (first["ranks"], first["others"]) == ([2], [0, 1, 3])
    assert (first["step"], first["role"], first["module"]) == (0, "weight", "Net.head")


def test_a_nan_in_a_shard_is_that_of_its_rank_though_all_ranks_gather_it(jobs: Path) -> None:  # B15
    done, report = answers(jobs, "fsdp-fault")
    first = report["nonfinite"]["first"]
    line = next(number for number, text in enumerate(PROGRAM.read_text().splitlines(), 1) if 'float("nan")' in text)
    assert done.code == 1
    assert (first["rank"], first["step"]) == (1, 3)
    assert first["source"].endswith(f"{PROGRAM.name}:{line}")
    assert len(report["nonfinite"]["ranks"]) == 4


def test_a_module_that_is_sharded_has_the_name_of_its_class(jobs: Path) -> None:
    ops = (jobs / "fsdp/rank_0/ops.jsonl").read_text()
    assert '"module": "Net.second"' in ops
    assert "FSDPNet" not in ops


def test_a_shard_that_moves_away_from_its_copy_is_named(jobs: Path) -> None:  # B15
    done, report = answers(jobs, "tensor-fault")
    weights = [one for one in report["replicas"]["unequal"] if one["role"] == "weight"]
    assert done.code == 1
    assert (weights[0]["step"], weights[0]["module"]) == (2, "Net.second.down")
    assert (weights[0]["ranks"], weights[0]["others"]) == ([3], [1])


def test_a_stage_that_leaves_out_a_step_is_named(jobs: Path) -> None:  # B15
    done, report = answers(jobs, "pipeline-fault")
    assert done.code == 1
    assert report["found"] == ["missing"]
    assert [rank["behind"] for rank in report["progress"]] == [0, 0, 1, 0]
    first = report["missing"]["executions"][0]
    assert (first["step"], first["others"]) == (3, [2])


def test_a_rank_that_waits_for_its_data_is_the_slow_one(jobs: Path) -> None:  # B15
    done, report = answers(jobs, "loader-fault")
    slow = report["durations"]["slowest"]
    assert (done.code, report["found"]) == (0, [])
    assert (slow["rank"], slow["where"]["before"]) == (2, True)
    assert "slowest rank: rank 2 needs " in tensortap("ranks", jobs / "loader-fault").out
    assert answers(jobs, "loader")[1]["durations"]["slowest"] is None


def test_a_rank_that_computes_in_bfloat16_differs_in_type_and_not_in_values(jobs: Path) -> None:  # B15
    done, report = answers(jobs, "precision-fault")
    types = report["shapes"]["types"]
    assert done.code == 1
    assert "types" in report["found"]
    assert report["shapes"]["wrong"] == 0
    assert report["replicas"]["unequal"] == []
    assert [one["ranks"] for one in types[0]["dtypes"]] == [[0, 1, 3], [2]]
    assert [one["dtype"] for one in types[0]["dtypes"]] == ["float32", "bfloat16"]


def test_the_parameter_behind_a_record_is_named(jobs: Path) -> None:  # B15
    report = answers(jobs, "ddp-fault")[1]
    assert report["replicas"]["unequal"][0]["parameter"] == "head.weight"
    assert "head.weight at Net.head/" in tensortap("ranks", jobs / "ddp-fault").out


def test_ops_on_distributed_tensors_tell_their_placements(jobs: Path) -> None:
    manifest = json.loads((jobs / "tensor/rank_3/run.json").read_text())
    mesh = next(number for number, one in enumerate(manifest["runtime"]["meshes"]) if one == {"dims": ["tp"], "ranks": [2, 3]})
    ops = [json.loads(line) for line in (jobs / "tensor/rank_3/ops.jsonl").read_text().splitlines()]
    placed = {op["name"]: op["attributes"]["placements"] for op in ops if "placements" in (op["attributes"] or {})}
    column, row = placed["Net.first.up/addmm"], placed["Net.first.down/addmm"]
    assert column["in1"] == {"mesh": mesh, "placements": ["R"], "shape": [4, 8]}
    assert column["in2"] == {"mesh": mesh, "placements": ["S(1)"], "shape": [8, 16]}
    assert row["in1"] == {"mesh": mesh, "placements": ["S(1)"], "shape": [4, 16]}
    assert row["in2"] == {"mesh": mesh, "placements": ["S(0)"], "shape": [16, 8]}
    names = [slot["name"] for op in ops if op["name"] == "Net.first.up/addmm" for slot in op["inputs"]]
    assert names[0] == "first.up.bias"
    done = tensortap("show", jobs / "tensor/rank_3", "Net.first.up/addmm:out0")
    assert "S(1)" in done.out, done.err
    shown = tensortap("show", jobs / "tensor/rank_3", "Net.first.up/addmm:out0", "--json").object
    assert shown["placements"] == column
    assert "placements" not in tensortap("show", jobs / "ddp/rank_3", "0", "--json").object


def compared(*words: str | Path) -> tuple[Done, list[dict[str, Any]], dict[str, Any]]:
    done = tensortap("compare", *words, "--json")
    lines = done.objects
    return done, [line for line in lines if "verdict" in line], lines[-1]["summary"]


def test_shards_are_the_tensors_of_one_process(jobs: Path) -> None:  # B15
    """Every pair of a tensor-parallel training lies within the tolerance, put together as DTensor and the shapes say."""
    done, rows, summary = compared(jobs / "shards", jobs / "one/shards")
    assert done.code == 0, (done.err, [row for row in rows if row["verdict"] not in ("equal", "tolerated")])
    cut = {row["b"]: row for row in rows}
    # Columns, rows, sums of both passes, and weights as the optimizer leaves them.
    for name, shape in (
        ("Net.first.up/addmm:out0", [4, 16]),
        ("Net.first/tanh:out0", [4, 16]),
        ("Net.second.down/addmm:out0", [4, 8]),
    ):
        assert cut[name]["shape_a"] == shape, cut.get(name)
    assert summary["judged"] == len(rows)
    # Values that ranks send each other do not belong to one process.
    assert summary["unpaired_a"]["not explained"] == summary["unpaired_b"]["not explained"] == 0
    assert summary["unpaired_a"]["made by the runtime"] > 0


def test_shards_of_other_lengths_and_of_two_dimensions_of_a_mesh_are_put_together(jobs: Path) -> None:  # B15
    """3, 3, 3 and 1 of 10 columns; 1, 1, 1 and none of 3; rows cut twice, rows and columns, columns and rows."""
    done, rows, _ = compared(jobs / "uneven", jobs / "one/uneven")
    assert done.code == 0, (done.err, [row for row in rows if row["verdict"] not in ("equal", "tolerated")])
    found = {(row["type_a"], tuple(row["shape_a"]), row["verdict"]) for row in rows}
    assert {("addmm", shape, "tolerated") for shape in ((4, 10), (4, 8), (4, 3), (4, 4))} <= found
    whole = [row for row in rows if row["a"].startswith("Wave") and row["type_a"] == "tanh"]
    assert [(row["a"].split("/")[0], row["shape_a"], row["verdict"]) for row in whole] == [
        (name, [10, 6], "equal") for name in ("Wave", "Wave#1", "Wave#2")
    ]


def test_a_report_shows_the_shards_put_together(jobs: Path, tmp_path: Path) -> None:  # B15
    lines, page = tmp_path / "shards.txt", tmp_path / "r.html"
    lines.write_text(".*first.up/addmm:out0  b h(tp)\n")
    done = tensortap("compare", jobs / "shards", jobs / "one/shards", "--shards", lines, "--groups", "tp=0-3", "--report", page)
    assert done.code == 0, done.err
    with page.open("rb") as file:
        assert file.read(15).lower() == b"<!doctype html>"
    page.unlink()
    lines.write_text(".*up/addmm:out0  b h(cp)\n")
    done = tensortap("compare", jobs / "shards", jobs / "one/shards", "--shards", lines, "--report", page)
    assert (done.code, page.exists(), len(done.err.splitlines())) == (2, False, 1), done.err


def test_a_file_says_how_shards_lie(jobs: Path, tmp_path: Path) -> None:  # B15
    lines = tmp_path / "shards.txt"
    lines.write_text("# of rows\n.*down/addmm:out0  b h (tp,sum)\n.*up/addmm:out0  b h(tp)\n")
    done, rows, _ = compared(jobs / "shards", jobs / "one/shards", "--shards", lines, "--groups", "tp=0-3")
    assert done.code == 0, done.err
    shapes = {row["b"]: row["shape_a"] for row in rows}
    assert shapes["Net.first.up/addmm:out0"] == [4, 16]
    assert shapes["Net.first.down/addmm:out0"] == [4, 8]
    # The same columns in the order of zigzag are not those of one process.
    lines.write_text(".*first.up/addmm:out0  b h(tp,zigzag)\n")
    done, rows, _ = compared(jobs / "shards", jobs / "one/shards", "--shards", lines)
    alike = [row["b"] for row in rows if row["verdict"] in ("equal", "tolerated")]
    assert "Net.first.up/addmm:out0" not in alike


def test_mistakes_in_the_file_are_named_with_their_place(jobs: Path, tmp_path: Path) -> None:
    lines = tmp_path / "shards.txt"
    for text, said in (
        ("(  b\n", "shards.txt:1:1: "),
        (".*\n", "no dimensions"),
        ("x  b h(tp,sums)\n", 'shards.txt:1:11: "sums" is no way to cut'),
        ("\nx  b h(tp\n", "shards.txt:2:7: "),
        ("x  (tp)\n", "only a sum"),
        (".*up/addmm:out0  b s h(tp)\n", "names 3 dimensions"),
        (".*up/addmm:out0  b h(cp)\n", 'no group is called "cp"; known: '),
    ):
        lines.write_text(text)
        done = tensortap("compare", jobs / "shards", jobs / "one/shards", "--shards", lines)
        assert (done.code, said in done.err) == (2, True), (text, done.err)
