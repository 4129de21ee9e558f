"""Real models out of released packages: same bits, captured tensors equal to fetched ones, same executed nodes."""

from __future__ import annotations

import wave
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime_api as api
import pytest
from case_table import each_row

pytestmark = pytest.mark.skipif(not api.MODELS.is_dir() or not api.RUNTIMES.is_dir(), reason="no models or runtimes: run ./dev setup")

Array = npt.NDArray[Any]
OCR = "rapidocr/rapidocr/models/"
SILERO = "silero_vad/silero_vad/data/"
SMART_TURN = "pipecat_ai/pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx"


def noise(*shape: int) -> Array:
    return np.random.default_rng(5).standard_normal(shape, dtype=np.float32) * np.float32(0.5)


def file_bytes() -> Array:
    return np.random.default_rng(5).integers(0, 256, (1, 2048)).astype(np.int32)


REAL: dict[str, tuple[str, dict[str, Array]]] = {
    "magika": ("magika/magika/models/standard_v3_3/model.onnx", {"bytes": file_bytes()}),
    "silero": (SILERO + "silero_vad.onnx", {"input": noise(1, 576), "state": noise(2, 1, 128), "sr": np.array(16000)}),
    "silero_half": (SILERO + "silero_vad_half.onnx", {"input": noise(1, 576), "state": noise(2, 1, 128)}),
    "basic_pitch": ("basic_pitch/basic_pitch/saved_models/icassp_2022/nmp.onnx", {"serving_default_input_2:0": noise(1, 43844, 1)}),
    "ocr_det": (OCR + "PP-OCRv6_det_small.onnx", {"x": noise(1, 3, 320, 320)}),
    "ocr_rec": (OCR + "PP-OCRv6_rec_small.onnx", {"x": noise(1, 3, 48, 320)}),
    "ocr_cls": (OCR + "ch_ppocr_mobile_v2.0_cls_mobile.onnx", {"x": noise(1, 3, 48, 192)}),
    "smart_turn": (SMART_TURN, {"input_features": noise(1, 80, 800)}),
}


def speech(chunk: int = 512) -> list[Array]:
    """Read the spoken sentence of pipecat as silero wants it: 16 kHz, windows of 512 with 64 samples before each."""
    with wave.open(api.model("pipecat_ai/pipecat/services/aws/nova_sonic/ready.wav")) as sound:
        rate = sound.getframerate()
        samples = np.frombuffer(sound.readframes(sound.getnframes()), np.int16)[:: sound.getnchannels()].astype(np.float32) / 32768
    if rate != 16000:
        samples = np.interp(np.arange(0, len(samples), rate / 16000), np.arange(len(samples)), samples).astype(np.float32)
    padded = np.concatenate([np.zeros(64, np.float32), samples])
    return [padded[i : i + chunk + 64][None] for i in range(0, len(padded) - chunk - 64, chunk)]


@each_row("version", ["1.31.1", "1.25.1", "1.19.2"])
@each_row("name", REAL)
def test_a_real_model_gives_the_same_bits_and_runs_the_same_nodes(name: str, version: str, tmp_path: Path) -> None:
    path, inputs = REAL[name]
    if version != api.NEWEST and name not in ("magika", "silero", "ocr_cls", "smart_turn"):
        pytest.skip("older releases run a part of the models")
    outcome = api.run(
        api.model(path), inputs, runtime=api.runtime(version), verify=True, config=api.config(tmp_path / "dump", "statistics")
    )
    assert outcome.status == 0, outcome.report
    report = outcome.report
    assert report["identical"] is True, report["notes"]
    assert report["executed_nodes_equal"] is True, report["notes"]
    assert report["tap_kind"] == "side"
    assert report["source"] == f"onnxruntime {version}"
    assert report["lost"] == 0
    if "silero" not in name:
        assert report["ops"]["captured"] == report["ops"]["expected"], report["ops"]["not_captured"]


def blocked_values(graph: Any) -> set[str]:
    """Name the values whose channels ONNX Runtime holds in blocks: made by its own operators, and passed on by those that read them."""
    blocked: set[str] = set()
    for node in graph.node:
        own = node.domain == "com.microsoft.nchwc"
        if node.op_type != "ReorderOutput" if own else blocked.intersection(node.input):
            blocked.update(node.output)
    return blocked


BLOCK = 16 if "avx512f" in Path("/proc/cpuinfo").read_text() else 8
"""Channels of a block on this machine."""


