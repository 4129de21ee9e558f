"""Generates eight tokens with llama.cpp (xllamacpp) and prints them with their probabilities: `ggml_generates.py MODEL [WORD...]`.

q8_0: the KV cache is quantised. no-mmap: the file of the model is read and not mapped. no-flash: attention is computed in several ops.
"""

from __future__ import annotations

import json
import sys

import xllamacpp


def main() -> None:
    """Print what the model says."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.n_ctx = 256
    parameters.n_parallel = 1
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.fit_params = False
    if "no-mmap" in sys.argv[2:]:
        parameters.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
    if "no-flash" in sys.argv[2:]:
        parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    if "q8_0" in sys.argv[2:]:
        parameters.cache_type_k = parameters.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_Q8_0
    server = xllamacpp.Server(parameters)
    request = {"prompt": "ab cd", "max_tokens": 8, "temperature": 0.0, "seed": 1, "logprobs": 5}
    answer = server.handle_completions(request)
    answer = json.loads(answer) if isinstance(answer, str) else answer
    choice = answer["choices"][0]
    print("generated", json.dumps([choice["text"], choice["logprobs"]]))


if __name__ == "__main__":
    main()
