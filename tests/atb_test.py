"""Programs over ATB: the library that they are dumped with writes what the real one wrote."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from atb_support import DUMP, GoldenProgram, Script, atb_home, drive, files_of, library, unpack, variables, write
from cli_support import tensortap

TYPES = {"g2_tensor": "model|layer|op|kernel|tensor|cpu_profiling", "g2_stats": "model|tensor|stats"}
OTHERS = {
    "g2_tensor": {"ATB_SAVE_TILING": "1"},
    "g2_stats": {"ATB_SAVE_TENSOR_STATISTICS": "1", "ATB_SAVE_TENSOR_RANGE": "0,1"},
}
OPTIONS = {"g2_tensor": ["-tiling"], "g2_stats": ["-er", "0,1"]}
ONES = np.ones((2, 2), np.float32)


def check_golden(golden: GoldenProgram, dump: Path, pid: int | str, root: str) -> None:
    expected = files_of(golden.dump, golden.pid, f"/dump/{golden.tree.name}")
    found = files_of(dump, pid, root)
    different = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    assert not different, different


def manifest_of(dump: Path) -> dict[str, object]:
    manifest = json.loads(next((dump / ".tensortap").glob("*.json")).read_text())
    assert isinstance(manifest, dict)
    return manifest


def answers(script: Script, folder: Path, environment: dict[str, str], preload: Path | None = None) -> list[int]:
    run = drive(script, folder, environment, preload=preload)
    assert run.code == 0, run.err
    return [int(line) for line in run.out.splitlines() if line in "01"]


# L1 L15 L17 L18
@pytest.mark.parametrize("abi", [1, 0])
@pytest.mark.parametrize("tree", ["g2_tensor", "g2_stats"])
def test_a_dump_is_that_of_the_real_library_byte_for_byte(tmp_path: Path, tree: str, abi: int) -> None:
    golden = GoldenProgram(unpack(tree, tmp_path))
    out = tmp_path / "out"
    out.mkdir()
    run = drive(golden.make(), tmp_path, variables(out, TYPES[tree], **OTHERS[tree]), abi=abi)
    assert (run.code, run.out, run.err) == (0, "", "")
    check_golden(golden, out / DUMP, run.pid, str(out))
    manifest = manifest_of(out / DUMP)
    assert manifest["complete"] and manifest["lost"] == 0


@pytest.mark.parametrize("abi", [1, 0])
@pytest.mark.parametrize("tree", ["g2_tensor", "g2_stats"])
def test_llm_dump_finds_the_library_that_fits_and_writes_the_same(tmp_path: Path, tree: str, abi: int) -> None:
    golden = GoldenProgram(unpack(tree, tmp_path))
    words = [str(atb_home(abi) / "driver"), *write(golden.make(), tmp_path)]
    out = tmp_path / "out"
    command = ["--exec", shlex.join(words), "-o", out, "--type", *TYPES[tree].split("|"), *OPTIONS[tree]]
    done = tensortap("llm", "dump", *command, environment={"ATB_HOME_PATH": str(atb_home(abi))})
    assert done.code == 0, done.err
    dump = next(out.glob("msit_dump_*"))
    pid = next((dump / "tensors").iterdir()).name.partition("_")[2]
    found = {name: content.replace(dump.name.encode(), DUMP.encode()) for name, content in files_of(dump, pid, str(out)).items()}
    expected = files_of(golden.dump, golden.pid, f"/dump/{tree}")
    assert sorted(found) == sorted(expected)
    assert [name for name in expected if found[name] != expected[name]] == []


def test_llm_dump_says_what_is_missing_of_atb(tmp_path: Path) -> None:
    command = ["llm", "dump", "--exec", "/bin/true", "-o", tmp_path]
    done = tensortap(*command, environment={"ATB_HOME_PATH": str(tmp_path)})
    assert done.code == 0 and "lib/libatb.so does not exist" in done.err
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libatb.so").write_text("no library")
    done = tensortap(*command, environment={"ATB_HOME_PATH": str(tmp_path)})
    assert done.code != 0 and "is not a library for this type of machine" in done.err


def test_a_program_that_is_asked_for_nothing_gets_no_for_an_answer(tmp_path: Path) -> None:
    questions = ["child", "data", "desc", "before", "after", "intensor", "outtensor", "param", "tiling", "overflow", "stop", "graph"]
    script = Script().say("ask", "need", "0", "Linear").say("ask", "range", 0).say("ask", "model", "Toy").say("ask", "folder", "0_1/0/0_A")
    for question in [*questions, "statistic", "operations", "kernels"]:
        script.say("ask", question)
    script.tensor("give", ONES, "0_PID/0/0_A/after/outtensor0.bin")
    run = drive(script, tmp_path, {})
    assert (run.code, set(run.out.split()), run.err) == (0, {"0"}, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "script"]


def test_a_program_that_never_calls_anything_leaves_nothing(tmp_path: Path) -> None:
    run = drive(Script(), tmp_path, variables(tmp_path))
    assert (run.code, run.out, run.err) == (0, "", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "script"]


def test_ids_that_come_out_of_order_and_orders_of_elements_are_kept(tmp_path: Path) -> None:
    script = Script()
    script.tensor("give", ONES, "0_PID/0/7_Late/3_Inner/after/outtensor0.bin", order=29)
    script.tensor("give", ONES, "-1_PID/4/2_Early/before/intensor1_query.bin", order=-1)
    run = drive(script, tmp_path, variables(tmp_path, ATB_SAVE_TENSOR_RANGE="0,9"))
    tensors = tmp_path / DUMP / "tensors"
    late = (tensors / f"0_{run.pid}/0/7_Late/3_Inner/after/outtensor0.bin").read_bytes()
    early = (tensors / f"-1_{run.pid}/4/2_Early/before/intensor1.bin").read_bytes()
    assert b"\nformat=29\n" in late and b"\nformat=-1\n" in early
    assert late.endswith(ONES.tobytes())
    listed = tensortap("ls", tmp_path / DUMP, "--json").out
    assert "Inner_7_3" in listed and "Early_2" in listed


def test_hostile_tensors_are_counted_and_not_written(tmp_path: Path) -> None:
    script = Script()
    place = "0_PID/0/0_A/after/outtensor0.bin"
    script.data += ONES.tobytes()
    for path in ["", "/", "0_PID", "../../x/0/0_A/after/outtensor0.bin", "0_PID/0/0_A/after/../../b/after/outtensor0.bin",
                 "0_PID/0/after/outtensor0.bin", "0_PID/0/0_A/outtensor0.bin", "x_PID/0/0_A/after/outtensor0.bin",
                 "0_PID/0/0_A/after/outtensor99999999.bin", "0_PID/" + "9" * 30 + "/0_A/after/outtensor0.bin"]:  # fmt: skip
        script.say("give", 2, 0, "2,2", 0, 16, path)
    for order, kind, dims, size in [(2, 0, "2,3", 16), (2, 0, "2,2", 0), (2, 0, "2,x", 16), (2, 0, "-2,-2", 16), (2, 13, "2,2", 16),
                                    (2, 0, "4294967296,4294967296", 16), (999, 0, "2,2", 16), (2, 0, ",".join("1" * 26), 4),
                                    (2, 0, "2,2", 1 << 40), ("", "", "", 16)]:  # fmt: skip
        script.say("give", order, kind, dims, 0, size, place)
    for path in ["../../escape", "/tmp/escape", "0_PID/0/../../../escape.json"]:
        script.say("param", "{}", path)
    for name, graph in [("A_0", "no json"), ("A_0", '{"opName": "B_0"}'), ("../A", '{"opName": "../A"}'),
                        ("A_0", '{"opName": "A_0", "opType": "A", "param": {}, "inTensorNum": 4000000000, "outTensorNum": 1}'),
                        ("A_0", '{"opName": "A_0", "nodes": ' + "[" * 5000 + "]" * 5000 + "}")]:  # fmt: skip
        script.say("graph", name, graph)
    run = drive(script, tmp_path, variables(tmp_path))
    assert run.code == 0
    dump = tmp_path / DUMP
    assert sorted(path.name for path in dump.rglob("*") if path.is_file()) == [f"{run.pid}.json"]
    assert sorted(path.name for path in tmp_path.parent.iterdir() if "escape" in path.name) == []
    manifest = manifest_of(dump)
    assert manifest["lost"] == 10
    reasons = json.dumps(manifest["notes"])
    for reason in ["a size that is not that of the dimensions", "element type 13", "format 999", "a size of 0 or more than 10 GiB"]:
        assert reason in reasons, reason


def test_children_of_fork_have_a_dump_of_their_own(tmp_path: Path) -> None:
    script = Script().tensor("give", ONES, "0_PID/0/0_A/after/outtensor0.bin").say("fork")
    script.tensor("give", ONES, "0_PID/0/1_B/after/outtensor0.bin")
    run = drive(script, tmp_path, variables(tmp_path))
    assert run.code == 0 and "child 0\n" in run.out
    processes = {path.name: sorted(op.name for op in (path / "0").iterdir()) for path in (tmp_path / DUMP / "tensors").iterdir()}
    assert processes.pop(f"0_{run.pid}") == ["0_A", "1_B"]
    assert list(processes.values()) == [["1_B"]]
    assert len(list((tmp_path / DUMP / ".tensortap").glob("*.json"))) == 2


def test_threads_and_early_ends_leave_whole_files(tmp_path: Path) -> None:
    for end in ["", "exit", "_exit", "kill"]:
        folder = tmp_path / (end or "return")
        folder.mkdir()
        script = Script().say("threads", 8)
        script.data += ONES.tobytes()
        if end:
            script.say(end, 3)
        run = drive(script, folder, variables(folder, ATB_SAVE_TENSOR_RANGE="0,99"))
        assert run.code == {"": 0, "kill": -9}.get(end, 3)
        files = list((folder / DUMP / "tensors").rglob("*.bin"))
        assert all(file.read_bytes().endswith(b"$End=1\n" + ONES.tobytes()) for file in files)
        if end in ("", "exit"):
            assert len(files) == 800
            assert manifest_of(folder / DUMP)["complete"]


def test_an_overflow_is_noted_without_a_dump(tmp_path: Path) -> None:
    text = "Overflow detected! Operator name: A_0:AddKernel"
    script = Script().say("ask", "overflow").say("ask", "stop").say("overflow", text)
    run = drive(script, tmp_path, {"ATB_CHECK_TYPE": "1", "ATB_EXIT": "1", "ATB_OUTPUT_DIR": str(tmp_path)})
    assert run.out.split() == ["1", "1"]
    file = tmp_path / f"msit_overflow_res_{run.pid}.txt"
    assert file.read_text() == text and file.stat().st_mode & 0o777 == 0o600


def test_msit_learns_which_files_to_convert(tmp_path: Path) -> None:
    graph = json.dumps({"opName": "A_0", "opType": "A", "param": {}, "inTensorNum": 1, "outTensorNum": 1})
    told = tmp_path / "4711"
    told.mkdir()
    run = drive(Script().say("graph", "A_0", graph), tmp_path, variables(tmp_path, ATB_DUMP_SUB_PROC_INFO_SAVE_PATH=str(told)))
    assert (told / "subprocess_info.txt").read_text() == f"{tmp_path}/{DUMP}/layer/{run.pid}/A_0.json\n"


def test_a_config_is_followed(tmp_path: Path) -> None:
    config = tmp_path / "config.json"

    def ask(script: Script) -> None:
        script.say("ask", "range", 0).say("ask", "folder", "0_1/0/3_A").say("ask", "folder", "0_1/0/3_A/1_B").say(
            "ask", "folder", "1_1/0/3_A"
        )
        script.say("ask", "folder", "0_1/0/30_A").say("ask", "folder", "0_1")

    script = Script().say("update")
    ask(script)
    script.say("param", "{}", "0_PID/1/3_A/op_param.json")
    script.say("sleep", 2500).say("update")
    ask(script)
    for place in ("0/3_A", "1/3_A/1_B", "2/3_A", "0/30_A"):
        script.say("param", "{}", f"0_PID/{place}/op_param.json")
    config.write_text(json.dumps({"dump_enable": "false"}))
    words = [str(atb_home(1) / "driver"), *write(script, tmp_path)]
    environment = {**os.environ, **variables(tmp_path), "LD_PRELOAD": str(library(1)), "ATB_DUMP_CONFIG": str(config)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        first = [program.stdout.readline().strip() for _ in range(6)]
        config.with_suffix(".new").write_text(json.dumps({"dump_enable": "true", "ids": "3", "er": "0,1", "device": "0", "child": "true"}))
        config.with_suffix(".new").rename(config)
        rest, err = program.communicate(timeout=60)
    assert first == ["0"] * 6, err
    assert rest.split() == ["1", "1", "1", "0", "0", "0"], err
    written = tmp_path.glob(f"{DUMP}/tensors/0_*/**/op_param.json")
    folders = sorted(str(path.parent.relative_to(tmp_path / DUMP / "tensors")).partition("/")[2] for path in written)
    assert folders == ["0/3_A", "1/3_A/1_B"], "parameters lie beside tensors that the config selects"


def is_selected(ids: list[int], kind: str, wanted: str, names: str, child: bool) -> bool:
    """Work out by itself what msit's command line selects."""
    if not wanted and not names:
        return child or len(ids) == 1
    text = "_".join(map(str, ids))
    by_id = any(text == one or (child and text.startswith(one + "_")) for one in wanted.split(",") if one)
    return by_id or any(kind.lower().startswith(one) for one in names.split(",") if one)


