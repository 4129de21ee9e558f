"""Generates tokens with llama.cpp (xllamacpp) in other ways: `ggml_slots.py MODEL [WORD...]`.

slots: four prompts at the same time, otherwise one. unified: they share a cache. no-flash: attention in several ops. pieces: prompts are
read eight tokens at a time.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import xllamacpp
from ggml_server import parameters_of


def server_of(path: str, words: list[str]) -> Any:
    """Load the model."""
    parameters = parameters_of(path, words)
    parameters.n_ctx = 512
    parameters.n_parallel = 4 if "slots" in words else 1
    parameters.kv_unified = "unified" in words
    if "pieces" in words:
        parameters.n_ubatch = 8
        parameters.n_batch = 16
    return xllamacpp.Server(parameters)


def main() -> None:
    """Print what the model says."""
    words = sys.argv[2:]
    server = server_of(sys.argv[1], words)
    prompts = ["ab cd", "a longer text of words", "x", "hello w1 w2"] if "slots" in words else ["ab cd ef gh ij kl mn op qr"]
    answers: list[str] = []

    def ask(prompt: str) -> None:
        request = {"prompt": prompt, "max_tokens": 12, "temperature": 0.0, "seed": 1, "ignore_eos": True}
        answer = server.handle_completions(request)
        answer = json.loads(answer) if isinstance(answer, str) else answer
        answers.append(answer["choices"][0]["text"])

    threads = [threading.Thread(target=ask, args=(prompt,)) for prompt in prompts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("generated", json.dumps(sorted(answers)))


if __name__ == "__main__":
    main()
