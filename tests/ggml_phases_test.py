"""What llama.cpp does in each step: it warms up, reads a prompt, or goes on with each sequence by one token."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from case_table import each_row
from cli_support import tensortap
from ggml_support import PROGRAMS, PYTHON, GgmlDump, capture, write_model

pytestmark = pytest.mark.skipif(not PYTHON, reason="no Python with released packages over ggml: ./dev py and ./dev test make it")

LLAMA = PROGRAMS / "ggml_generates.py"
SLOTS = PROGRAMS / "ggml_slots.py"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "f32.gguf", "f32")


def phases(dump: GgmlDump) -> dict[int, str]:
    """Give the phase of each step; all records of a step have the same."""
    found: dict[int, str] = {}
    for record in dump.records("--where", "phase != 'load'"):
        phase = record.get("model_phase", "")
        assert found.setdefault(record["step"], phase) == phase
    return found


# B19
def test_a_warm_up_a_prompt_and_tokens_are_told_apart(model: Path, tmp_path: Path) -> None:
    dump = capture(tmp_path, PYTHON, LLAMA, model, options=("--full",))
    tokens = {step: len(dump.value("inp_tokens", step)) for step in phases(dump)}
    found = list(phases(dump).values())
    assert found[0] == "warm-up"
    assert found[1:3] == ["prefill", "prefill"], "the server tries its cache with two tokens, then comes the prompt"
    assert set(found[3:]) == {"decode"}
    assert all(tokens[step] == 1 for step, phase in phases(dump).items() if phase == "decode")
    assert not [row for row in dump.records() if row["phase"] == "load" and "model_phase" in row]


def test_commands_select_and_show_phases(model: Path, tmp_path: Path) -> None:
    dump = capture(tmp_path, PYTHON, LLAMA, model)
    decoded = dump.records("--where", "model_phase == 'decode'", "--ops", "^l_out-0$")
    assert [one["step"] for one in decoded] == [step for step, phase in phases(dump).items() if phase == "decode"]
    assert "warm-up" in tensortap("ls", dump.folder, "--ops", "^l_out-0$", "--columns", "step,model_phase").out
    assert "inference, decode" in tensortap("show", dump.folder, f"l_out-0:out0@{decoded[0]['step']}").out
    wrong = tensortap("ls", dump.folder, "--where", "model_phase == 'deco'")
    assert wrong.code == 2
    assert "prefill, decode, train, warm-up" in wrong.err
    (tmp_path / "some").mkdir()
    some = capture(tmp_path / "some", PYTHON, LLAMA, model, options=("--where", "model_phase == 'prefill'", "--ops", "^l_out-"))
    assert set(phases(some).values()) == {"prefill"}


def test_a_comparison_is_of_the_steps_of_a_phase(model: Path, tmp_path: Path) -> None:
    dumps = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        dumps.append(capture(tmp_path / name, PYTHON, LLAMA, model, options=("--full", "--ops", "^l_out-|inp_tokens|embd")))
    done = tensortap("compare", *(dump.folder for dump in dumps), "--steps", "decode", "--all", "--json")
    assert done.code == 0
    compared = {one["step_a"] for one in done.objects if one.get("step_a") is not None and not one.get("given")}
    assert compared == {step for step, phase in phases(dumps[0]).items() if phase == "decode"}
    assert tensortap("compare", *(dump.folder for dump in dumps), "--steps", "train").code == 2


@each_row("words", [("slots",), ("slots", "unified"), ("slots", "unified", "no-flash")])
def test_several_sequences_in_a_batch_decode_or_nothing_is_said(model: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    dump = capture(tmp_path, PYTHON, SLOTS, model, *words, options=("--full", "--ops", "inp_|embd"))
    found = phases(dump)
    assert set(found.values()) <= {"warm-up", "prefill", "decode", ""}
    several = 0
    for step, phase in found.items():
        positions = [int(one) for one in dump.value("inp_pos", step)]
        alone = len(positions) == 1 or not any(later == one + 1 for one, later in pairwise(positions))
        if phase == "decode":
            several += len(positions) > 1
            assert 0 not in positions
        elif phase == "prefill":
            assert not alone or positions == [0] * len(positions)
    assert several > 0, "no batch of several sequences went on"


def test_a_prompt_in_pieces_is_read_until_it_ends(model: Path, tmp_path: Path) -> None:
    dump = capture(tmp_path, PYTHON, SLOTS, model, "pieces", options=("--full", "--ops", "inp_|embd"))
    for step, phase in phases(dump).items():
        if phase != "warm-up":
            assert phase == ("prefill" if len(dump.value("inp_pos", step)) > 1 else "decode")
