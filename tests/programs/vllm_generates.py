"""Makes a tiny model with weights by chance, where there is none yet, and lets vLLM generate from it in its default mode.

Prints the texts with the log-probabilities of their tokens. Arguments: the model's folder, and `eager` to have the model run as it is
written.
"""

from __future__ import annotations

import sys
from pathlib import Path

WORDS = 128


def make_model(folder: Path) -> None:
    """Write a model of the Llama kind and its tokenizer, a word for each token."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(WORDS)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="w0", eos_token="w1").save_pretrained(folder)
    torch.manual_seed(1)
    sizes = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(vocab_size=WORDS, head_dim=32, max_position_embeddings=256, eos_token_id=1, bos_token_id=2, **sizes)
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


def generate(folder: Path, eager: bool) -> None:
    """Print what vLLM makes of three prompts."""
    from vllm import LLM, SamplingParams

    engine = LLM(str(folder), max_model_len=128, max_num_seqs=4, seed=1, enforce_eager=eager)
    how = SamplingParams(max_tokens=16, temperature=0.0, logprobs=3, ignore_eos=True)
    for answer in engine.generate(["w3 w4 w5", "w9 w8 w7 w6", "w20"], how, use_tqdm=False):
        made = answer.outputs[0]
        likely = [sorted((token, one.logprob.hex()) for token, one in place.items()) for place in made.logprobs or []]
        print("generated", made.text, likely)


if __name__ == "__main__":
    if not (Path(sys.argv[1]) / "config.json").exists():
        make_model(Path(sys.argv[1]))
    generate(Path(sys.argv[1]), "eager" in sys.argv[2:])
