"""Makes embeddings of two texts with llama.cpp (xllamacpp) and prints them: `ggml_embeds.py MODEL`."""

from __future__ import annotations

import json
import sys

import xllamacpp
from ggml_server import parameters_of


def main() -> None:
    """Print what the model makes of the texts."""
    parameters = parameters_of(sys.argv[1])
    parameters.embedding = True
    server = xllamacpp.Server(parameters)
    answer = server.handle_embeddings({"input": ["ab cd", "w1 w2 w3 a"]})
    answer = json.loads(answer) if isinstance(answer, str) else answer
    print("generated", json.dumps([one["embedding"] for one in answer["data"]]))


if __name__ == "__main__":
    main()