def test_questions_are_answered_by_the_rule(tmp_path: Path) -> None:
    dice = random.Random(7)
    kinds = ["LinearOperation", "RmsNormOperation", "Decoder_layer", "linear"]
    for _ in range(12):
        wanted = ",".join("_".join(str(dice.randrange(4)) for _ in range(dice.randrange(1, 4))) for _ in range(dice.randrange(3)))
        names = ",".join(dice.choice(["linear", "rms", "dec", "x"]) for _ in range(dice.randrange(3)))
        child = dice.random() < 0.5
        pairs = [sorted((dice.randrange(9), dice.randrange(9))) for _ in range(dice.randrange(1, 3))]
        chosen = {"ATB_SAVE_TENSOR_IDS": wanted, "ATB_SAVE_TENSOR_RUNNER": names, "ATB_SAVE_CHILD": str(int(child))}
        chosen["ATB_SAVE_TENSOR_RANGE"] = ",".join(f"{first},{last}" for first, last in pairs)
        script, expected = Script(), []
        for _ in range(60):
            ids = [dice.randrange(4) for _ in range(dice.randrange(1, 4))]
            kind = dice.choice(kinds)
            script.say("ask", "need", ",".join(map(str, ids)), kind)
            expected.append(is_selected(ids, kind, wanted, names, child))
        for count in range(10):
            script.say("ask", "range", count)
            expected.append(any(first <= count <= last for first, last in pairs))
        assert answers(script, tmp_path, variables(tmp_path, **chosen)) == [int(one) for one in expected], chosen


