"""The command line from end to end, on small models."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from cli_support import COMMAND, ROOT, nonfinite_model, save, small_model, tensortap
from onnx import helper, numpy_helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")

COMMANDS = [
    "run",
    "exec",
    "build-adapter",
    "explain",
    "ls",
    "show",
    "find",
    "convert",
    "watch-diff",
    "repair",
    "doctor",
    "completion",
    "version",
]
RECORD_KEYS = [
    "step",
    "call",
    "rank",
    "phase",
    "op",
    "type",
    "slot",
    "dtype",
    "shape",
    "numel",
    "min",
    "max",
    "mean",
    "std",
    "l2",
    "absmax",
    "nan",
    "pos_inf",
    "neg_inf",
    "zero",
    "hash",
    "file",
    "source",
]
SUMMARY_KEYS = ["dump", "layout", "source", "steps", "ops", "records", "bytes", "lost", "identical", "overhead", "first_nonfinite"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("cli")
    small_model(made / "model.onnx")
    nonfinite_model(made / "nonfinite.onnx")
    rng = np.random.default_rng(1)
    np.save(made / "x.npy", rng.standard_normal((2, 3)).astype(np.float32))
    np.save(made / "zeros.npy", np.array([[0, 1, 2], [3, 4, 0]], np.float32))
    return made


@pytest.fixture(scope="module")
def dump(folder: Path) -> Path:
    out = folder / "dump"
    done = tensortap("run", folder / "model.onnx", "--input", f"x={folder / 'x.npy'}", "--full", "--runs", "2", "--out", out)
    assert done.code == 0, done
    return out


# --- help, version, completion ----------------------------------------------------------------------------------------------------


def options_of(command: str) -> set[str]:
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", tensortap(command, "--help").out, re.MULTILINE))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_and_the_common_options(command: str) -> None:
    done = tensortap(command, "--help")
    assert done.code == 0
    assert f"tensortap {command}" in done.out.split("Examples:")[1]
    assert {"--help", "--json", "--quiet"} <= options_of(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_keeps_to_the_width_of_the_terminal_and_to_words(command: str) -> None:
    text = tensortap(command, "--help", environment={"COLUMNS": "80"}).out
    told = text.split("Examples:")[0]
    assert [line for line in told.splitlines()[1:] if len(line) > 80] == []
    assert not re.search(r"Excludes|REQUIRED|Needs:|INT in|POSITIVE|\n\n\n", told)
    assert f"\nUsage: tensortap {command} [OPTIONS]" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run"], "tensortap run needs MODEL.onnx"),
        (["convert", "a"], "give what to convert, and where to"),
        (["show", "dump"], "tensortap show needs DUMP RECORD"),
        (["ls", "dump", "--limit"], "--limit needs a value: --limit N"),
        (["ls", "dump", "--limit", "0"], '--limit: "0" is no whole number from 1 to'),
        (["run", "m.onnx", "--threads", "1.5"], '--threads: "1.5" is no whole number from 0 to 4096'),
        ([], "a command is required"),
    ],
)
def test_what_a_command_line_lacks_is_said_in_its_own_words(words: list[str], said: str) -> None:
    done = tensortap(*words)
    assert done.code == 2
    assert done.err.startswith(f"error: {said}")


def test_a_file_that_is_no_config_and_no_dump_is_told_so(folder: Path) -> None:
    assert "no config" in tensortap("explain", folder / "model.onnx").err
    refused = tensortap("ls", folder / "model.onnx")
    assert refused.code == 2
    assert "give the folder" not in refused.err
    assert refused.err.count("model.onnx") == 1
    refused = tensortap("convert", folder / "model.onnx", folder / "converted")
    assert refused.err.count("model.onnx") == 1


def test_help_lists_the_commands_of_this_release_only() -> None:
    listed = re.findall(r"^  ([a-z][a-z-]*)  ", tensortap("--help").out, re.MULTILINE)
    assert listed == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_documentation_names_every_option(command: str) -> None:
    text = (ROOT / "docs/command_line.md").read_text()
    section = re.search(rf"^## `{command}`$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"docs/command_line.md has no section on {command}"
    common = {"--help", "--json", "--quiet"}
    documented = set(re.findall(r"`(--[a-z-]+)", section.group(1)))
    assert options_of(command) - common <= documented
    assert documented - common <= options_of(command) | {"--version"}


def test_version_is_said_alike_everywhere() -> None:
    plain = tensortap("--version").out
    assert plain == tensortap("version").out
    assert plain.split()[1] == tensortap("version", "--json").object["version"]


def bash_replies(line: str, cwd: Path) -> list[str]:
    words = line.split(" ")
    script = f"""
