"""Runs of `tensortap run` that are not captured go to a session without taps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime_api as api
import pytest
from case_table import each_row
from cli_support import save, small_model, tensortap
from onnx import helper, numpy_helper

pytestmark = pytest.mark.skipif(not api.RUNTIMES.is_dir(), reason="no runtimes: run ./dev setup")
VERSIONS = ["1.31.1", "1.19.2"]


def run(model: Path, version: str, *words: str) -> dict[str, Any]:
    done = tensortap("run", model, "--runtime", api.runtime(version), "--json", "--out", "dump", *words, cwd=model.parent)
    assert done.code == 0, done.err
    summary: dict[str, Any] = json.loads(done.out)
    return summary


def notes_on_runs(summary: dict[str, Any]) -> list[str]:
    return [note for note in summary["notes"] if note.startswith("runs that are not captured")]


@each_row("version", VERSIONS)
def test_every_run_gives_what_the_plain_model_gives(version: str, tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    summary = run(tmp_path / "model.onnx", version, "--runs", "6", "--steps", "2-3", "--verify")
    assert summary["identical"] is True
    assert notes_on_runs(summary) == ["runs that are not captured: 4 used a session without taps"]
    rows = np.load(tmp_path / "dump/records.npy")
    assert sorted(set(rows["step"][rows["phase"] != 4])) == [2, 3]


@each_row("version", VERSIONS)
def test_weights_in_a_file_are_found_by_both_sessions(version: str, tmp_path: Path) -> None:
    weights = numpy_helper.from_array(np.random.default_rng(7).standard_normal((3, 40000)).astype(np.float32), "w")
    save([helper.make_node("MatMul", ["x", "w"], ["y"], name="matmul_1")], tmp_path / "plain.onnx", initializers=[weights])
    onnx.save(onnx.load(tmp_path / "plain.onnx"), tmp_path / "model.onnx", save_as_external_data=True, location="weights")
    summary = run(tmp_path / "model.onnx", version, "--runs", "4", "--steps", "1", "--verify")
    assert summary["identical"] is True
    assert notes_on_runs(summary) == ["runs that are not captured: 3 used a session without taps"]


def test_all_runs_captured_means_no_twin(tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    assert notes_on_runs(run(tmp_path / "model.onnx", VERSIONS[0], "--runs", "3")) == []


def test_why_there_is_none_is_said(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["r"], name="random_1", seed=3.0),
        helper.make_node("Add", ["x", "r"], ["y"], name="add_1"),
    ]
    save(nodes, tmp_path / "model.onnx")
    summary = run(tmp_path / "model.onnx", VERSIONS[0], "--runs", "3", "--steps", "0", "--verify")
    assert notes_on_runs(summary) == ["runs that are not captured: 2 the session with taps (RandomNormalLike draws random numbers)"]
    assert summary["identical"] is True, "the random numbers come in the same order"


def test_the_cost_of_a_budget_is_that_of_all_runs(tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    summary = run(tmp_path / "model.onnx", VERSIONS[0], "--runs", "500", "--budget", "3%", "--overhead")
    details = summary["overhead_details"]
    assert details["ratio"] == summary["overhead"]
    assert "mean" in details["method"]
    assert details["runs"] >= 500
    assert isinstance(details["reported"], float)
    governor = summary["governor"]
    assert governor["seen"] == 500
    assert 1 <= governor["captured"] < 500
    assert governor["measured_by"]["captured_steps"] + governor["measured_by"]["by_own_calls"] == governor["captured"]
    assert notes_on_runs(summary) == [f"runs that are not captured: {500 - governor['captured']} used a session without taps"]
    assert not (tmp_path / "dump.measuring").exists()
