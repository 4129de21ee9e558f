"""AscendCL programs under `tensortap exec`: its request holds as if aclInit() had been given the config."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tensortap as tt
from acl_support import PROGRAMS, compile_program, dumped_ops, run_program, time_folders
from cli_support import LIBRARIES, small_model, tensortap
from dump_data_support import parse_file


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program(PROGRAMS / "dump_flow.cc", tmp_path_factory.mktemp("programs") / "dump_flow")


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(LIBRARIES))


def write_config(path: Path, **dump: object) -> Path:
    path.write_text(json.dumps({"dump": dump}))
    return path


def test_a_config_of_exec_holds_as_if_aclinit_had_been_given_it(program: Path, tmp_path: Path) -> None:
    model = small_model(tmp_path / "one.onnx")
    trees = {}
    for way in ("exec", "init"):
        (tmp_path / way).mkdir()
        config = write_config(tmp_path / f"{way}.json", dump_path=str(tmp_path / way), dump_mode="all", dump_list=[{"model_name": "one"}])
        words = ["device", "2", "load", model, "run", "1", "2", "1", "unload", 1, "end"]
        if way == "exec":
            done = tensortap("exec", "--config", config, "--", program, "init", "-", *words)
            assert done.code == 0, done.err
            assert "2 steps" in done.err
        else:
            assert run_program(program, "init", config, *words, cwd=tmp_path).returncode == 0
        (folder,) = time_folders(tmp_path / way)
        trees[way] = folder / "2" / "one" / "1"
        assert sorted(path.name for path in trees[way].iterdir()) == ["0", "1"]
    assert dumped_ops(trees["exec"] / "0") == dumped_ops(trees["init"] / "0")
    for path in (trees["init"] / "0").iterdir():
        kind = ".".join(path.name.split(".")[:2])
        (other,) = (trees["exec"] / "0").glob(f"{kind}.*")
        assert parse_file(other).inputs == parse_file(path).inputs
        assert parse_file(other).outputs == parse_file(path).outputs


def test_each_model_has_a_dump_where_a_tree_holds_one(program: Path, tmp_path: Path) -> None:
    models = [small_model(tmp_path / "one.onnx"), small_model(tmp_path / "two.onnx")]
    done = tensortap(
        "exec", "--out", tmp_path / "dump", "--full", "--", program,
        "init", "-", "load", models[0], "load", models[1], "run", "1", "2", "1", "run", "2", "1", "1", "end",
    )  # fmt: skip
    assert done.code == 0, done.err
    first, second = tt.open(tmp_path / "dump").records, tt.open(tmp_path / "dump" / "model_two").records
    assert first["step"].max() == 1
    assert second["step"].max() == 0
    assert set(second["op"]) == set(first["op"]), "equal models have equal ops"


def test_dumps_that_the_program_asks_for_later_are_listed(program: Path, tmp_path: Path) -> None:
    model = small_model(tmp_path / "one.onnx")
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
    own = [write_config(tmp_path / f"{name}.json", dump_path=str(tmp_path / name), dump_list=[{}]) for name in ("own", "other")]
    words = ("init", "-", "initdump", "setdump", own[0], "load", model, "run", "1", "1", "1", "setdump", own[1], "load", model)
    done = tensortap("exec", "--out", tmp_path / "dump", "--summary", tmp_path / "summary.json", "--", program, *words, "end")
    assert done.code == 0, done.err
    assert "nothing was captured for `tensortap exec`" in done.err
    assert "asks for dumps by its own calls" in done.err
    for name in ("own", "other"):
        assert f"the program wrote a dump by its own calls: {tmp_path / name}" in done.err
    assert json.loads((tmp_path / "summary.json").read_text())["own_dumps"] == [str(tmp_path / "other"), str(tmp_path / "own")]
    assert len(time_folders(tmp_path / "own")) == 1


def test_a_dump_of_the_programs_own_gives_way_and_that_is_said(program: Path, tmp_path: Path) -> None:
    model = small_model(tmp_path / "one.onnx")
    for name in ("own", "asked"):
        (tmp_path / name).mkdir()
    own = write_config(tmp_path / "own.json", dump_path=str(tmp_path / "own"), dump_list=[{}])
    asked = write_config(tmp_path / "asked.json", dump_path=str(tmp_path / "asked"), dump_list=[{}])
    done = tensortap("exec", "--config", asked, "--", program, "init", own, "load", model, "run", "1", "1", "1", "end")
    assert done.code == 0, done.err
    assert f"{own}: its dump is not made; `tensortap exec` asks for another" in done.err
    assert not list((tmp_path / "own").iterdir())
    assert len(time_folders(tmp_path / "asked")) == 1