@pytest.mark.parametrize("time", [0, 1, 2, 3])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_moments_and_parts_are_those_of_the_options(tmp_path: Path, time: int, part: int) -> None:
    script = Script()
    for question in ("before", "after", "intensor", "outtensor"):
        script.say("ask", question)
    for moment in ("before", "after"):
        for name in ("intensor0", "outtensor0"):
            script.tensor("give", ONES, f"0_PID/0/0_A/{moment}/{name}.bin")
    chosen = {"ATB_SAVE_TENSOR_TIME": str(1 if time == 3 else time), "ATB_SAVE_TENSOR_IN_BEFORE_OUT_AFTER": str(int(time == 3))}
    run = drive(script, tmp_path, variables(tmp_path, ATB_SAVE_TENSOR_PART=str(part), **chosen))
    assert run.out.split() == [str(int(one)) for one in (time != 1, time != 0, part != 1, part != 0)]
    expected = {
        f"{moment}/{name}0.bin"
        for moment, moment_wanted in (("before", time != 1), ("after", time != 0))
        for name, part_wanted in (("intensor", part != 1), ("outtensor", part != 0))
        if moment_wanted and part_wanted and (time != 3 or (name == "intensor") == (moment == "before"))
    }
    found = {"/".join(path.parts[-2:]) for path in (tmp_path / DUMP).rglob("*.bin")}
    assert found == expected


