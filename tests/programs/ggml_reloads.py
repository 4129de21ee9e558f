"""Loads models one after the other with llama.cpp (xllamacpp) and generates with each: `ggml_reloads.py MODEL MODEL... [WORD...]`.

no-mmap: files are read and not mapped. threads: two models at the same time. killed: the process kills itself after the first answer.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
from typing import Any

import xllamacpp
from ggml_server import parameters_of


def load(path: str, words: list[str]) -> Any:
    """Load a model."""
    return xllamacpp.Server(parameters_of(path, words))


def ask(server: Any) -> str:
    """Let it generate a few tokens."""
    answer = server.handle_completions({"prompt": "ab cd", "max_tokens": 4, "temperature": 0.0, "seed": 1, "ignore_eos": True})
    answer = json.loads(answer) if isinstance(answer, str) else answer
    return json.dumps(answer.get("choices", [{}])[0].get("text"))


def main() -> None:
    """Print what the models say."""
    models = [word for word in sys.argv[1:] if word.endswith(".gguf")]
    words = [word for word in sys.argv[1:] if word not in models]
    if "threads" in words:
        servers = [load(model, words) for model in models]
        answers = ["", ""]

        def go(number: int) -> None:
            answers[number] = " ".join(ask(servers[number]) for _ in range(3))

        threads = [threading.Thread(target=go, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("generated", answers)
        return
    for model in models:
        server = load(model, words)
        print("generated", ask(server))
        if "killed" in words:
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        del server
        gc.collect()


if __name__ == "__main__":
    main()
