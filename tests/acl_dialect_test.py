"""AscendCL's dump configs on the command line, end to end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli_support import COMMAND, Done, save, small_model, tensortap
from onnx import helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")


def config(file: Path, **dump: Any) -> Path:
    """Write a config with these members of "dump" beside a dump_path that is there."""
    file.write_text(json.dumps({"dump": {"dump_path": str(file.parent), **dump}}, indent=1))
    return file


def chain_model(path: Path) -> Path:
    """Save y = ceil(floor(neg(x))), three ops that no runtime fuses, in a graph called "g"."""
    nodes = [
        helper.make_node("Neg", ["x"], ["n"], name="neg_1"),
        helper.make_node("Floor", ["n"], ["f"], name="floor_1"),
        helper.make_node("Ceil", ["f"], ["y"], name="ceil_1"),
    ]
    return save(nodes, path)


def run(model: Path, path: Path, *words: str) -> tuple[Done, list[tuple[int, str, str]]]:
    """Capture into the native layout; what was captured as (step, op, slot)."""
    out = path.parent / "out"
    done = tensortap("run", model, "--config", path, "--layout", "tap", "--out", out, "--json", *words)
    assert done.code == 0, done
    records = tensortap("ls", out, "--json").objects
    return done, [(record["step"], record["op"], record["slot"]) for record in records]


def test_the_plan_is_said_in_words(tmp_path: Path) -> None:
    path = config(
        tmp_path / "acl.json", dump_list=[{"model_name": "other"}, {"layer": ["relu_1", "softmaxx"]}], dump_step="0|2-3", dump_mode="all"
    )
    done = tensortap("explain", path, "--model", small_model(tmp_path / "model.onnx"), "--json")
    assert done.code == 0, done
    plan = done.object["plan"]
    assert any('every op of the model "other"' in line for line in plan)
    assert "These steps are captured, counted from 0: 0,2-3." in plan
    assert any(f'"{tmp_path}" in the layout "ge"' in line for line in plan)
    assert any("relu_1" in op for op in done.object["ops"])
    notes = done.object["notes"]
    assert any('the model "other"' in note and 'called "model" or "g"' in note for note in notes)
    assert any('"softmaxx"' in note and 'Did you mean "softmax_1"?' in note for note in notes)


# A3
def test_models_are_named_by_file_and_by_graph(tmp_path: Path) -> None:
    model = chain_model(tmp_path / "net.v1.onnx")
    for name in ("net.v1", "g"):
        (tmp_path / name).mkdir()
        path = config(tmp_path / name / "acl.json", dump_list=[{"model_name": name, "layer": ["floor_1"]}])
        _, records = run(model, path)
        assert records == [(0, "floor_1", "out0")]
    (tmp_path / "none").mkdir()
    done, records = run(model, config(tmp_path / "none" / "acl.json", dump_list=[{"model_name": "net"}]))
    assert records == []
    assert 'the model "net"' in done.err + done.out


# A3, A9
def test_inputs_of_the_graph_come_with_their_reader_and_steps_are_chosen(tmp_path: Path) -> None:
    model = chain_model(tmp_path / "net.onnx")
    path = config(tmp_path / "acl.json", dump_list=[{"layer": ["neg_1"]}], dump_step="1|3-4")
    _, records = run(model, path, "--runs", "6")
    assert records == [(step, op, "out0") for step in (1, 3, 4) for op in ("x", "neg_1")]


# A4, A5
def test_blacklists_and_ranges(tmp_path: Path) -> None:
    model = chain_model(tmp_path / "net.onnx")
    item = {
        "model_name": "net",
        "opname_range": [{"begin": "floor_1", "end": "ceil_1"}],
        "optype_blacklist": [{"name": "Ceil", "pos": ["output0"]}],
    }
    _, records = run(model, config(tmp_path / "acl.json", dump_level="op", dump_list=[item]))
    assert records == [(0, "floor_1", "out0")]


# A4
def test_an_output_that_is_left_out_is_an_input_of_the_op_that_reads_it(tmp_path: Path) -> None:
    model = chain_model(tmp_path / "net.onnx")
    item = {"model_name": "net", "optype_blacklist": [{"name": "Floor", "pos": ["output0"]}]}
    both = config(tmp_path / "acl.json", dump_level="op", dump_mode="all", dump_list=[item])
    _, records = run(model, both)
    assert (0, "floor_1", "out0") in records
    (tmp_path / "o").mkdir()
    _, records = run(model, config(tmp_path / "o" / "acl.json", dump_level="op", dump_list=[item]))
    assert [op for _, op, _ in records] == ["x", "neg_1", "ceil_1"]


def test_what_asks_for_nothing_captures_nothing(tmp_path: Path) -> None:
    model = chain_model(tmp_path / "net.onnx")
    _, records = run(model, config(tmp_path / "acl.json", dump_list=[]))
    assert records == []


def test_faults_stop_the_run_before_it_begins(tmp_path: Path) -> None:
    model = chain_model(tmp_path / "net.onnx")
    path = config(tmp_path / "acl.json", dump_list=[{}], dump_debug="on", dump_op_switch="on")
    for words in (("explain", path), ("run", model, "--config", path), ("exec", "--config", path, "--", "true")):
        done = tensortap(*words)
        assert done.code == 2, done
        assert f'{path}:8:3: dump.dump_op_switch: "on" contradicts "dump_debug": "on"' in done.err
        assert "(EP0005, AscendCL error 100009)" in done.err
    for missing in (tmp_path / "no.json", tmp_path):
        done = tensortap("explain", missing)
        assert done.code == 2, done
        assert str(missing) in done.err


# A12
def test_the_environment_decides_where_an_exception_dump_goes(tmp_path: Path) -> None:
    path = tmp_path / "acl.json"
    path.write_text('{"dump": {"dump_scene": "aic_err_norm_dump", "dump_path": "/from/config"}}')
    names = ("ASCEND_DUMP_SCENE", "NPU_COLLECT_PATH", "ASCEND_DUMP_PATH", "ASCEND_WORK_PATH")
    environment = dict.fromkeys(names, "")

    def folder() -> str:
        plan = tensortap("explain", path, "--json", environment=environment).object["plan"]
        return str(next(line for line in plan if line.startswith("The dump goes to the folder"))).split('"')[1]

    assert folder() == "/from/config"
    environment["ASCEND_WORK_PATH"] = "/from/work"
    assert folder() == "/from/work"
    environment["ASCEND_DUMP_PATH"] = "/from/dump"
    assert folder() == "/from/dump"
    environment["NPU_COLLECT_PATH"] = "/from/collect"
    assert folder() == "/from/collect"
    assert "ASCEND_DUMP_SCENE" not in os.environ
