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
OTHERS = PROGRAMS / "original_computes.py"
EMBEDS = PROGRAMS / "ggml_embeds.py"
TEXTS = f"{PROMPT}/1,259,122,52,259,122,53,259,122,54,259,100"
WHOLE = ("--full", "--slots", "in,out")
TRANSLATED = (*WHOLE, "--names", "transformers")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for kind in ("f32", "f16", "q8_0", "q4_0"):
        write_model(folder / f"{kind}.gguf", kind)
    return folder


def capture_torch(folder: Path, *words: str | Path) -> Path:
    """Run a program of PyTorch under `tensortap exec` and give its dump."""
    line = [COMMAND, "exec", *WHOLE, "--out", folder / "dump", "--", TORCH, *words]
    subprocess.run(line, cwd=folder, check=True, capture_output=True, timeout=240)
    return folder / "dump"


@pytest.fixture(scope="module")
def original(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Capture the model in PyTorch, with the weights as they were before they were quantised."""
    return capture_torch(tmp_path_factory.mktemp("original"), ORIGINAL, models / "f32.gguf.npz", PROMPT, "8")


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


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Capture a GPT-2 and a BERT in PyTorch."""
    found = {}
    for kind, words in (("gpt2", (PROMPT, "8")), ("bert", (TEXTS,))):
        folder = tmp_path_factory.mktemp(kind)
        write_model(folder / "model.gguf", kind, writer="ggml_architecture.py")
        found[kind] = capture_torch(folder, OTHERS, kind, folder / "model.gguf.npz", *words)
    return found


def capture_other(folder: Path, kind: str, *fault: str) -> GgmlDump:
    """Capture it in llama.cpp."""
    model = write_model(folder / "model.gguf", kind, *fault, writer="ggml_architecture.py")
    return capture(folder, PYTHON, EMBEDS if kind == "bert" else LLAMA, model, options=TRANSLATED)


# B19
@each_row("kind, paired, values", [("gpt2", 25, 49), ("bert", 30, 59)])
def test_other_architectures_compute_what_pytorch_does(
    others: dict[str, Path], tmp_path: Path, kind: str, paired: int, values: int
) -> None:
    """Each norm is three ops in ggml and one in PyTorch, and each linear layer two and one: the others are parts of a pair."""
    dump = capture_other(tmp_path, kind)
    code, summary = compared(dump, others[kind])
    assert (code, summary["paired"], summary["values_a"]) == (0, paired, values), summary["culprit"]
    assert summary["unpaired_a"]["not explained"] == summary["unpaired_b"]["not explained"] == 0
    found = tensortap("compare", dump.folder, others[kind], "--all", "--json").objects[:-1]
    pairs = {one["a"].split(":")[0]: one["b"].split(":")[0] for one in found if one.get("b")}
    wanted = {
        "gpt2": {
            "pos_embd": "transformer.wpe/embedding",
            "attn_norm-1": "transformer.h.1.ln_1/native_layer_norm",
            "wqkv_b-0": "transformer.h.0.attn.c_attn/addmm",
            "ffn_gelu-0": "transformer.h.0.mlp.act/mul_3",
            "ffn_out-1": "transformer.h.1.mlp.c_proj/addmm",
            "l_out-0": "transformer.h.0/add_1",
            "result_output": "lm_head/mm",
        },
        "bert": {
            "inp_norm-0": "embeddings.LayerNorm/native_layer_norm",
            "Kcur-1#2": "encoder.layer.1.attention.self.key/addmm",
            "ffn_gelu-1": "encoder.layer.1.intermediate.intermediate_act_fn/gelu",
            "ffn_inp-0": "encoder.layer.0.attention.output.LayerNorm/native_layer_norm",
            "result_embd": "encoder.layer.1.output.LayerNorm/native_layer_norm",
        },
    }[kind]
    named = {name: f"{'GPT2LMHeadModel' if kind == 'gpt2' else 'BertModel'}.{value}" for name, value in wanted.items()}
    assert {name: pairs.get(name) for name in wanted} == named


@each_row(
    "kind, fault, op",
    [
        ("gpt2", ("--epsilon", "0.01"), "attn_norm-0"),
        ("gpt2", ("--swap", "blk.0.ffn_up.weight", "blk.1.ffn_up.weight"), "ffn_up-0"),
        ("gpt2", ("--swap", "blk.0.attn_qkv.weight", "blk.1.attn_qkv.weight"), "wqkv-0"),
        ("gpt2", ("--turn", "position_embd.weight"), "pos_embd"),
        ("bert", ("--epsilon", "0.01"), "inp_norm-0"),
        ("bert", ("--swap", "blk.1.attn_k.weight", "blk.1.attn_q.weight"), "Qcur-1"),
        ("bert", ("--swap", "blk.0.attn_output_norm.weight", "blk.0.layer_output_norm.weight"), "ffn_inp-0"),
        ("bert", ("--turn", "token_types.weight"), "node_6"),
    ],
)
def test_a_fault_of_another_architecture_is_named_at_its_op(
    others: dict[str, Path], tmp_path: Path, kind: str, fault: tuple[str, ...], op: str
) -> None:
    code, summary = compared(capture_other(tmp_path, kind, *fault), others[kind])
    assert code == 1
    assert summary["culprit"]["a"].split(":")[0] == op, summary["culprit"]
