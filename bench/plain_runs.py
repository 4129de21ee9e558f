"""Measures what a run of an ONNX model costs under `tensortap exec` when it is not captured: after the last step that was asked for.

usage: plain_runs.py [--turns N] [--options "WORDS of exec"]; TENSORTAP_COMMAND as ./dev sets it. A program of a tiny model takes turns with
itself under `exec`; each turn gives the CPU time of its fastest hundred runs, which other programs of the machine disturb least.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from children import report_of
from machine import LoadMeter

SECONDS = 300
BATCHES, RUNS, WARM_UP = 600, 100, 2_000


def child() -> None:
    """Run a model of two ops; print the microseconds of a run."""
    import numpy as np
    import onnxruntime as ort
    from onnx import TensorProto, helper

    nodes = [helper.make_node("Add", ["x", "w"], ["sum"]), helper.make_node("Relu", ["sum"], ["y"])]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "y")]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4], [1, 2, 3, 4])
    graph = helper.make_graph(nodes, "tiny", value[:1], value[1:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {"x": np.zeros(4, np.float32)}
    for _ in range(WARM_UP):
        session.run(None, feed)
    fastest = float("inf")
    for _ in range(BATCHES):
        start = time.thread_time_ns()
        for _ in range(RUNS):
            session.run(None, feed)
        fastest = min(fastest, (time.thread_time_ns() - start) / RUNS / 1_000)
    print(json.dumps({"microseconds": fastest}))


def measured(words: list[str]) -> float:
    """Give the microseconds of a run in one process."""
    return float(report_of([*words, sys.executable, str(Path(__file__).resolve()), "--child"], SECONDS)["microseconds"])


def main() -> None:
    """Measure, and print a line for each turn and the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--options", default="--stats --steps 0", help="of exec")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child()
    meter = LoadMeter()
    alone: list[float] = []
    under: list[float] = []
    for turn in range(arguments.turns):
        with tempfile.TemporaryDirectory(prefix="tensortap-bench-") as folder:
            words = [os.environ["TENSORTAP_COMMAND"], "exec", "--quiet", "--out", f"{folder}/dump", *arguments.options.split(), "--"]
            for captured in (turn % 2 == 0, turn % 2 != 0):
                (under if captured else alone).append(measured(words if captured else []))
        print(f"turn {turn + 1}: alone {alone[-1]:.2f} us, under exec {under[-1]:.2f} us", file=sys.stderr)
    added = [one - other for one, other in zip(under, alone, strict=True)]
    print(f"alone {statistics.median(alone):.2f} us, under exec {statistics.median(under):.2f} us, {statistics.median(added):.2f} more")
    print(meter.load().sentence())


if __name__ == "__main__":
    main()
