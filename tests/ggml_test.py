"""Released programs over ggml under `tensortap exec`: llama.cpp of 2026 and of 2024, and whisper.cpp, with models that the tests write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from case_table import each_row
from cli_support import tensortap
from ggml_support import PROGRAMS, PYTHON, GgmlDump, capture, lines_of_program, run, write_model

pytestmark = pytest.mark.skipif(not PYTHON, reason="no Python with released packages over ggml: ./dev py and ./dev test make it")

LLAMA = PROGRAMS / "ggml_generates.py"
LLAMA_2024 = PROGRAMS / "gpt4all_generates.py"
WHISPER = PROGRAMS / "whisper_transcribes.py"
KINDS = ("f32", "f16", "q8_0", "q4_0")
Floats = npt.NDArray[np.floating[Any]]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for kind in KINDS:
        write_model(folder / f"{kind}.gguf", kind)
    write_model(folder / "nan.gguf", "f32", "--nan", "blk.1.ffn_norm.weight")
    write_model(folder / "whisper.bin", writer="whisper_model.py")
    return folder


@pytest.fixture(scope="module")
def whole(models: Path, tmp_path_factory: pytest.TempPathFactory) -> GgmlDump:
    """Capture all of the float32 model."""
    return capture(tmp_path_factory.mktemp("whole"), PYTHON, LLAMA, models / "f32.gguf", options=("--full",))


def alone(folder: Path, *words: str | Path) -> list[str]:
    """Run a program without capture."""
    lines = lines_of_program(run(*words, folder=folder).stdout)
    assert len(lines) == 1
    return lines


# B19
@each_row("kind", KINDS)
def test_llama_cpp_generates_the_same_and_every_op_is_captured(models: Path, tmp_path: Path, kind: str) -> None:
    words = (PYTHON, LLAMA, models / f"{kind}.gguf")
    dump = capture(tmp_path, *words)
    assert lines_of_program(dump.printed) == alone(tmp_path, *words), "tokens, and probabilities to the last digit"
    assert dump.run["source"] == "ggml 0.26.0"
    ops = dump.run["ops"]
    # Of two branches, one for tokens and one for embeddings, the graph computes the first.
    assert ops["captured"] + 3 == ops["expected"] == 47
    assert [(one["reason"], one["count"]) for one in ops["not_captured"]] == [("never ran", 3)]
    assert (ops["partly"], dump.run["losses"]) == ([], [])
    assert dump.run["steps"]["captured"] == dump.run["steps"]["seen"] >= 9
    weights = dump.run["weights"]
    assert weights["expected"] == 21
    assert weights["captured"] == 21


def test_the_old_layout_is_found_and_every_op_is_captured(models: Path, tmp_path: Path) -> None:
    words = (PYTHON, LLAMA_2024, models / "f32.gguf")
    dump = capture(tmp_path, *words, options=("--full",))
    assert lines_of_program(dump.printed) == alone(tmp_path, *words)
    ops = dump.run["ops"]
    assert ops["captured"] == ops["expected"] == 52
    weight = np.load(models / "f32.gguf.npz")["blk.0.attn_norm.weight"]
    np.testing.assert_allclose(dump.value("attn_norm-0"), dump.value("norm-0") * weight, rtol=1e-6)


def test_whisper_cpp_transcribes_the_same_and_every_op_is_captured(models: Path, tmp_path: Path) -> None:
    words = (PYTHON, WHISPER, models / "whisper.bin")
    dump = capture(tmp_path, *words)
    assert lines_of_program(dump.printed) == alone(tmp_path, *words)
    assert dump.run["source"] == "ggml 0.13.1"
    ops = dump.run["ops"]
    assert ops["captured"] == ops["expected"] == 84
    assert ops["not_captured"] == ops["partly"] == []
    # Its graphs number their nodes each from 0, and the second begins with what the first made.
    assert len({op["graph"] for op in dump.ops}) == 4
    made = next(index for index, op in enumerate(dump.ops) if op["name"] == "embd_conv")
    reader = next(op for op in dump.ops if op["name"].startswith("embd_conv (view)"))
    assert [one["op"] for one in reader["inputs"]] == [made]


# B19
def test_what_whisper_cpp_gives_to_a_backend_without_a_scheduler_is_captured(models: Path, tmp_path: Path) -> None:
    words = (PYTHON, WHISPER, models / "whisper.bin", "timed")
    dump = capture(tmp_path, *words, options=("--full",))
    assert lines_of_program(dump.printed) == alone(tmp_path, *words)
    ops = dump.run["ops"]
    assert ops["captured"] == ops["expected"]
    assert ops["not_captured"] == ops["partly"] == []
    # What the attention of each text token looked at, normed, smoothed by whisper.cpp's own function, and its mean over the only head.
    first = next(index for index, op in enumerate(dump.ops) if op["type"] == "MAP_CUSTOM1") - 1
    read, norm, smooth, mean, turned = (op["name"] for op in dump.ops[first - 1 : first + 4])
    looked = dump.value(read).astype(np.float64)
    normed = (looked - looked.mean(-1, keepdims=True)) / np.sqrt(looked.var(-1, keepdims=True) + 1e-9)
    np.testing.assert_allclose(dump.value(norm), normed, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(dump.value(mean), dump.value(smooth))
    np.testing.assert_array_equal(dump.value(turned), -dump.value(mean))


def test_values_are_those_that_numpy_computes_of_the_file(whole: GgmlDump, models: Path) -> None:
    weights = np.load(models / "f32.gguf.npz")
    for name in weights:
        np.testing.assert_array_equal(whole.value(name), weights[name], err_msg=name)
    step = 1  # the prompt
    tokens = whole.value("inp_tokens", step)
    embedded = whole.value("embd", step)
    np.testing.assert_array_equal(embedded, weights["token_embd.weight"][tokens])
    wide = embedded.astype(np.float64)
    normed = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(whole.value("norm-0", step), normed, rtol=1e-5, atol=1e-6)
    scaled = normed * weights["blk.0.attn_norm.weight"]
    np.testing.assert_allclose(whole.value("attn_norm-0", step), scaled, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        whole.value("Qcur-0", step), scaled @ weights["blk.0.attn_q.weight"].T.astype(np.float64), rtol=1e-4, atol=1e-5
    )
    gate, up = whole.value("ffn_gate-0", step).astype(np.float64), whole.value("ffn_up-0", step)
    np.testing.assert_allclose(whole.value("ffn_swiglu-0", step), gate / (1 + np.exp(-gate)) * up, rtol=1e-4, atol=1e-5)


def test_of_a_cache_what_was_written_is_kept(whole: GgmlDump) -> None:
    for step in (1, 3):
        keys = whole.value("Kcur-0#2", step)
        tokens = 1 if step == 3 else len(whole.value("inp_tokens", step))
        written = whole.value("cache_k_l0 (view)", step).reshape(tokens, -1)
        np.testing.assert_array_equal(written, keys.reshape(tokens, -1).astype(np.float16))


def test_of_a_quantised_cache_the_written_blocks_are_kept(models: Path, tmp_path: Path) -> None:
    words = (PYTHON, LLAMA, models / "f32.gguf", "q8_0")
    dump = capture(tmp_path, *words, options=("--full",))
    assert lines_of_program(dump.printed) == alone(tmp_path, *words)
    names = [op["name"] for op in dump.ops]
    caches = [op for op in dump.ops if op["type"] == "SET_ROWS" and op["name"].startswith("cache_")]
    assert len(caches) == 4
    for op in caches:
        assert op["attributes"]["ggml_type"] == "q8_0"
        given = dump.value(names[op["inputs"][0]["op"]], 3).reshape(-1, 32)
        steps = np.abs(given).max(1, keepdims=True) / 127
        blocks = np.round(given / steps) * steps.astype(np.float16).astype(np.float32)
        np.testing.assert_allclose(dump.value(op["name"], 3).reshape(-1, 32), blocks, rtol=0, atol=1e-6, err_msg=op["name"])


@each_row("kind", ["f16", "q8_0", "q4_0"])
def test_weights_are_as_the_file_has_them(models: Path, tmp_path: Path, kind: str) -> None:
    dump = capture(tmp_path, PYTHON, LLAMA, models / f"{kind}.gguf", options=("--full", "--steps", "0"))
    weights = np.load(models / f"{kind}.gguf.npz")
    captured = {op["name"]: op for op in dump.ops if op["type"] == "Initializer"}
    for name, op in captured.items():
        np.testing.assert_array_equal(dump.value(name), weights[name], err_msg=name)
        is_block = kind.startswith("q") and weights[name].ndim == 2
        assert (op["attributes"] or {}).get("ggml_type") == (kind if is_block else None)
    assert len(captured) == dump.run["weights"]["captured"] == 21


def test_rearranged_weights_without_a_mapped_file_are_counted(models: Path, tmp_path: Path) -> None:
    words = (PYTHON, LLAMA, models / "q4_0.gguf", "no-mmap")
    dump = capture(tmp_path, *words, options=("--full", "--steps", "0", "--names", "transformers"))
    assert all((op["attributes"] or {}).get("values_from") is None for op in dump.ops)
    # Which ones the processor's own arrangement takes the place of depends on the processor.
    missing = sum(reason["count"] for reason in dump.run["weights"]["not_captured"])
    assert dump.run["weights"]["captured"] + missing == 21
    assert all("cannot be read back" in reason["reason"] for reason in dump.run["weights"]["not_captured"])
    assert dump.op("Qcur-0")["module"] == "blk.0.attn_q"
    assert any("--names transformers" in note for note in dump.run["notes"])


def test_ops_know_their_module_and_what_made_their_inputs(whole: GgmlDump) -> None:
    modules = {name: whole.op(name)["module"] for name in ("embd", "Qcur-0", "attn_norm-1", "ffn_out-1", "l_out-0", "result_output")}
    assert modules == {
        "embd": "token_embd",
        "Qcur-0": "blk.0.attn_q",
        "attn_norm-1": "blk.1.attn_norm",
        "ffn_out-1": "blk.1.ffn_down",
        "l_out-0": "blk.0",
        "result_output": "output",
    }
    names = [op["name"] for op in whole.ops]
    attention = next(op for op in whole.ops if op["type"] == "FLASH_ATTN_EXT")
    made_by = [names[one["op"]] for one in attention["inputs"]]
    # Through views, and through the cache to what wrote there.
    assert made_by == ["Qcur-0#2", "cache_k_l0 (view)", "cache_v_l0 (view)", "attn_inp_kq_mask"]
    assert not [op for op in whole.ops if op["type"] in ("VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE")]


def test_a_healthy_model_is_healthy_though_its_mask_holds_infinities(whole: GgmlDump) -> None:
    found = tensortap("find", whole.folder, "--json")
    assert found.code == 0
    assert found.object["first_nonfinite"] is None
    assert [one["kind"] for one in found.object["origins"]] == ["intended"]


def test_a_nan_in_a_weight_is_found(models: Path, tmp_path: Path) -> None:
    dump = capture(tmp_path, PYTHON, LLAMA, models / "nan.gguf")
    found = tensortap("find", dump.folder, "--json")
    assert found.code == 1
    first = found.object["first_nonfinite"]
    assert (first["op"], first["step"], first["nan"], first["index"]) == ("ffn_norm-1", 0, 1, [32])
    weights = [one for one in found.object["origins"] if one["kind"] == "weight"]
    assert [one["chain"][-1]["op"] for one in weights] == ["blk.1.ffn_norm.weight"]
    assert tensortap("find", dump.folder).out.startswith("first non-finite value: step 0, ffn_norm-1 (MUL)")


def test_a_selection_leaves_all_else_out_and_changes_nothing(models: Path, tmp_path: Path) -> None:
    words = (PYTHON, LLAMA, models / "f16.gguf")
    dump = capture(tmp_path, *words, options=("--tensors", "--ops", "^l_out-", "--steps", "2-3"))
    assert lines_of_program(dump.printed) == alone(tmp_path, *words)
    assert [(one["op"], one["step"]) for one in dump.records()] == [(f"l_out-{layer}", step) for step in (2, 3) for layer in (0, 1)]
    (tmp_path / "module").mkdir()
    dump = capture(tmp_path / "module", *words, options=("--modules", "blk.1.*", "--steps", "1"))
    assert {whole["module"].split(".")[1] for whole in dump.ops if whole["name"] in {one["op"] for one in dump.records()}} == {"1"}


def test_a_report_and_a_comparison_work(whole: GgmlDump, models: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    assert tensortap("report", whole.folder, "--out", report).code == 0
    assert "ffn_swiglu-0" in report.read_text()
    other = capture(tmp_path, PYTHON, LLAMA, models / "f32.gguf", options=("--full",))
    same = tensortap("compare", whole.folder, other.folder)
    assert same.code == 0, same.out
