"""Models of several architectures in llama.cpp: same answers, every op accounted for, names, a NaN in one weight."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from case_table import each_row
from cli_support import COMMAND, tensortap
from ggml_support import PROGRAMS, PYTHON, GgmlDump, capture, lines_of_program, run, write_model

pytestmark = pytest.mark.skipif(not PYTHON, reason="no Python with released packages over ggml: ./dev py and ./dev test make it")

GENERATES = PROGRAMS / "ggml_generates.py"
EMBEDS = PROGRAMS / "ggml_embeds.py"
RELOADS = PROGRAMS / "ggml_reloads.py"
# The ops that run, the weights, and one weight with the op that a NaN in it reaches first.
MODELS = [
    ("mixtral", 62, 23, "blk.0.ffn_gate_inp.weight", "ffn_moe_logits-0"),
    ("qwen2", 50, 27, "blk.0.attn_q.bias", "Qcur-0#2"),
    ("qwen2moe", 80, 37, "blk.1.ffn_gate_exps.weight", "ffn_moe_gate-1"),
    ("qwen3", 52, 25, "blk.1.attn_q_norm.weight", "Qcur_normed-1"),
    ("qwen3moe", 70, 27, "blk.1.attn_k.weight", "Kcur-1"),
    ("gemma", 47, 20, "blk.0.ffn_norm.weight", "ffn_norm-0"),
    ("gemma2", 58, 24, "blk.1.post_ffw_norm.weight", "ffn_post_norm#2"),
    ("gemma3", 63, 28, "token_embd.weight", "result_output"),
    ("phi3", 40, 15, "blk.0.attn_qkv.weight", "wqkv-0"),
    ("gpt2", 49, 29, "output_norm.weight", "norm_w"),
    ("phi2", 57, 33, "blk.0.attn_v.bias", "Vcur-0#2"),
    ("stablelm", 49, 26, "blk.1.ffn_norm.bias", "ffn_norm-1"),
    ("starcoder2", 59, 36, "blk.0.ffn_up.bias", "ffn_up_b-0"),
    ("bert", 59, 37, "blk.0.attn_output.bias", "kqv_out-0"),
    ("nomic-bert", 47, 22, "blk.1.layer_output_norm.weight", "norm_w-1#2"),
]
TRANSLATED = ("--full", "--names", "transformers")


def words_for(kind: str, model: Path) -> tuple[str | Path, ...]:
    return (PYTHON, EMBEDS if "bert" in kind else GENERATES, model)


def model_of(folder: Path, kind: str, *words: str) -> Path:
    return write_model(folder / f"{kind}.gguf", kind, *words, writer="ggml_architecture.py")


def alone(folder: Path, *words: str | Path) -> list[str]:
    """Run a program without capture."""
    lines = lines_of_program(run(*words, folder=folder).stdout)
    assert lines
    return lines


# B19
@each_row("kind, ops, weights, faulty, first", MODELS)
def test_an_architecture_computes_the_same_and_every_op_is_captured(
    tmp_path: Path, kind: str, ops: int, weights: int, faulty: str, first: str
) -> None:
    words = words_for(kind, model_of(tmp_path, kind))
    dump = capture(tmp_path, *words, options=TRANSLATED)
    assert lines_of_program(dump.printed) == alone(tmp_path, *words), "to the last digit"
    report = dump.run["ops"]
    assert report["captured"] == ops
    # The graph has a branch for tokens, which it computes, and one for embeddings.
    assert [(one["reason"], one["count"]) for one in report["not_captured"]] == [("never ran", 3)]
    assert (report["partly"], dump.run["losses"]) == ([], [])
    assert (dump.run["weights"]["captured"], dump.run["weights"]["not_captured"]) == (weights, [])
    found = tensortap("find", dump.folder, "--json")
    assert (found.code, found.object["first_nonfinite"]) == (0, None)
    assert {one["kind"] for one in found.object["origins"]} <= {"intended"}
    records = [(one["op"], one["step"], one["call"], one["slot"]) for one in dump.records()]
    assert len(records) == len(set(records)), "no two records have one key"


@each_row("kind, ops, weights, faulty, first", MODELS)
def test_a_nan_in_a_weight_is_found_at_the_op_that_reads_it(
    tmp_path: Path, kind: str, ops: int, weights: int, faulty: str, first: str
) -> None:
    dump = capture(tmp_path, *words_for(kind, model_of(tmp_path, kind, "--nan", faulty)))
    found = tensortap("find", dump.folder, "--json")
    assert found.code == 1
    assert found.object["first_nonfinite"]["op"] == first
    assert [one["chain"][-1]["op"] for one in found.object["origins"] if one["kind"] == "weight"] == [faulty]


def modules(dump: GgmlDump) -> dict[str, str]:
    return {op["name"]: op["module"] for op in dump.ops}


def test_modules_of_a_mixture_of_experts_are_those_of_transformers(tmp_path: Path) -> None:
    dump = capture(tmp_path, *words_for("qwen2moe", model_of(tmp_path, "qwen2moe")), options=(*TRANSLATED, "--steps", "0"))
    layer = "Qwen2MoeForCausalLM.model.layers.1"
    wanted = {
        "Qcur-1#2": f"{layer}.self_attn.q_proj",
        "ffn_moe_logits-1": f"{layer}.mlp.gate",
        "ffn_moe_probs-1": f"{layer}.mlp",
        "ffn_moe_weights-1": f"{layer}.mlp",
        "ffn_moe_gate-1": f"{layer}.mlp.experts",
        "ffn_swiglu-1": f"{layer}.mlp.shared_expert",
        "ffn_shexp_gate_inp-1": f"{layer}.mlp.shared_expert_gate",
        "l_out-1": layer,
    }
    assert {name: modules(dump)[name] for name in wanted} == wanted
    weights = {op["name"] for op in dump.ops if op["type"] == "Initializer"}
    assert "blk.1.ffn_gate_exps.weight" in weights, "transformers has no such tensor"


def test_modules_of_gemma_are_those_of_transformers(tmp_path: Path) -> None:
    dump = capture(tmp_path, *words_for("gemma2", model_of(tmp_path, "gemma2")), options=(*TRANSLATED, "--steps", "0"))
    layer = "Gemma2ForCausalLM.model.layers.1"
    (product,) = [op for op in dump.ops if op["type"] == "MUL_MAT" and "model.embed_tokens.weight" in {i["name"] for i in op["inputs"]}]
    assert product["module"] == "Gemma2ForCausalLM.lm_head", "its output has the weights of the tokens"
    (scaled,) = [op for op in dump.ops if op["type"] == "SCALE" and "Qcur-1#2" in {one["name"] for one in op["inputs"]}]
    assert scaled["module"] == f"{layer}.self_attn", "an op without a name"
    assert modules(dump)["ffn_norm-1"] == f"{layer}.pre_feedforward_layernorm"
    assert modules(dump)["attn_post_norm-1"] == f"{layer}.post_attention_layernorm"


def test_masks_of_two_kinds_of_attention_are_two_inputs(tmp_path: Path) -> None:
    dump = capture(tmp_path, *words_for("gemma2", model_of(tmp_path, "gemma2")), options=("--full", "--steps", "0-4"))
    names = [op["name"] for op in dump.ops]
    attention = [op for op in dump.ops if op["type"] == "FLASH_ATTN_EXT"]
    assert [names[op["inputs"][-1]["op"]] for op in attention] == ["attn_inp_kq_mask", "attn_inp_kq_mask#2"]
    assert all(op["attributes"]["intended_inf"] for op in dump.ops if op["name"].startswith("attn_inp_kq_mask"))


def test_names_without_a_translation_stay(tmp_path: Path) -> None:
    dump = capture(tmp_path, *words_for("gptneox", model_of(tmp_path, "gptneox")), options=(*TRANSLATED, "--steps", "0"))
    assert any('the names of the architecture "gptneox" are not known' in note for note in dump.run["notes"])
    assert dump.op("norm_w")["module"] == "output_norm"


# gguf has the names of transformers for the converters of models: what they call the weights that llama.cpp calls otherwise.
ASKS_GGUF = """
import json, sys
import gguf
kind, *names = sys.argv[1:]
architecture = next(number for number, name in gguf.MODEL_ARCH_NAMES.items() if name == kind)
known = gguf.get_tensor_name_map(architecture, 2)
print("generated", json.dumps([known.get_name(name, (".weight", ".bias")) for name in names]))
"""


# gguf knows another nomic-bert than transformers has.
@each_row("kind", [row[0] for row in MODELS if row[0] != "nomic-bert"])
def test_weights_have_the_names_by_which_converters_of_models_know_them(tmp_path: Path, kind: str) -> None:
    dump = capture(tmp_path, *words_for(kind, model_of(tmp_path, kind)), options=(*TRANSLATED, "--steps", "0"))
    stored = np.load(tmp_path / f"{kind}.gguf.npz")
    contents = {values.tobytes(): name for name, values in stored.items()}
    assert len(contents) == len(stored)
    kept = {"qwen2moe": 6, "qwen3moe": 6, "olmoe": 6, "mixtral": 6}.get(kind, 0)
    ours = {op["name"]: contents[dump.value(op["name"]).tobytes()] for op in dump.ops if op["type"] == "Initializer"}
    translated = [name for name in ours if name != ours[name]]
    assert len(ours) - len(translated) == kept, [name for name in ours if name == ours[name]]
    architecture = "llama" if kind == "mixtral" else kind
    words = (PYTHON, "-c", ASKS_GGUF, architecture, *translated)
    (line,) = lines_of_program(run(*words, folder=tmp_path).stdout)
    assert json.loads(line.removeprefix("generated ")) == [ours[name] for name in translated]


@each_row("words", [(), ("no-mmap",)])
def test_a_model_that_takes_the_place_of_another_has_a_dump_of_its_own(tmp_path: Path, words: tuple[str, ...]) -> None:
    first = write_model(tmp_path / "first.gguf", "f32")
    # It has the same sizes, so that it may come to the same place in memory.
    second = write_model(tmp_path / "second.gguf", "f32", "--nan", "blk.1.ffn_norm.weight")
    dump = capture(tmp_path, PYTHON, RELOADS, first, second, first, *words)
    assert lines_of_program(dump.printed) == alone(tmp_path, PYTHON, RELOADS, first, second, first, *words)
    # The first one is loaded again, to the same place or to another one.
    others = list(dump.folder.glob("model_*"))
    assert len(others) in (1, 2)
    found = [tensortap("find", part, "--part", "first", "--json") for part in (dump.folder, *others)]
    assert [one.code for one in found[:1]] == [0]
    (faulty,) = [one.object for one in found if one.code == 1]
    assert [one["chain"][-1]["op"] for one in faulty["origins"] if one["kind"] == "weight"] == ["blk.1.ffn_norm.weight"]


def test_two_models_in_two_threads_are_kept_apart(tmp_path: Path) -> None:
    first = write_model(tmp_path / "first.gguf", "f32")
    second = write_model(tmp_path / "second.gguf", "f32", "--nan", "blk.1.ffn_norm.weight")
    words = (PYTHON, RELOADS, first, second, "threads")
    dump = capture(tmp_path, *words)
    assert lines_of_program(dump.printed) == alone(tmp_path, *words)
    (other,) = dump.folder.glob("model_*")
    with_nan = [bool(tensortap("ls", part, "--where", "nan > 0", "--json").listed) for part in (dump.folder, other)]
    assert len(tensortap("ls", other, "--ops", "^l_out-0$", "--json").listed) > 2
    assert any(with_nan)


def damaged(kind: str, whole: bytes) -> bytes:
    """Damage a file: cut it, or change a size in it."""
    name = whole.index(b"blk.0.ffn_up.weight")
    after = name + len(b"blk.0.ffn_up.weight")
    if kind == "cut header":
        return whole[:200]
    if kind == "cut weights":
        return whole[: len(whole) // 2]
    if kind == "dimension":  # behind the number of dimensions
        return whole[: after + 4] + (1 << 40).to_bytes(8, "little") + whole[after + 12 :]
    if kind == "place":  # behind two dimensions and the type
        return whole[: after + 24] + (1 << 50).to_bytes(8, "little") + whole[after + 32 :]
    return whole[:8] + (1 << 62).to_bytes(8, "little") + whole[16:]  # the number of tensors


@each_row("kind", ["cut header", "cut weights", "dimension", "place", "tensors"])
def test_a_damaged_file_fails_as_without_capture(tmp_path: Path, kind: str) -> None:
    whole = write_model(tmp_path / "whole.gguf", "q4_0").read_bytes()
    (tmp_path / "damaged.gguf").write_bytes(damaged(kind, whole))
    words = (PYTHON, GENERATES, tmp_path / "damaged.gguf")
    plain = run(*words, folder=tmp_path)
    done = run(*words, before=(str(COMMAND), "exec", "--no-torch", "--out", str(tmp_path / "dump"), "--"), folder=tmp_path)
    assert (done.returncode, lines_of_program(done.stdout)) == (plain.returncode, lines_of_program(plain.stdout))
    assert plain.returncode != 0


def test_a_program_that_is_killed_leaves_what_it_computed(tmp_path: Path) -> None:
    model = model_of(tmp_path, "qwen2")
    words = [COMMAND, "exec", "--no-torch", "--out", tmp_path / "dump", "--", PYTHON, RELOADS, model, model, "killed"]
    done = subprocess.run(words, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode in (137, -9)
    dump = GgmlDump(tmp_path / "dump", "", "")
    steps = {one["model_phase"] for one in dump.records("--ops", "^l_out-1$")}
    assert steps == {"warm-up", "prefill", "decode"}
