"""Checks what dumps of ONNX models say about the author's nodes, by values, and writes the table of docs/onnxruntime.md.

usage: provenance.py [--models FOLDER] [--output FILE] [--backend] [NAME...]

An op's last original must make the op's first output: the author's graph runs without optimisation on the same input, node by node,
and each result is compared with what the dump holds. A value that was found equal is replaced by the dump's, so that what kernels
round differently does not add up.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import re
import sys
import tempfile
import wave
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import provenance_models
import tensortap
from onnx import helper

Array = npt.NDArray[Any]
Inputs = dict[str, Array]
OCR = "rapidocr/rapidocr/models/"
SILERO = "silero_vad/silero_vad/data/"
ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- bench/provenance.py writes from here -->", "<!-- to here -->"
PSEUDO = ("Input", "Initializer")
CALL = re.compile(r"(?<=:out\d)@.*|(?<=:out\d\d)@.*")  # which step and call, at the end of a record's name
MOST_AXES = 6
# Processors without VNNI instructions clip sums of eight-bit products otherwise, and fused ops others than single ones.
EXACT = {"session.x64quantprecision": "1"}
EIGHT_BITS = ("MatMulNBits", "DynamicQuantizeMatMul", "MatMulInteger")  # kernels that round what they read to 8 bits


@dataclass
class Count:
    """How the executed ops of one model came out."""

    model: str
    made: int = 0  # the last original makes the value
    moved: int = 0  # of these, in another layout or shape
    inserted: int = 0
    unknown: int = 0
    unchecked: int = 0  # originals are listed, but values cannot be compared
    wrong: list[str] = field(default_factory=list)
    inserted_types: collections.Counter[str] = field(default_factory=collections.Counter)

    @property
    def ops(self) -> int:
        """All executed ops."""
        return self.made + self.inserted + self.unknown + self.unchecked + len(self.wrong)


def noise(*shape: int) -> Array:
    """Make normally distributed input, the same in every run."""
    return np.random.default_rng(5).standard_normal(shape, dtype=np.float32) * np.float32(0.5)


def speech(models: Path) -> Array:
    """Give a window of the spoken sentence of pipecat, as silero wants it."""
    with wave.open(str(models / "pipecat_ai/pipecat/services/aws/nova_sonic/ready.wav")) as sound:
        samples = np.frombuffer(sound.readframes(sound.getnframes()), np.int16)[:: sound.getnchannels()]
    return (samples[8000:8576].astype(np.float32) / 32768)[None]


def released(models: Path) -> dict[str, tuple[Path, Inputs]]:
    """List the models out of released packages, with input."""
    state = np.zeros((2, 1, 128), np.float32)
    text = np.random.default_rng(5).integers(0, 256, (1, 2048)).astype(np.int32)
    listed: dict[str, tuple[str, Inputs]] = {
        "magika": ("magika/magika/models/standard_v3_3/model.onnx", {"bytes": text}),
        "silero_vad": (SILERO + "silero_vad.onnx", {"input": speech(models), "state": state, "sr": np.array(16000)}),
        "silero_vad_half": (SILERO + "silero_vad_half.onnx", {"input": speech(models), "state": state}),
        "basic_pitch": ("basic_pitch/basic_pitch/saved_models/icassp_2022/nmp.onnx", {"serving_default_input_2:0": noise(1, 43844, 1)}),
        "PP-OCRv6_det": (OCR + "PP-OCRv6_det_small.onnx", {"x": noise(1, 3, 160, 160)}),
        "PP-OCRv6_rec": (OCR + "PP-OCRv6_rec_small.onnx", {"x": noise(1, 3, 48, 320)}),
        "ppocr_cls": (OCR + "ch_ppocr_mobile_v2.0_cls_mobile.onnx", {"x": noise(1, 3, 48, 192)}),
        "smart_turn": (
            "pipecat_ai/pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
            {"input_features": noise(1, 80, 800)},
        ),
    }
    return {name: (models / path, inputs) for name, (path, inputs) in listed.items()}


def is_floating(array: Array) -> bool:
    """Say whether the elements are floating numbers, ml_dtypes' included."""
    return array.dtype.kind in "fV"


