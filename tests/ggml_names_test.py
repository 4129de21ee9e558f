"""llama.cpp against PyTorch: names of transformers, weights from the file, and `compare` of one Llama in both."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_table import each_row
from cli_support import COMMAND, tensortap
from ggml_support import PROGRAMS, PYTHON, GgmlDump, capture, write_model
from torch_support import PYTHON as TORCH
from torch_support import PYTORCH_LIBRARY

pytestmark = pytest.mark.skipif(
    not PYTHON or not PYTORCH_LIBRARY.exists(), reason="no Python with released packages over ggml, or no PyTorch source"
)

LLAMA = PROGRAMS / "ggml_generates.py"
ORIGINAL = PROGRAMS / "llama_generates.py"
PROMPT = "1,259,100,101,259,102,103"
WHOLE = ("--full", "--slots", "in,out")
TRANSLATED = (*WHOLE, "--names", "transformers")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for kind in ("f32", "f16", "q8_0", "q4_0"):
        write_model(folder / f"{kind}.gguf", kind)
    return folder


@pytest.fixture(scope="module")
def original(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Capture the model in PyTorch, with the weights as they were before they were quantised."""
    folder = tmp_path_factory.mktemp("original")
    words: list[str | Path] = [
        COMMAND,
        "exec",
        *WHOLE,
        "--out",
        folder / "dump",
        "--",
        TORCH,
        ORIGINAL,
        models / "f32.gguf.npz",
        PROMPT,
        "8",
    ]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=240)
    return folder / "dump"


@pytest.fixture(scope="module")
def translated(models: Path, tmp_path_factory: pytest.TempPathFactory) -> GgmlDump:
    """Capture the model in blocks of 4 bits under the names of transformers."""
    return capture(tmp_path_factory.mktemp("translated"), PYTHON, LLAMA, models / "q4_0.gguf", options=TRANSLATED)


def compared(dump: GgmlDump, original: Path) -> tuple[int, dict[str, Any]]:
    """Compare with the original and give the exit code and the summary."""
    done = tensortap("compare", dump.folder, original, "--json")
    assert done.code in (0, 1, 3), done.err
    summary: dict[str, Any] = done.objects[-1]["summary"]
    return done.code, summary


def test_modules_and_weights_have_the_names_of_transformers(translated: GgmlDump) -> None:
    modules = {op["name"]: op["module"] for op in translated.ops}
    layer = "LlamaForCausalLM.model.layers.1"
    wanted = {
        "embd": "LlamaForCausalLM.model.embed_tokens",
        "norm-1": f"{layer}.input_layernorm",
        "Qcur-1": f"{layer}.self_attn.q_proj",
        "Qcur-1#2": f"{layer}.self_attn",
        "ffn_norm-1": f"{layer}.post_attention_layernorm",
        "ffn_swiglu-1": f"{layer}.mlp",
        "l_out-1": layer,
        "result_output": "LlamaForCausalLM.lm_head",
    }
    assert {name: modules[name] for name in wanted} == wanted
    weights = {op["name"] for op in translated.ops if op["type"] == "Initializer"}
    assert len(weights) == 21
    assert {"model.embed_tokens.weight", "model.layers.0.self_attn.o_proj.weight", "lm_head.weight"} <= weights


def test_the_names_are_those_of_the_file_unless_others_are_asked_for(models: Path, tmp_path: Path) -> None:
    dump = capture(tmp_path, PYTHON, LLAMA, models / "f32.gguf", options=("--steps", "0"))
    assert dump.op("norm-1")["module"] == "blk.1.attn_norm"
    assert dump.op("norm")["module"] == "output_norm"
    assert dump.op("blk.0.attn_q.weight")["module"] == "blk.0.attn_q"


def test_rearranged_weights_come_from_the_file(translated: GgmlDump, models: Path) -> None:
    assert translated.run["weights"]["captured"] == translated.run["weights"]["expected"] == 21
    stored = np.load(models / "q4_0.gguf.npz")
    from_file = [op for op in translated.ops if (op["attributes"] or {}).get("values_from") == "file"]
    for op in from_file:
        assert op["attributes"]["ggml_type"] == "q4_0"
    for ours, theirs in (("self_attn.o_proj", "attn_output"), ("mlp.up_proj", "ffn_up"), ("input_layernorm", "attn_norm")):
        name = f"model.layers.0.{ours}.weight"
        np.testing.assert_array_equal(translated.value(name), stored[f"blk.0.{theirs}.weight"], err_msg=name)


# B19
@each_row("kind", ["f32", "f16", "q8_0", "q4_0"])
def test_llama_cpp_computes_what_pytorch_does(models: Path, original: Path, translated: GgmlDump, tmp_path: Path, kind: str) -> None:
    dump = translated if kind == "q4_0" else capture(tmp_path, PYTHON, LLAMA, models / f"{kind}.gguf", options=TRANSLATED)
    code, summary = compared(dump, original)
    assert summary["paired"] >= 0.9 * summary["values_a"], summary
    assert summary["unpaired_a"]["not explained"] == summary["unpaired_b"]["not explained"] == 0
    assert code == 0, summary["culprit"]
    assert not summary["outside"]
    assert (summary["blocks"] is None) == (kind in ("f32", "f16"))


# B19
@each_row("kind", ["f32", "f16", "q8_0", "q4_0"])
def test_attention_in_several_ops_is_paired_cell_by_cell(models: Path, original: Path, tmp_path: Path, kind: str) -> None:
    dump = capture(tmp_path, PYTHON, LLAMA, models / f"{kind}.gguf", "no-flash", options=TRANSLATED)
    assert dump.value("kq-0").shape[-1] == 256, "cells of the cache, of which few are in use"
    code, summary = compared(dump, original)
    assert (code, summary["values_a"]) == (0, 50), summary["culprit"]
    assert summary["paired"] >= 45, summary
    assert summary["unpaired_a"]["not explained"] == summary["unpaired_b"]["not explained"] == 0
    pairs = {
        one["a"].split(":")[0]: one for one in tensortap("compare", dump.folder, original, "--all", "--json").objects[:-1] if "order" in one
    }
    for name, of_torch in (("kq-1", "bmm"), ("kq_soft_max-1", "_softmax"), ("kqv-1", "bmm_1")):
        assert f"self_attn/{of_torch}:" in pairs[name]["b"], (name, pairs[name]["b"])
    assert pairs["kq_soft_max-1"]["order"] == "first cells"


@each_row(
    "fault, op",
    [
        (("--epsilon", "0.01"), "norm-0"),
        (("--theta", "500"), "Qcur-0#2"),
        (("--swap", "blk.0.ffn_gate.weight", "blk.1.ffn_gate.weight"), "ffn_gate-0"),
    ],
)
def test_a_fault_is_named_at_its_op(original: Path, tmp_path: Path, fault: tuple[str, ...], op: str) -> None:
    for kind in ("f32", "q8_0"):
        folder = tmp_path / kind
        folder.mkdir()
        write_model(folder / "faulty.gguf", kind, *fault)
        code, summary = compared(capture(folder, PYTHON, LLAMA, folder / "faulty.gguf", options=TRANSLATED), original)
        assert code == 1, kind
        assert summary["culprit"]["a"].split(":")[0] == op, (kind, summary["culprit"])
