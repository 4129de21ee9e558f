"""What people do today, measured against the untouched session in one process; prints JSON.

usage: peer_child.py MODELS CASE THREADS SECONDS HOW

HOW is "outputs" (every tensor of the optimised graph made an output of the model), "polygraphy" (Polygraphy's runner with every tensor of
the model marked), or "outputs-memory" and "plain-memory" (one session, for the peak memory).
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import Inputs, model_and_inputs
from resident import Peak

Step = Callable[[], object]


def options_for(threads: int) -> Any:
    """Make session options like those of the captured runs."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return options


def plain_step(model: Path, threads: int, inputs: Inputs) -> Step:
    """Run the untouched session."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(model), options_for(threads), ["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def outputs_step(model: Path, threads: int, inputs: Inputs) -> Step:
    """Run the optimised graph with every tensor of it as an output."""
    import onnx
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        optimised = Path(folder) / "optimised.onnx"
        options = options_for(threads)
        options.optimized_model_filepath = str(optimised)
        onnxruntime.InferenceSession(str(model), options, ["CPUExecutionProvider"])
        proto = onnx.load(str(optimised))
    have = {value.name for value in proto.graph.output}
    for node in proto.graph.node:
        for name in node.output:
            if name and name not in have:
                proto.graph.output.append(onnx.ValueInfoProto(name=name))
    options = options_for(threads)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def polygraphy_step(model: Path, threads: int, inputs: Inputs) -> Step:
    """Run Polygraphy's ONNX Runtime runner with every tensor of the model marked as an output."""
    import onnxruntime
    from polygraphy import constants
    from polygraphy.backend.onnx import BytesFromOnnx, ModifyOutputs, OnnxFromPath
    from polygraphy.backend.onnxrt import OnnxrtRunner

    marked = BytesFromOnnx(ModifyOutputs(OnnxFromPath(str(model)), outputs=constants.MARK_ALL))

    def session() -> Any:
        return onnxruntime.InferenceSession(marked(), options_for(threads), ["CPUExecutionProvider"])

    runner = OnnxrtRunner(session)
    runner.activate()
    return lambda: runner.infer(inputs)


def seconds_of(step: Step, repeats: int) -> float:
    """Time a burst of runs."""
    start = time.perf_counter()
    for _ in range(repeats):
        step()
    return time.perf_counter() - start


def ratios(plain: Step, other: Step, seconds: float) -> list[float]:
    """Measure other against plain in ABBA order, each burst about 50 ms."""
    for step in (plain, other):
        step()
    repeats = max(1, round(0.05 / max(seconds_of(plain, 3) / 3, 1e-6)))
    found: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(found) < 3:
        first, second = seconds_of(plain, repeats), seconds_of(other, repeats)
        third, fourth = seconds_of(other, repeats), seconds_of(plain, repeats)
        found.append((second + third) / (first + fourth))
    return found


def main() -> int:
    """Measure what the command line says."""
    model, inputs = model_and_inputs(Path(sys.argv[1]), sys.argv[2])
    threads, seconds, how = int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
    makers = {"outputs": outputs_step, "polygraphy": polygraphy_step, "outputs-memory": outputs_step, "plain-memory": plain_step}
    peak = Peak()  # before the runtime is imported, which it counts
    other = makers[how](model, threads, inputs)
    result: dict[str, Any] = {}
    if how.endswith("-memory"):
        seconds_of(other, 3)
        result["peak_bytes"] = peak.over_start()
    else:
        found = ratios(plain_step(model, threads, inputs), other, seconds)
        quartiles = statistics.quantiles(found, n=4)
        result = {"overhead": statistics.median(found), "overhead_details": {"low": quartiles[0], "high": quartiles[2]}}
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