def is_close(held: Array, expected: Array, tolerance: float) -> bool:
    """Compare element by element, relative to the largest."""
    if not is_floating(expected):
        difference = 1 if expected.dtype.itemsize == 1 and expected.dtype.kind in "iu" else 0  # a half may be rounded either way
        return bool(np.all(np.abs(held.astype(np.float64) - expected.astype(np.float64)) <= difference))
    wide = expected.astype(np.float64)
    size = float(np.max(np.abs(wide[np.isfinite(wide)]), initial=0.0))
    return bool(np.allclose(held.astype(np.float64), wide, rtol=tolerance, atol=tolerance * size / 4, equal_nan=True))


def arrangements(held: Array, shape: tuple[int, ...]) -> Iterator[Array]:
    """Give the array in the other orders of its axes that can have this shape, each with that shape."""
    without_ones = [axis for axis in range(held.ndim) if held.shape[axis] != 1]
    if held.size != np.prod(shape, dtype=np.int64) or len(without_ones) > MOST_AXES:
        return
    squeezed = held.reshape([held.shape[axis] for axis in without_ones])
    for order in itertools.permutations(range(squeezed.ndim)):
        yield squeezed.transpose(order).reshape(shape)


def compare(held: Array, expected: Array, tolerance: float) -> tuple[str, Array | None]:
    """Say "same", "moved" (the same elements in another order or shape) or "other", and give the array as the author's graph has it."""
    if held.dtype.kind in "OUS" or expected.dtype.kind in "OUS":
        return ("same", held) if [str(x) for x in held.ravel()] == [str(x) for x in expected.ravel()] else ("other", None)
    if is_floating(held) and held.dtype.itemsize == 1 and expected.dtype == np.uint8:
        expected = expected.view(held.dtype)  # how the runtime's Python gives numbers of eight bits
    if is_floating(held) != is_floating(expected) or (not is_floating(held) and held.dtype != expected.dtype):
        return "other", None
    if held.shape == expected.shape and is_close(held, expected, tolerance):
        return "same", held
    for moved in arrangements(held, expected.shape):
        if is_close(moved, expected, tolerance):
            return "moved", moved
    # Several Reshapes and Transposes in a row: the elements alone.
    in_order = [np.sort(array.ravel().astype(np.float64 if is_floating(array) else array.dtype)) for array in (held, expected)]
    same = held.size == expected.size and is_close(in_order[0], in_order[1], tolerance)
    return ("moved" if same else "other"), None


def tolerance_of(op: tensortap.Op, held: Array, expected: Array) -> float:
    """Say what the coarser of the two types, or of those that the kernel rounds to, can tell apart after some sums."""
    if op.type in EIGHT_BITS:
        return 1e-1
    return 2e-2 if 2 in (held.dtype.itemsize, expected.dtype.itemsize) else 2e-3


def options() -> onnxruntime.SessionOptions:
    """Give options under which a graph runs as it is written."""
    plain = onnxruntime.SessionOptions()
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    plain.intra_op_num_threads = 1
    plain.log_severity_level = 4
    for key, value in EXACT.items():
        plain.add_session_config_entry(key, value)
    return plain


def outer_values(graph: Any) -> set[str]:
    """Name what a nested graph reads of the graphs round it."""
    own = {value.name for value in [*graph.input, *graph.initializer]} | {name for node in graph.node for name in node.output}
    read = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
    for node in graph.node:
        for body in bodies(node).values():
            read |= outer_values(body)
    return read - own - {""}


def bodies(node: Any) -> dict[str, Any]:
    """Give the nested graphs of a node by attribute."""
    return {attribute.name: attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH}


