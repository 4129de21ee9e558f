"""`tensortap watch-diff` names who wrote into a watched tensor."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnxruntime_api
import pytest
from cli_support import BUILD, tensortap
from dump_data_support import parse_file

MAGIKA = onnxruntime_api.model("magika/magika/models/standard_v3_3/model.onnx")
PROGRAM = BUILD / "tests" / "watch_program"


def capture(out: Path, payload: str, *options: str) -> Path:
    """Capture the arena under watch and return the dump."""
    if not PROGRAM.exists():
        pytest.skip("watch_program is not built")
    config = {"trigger": "watch", "watchers": ["A", "B"], "include": ["C", "D"], "payload": payload, "out": str(out)}
    subprocess.run([PROGRAM, json.dumps(config | {"limits": {"keep_free": 0}}), *options], check=True)
    return out


def test_an_overwritten_tensor_is_exit_code_1_and_a_whole_account(tmp_path: Path) -> None:
    """The writer, the bytes and the first element are said, in words and as JSON."""
    dump = capture(tmp_path / "dump", "tensor")
    done = tensortap("watch-diff", dump, "--json")
    assert done.code == 1
    (found,) = done.object["overwritten"]
    expected = {"record": "C:out0", "writer": "B", "last_equal": "A", "others": [], "still_read": True}
    assert found.items() >= expected.items()
    assert (found["bytes"], found["elements"], found["index"]) == ([0, 12], 3, [0, 0])
    assert (float(found["before"]), float(found["after"])) == (0, -1)
    words = tensortap("watch-diff", dump)
    assert words.code == 1
    assert "C:out0 of step 0: written by B, whole after A" in words.out
    assert "bytes 0 to 12, 3 elements; the first at [0,0]: 0.0 became -1.0" in words.out


def test_whole_tensors_are_exit_code_0(tmp_path: Path) -> None:
    """Nothing was overwritten."""
    done = tensortap("watch-diff", capture(tmp_path / "dump", "statistics", "whole"))
    assert done.code == 0
    assert "no watched tensor was overwritten" in done.out
    assert "4 looks at 2 tensors" in done.out


def test_a_dump_without_looks_is_a_wrong_use(tmp_path: Path) -> None:
    """A dump of another trigger says how to capture one."""
    if not PROGRAM.exists():
        pytest.skip("watch_program is not built")
    subprocess.run([PROGRAM, json.dumps({"out": str(tmp_path / "dump"), "limits": {"keep_free": 0}})], check=True)
    done = tensortap("watch-diff", tmp_path / "dump")
    assert done.code == 2
    assert '"trigger": "watch"' in done.err


def ran_watched(tmp_path: Path, *more: str) -> Path:
    """Watch what every node of a model made while ONNX Runtime plans its memory, as AscendCL's config asks; give the dump."""
    nodes = [op["name"] for op in onnxruntime_api.describe(MAGIKA).report["ops"] if op["type"] in ("Add", "Mul", "Sub")]
    (tmp_path / "dump").mkdir()
    asked = {"dump_path": "dump", "dump_scene": "watcher", "dump_list": [{"watcher_nodes": nodes}]}
    (tmp_path / "acl.json").write_text(json.dumps({"dump": asked}))
    done = tensortap("run", MAGIKA, "--config", "acl.json", "--runtime", onnxruntime_api.runtime(), *more, cwd=tmp_path)
    assert done.code == 0, done.err
    return tmp_path / "dump"


# A14
@pytest.mark.skipif(not onnxruntime_api.MODELS.is_dir() or not onnxruntime_api.RUNTIMES.is_dir(), reason="no models: run ./dev setup")
def test_memory_that_a_runtime_planned_is_reused_and_nobody_is_accused(tmp_path: Path) -> None:
    """The tree knows the readers of a tensor; without them no op is accused either."""
    dump = ran_watched(tmp_path)
    done = tensortap("watch-diff", dump, "--json")
    assert done.code == 0, done.out
    assert done.object["overwritten"] == []
    assert len(done.object["reused"]) >= 10
    assert {one["still_read"] for one in done.object["reused"]} == {False}
    changed = len(done.object["reused"]) + len(done.object["reused_or_overwritten"])
    for manifest in dump.rglob(".tensortap"):
        shutil.rmtree(manifest)
    done = tensortap("watch-diff", dump, "--json")
    assert done.code == 3, "an overwritten tensor may be among them"
    assert done.object["overwritten"] == done.object["reused"] == []
    assert len(done.object["reused_or_overwritten"]) == changed
    words = tensortap("watch-diff", dump)
    assert words.code == 3 and words.out.startswith("not known: the dump does not record which ops read "), words.out
    assert "reused or overwritten: unknown" in words.out


