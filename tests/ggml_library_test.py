"""Libraries that have ggml's names and store tensors as no release does; a program over ggml's own interface with several callers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from case_table import each_row
from cli_support import COMMAND, ROOT, Done, tensortap
from exec_support import compile_c
from ggml_support import PYTHON, GgmlDump, capture, lines_of_program, packages, run

PROGRAM = """
#include <stdio.h>
float run_fake_ggml(void);
int main(void) {
  printf("computed %g\\n", (double)run_fake_ggml());
  return 0;
}
"""
REASON_DIRECT = "graph that the program gave to a backend, of a copy of ggml that cuts no graphs"

released = pytest.mark.skipif(not PYTHON, reason="no Python with released packages over ggml: ./dev py and ./dev test make it")


WARMS_UP = """
#include <stdio.h>
float run_fake_ggml(void);
_Bool is_fake_llama_warming(void);
void llama_set_warmup(void*, _Bool);
int main(void) {
  llama_set_warmup(NULL, 1);
  printf("first %d %g\\n", is_fake_llama_warming(), (double)run_fake_ggml());
  llama_set_warmup(NULL, 1);
  llama_set_warmup(NULL, 0);
  printf("second %d %g\\n", is_fake_llama_warming(), (double)run_fake_ggml());
  return 0;
}
"""


def fake_program(folder: Path, *definitions: str, text: str = PROGRAM) -> Path:
    library = compile_c(ROOT / "tests/fake_ggml.c", folder / "libfake_ggml.so", "-shared", *definitions)
    source = folder / "program.c"
    source.write_text(text)
    return compile_c(source, folder / "program", f"-L{library.parent}", "-lfake_ggml", f"-Wl,-rpath,{library.parent}")


def exec_in(folder: Path, *words: str | Path) -> Done:
    done = run(*words, before=(str(COMMAND), "exec", "--out", str(folder / "dump"), "--"), folder=folder)
    return Done(done.returncode, done.stdout, done.stderr)


# B19
@each_row("definitions", [(), ("-DFAKE_DIRECT",)])
def test_a_release_that_stores_tensors_otherwise_is_captured(tmp_path: Path, definitions: tuple[str, ...]) -> None:
    dump = capture(tmp_path, fake_program(tmp_path, *definitions), options=("--full",))
    assert lines_of_program(dump.printed) == ["computed 54"]
    assert [op["name"] for op in dump.ops] == ["a", "b", "sum", "product", "idle", "unchosen"]
    np.testing.assert_array_equal(dump.value("sum"), np.arange(6, dtype=np.float32) + 2)
    np.testing.assert_array_equal(dump.value("product"), (np.arange(6, dtype=np.float32) + 2) * 2)
    # The branch that was not chosen holds NaN that no op made.
    assert {record["op"] for record in dump.records()} == {"a", "b", "sum", "product"}
    assert dump.run["ops"]["captured"] == 2
    assert dump.run["ops"]["not_captured"] == [{"reason": "never ran", "count": 1, "examples": ["unchosen"]}]
    assert tensortap("find", dump.folder).out.startswith("no NaN and no Inf\n")


def test_a_program_says_that_it_warms_up(tmp_path: Path) -> None:
    dump = capture(tmp_path, fake_program(tmp_path, text=WARMS_UP))
    assert lines_of_program(dump.printed) == ["first 1 54", "second 0 54"]
    assert [record.get("model_phase") for record in dump.records("--ops", "^sum$")] == ["warm-up", None]


@each_row(
    "definition, reason",
    [
        ("-DFAKE_AMBIGUOUS", "how it stores tensors is not known: the type may stand at byte 148 and at byte 152"),
        ("-DFAKE_MISSING", "it does not export ggml_op_desc"),
    ],
)
def test_a_library_that_is_not_understood_runs_as_without_capture_and_is_told_once(tmp_path: Path, definition: str, reason: str) -> None:
    done = exec_in(tmp_path, fake_program(tmp_path, definition))
    assert done.code == 0
    assert lines_of_program(done.out) == ["computed 54"]
    assert done.err.count("nothing is captured of the ggml in ") == 1
    assert reason in done.err
    assert "nothing was captured" in done.err


LOOKS_FOR_GGML = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  int (*compute)(void*, void*) = (int (*)(void*, void*))dlsym(RTLD_DEFAULT, "ggml_backend_graph_compute");
  printf("computed %d\\n", compute == NULL ? 0 : compute(NULL, NULL));
  return 0;
}
"""