class Checker:
    """Runs the author's graph and compares it with the records of a dump."""

    def __init__(self, model: Any, dump: tensortap.Dump, name: str) -> None:
        self.model = model
        self.count = Count(name)
        self.records = {CALL.sub("", record): record for record in reversed(list(dump))}
        self.dump = dump
        self.by_graph: dict[str, list[tensortap.Op]] = collections.defaultdict(list)
        self.seen: set[str] = set()
        for op in dump.ops:
            if op.type not in PSEUDO:
                self.by_graph[op.graph].append(op)

    def held(self, op: tensortap.Op) -> Array | None:
        """Give the first output of an op, None where the dump does not have it."""
        record = self.records.get(f"{op.name}:out{next((i for i, name in enumerate(op.outputs) if name), 0)}")
        try:
            return None if record is None else self.dump[record]
        except (tensortap.Error, KeyError):
            return None

    def run(self, inputs: Inputs) -> Count:
        """Check all ops."""
        self.graph(self.model.graph, "", dict(inputs))
        for ops in self.by_graph.values():
            for op in ops:
                if op.name not in self.seen and self.ran(op):
                    self.settle(op, None)
        return self.count

    def ran(self, op: tensortap.Op) -> bool:
        """Say whether an op ran: those of branches that were not taken have no record."""
        return not op.graph or any(f"{op.name}:out{slot}" in self.records for slot in range(len(op.outputs)))

    def settle(self, op: tensortap.Op, verdict: str | None) -> None:
        """Count an op whose last original's values were compared, or could not be."""
        self.seen.add(op.name)
        if op.inserted_by_runtime:
            self.count.inserted += 1
            self.count.inserted_types[op.type] += 1
        elif not op.originals:
            self.count.unknown += 1
        elif verdict is None:
            self.count.unchecked += 1
        elif verdict == "other":
            last = op.originals[-1]
            self.count.wrong.append(f"{op.name} ({op.type}) does not hold what {last.name} ({last.type}) makes")
        else:
            self.count.made += 1
            self.count.moved += verdict == "moved"

    def evaluate(self, node: Any, values: Inputs) -> dict[str, Array]:
        """Run one node on values that are known; nothing when that is not possible."""
        read = {name for name in node.input if name}.union(*(outer_values(body) for body in bodies(node).values()))
        if any(name not in values for name in read):
            return {}
        given = []
        for name in sorted(read):
            value = values[name]
            given.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        wanted = [name for name in node.output if name]
        graph = helper.make_graph([node], "one", given, [onnx.ValueInfoProto(name=name) for name in wanted])
        alone = helper.make_model(
            graph, opset_imports=self.model.opset_import, functions=self.model.functions, ir_version=self.model.ir_version
        )
        try:
            session = onnxruntime.InferenceSession(alone.SerializeToString(), options(), providers=["CPUExecutionProvider"])
            made = session.run(wanted, {name: values[name] for name in sorted(read)})
        except Exception:  # whatever the runtime or its Python module refuses
            return {}
        return {name: value for name, value in zip(wanted, made, strict=True) if isinstance(value, np.ndarray)}

    def graph(self, graph: Any, path: str, values: Inputs) -> None:
        """Check the ops of one graph, then those of the branches that were taken."""
        for weight in graph.initializer:
            values[weight.name] = onnx.numpy_helper.to_array(weight)
        claims: dict[str, list[tensortap.Op]] = collections.defaultdict(list)
        for op in self.by_graph[path]:
            if op.originals:
                claims[op.originals[-1].name].append(op)
        for node in graph.node:
            made = self.evaluate(node, values)
            values.update(made)
            ops = claims.get(node.name or next(name for name in node.output if name), [])
            for op in ops:
                if op.originals[-1].type == node.op_type:
                    self.compare(op, made, values)
            for attribute, body in bodies(node).items():
                taken = node.op_type == "If" and attribute == ("then_branch" if values[node.input[0]].item() else "else_branch")
                for op in self.by_graph[path]:
                    if taken and op.type == "If" and node.name in {original.name for original in op.originals}:
                        self.graph(body, "/".join([op.name, attribute]), dict(values))

    def compare(self, op: tensortap.Op, made: dict[str, Array], values: Inputs) -> None:
        """Compare what an op holds with what its last original makes."""
        held = self.held(op)
        if held is None or not made:
            return
        verdicts = {name: compare(held, value, tolerance_of(op, held, value)) for name, value in made.items()}
        best = min(verdicts, key=lambda name: ["same", "moved", "other"].index(verdicts[name][0]))
        verdict, aligned = verdicts[best]
        self.settle(op, verdict)
        if aligned is not None and aligned.dtype == made[best].dtype:
            values[best] = np.ascontiguousarray(aligned)


def made_inputs(model: Any) -> Inputs:
    """Make input for a small model."""
    return {
        value.name: noise(*(dim.dim_value for dim in value.type.tensor_type.shape.dim)).astype(
            helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        )
        for value in model.graph.input
    }