STAGES = """
import ctypes, torch

kept = {}

@torch.library.custom_op("arena::stomp", mutates_args=())
def stomp(y: torch.Tensor) -> torch.Tensor:
    made = y * 2
    (ctypes.c_float * 3).from_address(kept["c"].data_ptr() + 8)[:] = [-1.0, -2.0, -3.0]
    return made

class Stage(torch.nn.Module):
    def forward(self, x):
        c = kept["c"] = x.exp()
        d = x.sin()
        b = stomp(d.cos())
        return c + d

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stage = Stage()

    def forward(self, x):
        return self.stage(x)

Net()(torch.arange(12.0).reshape(3, 4))
"""
"""The op stomp makes a separate output and writes over three elements of what exp made."""


# A14
@pytest.mark.skipif(not os.environ.get("TENSORTAP_TEST_PYTHON"), reason="no Python with torch: run ./dev setup")
def test_a_watcher_of_ascendcl_finds_who_wrote_into_a_tensor_of_a_real_program(tmp_path: Path) -> None:
    """Names of folders and files, what is in them for another reader, the conversion, and the verdict."""
    (tmp_path / "program.py").write_text(STAGES)
    (tmp_path / "dump").mkdir()
    nodes = ["Net.stage/exp", "Net.stage/sin"]
    dump = {"dump_path": "dump", "dump_scene": "watcher", "dump_list": [{"watcher_nodes": nodes}]}
    (tmp_path / "acl.json").write_text(json.dumps({"dump": dump}))
    done = tensortap("exec", "--config", "acl.json", "--", os.environ["TENSORTAP_TEST_PYTHON"], "program.py", cwd=tmp_path)
    assert done.code == 0, done.err
    files = {path.name.split(".")[1]: path for path in tmp_path.glob("dump/2*/0/program/1/0/*")}
    looks = [(layer, node) for layer in ("sin", "cos", "arena_stomp", "add") for node in ("exp", "sin") if layer != node]
    assert set(files) == {f"Net_stage_{layer}_To_Net_stage_{node}" for layer, node in looks} | {"Net_stage_exp", "Net_stage_sin"}
    assert {path.name.split(".")[0] for name, path in files.items() if name.endswith("_To_Net_stage_exp")} == {"exp"}
    tasks = {
        layer: {files[f"Net_stage_{layer}_To_Net_stage_{node}"].name.split(".")[2] for node in ("exp", "sin")} for layer in ("cos", "add")
    }
    assert all(len(of_one) == 1 for of_one in tasks.values()) and tasks["cos"] != tasks["add"], "TASK is that of the op that ran"
    after = np.exp(np.arange(12, dtype=np.float32)).reshape(3, 4)
    whole = np.frombuffer(parse_file(files["Net_stage_cos_To_Net_stage_exp"]).outputs[0], np.float32).reshape(3, 4)
    np.testing.assert_allclose(whole, after, rtol=1e-6)
    after.ravel()[2:5] = [-1, -2, -3]
    stomped = np.frombuffer(parse_file(files["Net_stage_arena_stomp_To_Net_stage_exp"]).outputs[0], np.float32).reshape(3, 4)
    np.testing.assert_allclose(stomped, after, rtol=1e-6)
    verdict = tensortap("watch-diff", "dump", "--json", cwd=tmp_path)
    assert verdict.code == 3, "who reads a tensor is not known of a PyTorch program"
    assert verdict.object["not_known"] == "the dump does not record which ops read 1 changed tensor"
    (found,) = verdict.object["reused_or_overwritten"]
    chosen = tensortap("watch-diff", "dump", "--ops", "/exp$", "--json", cwd=tmp_path)
    assert chosen.code == 3 and chosen.object["reused_or_overwritten"] == [found], chosen.out
    other = tensortap("watch-diff", "dump", "--ops", "/sin$", "--json", cwd=tmp_path)
    assert other.code == 0 and 0 < other.object["looks"] < verdict.object["looks"], other.out
    wrong = tensortap("watch-diff", "dump", "--ops", "/exq", cwd=tmp_path)
    assert wrong.code == 2 and "no op is, or matches" in wrong.err, wrong.err
    assert (found["record"], found["writer"], found["last_equal"]) == ("Net.stage/exp:out0", "Net.stage/arena.stomp", "Net.stage/cos")
    assert (found["bytes"], found["elements"], found["index"], float(found["after"])) == ([8, 20], 3, [0, 2], -1)
    assert tensortap("convert", "dump", "npy", "--to", "npy", cwd=tmp_path).code == 0
    (converted,) = tmp_path.glob("npy/**/*arena_stomp_To_Net_stage_exp*.npy")
    np.testing.assert_array_equal(np.load(converted).reshape(3, 4), stomped)
