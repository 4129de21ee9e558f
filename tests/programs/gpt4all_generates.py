"""Generates eight tokens with gpt4all's llama.cpp of 2024 and prints them: `gpt4all_generates.py MODEL`."""

from __future__ import annotations

import sys
from pathlib import Path

from gpt4all import GPT4All


def main() -> None:
    """Print what the model says."""
    path = Path(sys.argv[1])
    model = GPT4All(path.name, model_path=str(path.parent), allow_download=False, device="cpu", n_threads=1, n_ctx=128)
    print("generated", repr(model.generate("ab cd", max_tokens=8, temp=0, top_k=1)))


if __name__ == "__main__":
    main()