def real_library(abi: int) -> Path:
    found = importlib.util.find_spec("msprobe")
    folders = [Path(place) for place in (found.submodule_search_locations or [])] if found else []
    named = os.environ.get("TENSORTAP_TEST_PROBE")
    paths = [folder / f"lib/libatb_probe_abi{abi}.so" for folder in [*([Path(named)] if named else []), *folders]]
    path = next((path for path in paths if path.exists()), None)
    if path is None:
        pytest.skip("the package mindstudio-probe is not installed")
    return path


@pytest.mark.parametrize("abi", [1, 0])
def test_the_functions_are_those_of_the_real_library(abi: int) -> None:
    def functions(path: Path) -> set[str]:
        listed = subprocess.run(["nm", "-D", "--defined-only", str(path)], check=True, capture_output=True, text=True).stdout
        return {
            name for name in (line.split()[-1] for line in listed.splitlines()) if name.startswith(("_ZN3atb5Probe", "_ZN9atb_speed10"))
        }

    assert functions(library(abi)) == functions(real_library(abi))


def test_selections_are_those_of_the_real_library(tmp_path: Path) -> None:
    """Both read their selection from a config, each in its own language, and are asked by folders and rounds."""
    real = real_library(1)
    dice = random.Random(11)
    kinds = ["LinearOperation", "RmsNormOperation", "Decoder_layer"]
    asked = 0
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        wanted = ",".join("_".join(str(dice.randrange(4)) for _ in range(dice.randrange(1, 4))) for _ in range(dice.randrange(1, 3)))
        child = dice.random() < 0.5
        pairs = [sorted((dice.randrange(9), dice.randrange(9))) for _ in range(dice.randrange(1, 3))]
        rounds = ",".join(f"{first},{last}" for first, last in pairs)
        config = {"task": "tensor", "dump_enable": True, "exec_range": rounds, "op_name": "", "device": "", "filter_level": 0}
        config |= {"ids": wanted, "save_child": child}
        (folder / "real.json").write_text(json.dumps(config))
        config = {"dump_enable": "true", "er": rounds, "ids": wanted, "child": str(child).lower(), "device": ""}
        (folder / "ours.json").write_text(json.dumps(config))
        # The real one looks for its config at the first question.
        script = Script().say("ask", "need", "0", "A").say("update")
        for _ in range(50):
            parts = [f"{dice.randrange(4)}_{dice.choice(kinds)}" for _ in range(dice.randrange(1, 4))]
            script.say("ask", "folder", f"0_1/{dice.randrange(9)}/{'/'.join(parts)}")
        for count in range(10):
            script.say("ask", "range", count)
        environment = {"ATB_OUTPUT_DIR": f"{folder}/"}
        theirs = answers(script, folder, {**environment, "ATB_DUMP_CONFIG": str(folder / "real.json")}, preload=real)
        ours = answers(script, folder, {**variables(folder), "ATB_DUMP_CONFIG": str(folder / "ours.json")})
        assert ours == theirs, (wanted, child, rounds)
        asked += len(ours)
    assert asked == 1220