source <({COMMAND} completion bash)
COMP_WORDS=({" ".join(word or "''" for word in words)}); COMP_CWORD={len(words) - 1}
_tensortap
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    return subprocess.run(["bash", "-c", script], cwd=cwd, capture_output=True, text=True, check=True).stdout.split()


def test_bash_completes_commands_options_values_and_files(folder: Path) -> None:
    assert bash_replies("tensortap r", folder) == ["run", "repair"]
    assert "--optimize" in bash_replies("tensortap run --opt", folder)
    assert bash_replies("tensortap run --optimize e", folder) == ["extended"]
    assert "model.onnx" in bash_replies("tensortap run mod", folder)
    assert "x.npy" in bash_replies("tensortap show dump rec --npy x", folder)
    assert bash_replies("tensortap ls --where x", folder) == []
    assert set(bash_replies("tensortap ls --", folder)) == options_of("ls")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_takes_the_completion_script(folder: Path) -> None:
    script = tensortap("completion", "zsh").out
    for command in COMMANDS:
        assert f"'{command}:" in script
        for option in options_of(command):
            assert f"{option}" in script
    (folder / "_tensortap").write_text(script)
    text = f"autoload -Uz compinit && compinit -u -d {folder}/zcompdump; source {folder}/_tensortap; whence -w _tensortap"
    done = subprocess.run(["zsh", "-f", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "_tensortap: function", done
    assert done.stderr == ""


# --- run --------------------------------------------------------------------------------------------------------------------------


def test_run_gives_the_summary_as_one_object(folder: Path, tmp_path: Path) -> None:
    done = tensortap("run", folder / "model.onnx", "--stats", "--verify", "--overhead", "--json", "--out", tmp_path / "d")
    assert done.code == 0, done
    summary = done.object
    assert [key for key in summary if key in SUMMARY_KEYS] == SUMMARY_KEYS
    assert summary["identical"] is True
    assert summary["overhead"] > 0
    assert summary["ops"]["captured"] == summary["ops"]["expected"] > 0
    assert summary["ops"]["not_captured"] == []
    assert summary["lost"] == 0
    assert summary["first_nonfinite"] is None
    assert summary["records"] == len(np.load(next((tmp_path / "d").rglob("records.npy"))))


def test_run_says_null_for_what_was_not_measured(folder: Path, tmp_path: Path) -> None:
    summary = tensortap("run", folder / "model.onnx", "--json", "--out", tmp_path / "d").object
    assert summary["identical"] is None
    assert summary["overhead"] is None


def test_quiet_silences_the_hint_beside_an_error(folder: Path) -> None:
    for words in (["nope"], ["run"], ["run", folder / "model.onnx", "--nope"], ["exec", "--nope"]):
        assert "Try `tensortap" in tensortap(*words).err, words
        err = tensortap(*words, "--quiet").err
        assert err.startswith("error: "), words
        assert "Try" not in err, words


def test_quiet_silences_the_note_on_an_interrupt(folder: Path, tmp_path: Path) -> None:
    for quiet in ([], ["--quiet"]):
        words = [str(COMMAND), "run", str(folder / "model.onnx"), "--runs", "1000000000", "--out", str(tmp_path / f"d{len(quiet)}"), *quiet]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as running:
            while not (tmp_path / f"d{len(quiet)}/records.npy").exists():
                time.sleep(0.1)
            time.sleep(0.5)
            running.send_signal(signal.SIGINT)
            _, err = running.communicate(timeout=60)
        assert ("press Ctrl-C again" in err) == (not quiet)


def test_a_runtime_in_the_current_folder_is_named_without_a_slash(folder: Path, tmp_path: Path) -> None:
    runtime = tensortap("doctor", "--json").object["runtimes"][0]["path"]
    (tmp_path / "libort.so").symlink_to(runtime)
    words = ["run", folder / "model.onnx", "--runtime", "libort.so", "--out", "d", "--json"]
    done = tensortap(*words, cwd=tmp_path)
    assert done.code == 0, done.err
    done = tensortap("run", folder / "model.onnx", "--out", "e", cwd=tmp_path, environment={"TENSORTAP_ONNXRUNTIME": "libort.so"})
    assert done.code == 0, done.err
    assert tensortap("doctor", "--runtime", "libort.so", cwd=tmp_path).code == 0
    missing = tensortap("run", folder / "model.onnx", "--runtime", "libnone.so", "--out", "f", cwd=tmp_path)
    assert (missing.code, "libnone.so" in missing.err) == (2, True)


def test_run_tells_people_on_stderr_and_nothing_with_quiet(folder: Path, tmp_path: Path) -> None:
    loud = tensortap("run", folder / "model.onnx", "--verify", "--out", tmp_path / "a")
    assert loud.out == ""
    for word in ("dump", "ops", "records", "identical", str(tmp_path / "a")):
        assert word in loud.err
    assert "\x1b" not in loud.err
    quiet = tensortap("run", folder / "model.onnx", "--quiet", "--out", tmp_path / "b")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_run_saves_the_outputs_that_the_runtime_gives(folder: Path, tmp_path: Path) -> None:
    import onnxruntime

    x = np.load(folder / "x.npy")
    expected = onnxruntime.InferenceSession(str(folder / "model.onnx")).run(None, {"x": x})[0]
    words = ["--input", f"x={folder / 'x.npy'}", "--runs", "2", "--save-outputs", tmp_path / "o", "--out", tmp_path / "d"]
    assert tensortap("run", folder / "model.onnx", *words).code == 0
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["y.npy", "y@1.npy"]
    for name in ("y.npy", "y@1.npy"):
        np.testing.assert_array_equal(np.load(tmp_path / "o" / name), expected)


def test_run_takes_test_data_sets_as_steps(folder: Path, tmp_path: Path) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    arrays = [np.full((2, 3), value, np.float32) for value in (0.5, -1.5, 2.5)]
    for step, array in enumerate(arrays):
        one = tmp_path / "sets" / f"test_data_set_{step}"
        one.mkdir(parents=True)
        (one / "input_0.pb").write_bytes(numpy_helper.from_array(array, "x").SerializeToString())
    words = ["--inputs", tmp_path / "sets", "--save-outputs", tmp_path / "o", "--out", tmp_path / "d", "--json"]
    assert tensortap("run", folder / "model.onnx", *words).object["steps"] == 3
    for name, array in zip(("y.npy", "y@1.npy", "y@2.npy"), arrays, strict=True):
        np.testing.assert_array_equal(np.load(tmp_path / "o" / name), session.run(None, {"x": array})[0])
    one_set = ["--inputs", tmp_path / "sets" / "test_data_set_1", "--save-outputs", tmp_path / "p", "--out", tmp_path / "e"]
    assert tensortap("run", folder / "model.onnx", *one_set).code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "p/y.npy"), session.run(None, {"x": arrays[1]})[0])


