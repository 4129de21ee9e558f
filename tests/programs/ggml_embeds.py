"""Makes embeddings of two texts with llama.cpp (xllamacpp) and prints them: `ggml_embeds.py MODEL`."""

from __future__ import annotations

import json
import sys

import xllamacpp


def main() -> None:
    """Print what the model makes of the texts."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.n_ctx = 256
    parameters.n_parallel = 1
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.fit_params = False
    parameters.embedding = True
    server = xllamacpp.Server(parameters)
    answer = server.handle_embeddings({"input": ["ab cd", "w1 w2 w3 a"]})
    answer = json.loads(answer) if isinstance(answer, str) else answer
    print("generated", json.dumps([one["embedding"] for one in answer["data"]]))


if __name__ == "__main__":
    main()
