"""Measures the peak memory of captured runs of ONNX models against plain ones and prints tables.

usage: peak_memory.py [--processes N] [--command TENSORTAP] [--exec-only] [--large] [NAME...]

Each figure is the median of several processes: the highest resident memory, less the memory before the runtime was loaded.
"plain" is the same library with capture off, "session" a plain session of the Python package, "exec" that package's program under
`tensortap exec`. Models: those of cases.py, and with --large some with large weights, inside the file and beside it, which are made in
build/bench-scratch, and some of the onnx package.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, ROOT
from children import report_of
from overhead import MODELS, RELEASE, SCRATCH, captured_model, child

MIB = 1 << 20
LIGHT = ("light_resnet50", "light_densenet121", "light_zfnet512")


def save_with_inputs(model: Any, path: Path, **how: Any) -> str:
    """Save a model and inputs of noise for it; gives its path."""
    import onnx

    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f"{path.stem}.*"):
        left.unlink()
    weights = {tensor.name for tensor in model.graph.initializer}
    random = np.random.default_rng(3)
    arrays: dict[str, Any] = {}
    for value in model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if value.name not in weights:
            whole = value.type.tensor_type.elem_type == onnx.TensorProto.INT64
            arrays[value.name] = random.integers(0, 1000, shape) if whole else random.standard_normal(shape, dtype=np.float32)
    np.savez(path.with_suffix(".npz"), **arrays)
    onnx.save(model, str(path), **how)
    return str(path)


def layered(layers: int, weight: tuple[int, ...], nodes_of: Callable[[int, str], list[Any]], shape: tuple[int, ...]) -> Any:
    """Make a model of equal layers, each with its own weight."""
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(1)
    nodes, weights, value = [], [], "x"
    for layer in range(layers):
        noise = random.standard_normal(weight, dtype=np.float32) / np.float32(np.sqrt(np.prod(weight[1:])))
        weights.append(numpy_helper.from_array(noise, f"w{layer}"))
        nodes += nodes_of(layer, value)
        value = nodes[-1].output[0]
    given, made = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", value))
    graph = helper.make_graph(nodes, "layers", [given], [made], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def multiply(layer: int, value: str) -> list[Any]:
    """Give the nodes of a dense layer."""
    from onnx import helper

    return [
        helper.make_node("MatMul", [value, f"w{layer}"], [f"m{layer}"], f"multiply{layer}"),
        helper.make_node("Tanh", [f"m{layer}"], [f"t{layer}"], f"tanh{layer}"),
    ]


def convolve(layer: int, value: str) -> list[Any]:
    """Give the nodes of a convolution."""
    from onnx import helper

    return [
        helper.make_node("Conv", [value, f"w{layer}"], [f"c{layer}"], f"conv{layer}", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", [f"c{layer}"], [f"r{layer}"], f"relu{layer}"),
    ]


def table_model() -> Any:
    """Make a model that looks up rows of a large table, which no kernel packs."""
    from onnx import TensorProto, helper, numpy_helper

    table = numpy_helper.from_array(np.random.default_rng(1).standard_normal((32768, 1024), dtype=np.float32), "table")
    nodes = [helper.make_node("Gather", ["table", "rows"], ["found"], "look_up"), helper.make_node("Tanh", ["found"], ["y"], "tanh")]
    given = helper.make_tensor_value_info("rows", TensorProto.INT64, [16])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, [16, 1024])
    graph = helper.make_graph(nodes, "table", [given], [made], [table])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def large_models() -> dict[str, str]:
    """Make the models with large weights: heading -> path."""
    import onnx
    import onnx.backend.test

    folder = SCRATCH / "models"
    dense = partial(layered, 32, (1024, 1024), multiply, (8, 1024))
    made = {
        "dense, 128 MiB": save_with_inputs(dense(), folder / "dense.onnx"),
        "dense, 128 MiB in a file beside it": save_with_inputs(
            dense(), folder / "beside" / "dense.onnx", save_as_external_data=True, location="dense.weights"
        ),
        "convolutions, 108 MiB": save_with_inputs(layered(12, (512, 512, 3, 3), convolve, (1, 512, 8, 8)), folder / "convolutions.onnx"),
        "table, 128 MiB": save_with_inputs(table_model(), folder / "table.onnx"),
    }
    light = Path(onnx.backend.test.__file__).parent / "data" / "light"
    for name in LIGHT:
        made[name] = save_with_inputs(onnx.load(str(light / f"{name}.onnx")), folder / f"{name}.onnx")
    return made


def under_exec(command: str, case: str) -> dict[str, Any]:
    """Run the plain Python program under `tensortap exec`."""
    folder = SCRATCH / "exec-dump"
    shutil.rmtree(folder, ignore_errors=True)
    program = [sys.executable, str(ROOT / "bench" / "peer_child.py"), str(MODELS), case, "1", "1", "plain-memory"]
    try:
        return report_of([command, "exec", "--quiet", "--out", str(folder), "--", *program], 600)
    except RuntimeError as error:
        return {"error": str(error)}


def ways(case: str, command: str | None, only_exec: bool) -> dict[str, Callable[[], dict[str, Any]]]:
    """List the ways to run a case."""
    statistics_of_all = {"stats": ["all"]}
    library = {
        "plain": partial(captured_model, case, None, threads=1, runs=3),
        "statistics": partial(captured_model, case, statistics_of_all, threads=1, runs=3),
    }
    found: dict[str, Callable[[], dict[str, Any]]] = {} if only_exec else dict(library)
    found["session"] = partial(child, "peer_child.py", str(MODELS), case, "1", "1", "plain-memory")
    if command is not None:
        found["exec"] = partial(under_exec, command, case)
    return found


def measure(case: str, plan: argparse.Namespace) -> dict[str, float]:
    """Measure one case in all ways, in turn: way -> bytes."""
    values: dict[str, list[float]] = {}
    for _ in range(plan.processes):
        for way, run in ways(case, plan.command, plan.exec_only).items():
            report = run()
            if report.get("error") or "peak_bytes" not in report:
                print(f"{case}, {way}: {report.get('error', report)}", file=sys.stderr)
                continue
            values.setdefault(way, []).append(report["peak_bytes"])
    return {way: statistics.median(found) for way, found in values.items()}


def line(heading: str, found: dict[str, float]) -> str:
    """Write a row of the table."""
    cells = [f"{found[way] / MIB:.0f}" if way in found else "" for way in ("plain", "statistics", "session", "exec")]
    for captured, plain in (("statistics", "plain"), ("statistics", "session"), ("exec", "session")):
        cells.append(f"{found[captured] / found[plain]:.2f}" if captured in found and plain in found else "")
    return f"| {heading} | {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=3, help="processes for each figure (3)")
    parser.add_argument("--command", help="an installed tensortap, to measure exec too")
    parser.add_argument("--exec-only", action="store_true", help="leave out the runs through the library")
    parser.add_argument("--large", action="store_true", help="models with large weights, too")
    parser.add_argument("names", nargs="*")
    plan = parser.parse_args(arguments)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    cases = {case.name: case.name for case in CASES} | (large_models() if plan.large else {})
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; library: {RELEASE.name}\n")
    print("| model | plain, MiB | statistics | session | exec | statistics : plain | statistics : session | exec : session |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for heading, case in cases.items():
        if not plan.names or any(name in heading for name in plan.names):
            print(line(heading, measure(case, plan)), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