def test_run_carries_an_output_to_an_input(tmp_path: Path) -> None:
    two = numpy_helper.from_array(np.float32(2), "two")
    model = save([helper.make_node("Mul", ["x", "two"], ["y"], name="double")], tmp_path / "m.onnx", shape=(1,), initializers=[two])
    np.save(tmp_path / "x.npy", np.ones(1, np.float32))
    words = [
        "--input",
        f"x={tmp_path / 'x.npy'}",
        "--runs",
        "5",
        "--carry",
        "y=x",
        "--save-outputs",
        tmp_path / "o",
        "--out",
        tmp_path / "d",
    ]
    assert tensortap("run", model, *words).code == 0
    assert [float(np.load(tmp_path / "o" / name)[0]) for name in ("y.npy", "y@1.npy", "y@4.npy")] == [2, 4, 32]


def test_run_fills_open_dimensions_and_says_what_it_made_up(tmp_path: Path) -> None:
    model = save([helper.make_node("Relu", ["x"], ["y"], name="relu")], tmp_path / "m.onnx", shape=("N", 3))
    done = tensortap("run", model, "--dim", "N=5", "--seed", "3", "--save-outputs", tmp_path / "o", "--out", tmp_path / "d")
    assert done.code == 0, done
    assert np.load(tmp_path / "o/y.npy").shape == (5, 3)
    assert "seed" in done.err
    again = tensortap("run", model, "--dim", "N=5", "--seed", "3", "--save-outputs", tmp_path / "p", "--out", tmp_path / "e")
    assert again.code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "o/y.npy"), np.load(tmp_path / "p/y.npy"))


