"""A program that runs models with ONNX Runtime under `tensortap exec` is as it was: it sees its own calls alone.

Each program prints what it sees. It runs plainly and under `tensortap exec`, and both print the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from exec_onnxruntime_support import compare, write_program
from onnx import helper, numpy_helper

pytest.importorskip("onnxruntime")

CALLS = """
import inspect, re, threading, traceback, warnings
sys.stderr = sys.stdout
warnings.simplefilter("always")
def names():
    return [(frame.filename.rpartition("/")[2], frame.function) for frame in inspect.stack()[1:]]
def fails(call):
    try:
        call()
    except BaseException as error:
        print(re.sub("0x[0-9a-f]+", "0x", "".join(traceback.format_exception(error))))
class Looks:
    def __init__(self, error=None):
        self.error = error
    def __float__(self):
        print(names())
        for level in range(1, 6):
            warnings.warn(f"level {level}", stacklevel=level)
        if self.error is not None:
            raise self.error
        return 1.0
def looks(error=None):
    return [[Looks(error), 2.0, 3.0], [4.0, 5.0, 6.0]]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    session = ort.InferenceSession("model.onnx", providers=["CPUExecutionProvider", "CPUExecutionProvider"])
print([(warning.filename, warning.lineno, str(warning.message)) for warning in caught])
x = feed("float32", (2, 3))
print(sorted(vars(session)))
session.run(None, {"x": x})
session.run(None, {"x": looks()})
session._sess.run(["y"], {"x": looks()}, None)
fails(lambda: session.run(None, {"x": looks(ValueError("not today"))}))
fails(lambda: session.run(None, {"x": looks(KeyboardInterrupt())}))
fails(lambda: session.run(None, {"x": x[0]}))
fails(lambda: session.run(None, {}))
fails(lambda: session.run(["z"], {"x": x}))
fails(lambda: session._sess.run())
fails(lambda: session.run(None, {"x": feed("float32", (3, 3))}))
fails(lambda: session.run_with_ort_values(["y"], {"x": 1}))
fails(lambda: session.run_with_ort_values(["y"], {"x": ort.OrtValue.ortvalue_from_numpy(x[0])}))
binding = session.io_binding()
fails(lambda: session.run_with_iobinding(binding))
done = threading.Event()
session.run_async(None, {"x": x}, lambda results, _, error: (print(len(results), names()), done.set()), None)
done.wait(20)
fails(lambda: ort.InferenceSession("missing.onnx"))
fails(lambda: ort.InferenceSession(b"nothing"))
fails(lambda: ort.InferenceSession("model.onnx", providers=["None"], enable_fallback=0))
fails(lambda: ort.InferenceSession("model.onnx", providers=3))
fails(lambda: ort.SessionOptions().add_initializer("w"))
seen = []
def trace(frame, event, _):
    seen.append((event, frame.f_code.co_filename.rpartition("/")[2], frame.f_code.co_name))
    return trace
sys.settrace(trace)
session.run(None, {"x": x})
sys.settrace(None)
sys.setprofile(lambda frame, event, argument: seen.append((event, frame.f_code.co_name, getattr(argument, "__qualname__", ""))))
session.run(None, {"x": x})
sys.setprofile(None)
print(len(seen), seen)
native = type(session._sess)
for method in (native.run, native.run_with_iobinding, native.run_with_ort_values, ort.SessionOptions.add_initializer):
    print(type(method), method.__name__, method.__qualname__, method.__module__, method.__doc__, type(method.__self__))
print(type(vars(native)["run"]), inspect.isbuiltin(native.run))
fails(lambda: session.set_providers(["CPUExecutionProvider"], 3))
"""


def failing_model(path: Path) -> Path:
    """Save a model that takes inputs of any number of rows and fails at run time for other numbers than two."""
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["rows"], name="reshape"),
        helper.make_node("Softmax", ["rows"], ["y"], name="softmax"),
    ]
    value = helper.make_tensor_value_info
    inputs, outputs = [value("x", onnx.TensorProto.FLOAT, ["n", 3])], [value("y", onnx.TensorProto.FLOAT, ["a", "b"])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.array([3, 2], np.int64), "shape")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_the_program_sees_its_own_calls_alone(tmp_path: Path) -> None:
    failing_model(tmp_path / "model.onnx")
    captured, dump = compare(write_program(tmp_path, CALLS))
    assert captured.code == 0
    assert "UserWarning: level 4" in captured.out
    assert "Duplicate provider" in captured.out
    assert "ValueError: not today" in captured.out
    assert dump.steps()
