"""`tensortap watch-diff` names who wrote into a watched tensor."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from cli_support import tensortap

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("TENSORTAP_BUILD", ROOT / "build" / "release")) / "tests" / "watch_program"


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