def test_selection_options_choose_ops_steps_and_slots(folder: Path, tmp_path: Path) -> None:
    words = ["--types", "Softmax", "--steps", "1", "--runs", "3", "--slots", "out", "--out", tmp_path / "d"]
    assert tensortap("run", folder / "model.onnx", *words).code == 0
    records = tensortap("ls", tmp_path / "d", "--json").objects
    assert [(one["type"], one["step"], one["slot"]) for one in records if one["type"] not in ("Input", "Initializer")] == [
        ("Softmax", 1, "out0")
    ]


def test_where_keeps_only_what_it_says(folder: Path, tmp_path: Path) -> None:
    words = ["--input", f"x={folder / 'zeros.npy'}", "--where", "pos_inf > 0", "--out", tmp_path / "d"]
    assert tensortap("run", folder / "nonfinite.onnx", *words).code == 0
    records = tensortap("ls", tmp_path / "d", "--json").objects
    assert records
    assert all(one["pos_inf"] > 0 for one in records)


def test_config_file_and_options_on_top(folder: Path, tmp_path: Path) -> None:
    explained = tensortap("explain", "--types", "Softmax", "--tensors", "--json").object
    assert any("Softmax" in line for line in explained["plan"])
    (tmp_path / "config.json").write_text(json.dumps({"payload": "full"}))
    words = ["--config", tmp_path / "config.json", "--types", "Softmax", "--out", tmp_path / "d"]
    done = tensortap("run", folder / "model.onnx", *words)
    assert done.code == 0, done
    records = [one for one in tensortap("ls", tmp_path / "d", "--json").objects if one["phase"] != "load" and one["type"] != "Input"]
    assert [one["type"] for one in records] == ["Softmax"]
    assert records[0]["file"]