def check(name: str, path: Path, inputs: Inputs, **more: Any) -> Count:
    """Capture a model and check what the dump says about its origins."""
    with tempfile.TemporaryDirectory() as folder:
        result = tensortap.run(
            path, inputs, out=Path(folder) / "dump", payload="tensors", threads=1, keep_free=0, session_config=EXACT, **more
        )
        return Checker(onnx.load(str(path)), result.dump, name).run(inputs)


def check_small(name: str, folder: Path, **more: Any) -> Count:
    """Check one of provenance_models.MODELS."""
    model = provenance_models.MODELS[name]()
    onnx.save(model, str(folder / "model.onnx"))
    return check(name, folder / "model.onnx", made_inputs(model), **more)


def backend_inputs(model: Any, data: Path) -> Inputs | None:
    """Read the tensors of a test data set; None where an input is something else."""
    inputs = {}
    for number, value in enumerate(model.graph.input):
        file = data / f"input_{number}.pb"
        if not value.type.HasField("tensor_type"):
            return None
        if file.exists():
            inputs[value.name] = onnx.numpy_helper.to_array(onnx.TensorProto.FromString(file.read_bytes()))
    return inputs


def check_backend() -> Count:
    """Check the cases that the onnx package tests runtimes with, all in one count; cases that cannot run are left out."""
    total = Count("")
    models = 0
    for path in sorted((Path(onnx.__file__).parent / "backend/test/data").glob("*/*/model.onnx")):
        try:
            model = onnx.load(str(path))
            inputs = backend_inputs(model, path.parent / "test_data_set_0")
            one = check(path.parent.name, path, inputs) if inputs is not None else None
        except Exception:  # whatever the runtime, its Python module or onnx refuses
            continue
        if one is None:
            continue
        models += 1
        for field_name in ("made", "moved", "inserted", "unknown", "unchecked"):
            setattr(total, field_name, getattr(total, field_name) + getattr(one, field_name))
        total.wrong += [f"{one.model}: {text}" for text in one.wrong]
        total.inserted_types += one.inserted_types
    total.model = f"onnx's backend cases ({models})"
    return total


def table(counts: list[Count]) -> str:
    """Write the counts as a table of Markdown."""
    columns = (
        "model",
        "executed ops",
        "last original makes the value",
        "of these in another layout",
        "inserted",
        "unknown",
        "not compared",
        "wrong",
    )
    lines = [f"| {' | '.join(columns)} |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for one in counts:
        numbers = (one.ops, one.made, one.moved, one.inserted, one.unknown, one.unchecked, len(one.wrong))
        lines.append(f"| {one.model} | {' | '.join(str(number) for number in numbers)} |")
    types = sum((one.inserted_types for one in counts), collections.Counter[str]())
    named = ", ".join(f"{kind} {number}" for kind, number in types.most_common())
    lines += ["", f"ONNX Runtime {onnxruntime.__version__}, default level, 1 thread. Inserted: {named}."]
    return "\n".join(lines)


def main() -> int:
    """Check, print, and write the table when asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, default=ROOT / "build" / "assets" / "models")
    parser.add_argument("--output", type=Path, help="the page whose table is replaced")
    parser.add_argument("--backend", action="store_true", help="the cases of the onnx package, too")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    real = released(asked.models)
    counts = []
    for name in asked.names or [*real, *provenance_models.MODELS]:
        with tempfile.TemporaryDirectory() as folder:
            counts.append(check(name, *real[name]) if name in real else check_small(name, Path(folder)))
        print(
            f"{name}: {counts[-1].ops} ops, {counts[-1].made} made, {counts[-1].unknown} unknown", *counts[-1].wrong, sep="\n  ", flush=True
        )
    if asked.backend:
        counts.append(check_backend())
        print(counts[-1].model, *counts[-1].wrong, sep="\n  ", flush=True)
    print(table(counts))
    if asked.output is not None:
        page = asked.output.read_text()
        before, rest = page.split(BEGIN)
        asked.output.write_text(f"{before}{BEGIN}\n\n{table(counts)}\n\n{END}{rest.split(END)[1]}")
    return 1 if any(one.wrong for one in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
