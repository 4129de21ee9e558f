"""Writes a small model of random weights of one architecture as a GGUF file: `ggml_architecture.py FILE ARCHITECTURE [OPTION...]`.

Each has two layers of width 64. --nan TENSOR puts a NaN into the middle of a tensor, --swap TENSOR TENSOR exchanges two, --turn TENSOR
turns its rows around, and --epsilon is that of the norms. FILE.npz gets the tensors by their names in the file.
"""

from __future__ import annotations

import argparse

import gguf
import numpy as np

VOCABULARY, WIDTH, HIDDEN, LAYERS, HEADS, KEY_HEADS, HEAD = 320, 64, 96, 2, 4, 2, 16
EXPERTS, USED, SHARED = 4, 2, 64
Shapes = dict[str, tuple[int, ...]]

ENCODERS = ("bert", "nomic-bert")
EXPERTS_IN = ("mixtral", "qwen2moe", "qwen3moe", "olmoe")
WITH_BIASES = ("gpt2", "gptneox", "phi2", "starcoder2", "stablelm")
"""Their norms have biases; of these all but the last have one everywhere."""
PLAIN = ("llama", "mixtral", "qwen2", "qwen2moe", "qwen3", "qwen3moe", "olmoe", "gemma", "gemma2", "gemma3", "phi3")
ALL = (*PLAIN, *WITH_BIASES, *ENCODERS)


def attention(kind: str, shapes: Shapes, at: str) -> None:
    """Add the weights that make queries, keys and values, and the output."""
    inner, keys = HEADS * HEAD, KEY_HEADS * HEAD
    if kind in ("phi3", "gpt2", "gptneox", "nomic-bert"):
        keys = keys if kind == "phi3" else inner
        shapes[f"{at}.attn_qkv.weight"] = (inner + 2 * keys, WIDTH)
    else:
        keys = inner if kind == "bert" else keys
        shapes |= {f"{at}.attn_{one}.weight": (inner if one == "q" else keys, WIDTH) for one in "qkv"}
    shapes[f"{at}.attn_output.weight"] = (WIDTH, inner)
    if kind in ("gpt2", "gptneox"):
        shapes[f"{at}.attn_qkv.bias"] = (inner + 2 * keys,)
    if kind in ("qwen2", "qwen2moe", "bert", "phi2", "starcoder2"):
        shapes |= {f"{at}.attn_{one}.bias": (inner if one == "q" else keys,) for one in "qkv"}
    if kind == "bert" or kind in WITH_BIASES[:-1]:
        shapes[f"{at}.attn_output.bias"] = (WIDTH,)
    if kind in ("qwen3", "qwen3moe", "gemma3"):
        shapes |= {f"{at}.attn_{one}_norm.weight": (HEAD,) for one in "qk"}
    if kind == "olmoe":
        shapes |= {f"{at}.attn_q_norm.weight": (inner,), f"{at}.attn_k_norm.weight": (keys,)}


def norms(kind: str, shapes: Shapes, at: str) -> None:
    """Add the norms of a layer."""
    if kind in ENCODERS:
        for norm in ("attn_output_norm", "layer_output_norm"):
            shapes |= {f"{at}.{norm}.weight": (WIDTH,), f"{at}.{norm}.bias": (WIDTH,)}
        return
    for norm in ("attn_norm",) if kind == "phi2" else ("attn_norm", "ffn_norm"):
        shapes[f"{at}.{norm}.weight"] = (WIDTH,)
        if kind in WITH_BIASES:
            shapes[f"{at}.{norm}.bias"] = (WIDTH,)
    if kind in ("gemma2", "gemma3"):
        shapes |= {f"{at}.post_attention_norm.weight": (WIDTH,), f"{at}.post_ffw_norm.weight": (WIDTH,)}


def feed_forward(kind: str, shapes: Shapes, at: str) -> None:
    """Add the weights behind attention."""
    if kind in EXPERTS_IN:
        shapes[f"{at}.ffn_gate_inp.weight"] = (EXPERTS, WIDTH)
        shapes |= {f"{at}.ffn_{one}_exps.weight": (EXPERTS, HIDDEN, WIDTH) for one in ("gate", "up")}
        shapes[f"{at}.ffn_down_exps.weight"] = (EXPERTS, WIDTH, HIDDEN)
        if kind == "qwen2moe":
            shapes[f"{at}.ffn_gate_inp_shexp.weight"] = (WIDTH,)
            shapes |= {f"{at}.ffn_{one}_shexp.weight": (SHARED, WIDTH) for one in ("gate", "up")}
            shapes[f"{at}.ffn_down_shexp.weight"] = (WIDTH, SHARED)
        return
    shapes[f"{at}.ffn_up.weight"] = (2 * HIDDEN if kind == "phi3" else HIDDEN, WIDTH)
    shapes[f"{at}.ffn_down.weight"] = (WIDTH, HIDDEN)
    if kind not in ("phi3", "bert", *WITH_BIASES[:-1]):
        shapes[f"{at}.ffn_gate.weight"] = (HIDDEN, WIDTH)
    if kind == "bert" or kind in WITH_BIASES[:-1]:
        shapes |= {f"{at}.ffn_up.bias": (HIDDEN,), f"{at}.ffn_down.bias": (WIDTH,)}


