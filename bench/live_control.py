"""What a program costs under `tensortap exec --idle`, and how soon `tensortap set` takes effect.

    python bench/live_control.py --python build/venv-torch/bin/python [--pairs 5]

Runs a training step of a small transformer (PyTorch) and a chain of matrix products (ONNX Runtime) in separate processes, plain and idle in
ABBA order, and compares CPU time. The command is that of TENSORTAP_COMMAND, or of the build folder.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from children import report_of

ROOT = Path(__file__).resolve().parent.parent
COMMAND = os.environ.get("TENSORTAP_COMMAND") or str(ROOT / "build/release/src/cli/tensortap")

MEASURE = """
import json, statistics, sys, time
def measure(step):
    for _ in range(WARM):
        step()
    seconds = []
    for _ in range(BURSTS):
        begin = time.process_time()
        for _ in range(STEPS):
            step()
        seconds.append((time.process_time() - begin) / STEPS)
    print(json.dumps({"seconds": statistics.median(seconds)}), flush=True)
"""

TORCH = """
import torch
sys.path.insert(0, PROGRAMS)
from torch_programs import Block
torch.manual_seed(0); torch.set_num_threads(1)
net = torch.nn.Sequential(*[Block(64, 4) for _ in range(4)])
optimizer = torch.optim.AdamW(net.parameters(), 1e-4)
x = torch.randn(8, 32, 64)
def step():
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()
"""

ONNX = """
import numpy as np, onnx, onnxruntime
from onnx import TensorProto, helper, numpy_helper
rng = np.random.default_rng(0)
weights = [numpy_helper.from_array((rng.standard_normal((128, 128)) / 12).astype(np.float32), f"w{i}") for i in range(8)]
names = ["x"] + [f"h{i}" for i in range(15)] + ["y"]
nodes = []
for i in range(8):
    nodes.append(helper.make_node("MatMul", [names[2 * i], f"w{i}"], [names[2 * i + 1]], name=f"matmul_{i}"))
    nodes.append(helper.make_node("Tanh", [names[2 * i + 1]], [names[2 * i + 2]], name=f"tanh_{i}"))
value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [32, 128])
graph = helper.make_graph(nodes, "g", [value("x")], [value("y")], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model.SerializeToString(), options)
x = np.ones((32, 128), np.float32)
step = lambda: session.run(None, {"x": x})
"""

RUNTIMES = {"pytorch": (TORCH, 20, 30, 10), "onnxruntime": (ONNX, 100, 30, 100)}
"""Program, steps to warm up, bursts, steps of a burst."""


def write_program(folder: Path, runtime: str, last: str) -> Path:
    """Write the program of a runtime; `last` is what it does with its step."""
    text, warm, bursts, steps = RUNTIMES[runtime]
    head = f"PROGRAMS, WARM, BURSTS, STEPS = {str(ROOT / 'bench')!r}, {warm}, {bursts}, {steps}\n"
    path = folder / f"{runtime}_{last.partition('(')[0]}.py"
    path.write_text(head + MEASURE + text + last + "\n")
    return path


def idle_ratio(python: str, runtime: str, pairs: int) -> list[float]:
    """CPU time of an idle program to that of a plain one, of each pair."""
    ratios = []
    with tempfile.TemporaryDirectory() as name:
        program = write_program(Path(name), runtime, "measure(step)")
        for pair in range(pairs):
            times: dict[bool, list[float]] = {False: [], True: []}
            for number, idle in enumerate((False, True, True, False) if pair % 2 == 0 else (True, False, False, True)):
                words = [python, str(program)]
                if idle:
                    words = [COMMAND, "exec", "--idle", "--quiet", "--out", f"{name}/dump-{pair}-{number}", "--", *words]
                times[idle].append(report_of(words, 300)["seconds"])
            ratios.append(sum(times[True]) / sum(times[False]))
    return ratios


def set_latencies(python: str, runtime: str, count: int) -> list[float]:
    """Seconds that `tensortap set` takes until the program has taken the change."""
    seconds = []
    with tempfile.TemporaryDirectory() as name:
        program = write_program(Path(name), runtime, "for _ in range(10**9): step()")
        words = [COMMAND, "exec", "--idle", "--quiet", "--out", f"{name}/dump", "--", python, str(program)]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for number in range(count + 1):
                begin = time.monotonic()
                change = ["--ops", "matmul|mm", "--steps", "now"] if number % 2 == 0 else ["--off"]
                done = subprocess.run(
                    [COMMAND, "set", str(process.pid), *change, "--wait", "120", "--json"], capture_output=True, text=True, check=False
                )
                if done.returncode != 0:
                    raise RuntimeError(done.stderr)
                # The first one also waits for the program's start.
                if number > 0:
                    seconds.append(time.monotonic() - begin)
                time.sleep(0.05 * (number % 7))
        finally:
            process.terminate()
            process.wait()
    return seconds


def main() -> int:
    """Print a JSON object for each runtime."""
    parser = argparse.ArgumentParser(description="Measures the cost of an idle capture and the delay of a change.")
    parser.add_argument("--python", default=os.environ.get("TENSORTAP_TEST_PYTHON", sys.executable), help="a Python that has PyTorch")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--changes", type=int, default=10)
    options = parser.parse_args()
    for runtime in RUNTIMES:
        python = options.python if runtime == "pytorch" else sys.executable
        ratios = idle_ratio(python, runtime, options.pairs)
        latencies = set_latencies(python, runtime, options.changes)
        print(
            json.dumps(
                {
                    "runtime": runtime,
                    "idle_to_plain": round(statistics.median(ratios), 4),
                    "pairs": [round(ratio, 4) for ratio in ratios],
                    "set_seconds_median": round(statistics.median(latencies), 3),
                    "set_seconds_most": round(max(latencies), 3),
                    "load": os.getloadavg()[0],
                }
            ),
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