def plain_order(stored: Array) -> Array:
    """Undo the blocks: [N, C / block, H, W, block] back to [N, C, H, W]; a Reshape of the runtime shows the former as five dims."""
    if stored.ndim not in (4, 5):
        return stored
    images, channels, height, width = stored.shape[:4]
    if stored.ndim == 5:
        channels *= BLOCK
    turned = stored.reshape(images, channels // BLOCK, height, width, BLOCK).transpose(0, 1, 4, 2, 3)
    return np.ascontiguousarray(turned).reshape(images, channels, height, width)


@each_row("name", ["magika", "ocr_cls", "smart_turn", "silero_half"])
def test_captured_tensors_equal_fetched_ones(name: str, tmp_path: Path) -> None:
    """Every tensor of the optimised graph fetched as an output by ONNX Runtime's own Python module is what the dump holds."""
    onnxruntime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    path, inputs = REAL[name]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    onnxruntime.InferenceSession(api.model(path), options, providers=["CPUExecutionProvider"])
    graph = onnx.load(str(tmp_path / "optimized.onnx"))
    known = {output.name for output in graph.graph.output}
    names = [out for node in graph.graph.node for out in node.output if out]
    graph.graph.output.extend(onnx.ValueInfoProto(name=out) for out in names if out not in known)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
    fetched = dict(zip([out.name for out in session.get_outputs()], session.run(None, dict(inputs)), strict=True))

    outcome = api.run(api.model(path), inputs, config=api.config(tmp_path / "dump", "tensor"))
    assert outcome.status == 0, outcome.report
    ops = {op["name"]: op for op in api.describe(api.model(path)).report["ops"]}
    records = np.load(tmp_path / "dump" / "records.npy", mmap_mode="r")
    listed = [op for op in ops.values() if not op["graph"] and op["type"] not in ("Input", "Initializer")]
    assert sum(len([out for out in op["outputs"] if out]) for op in listed) == len(names)
    with np.load(tmp_path / "dump" / "tensors.npz") as tensors:
        captured = sorted(array.tobytes() for array in (tensors[key] for key in tensors.files))
    assert len(records) > 0
    held = set(captured)
    blocked = blocked_values(graph.graph)

    def is_held(out: str) -> bool:
        if out not in blocked:
            return fetched[out].tobytes() in held
        # How many channels are the author's is for onnxruntime_blocks_test.py.
        in_order = plain_order(fetched[out])
        return any(np.ascontiguousarray(in_order[:, : in_order.shape[1] - more]).tobytes() in held for more in range(BLOCK))

    assert [out for out in names if not is_held(out)] == []


def test_speech_is_found_with_state_carried_from_step_to_step(tmp_path: Path) -> None:
    chunks = speech()
    steps = [{"input": chunk} for chunk in chunks]
    steps[0] |= {"state": np.zeros((2, 1, 128), np.float32)}
    outcome = api.run(
        api.model(SILERO + "silero_vad.onnx"),
        {"sr": np.array(16000)},
        steps,
        runs=len(chunks),
        carry={"stateN": "state"},
        verify=True,
        config=api.config(tmp_path / "dump", "statistics"),
    )
    assert outcome.status == 0, outcome.report
    assert outcome.report["identical"] is True
    assert outcome.report["steps"] == len(chunks)
    probability = [float(outcome.outputs[step, "output"].item()) for step in range(len(chunks))]
    assert probability[0] < 0.2
    assert max(probability) > 0.9
    assert probability[-1] < 0.5
    # Without the carried state the model hears another thing.
    alone = api.run(
        api.model(SILERO + "silero_vad.onnx"),
        {"sr": np.array(16000), "state": np.zeros((2, 1, 128), np.float32)},
        steps,
        runs=len(chunks),
        capture=False,
    )
    assert [float(alone.outputs[step, "output"].item()) for step in range(len(chunks))] != probability


# M14
def test_blocked_convolutions_leave_tensors_in_the_order_of_their_dims(tmp_path: Path) -> None:
    """The dump of the optimised graph contains what the author's graph computes without optimisation, channel by channel."""
    onnxruntime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    rng = np.random.default_rng(11)
    weights = {
        "w1": rng.standard_normal((32, 3, 3, 3)).astype(np.float32) * np.float32(0.2),
        "w2": rng.standard_normal((32, 32, 3, 3)).astype(np.float32) * np.float32(0.1),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], name="first", pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["a"], ["s"], name="gate"),
        helper.make_node("Mul", ["a", "s"], ["g"], name="swish"),
        helper.make_node("Conv", ["g", "w2"], ["b"], name="second", pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["b"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Neg", ["p"], ["y"], name="last"),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", 1, [2, 3, 10, 14])],
        [value("y", 1, [2, 32, 5, 7])],
        [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(tmp_path / "m.onnx"))
    x = rng.standard_normal((2, 3, 10, 14)).astype(np.float32)
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in "asgbp")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    plain = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    expected = dict(zip([out.name for out in plain.get_outputs()], plain.run(None, {"x": x}), strict=True))

    outcome = api.run(tmp_path / "m.onnx", {"x": x}, config=api.config(tmp_path / "dump", "full"))
    assert outcome.status == 0, outcome.report
    with np.load(tmp_path / "dump" / "tensors.npz") as tensors:
        captured = [tensors[key] for key in tensors.files]
    for name in "abpy":
        same = [
            array for array in captured if array.shape == expected[name].shape and np.allclose(array, expected[name], rtol=1e-3, atol=1e-4)
        ]
        assert same, name