def weights(kind: str) -> dict[str, np.ndarray]:
    """Make the tensors by their names in the file; rows are outputs."""
    shapes: Shapes = {"token_embd.weight": (VOCABULARY, WIDTH)}
    if kind in ENCODERS:
        shapes |= {"token_embd_norm.weight": (WIDTH,), "token_embd_norm.bias": (WIDTH,), "token_types.weight": (2, WIDTH)}
    else:
        shapes["output_norm.weight"] = (WIDTH,)
    if kind in ("gpt2", "bert"):
        shapes["position_embd.weight"] = (512, WIDTH)
    if kind in WITH_BIASES:
        shapes["output_norm.bias"] = (WIDTH,)
    if kind == "phi2":
        shapes["output.bias"] = (VOCABULARY,)
    if kind not in ("gemma", "gemma2", "gemma3", *ENCODERS):
        shapes["output.weight"] = (VOCABULARY, WIDTH)
    for layer in range(LAYERS):
        for add in (norms, attention, feed_forward):
            add(kind, shapes, f"blk.{layer}")
    rng = np.random.default_rng(7)
    made = {}
    for name, shape in shapes.items():
        is_scale = "norm" in name and name.endswith(".weight")
        values = rng.uniform(0.6, 1.4, shape) if is_scale else rng.normal(0, 0.15, shape)
        made[name] = values.astype(np.float32)
    return made


def add_words(writer: gguf.GGUFWriter) -> None:
    """Add the words of a model with bytes for words."""
    words = VOCABULARY - 260
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    bytes_of = [b"<0x%02X>" % i for i in range(256)]
    writer.add_token_list([b"<unk>", b"<s>", b"</s>", *bytes_of, b"\xe2\x96\x81", *(b"\xe2\x96\x81w%d" % i for i in range(words))])
    writer.add_token_scores([-float(i) for i in range(VOCABULARY)])
    writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * (words + 1))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)


def add_facts(writer: gguf.GGUFWriter, kind: str, epsilon: float) -> None:
    """Add what llama.cpp wants to know of the model."""
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS if kind in ("gpt2", "gptneox", *ENCODERS) else KEY_HEADS)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_file_type(0)
    if kind in (*WITH_BIASES, *ENCODERS):
        writer.add_layer_norm_eps(epsilon)
    else:
        writer.add_layer_norm_rms_eps(epsilon)
    if kind not in ("gpt2", "bert"):
        writer.add_rope_freq_base(10000.0)
        writer.add_rope_dimension_count(HEAD)
    if kind in ("gptneox", "stablelm"):
        writer.add_parallel_residual(kind == "gptneox")
    if kind in EXPERTS_IN:
        writer.add_expert_count(EXPERTS)
        writer.add_expert_used_count(USED)
        writer.add_expert_feed_forward_length(HIDDEN)
    if kind == "qwen2moe":
        writer.add_expert_shared_feed_forward_length(SHARED)
    if kind == "gemma2":
        writer.add_attn_logit_softcapping(5.0)
        writer.add_final_logit_softcapping(3.0)
    if kind in ("gemma2", "gemma3", "phi3"):
        writer.add_sliding_window(8)
    if kind in ENCODERS:
        writer.add_causal_attention(False)
        writer.add_pooling_type(gguf.PoolingType.MEAN)
        writer.add_token_type_count(2)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("architecture", choices=ALL)
    parser.add_argument("--nan")
    parser.add_argument("--swap", nargs=2)
    parser.add_argument("--turn")
    parser.add_argument("--epsilon", type=float, default=1e-5)
    options = parser.parse_args()
    kind = options.architecture
    tensors = weights(kind)
    if options.nan:
        flat = tensors[options.nan].reshape(-1)
        flat[flat.size // 2] = np.nan
    if options.swap:
        one, other = options.swap
        tensors[one], tensors[other] = tensors[other], tensors[one]
    if options.turn:
        tensors[options.turn] = tensors[options.turn][::-1].copy()
    writer = gguf.GGUFWriter(options.path, "llama" if kind == "mixtral" else kind)
    add_facts(writer, kind, options.epsilon)
    add_words(writer)
    for name, values in tensors.items():
        writer.add_tensor(name, values)
    np.savez(f"{options.path}.npz", **tensors)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
