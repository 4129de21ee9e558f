"""Each command once from end to end; what needs a process, a terminal, a shell or NumPy. The rest is in tests/command/."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from cli_support import COMMAND, nonfinite_model, small_model, tensortap
from onnx import numpy_helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("cli")
    small_model(made / "model.onnx")
    rng = np.random.default_rng(1)
    np.save(made / "x.npy", rng.standard_normal((2, 3)).astype(np.float32))
    return made


@pytest.fixture(scope="module")
def dump(folder: Path) -> Path:
    out = folder / "dump"
    done = tensortap("run", folder / "model.onnx", "--input", f"x={folder / 'x.npy'}", "--full", "--runs", "2", "--out", out)
    assert done.code == 0, done
    return out


def options_of(command: str) -> set[str]:
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", tensortap(command, "--help").out, re.MULTILINE))


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
    named = re.findall(r"^  (r[a-z-]+) ", tensortap("--help").out, re.MULTILINE)
    assert {"run", "replay", "report", "repair"} <= set(named)
    assert bash_replies("tensortap r", folder) == named
    assert "--optimize" in bash_replies("tensortap run --opt", folder)
    assert bash_replies("tensortap run --optimize e", folder) == ["extended"]
    assert "model.onnx" in bash_replies("tensortap run mod", folder)
    assert "x.npy" in bash_replies("tensortap show dump rec --npy x", folder)
    assert bash_replies("tensortap ls --where x", folder) == []
    assert set(bash_replies("tensortap ls --", folder)) == options_of("ls")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_takes_the_completion_script(folder: Path) -> None:
    script = tensortap("completion", "zsh").out
    (folder / "_tensortap").write_text(script)
    text = f"autoload -Uz compinit && compinit -u -d {folder}/zcompdump; source {folder}/_tensortap; whence -w _tensortap"
    done = subprocess.run(["zsh", "-f", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "_tensortap: function", done
    assert done.stderr == ""


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


def test_interrupt_leaves_a_dump_that_opens_and_quiet_silences_the_note(folder: Path, tmp_path: Path) -> None:
    for quiet in ([], ["--quiet"]):
        dump = tmp_path / f"d{len(quiet)}"
        words = [str(COMMAND), "run", str(folder / "model.onnx"), "--full", "--runs", "100000000", "--out", str(dump), *quiet]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            deadline = time.monotonic() + 30
            while not (dump / "records.npy").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.5)
            running.send_signal(signal.SIGINT)
            try:
                _, err = running.communicate(timeout=60)
            finally:
                running.kill()
        assert running.returncode == 3, err
        assert "interrupted" in err
        assert ("press Ctrl-C again" in err) == (not quiet)
        listed = tensortap("ls", dump, "--limit", "5", "--json")
        assert listed.code == 0
        assert len(listed.objects) == 5
        assert listed.err.startswith("5 of "), "a dump that was ended in order has no problems"
        assert tensortap("repair", dump, "--dry-run", "--json").object["healthy"] is True


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


def test_show_prints_what_numpy_prints(dump: Path, tmp_path: Path) -> None:
    shown = tensortap("show", dump, "softmax_1:out0@1", "--digits", "17", "--npy", tmp_path / "v.npy").out
    values = np.load(tmp_path / "v.npy")
    assert np.array2string(values, separator=" ") in shown or str(values) in shown
    part = tensortap("show", dump, "softmax_1:out0@1", "--digits", "17", "--at", "1,:").out
    assert str(values[1, :]) in part
    one = tensortap("show", dump, "softmax_1:out0@1", "--at", "0,-1", "--json").object
    assert one["values"] == pytest.approx(float(values[0, -1]), rel=1e-7)
    whole = tensortap("show", dump, "softmax_1:out0@1", "--json").object
    np.testing.assert_array_equal(np.array(whole["values"], np.float32), values)
    assert sum(whole["histogram"]) == values.size


def test_find_and_repair_end_as_they_should(dump: Path, tmp_path: Path) -> None:
    assert tensortap("find", dump, "--json").object["first_nonfinite"] is None
    copy = tmp_path / "copy"
    shutil.copytree(dump, copy)
    archive = copy / "tensors.npz"
    os.truncate(archive, archive.stat().st_size * 2 // 3)
    done = tensortap("repair", copy, "--json")
    assert (done.code, done.object["healthy"]) == (0, False), done
    assert len(np.load(archive).files) == done.object["tensors_kept"]
    assert tensortap("repair", copy, "--json").object["healthy"] is True


def test_doctor_finds_the_runtime(folder: Path) -> None:
    done = tensortap("doctor", "--json")
    assert done.code == 0, done
    assert done.object["ok"] is True
    assert any(one["usable"] for one in done.object["runtimes"])
    assert done.object["kernels"]["in_use"] in done.object["kernels"]["available"]
    none = tensortap("doctor", "--json", "--runtime", folder / "nothing.so")
    assert none.code == 3
    assert none.object["ok"] is False
    short, long = tensortap("doctor").out, tensortap("doctor", "--all").out
    assert len(short.splitlines()) <= 6 < len(long.splitlines())
    assert "AVX3" not in short + long


def test_explain_and_version_answer(folder: Path) -> None:
    explained = tensortap("explain", "--types", "Softmax", "--model", folder / "model.onnx", "--json")
    assert (explained.code, explained.object["ops"]) == (0, ["softmax_1"])
    assert tensortap("--version").out == f"tensortap {tensortap('version', '--json').object['version']}\n"


def code_without_reader(*words: str | Path) -> int:
    """Run a command whose reader has gone away already; give the exit code."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([COMMAND, *words], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert "roken pipe" not in done.stderr, done.stderr
    return done.returncode


def test_a_reader_that_goes_away_changes_no_exit_code(dump: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    made = tensortap("run", nonfinite_model(tmp_path / "bad.onnx"), "--full", "--input", f"x={tmp_path / 'x.npy'}", "--out", bad)
    assert made.code == 0, made
    cut = tmp_path / "cut"
    shutil.copytree(dump, cut)
    (cut / "records.npy").write_bytes((dump / "records.npy").read_bytes()[:-100])
    for words in (["find", bad], ["find", cut], ["compare", dump, cut], ["replay", bad], ["ls", tmp_path / "nothing"], ["find", dump]):
        for output in ([], ["--json"]):
            assert code_without_reader(*words, *output) == tensortap(*map(str, words), *output).code, words
    assert code_without_reader("find", bad) == 1
    assert code_without_reader("find", cut) == 3