def test_a_program_without_ggml_that_calls_it_gets_a_failure_and_goes_on(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(LOOKS_FOR_GGML)
    done = exec_in(tmp_path, compile_c(source, tmp_path / "program", "-ldl"))
    assert (done.code, lines_of_program(done.out)) == (0, ["computed -1"])
    assert "no loaded object has the function ggml_backend_graph_compute" in done.err


def test_a_scheduler_whose_callback_is_not_found_is_counted(tmp_path: Path) -> None:
    dump = capture(tmp_path, fake_program(tmp_path, "-DFAKE_HIDDEN"))
    assert lines_of_program(dump.printed) == ["computed 54"]
    assert dump.run["ops"]["captured"] == 0
    assert dump.run["ops"]["not_captured"][0]["reason"] == "where a scheduler has its callback was not found"
    assert "not captured: 2 where a scheduler has its callback was not found" in tensortap("find", dump.folder).out


@each_row("definition", ["-DFAKE_NO_VIEWS", "-DFAKE_WRONG_VIEWS"])
def test_a_graph_of_a_backend_that_cannot_be_cut_is_counted(tmp_path: Path, definition: str) -> None:
    dump = capture(tmp_path, fake_program(tmp_path, "-DFAKE_DIRECT", definition))
    assert lines_of_program(dump.printed) == ["computed 54"]
    assert (dump.records(), dump.run["ops"]["captured"]) == ([], 0)
    (reason, never_ran) = dump.run["ops"]["not_captured"]
    assert (reason["reason"], reason["count"], never_ran["examples"]) == (REASON_DIRECT, 2, ["unchosen"])
    assert f"2 {REASON_DIRECT}" in tensortap("find", dump.folder).out


def test_a_program_without_ggml_is_told_that_nothing_was_captured(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text("int main(void) { return 0; }")
    done = exec_in(tmp_path, compile_c(source, tmp_path / "plain"))
    assert done.code == 0
    assert "or a model with ONNX Runtime or ggml, that could be seen" in done.err


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    libraries = packages() / "libggml" / "lib64"
    linked = [f"-L{libraries}", "-lggml-cpu", "-lggml-base", f"-Wl,-rpath,{libraries}", "-lpthread"]
    return compile_c(ROOT / "tests/ggml_program.c", tmp_path_factory.mktemp("ggml") / "program", *linked)


WEIGHTS = ((np.arange(20) % 7) * 0.25 - 0.5).astype(np.float32).reshape(5, 4)
BIAS = (np.arange(5) * 0.125).astype(np.float32)


def input_of(step: int) -> npt.NDArray[np.float32]:
    return ((np.arange(12) + step) % 5 - 1.5).astype(np.float32).reshape(3, 4)


def check_values(dump: GgmlDump, steps: int) -> None:
    """Compare the values of the program with those of NumPy."""
    np.testing.assert_array_equal(dump.value("layer.weight"), WEIGHTS)
    for step in range(steps):
        x = input_of(step)
        np.testing.assert_array_equal(dump.value("x", step), x)
        np.testing.assert_array_equal(dump.value("y", step), x @ WEIGHTS.T)
        np.testing.assert_array_equal(dump.value("z", step), x @ WEIGHTS.T + BIAS)
        turned = (x @ WEIGHTS.T + BIAS).T
        np.testing.assert_array_equal(dump.value("z (transposed) (cont)", step), turned)
        powers = np.exp(turned - turned.max(-1, keepdims=True))
        np.testing.assert_allclose(dump.value("out", step), powers / powers.sum(-1, keepdims=True), rtol=2e-6)


@released
def test_values_are_those_that_numpy_computes(program: Path, tmp_path: Path) -> None:
    dump = capture(tmp_path, program, "plain", options=("--full",))
    check_values(dump, steps=2)
    assert dump.run["runtime"]["ggml"] | {"library": ""} == {"library": "", "version": "0.20.2", "cut": True}


@released
def test_the_callback_of_the_program_is_asked_and_told_as_without_capture(program: Path, tmp_path: Path) -> None:
    alone = lines_of_program(run(program, "callback", folder=tmp_path).stdout)
    assert alone.count("told of z") == 2
    dump = capture(tmp_path, program, "callback")
    assert lines_of_program(dump.printed) == alone
    assert dump.run["ops"]["captured"] == 4
    # And where the capture wants less than the program.
    (tmp_path / "less").mkdir()
    dump = capture(tmp_path / "less", program, "callback", options=("--ops", "^out$", "--steps", "1"))
    assert lines_of_program(dump.printed) == alone
    assert [(record["op"], record["step"]) for record in dump.records()] == [("out", 1)]


@released
def test_ops_behind_a_computation_that_the_program_ended_are_counted(program: Path, tmp_path: Path) -> None:
    alone = lines_of_program(run(program, "end", folder=tmp_path).stdout)
    dump = capture(tmp_path, program, "end")
    assert lines_of_program(dump.printed) == alone == ["told of z", "told of z", "asked 4 times"]
    assert {record["op"] for record in dump.records()} == {"layer.weight", "layer.bias", "x", "y", "z"}
    (reason,) = dump.run["ops"]["not_captured"]
    assert (reason["reason"][:22], reason["count"]) == ("ggml did not report it", 2)


@released
def test_schedulers_of_two_threads_are_kept_apart(program: Path, tmp_path: Path) -> None:
    alone = lines_of_program(run(program, "threads", folder=tmp_path).stdout)
    dump = capture(tmp_path, program, "threads", options=("--full",))
    assert sorted(lines_of_program(dump.printed)) == sorted(alone)
    # Each thread has separate weights: two models, two dumps, the second in the folder of the first.
    (other,) = dump.folder.glob("model_*")
    # What one thread computed while the other loaded the library is counted.
    missed = sum(int(note.split()[0]) for note in dump.run["notes"] if "were not captured" in note)
    steps = [record["step"] for record in tensortap("ls", dump.folder, "--json").listed if record["op"] == "out"]
    assert len(steps) + missed == 40
    inner = [record["step"] for record in tensortap("ls", other, "--json").listed if record["op"] == "out"]
    assert sorted(inner) == list(range(len(inner)))
    outer = list(steps)
    for step in inner:
        outer.remove(step)
    assert sorted(outer) == list(range(len(outer)))


@released
def test_a_forked_child_has_a_dump_of_its_own(program: Path, tmp_path: Path) -> None:
    alone = lines_of_program(run(program, "fork", folder=tmp_path).stdout)
    dump = capture(tmp_path, program, "fork")
    assert lines_of_program(dump.printed) == alone
    assert len(alone) == 5
    (child,) = dump.folder.glob("process_*")
    steps = {part: json.loads((part / "run.json").read_text())["steps"]["captured"] for part in (dump.folder, child)}
    assert steps == {dump.folder: 2, child: 3}


# B19
@released
@each_row("mode", ["direct", "async", "plan", "context"])
def test_graphs_without_a_scheduler_have_their_own_values_though_nodes_share_memory(program: Path, tmp_path: Path, mode: str) -> None:
    alone = lines_of_program(run(program, mode, folder=tmp_path).stdout)
    dump = capture(tmp_path, program, mode, options=("--full",))
    assert lines_of_program(dump.printed) == alone
    assert len(alone) == 3
    check_values(dump, steps=3)
    assert (dump.run["ops"]["captured"], dump.run["ops"]["not_captured"], dump.run["ops"]["partly"]) == (4, [], [])
    assert dump.run["steps"] == {"seen": 3, "captured": 3}
    assert (dump.run["weights"]["captured"], dump.run["notes"]) == (2, [])


@released
def test_a_computation_that_the_program_ends_without_a_scheduler_is_counted(program: Path, tmp_path: Path) -> None:
    alone = lines_of_program(run(program, "aborted", folder=tmp_path).stdout)
    assert alone[1] == "direct 1 after 7 calls"
    dump = capture(tmp_path, program, "aborted")
    assert lines_of_program(dump.printed) == alone
    second = [record["op"] for record in dump.records() if record["step"] == 1]
    assert second == ["x", "y", "z"]
    (reason,) = dump.run["ops"]["partly"]
    assert (reason["reason"][:22], reason["examples"]) == ("ggml did not report it", ["z (transposed) (cont)", "out"])


@released
def test_a_scheduler_and_a_plan_of_one_model_are_two_runs_of_one_dump(program: Path, tmp_path: Path) -> None:
    alone = lines_of_program(run(program, "both", folder=tmp_path).stdout)
    assert alone[0] == alone[1] != alone[2] == alone[3]
    dump = capture(tmp_path, program, "both", options=("--full",))
    assert lines_of_program(dump.printed) == alone
    assert list(dump.folder.glob("model_*")) == []
    assert dump.run["ops"]["registered"] == dump.run["ops"]["captured"] == 4
    rows = np.load(dump.folder / "records.npy", mmap_mode="r")
    made = [record for record in dump.records() if record["op"] == "out"]
    assert [record["step"] for record in made] == [0, 0, 1, 1]
    assert len(set(rows["run"].tolist())) >= 2, "a count of steps for each"


@released
def test_steps_and_ops_without_a_scheduler_are_chosen(program: Path, tmp_path: Path) -> None:
    alone = lines_of_program(run(program, "direct", folder=tmp_path).stdout)
    dump = capture(tmp_path, program, "direct", options=("--full", "--steps", "1-2", "--ops", "^y$"))
    assert lines_of_program(dump.printed) == alone
    assert [(record["op"], record["step"]) for record in dump.records()] == [("y", 1), ("y", 2)]
    for step in (1, 2):
        np.testing.assert_array_equal(dump.value("y", step), input_of(step) @ WEIGHTS.T)
    assert dump.run["steps"] == {"seen": 3, "captured": 2}


@released
def test_steps_and_ops_are_chosen(program: Path, tmp_path: Path) -> None:
    dump = capture(tmp_path, program, "again", options=("--steps", "3-4", "--types", "ADD,SOFT_MAX"))
    assert [(record["op"], record["step"]) for record in dump.records()] == [("z", 3), ("out", 3), ("z", 4), ("out", 4)]
    assert dump.run["steps"] == {"seen": 10, "captured": 2}
    assert dump.run["ops"]["not_captured"] == []
    (tmp_path / "where").mkdir()
    kept = capture(tmp_path / "where", program, "again", options=("--where", "max > 1.2", "--ops", "^z$"))
    assert all(record["max"] > 1.2 for record in kept.records())
    assert kept.run["records_left_out_by_condition"] == 10 - len(kept.records())


@released
def test_a_killed_program_leaves_what_it_had_computed(program: Path, tmp_path: Path) -> None:
    text = (
        (ROOT / "tests/ggml_program.c")
        .read_text()
        .replace("ggml_free(graph.context);", "ggml_free(graph.context); if (step == 4) { fflush(stdout); for (;;) sleep(1); }")
    )
    source = tmp_path / "stops.c"
    source.write_text(text)
    libraries = packages() / "libggml" / "lib64"
    stops = compile_c(source, tmp_path / "stops", f"-L{libraries}", "-lggml-cpu", "-lggml-base", f"-Wl,-rpath,{libraries}", "-lpthread")
    words = [str(COMMAND), "exec", "--no-torch", "--out", "dump", "--", "sh", "-c", f"echo $$; exec {stops} again"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as running:
        assert running.stdout is not None
        number = int(running.stdout.readline())
        for _ in range(5):
            running.stdout.readline()
        time.sleep(0.5)
        os.kill(number, signal.SIGKILL)
        running.communicate(timeout=60)
    listed = tensortap("ls", tmp_path / "dump", "--json").listed
    assert {record["step"] for record in listed if record["op"] == "out"} == set(range(5))
