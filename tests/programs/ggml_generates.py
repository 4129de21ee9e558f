"""Generates eight tokens with llama.cpp (xllamacpp) and prints them with their probabilities: `ggml_generates.py MODEL [WORD...]`.

q8_0: the KV cache is quantised. no-mmap: the file of the model is read and not mapped. no-flash: attention is computed in several ops.
"""

from __future__ import annotations

import json
import sys

import xllamacpp
from ggml_server import parameters_of


def main() -> None:
    """Print what the model says."""
    parameters = parameters_of(sys.argv[1], sys.argv[2:])
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