def test_interrupt_leaves_a_dump_that_opens(folder: Path, tmp_path: Path) -> None:
    words = [str(COMMAND), "run", str(folder / "model.onnx"), "--full", "--runs", "100000000", "--out", str(tmp_path / "d")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not list(tmp_path.rglob("records.npy")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 3, err
    assert "interrupted" in err
    listed = tensortap("ls", tmp_path / "d", "--limit", "5", "--json")
    assert listed.code == 0
    assert len(listed.objects) == 5
    assert listed.err.startswith("5 of "), "a dump that was ended in order has no problems"
    assert tensortap("repair", tmp_path / "d", "--dry-run", "--json").object["healthy"] is True


# --- explain ----------------------------------------------------------------------------------------------------------------------


def test_explain_names_the_ops_of_a_model_that_match(folder: Path) -> None:
    done = tensortap("explain", "--types", "Softmax", "--model", folder / "model.onnx", "--json")
    assert done.code == 0, done
    assert done.object["ops"] == ["softmax_1"]
    assert tensortap("explain", "--types", "Softmax", "--model", folder / "model.onnx").out.count("\n") >= 2


# --- ls ---------------------------------------------------------------------------------------------------------------------------


def test_ls_gives_every_record_in_the_documented_form(dump: Path) -> None:
    records = tensortap("ls", dump, "--json").objects
    rows = np.load(next(dump.rglob("records.npy")))
    assert len(records) == len(rows)
    for record in records:
        assert [key for key in record if key in RECORD_KEYS] == RECORD_KEYS


def test_ls_values_equal_numpys(dump: Path, folder: Path, tmp_path: Path) -> None:
    record = next(one for one in tensortap("ls", dump, "--json").objects if one["op"] == "softmax_1" and one["step"] == 0)
    assert tensortap("show", dump, "softmax_1:out0", "--npy", tmp_path / "v.npy").code == 0
    values = np.load(tmp_path / "v.npy")
    assert record["shape"] == list(values.shape)
    assert (record["min"], record["max"], record["zero"]) == (values.min(), values.max(), (values == 0).sum())
    np.testing.assert_allclose(
        [record["mean"], record["std"], record["l2"]],
        [values.mean(dtype=np.float64), values.std(dtype=np.float64), np.linalg.norm(values.astype(np.float64))],
        rtol=1e-6,
    )


def test_ls_filters_and_sorts(dump: Path) -> None:
    everything = tensortap("ls", dump, "--json").objects
    by_type = tensortap("ls", dump, "--type", "Softmax", "--json").objects
    assert by_type == [one for one in everything if one["type"] == "Softmax"]
    assert by_type
    assert tensortap("ls", dump, "--op", "^soft", "--json").objects == by_type
    assert tensortap("ls", dump, "--step", "1", "--json").objects == [one for one in everything if one["step"] == 1]
    assert tensortap("ls", dump, "--slot", "out0", "--json").objects == [one for one in everything if one["slot"] == "out0"]
    assert tensortap("ls", dump, "--where", "max > 0.5", "--json").objects == [
        one for one in everything if isinstance(one["max"], float) and one["max"] > 0.5
    ]
    down = [one["absmax"] for one in tensortap("ls", dump, "--sort", "-absmax", "--json").objects]
    assert down == sorted(down, reverse=True)
    up = [one["numel"] for one in tensortap("ls", dump, "--sort", "numel", "--json").objects]
    assert up == sorted(up)
    assert [one["absmax"] for one in tensortap("ls", dump, "--sort", "-absmax", "--limit", "2", "--json").objects] == down[:2]
    names = [one["op"] for one in tensortap("ls", dump, "--sort", "op", "--json").objects]
    assert names == sorted(names)


def test_ls_table_fits_the_terminal(dump: Path) -> None:
    table = tensortap("ls", dump, environment={"COLUMNS": "80"}).out.splitlines()
    assert max(len(line) for line in table) <= 110
    assert "softmax_1" in tensortap("ls", dump, environment={"COLUMNS": ""}).out
    narrow = tensortap("ls", dump, "--type", "Softmax", "--columns", "op,type,slot,dtype,shape,min", environment={"COLUMNS": "30"}).out
    assert "Softmax" in narrow


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a model whose ops have long names with one beginning."""
    folder = tmp_path_factory.mktemp("deep")
    scope = "jit_MagikaV2/ApplyActivation_1/block_with_a_long_name"
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name=f"{scope}/first/Relu_1"),
        helper.make_node("Exp", ["r"], ["e"], name=f"{scope}/second/Exp_1"),
        helper.make_node("Softmax", ["e"], ["y"], name=f"{scope}/second/Softmax_1"),
    ]
    model = save(nodes, folder / "m.onnx")
    assert tensortap("run", model, "--stats", "--out", folder / "d", "--quiet").code == 0
    return folder / "d"


def test_ls_keeps_what_tells_names_apart_and_drops_the_least_asked_statistics(deep: Path) -> None:
    done = tensortap("ls", deep, "--type", "Exp,Softmax", environment={"COLUMNS": "100"})
    table = done.out.splitlines()
    assert max(len(line) for line in table) <= 100
    assert "…/Softmax_1" in done.out
    assert "…/Exp_1" in done.out
    assert "zero" not in table[0]
    assert "min" in table[0]
    assert re.search(r"too narrow for zero.*\(--columns chooses\)$", done.err.strip().splitlines()[-1])
    wide = tensortap("ls", deep, "--type", "Exp", environment={"COLUMNS": "400"})
    assert "block_with_a_long_name/second/Exp_1" in wide.out
    assert "too narrow" not in wide.err


def test_ls_shows_the_columns_that_were_chosen(deep: Path) -> None:
    table = tensortap("ls", deep, "--columns", "row,slot,absmax,op", environment={"COLUMNS": "60"}).out.splitlines()
    assert table[0].split() == ["row", "slot", "absmax", "op"]
    refused = tensortap("ls", deep, "--columns", "op,absmaxx")
    assert refused.code == 2
    assert 'Did you mean "absmax"' in refused.err


def test_show_takes_the_row_that_ls_prints(dump: Path) -> None:
    rows = tensortap("ls", dump, "--json").objects
    assert [row["row"] for row in rows] == list(range(len(rows)))
    shown = tensortap("show", dump, "1", "--json").object
    assert (shown["op"], shown["slot"], shown["step"]) == (rows[1]["op"], rows[1]["slot"], rows[1]["step"])
    refused = tensortap("show", dump, str(len(rows)))
    assert refused.code == 2
    assert f"has {len(rows)} rows" in refused.err


def test_find_on_a_healthy_dump_fits_on_one_screen(deep: Path) -> None:
    lines = tensortap("find", deep).out.splitlines()
    assert len(lines) <= 20
    assert sum("closest to the limit of" in line for line in lines) == 2
    assert len(tensortap("find", deep, "--all").out.splitlines()) > len(lines)


def test_doctor_says_what_is_in_order_in_few_lines() -> None:
    short = tensortap("doctor").out
    assert len(short.splitlines()) <= 6
    assert "AVX3" not in short + tensortap("doctor", "--all").out
    assert len(tensortap("doctor", "--all").out.splitlines()) > len(short.splitlines())


def test_ls_to_a_reader_that_goes_away_ends_quietly(dump: Path) -> None:
    script = f"set -o pipefail; for i in 1 2 3; do {COMMAND} ls {dump} --json; done | head -1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert "rror" not in done.stderr


def terminal_output(words: list[str], environment: dict[str, str]) -> str:
    """Run a command whose output is a terminal."""
    main, other = pty.openpty()
    process = subprocess.Popen(words, stdout=other, stderr=other, env={**os.environ, **environment})
    os.close(other)
    data = b""
    try:
        while chunk := os.read(main, 65536):
            data += chunk
    except OSError:
        pass
    process.wait()
    os.close(main)
    return data.decode()


def test_colours_stand_on_a_terminal_only_and_never_with_no_color(dump: Path) -> None:
    words = [str(COMMAND), "ls", str(dump)]
    plain = {key: "" for key in ("NO_COLOR",)}
    assert "\x1b[" in terminal_output(words, plain)
    assert "\x1b[" not in terminal_output(words, {"NO_COLOR": "1"})
    assert "\x1b[" not in tensortap("ls", dump).out


# --- show -------------------------------------------------------------------------------------------------------------------------


def test_show_prints_what_numpy_prints(dump: Path, tmp_path: Path) -> None:
    shown = tensortap("show", dump, "softmax_1:out0@1", "--npy", tmp_path / "v.npy").out
    values = np.load(tmp_path / "v.npy")
    assert np.array2string(values, separator=" ") in shown or str(values) in shown
    part = tensortap("show", dump, "softmax_1:out0@1", "--at", "1,:").out
    assert str(values[1, :]) in part
    one = tensortap("show", dump, "softmax_1:out0@1", "--at", "0,-1", "--json").object
    assert one["values"] == pytest.approx(float(values[0, -1]), rel=1e-7)
    whole = tensortap("show", dump, "softmax_1:out0@1", "--json").object
    np.testing.assert_array_equal(np.array(whole["values"], np.float32), values)
    assert sum(whole["histogram"]) == values.size


def test_show_writes_the_part_that_was_asked_for(dump: Path, tmp_path: Path) -> None:
    assert tensortap("show", dump, "softmax_1:out0", "--npy", tmp_path / "a.npy").code == 0
    assert tensortap("show", dump, "softmax_1:out0", "--at", "::-1,1:3", "--npy", tmp_path / "b.npy").code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), np.load(tmp_path / "a.npy")[::-1, 1:3])


def test_show_says_so_where_values_were_not_kept(folder: Path, tmp_path: Path) -> None:
    assert tensortap("run", folder / "model.onnx", "--out", tmp_path / "d").code == 0
    done = tensortap("show", tmp_path / "d", "softmax_1:out0")
    assert done.code == 0
    assert "--full" in done.out
    assert tensortap("show", tmp_path / "d", "softmax_1:out0", "--npy", tmp_path / "v.npy").code in (2, 3)
    assert not (tmp_path / "v.npy").exists()


# --- find, repair, doctor ---------------------------------------------------------------------------------------------------------


def test_find_names_the_first_nonfinite_value_and_ends_with_1(folder: Path, tmp_path: Path) -> None:
    words = ["--input", f"x={folder / 'zeros.npy'}", "--full", "--out", tmp_path / "d", "--json"]
    summary = tensortap("run", folder / "nonfinite.onnx", *words).object
    first = summary["first_nonfinite"]
    assert (first["op"], first["slot"], first["pos_inf"], first["index"]) == ("div_1", "out0", 2, [0, 0])
    done = tensortap("find", tmp_path / "d", "--json")
    assert done.code == 1
    assert "div_1" in json.dumps(done.object["first_nonfinite"])
    said = tensortap("find", tmp_path / "d").out
    assert "div_1" in said
    assert "where they begin: 1" in said
    assert "2 +Inf" in said
    assert "0 NaN" not in said
    assert "absmax inf" not in said


def test_find_is_content_with_a_finite_dump(dump: Path) -> None:
    done = tensortap("find", dump, "--json")
    assert done.code == 0
    assert done.object["first_nonfinite"] is None


def test_find_names_infinite_weights_and_does_not_mind_them(folder: Path, tmp_path: Path) -> None:
    mask = numpy_helper.from_array(np.array([-np.inf, 0, -np.inf], np.float32), "mask")
    nodes = [helper.make_node("Max", ["x", "mask"], ["m"], name="max_1"), helper.make_node("Relu", ["m"], ["y"], name="relu_1")]
    model = save(nodes, tmp_path / "m.onnx", initializers=[mask])
    assert tensortap("run", model, "--input", f"x={folder / 'x.npy'}", "--full", "--out", tmp_path / "d").code == 0
    done = tensortap("find", tmp_path / "d", "--json")
    assert done.code == 0
    assert done.object["first_nonfinite"] is None
    assert [origin["kind"] for origin in done.object["origins"]] == ["weight"]
    said = tensortap("find", tmp_path / "d").out
    assert said.startswith("no NaN and no Inf, but what is there on purpose\n")
    assert "mask:out0 (Initializer): 2 -Inf" in said
    assert "absmax inf" not in said


def test_repair_mends_a_dump_that_was_cut_short(dump: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(dump, copy)
    assert tensortap("repair", copy, "--json").object["healthy"] is True
    archive = next(copy.rglob("tensors.npz"))
    os.truncate(archive, archive.stat().st_size * 2 // 3)
    with pytest.raises(zipfile.BadZipFile):
        np.load(archive)
    dry = tensortap("repair", copy, "--dry-run", "--json").object
    assert dry["healthy"] is False
    done = tensortap("repair", copy, "--json")
    assert done.code == 0, done
    assert done.object["tensors_lost"] > 0
    assert len(np.load(archive).files) == done.object["tensors_kept"]
    assert tensortap("repair", copy, "--json").object["healthy"] is True


def test_repair_counts_what_was_cut_off_a_finished_dump_and_tells_of_lost_names(dump: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(dump, copy)
    rows = tensortap("repair", copy, "--json").object["records_kept"]
    size = (copy / "records.npy").stat().st_size
    row = np.load(copy / "records.npy").dtype.itemsize
    os.truncate(copy / "records.npy", size - 2 * row)
    dry = tensortap("repair", copy, "--dry-run", "--json").object
    done = tensortap("repair", copy, "--json").object
    assert (done["records_kept"], done["records_lost"]) == (dry["records_kept"], dry["records_lost"]) == (rows - 2, 2)
    assert tensortap("repair", copy, "--json").object["healthy"] is True
    (copy / "ops.jsonl").unlink()
    done = tensortap("repair", copy, "--json").object
    assert done["healthy"] is False
    assert done["lost"] == [f"ops.jsonl is missing, and with it the names of the ops of {rows - 2} records"]


def test_doctor_finds_the_runtime(folder: Path) -> None:
    done = tensortap("doctor", "--json")
    assert done.code == 0, done
    assert done.object["ok"] is True
    assert any(one["usable"] for one in done.object["runtimes"])
    assert done.object["kernels"]["in_use"] in done.object["kernels"]["available"]
    none = tensortap("doctor", "--json", "--runtime", folder / "nothing.so")
    assert none.code == 3
    assert none.object["ok"] is False
