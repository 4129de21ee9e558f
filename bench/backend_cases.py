"""Runs every backend case of the installed package `onnx` with plain ONNX Runtime and with `tensortap run`, and counts.

usage: backend_cases.py [--tensortap COMMAND] [--show] [PATTERN...]

A case that plain ONNX Runtime runs must run under `tensortap run`, too, with the case's own inputs, and its outputs must have the same
bits as the plain run's. PATTERN chooses cases by a part of their names.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

QUIET = {"same", "neither runs it", "only tensortap runs it"}
"""What is as it should be. Python cannot make inputs of float8 and of 2 and 4 bits, so plain ONNX Runtime does not run such cases here."""
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


def cases(patterns: list[str]) -> list[Path]:
    """List the folders of the cases whose names contain one of these."""
    folders = sorted(path.parent for path in DATA.glob("*/*/model.onnx"))
    return [folder for folder in folders if not patterns or any(pattern in folder.name for pattern in patterns)]


def read_value(path: Path, kind: onnx.TypeProto) -> Any:
    """Read one input of a case as its model declares it."""
    data = path.read_bytes()
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind.HasField("map_type"):
        return numpy_helper.to_dict(onnx.MapProto.FromString(data))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def inputs_of(folder: Path) -> dict[str, Any]:
    """Read the first data set of a case. Its files count all inputs, or those that have no value in the model."""
    graph = onnx.load(folder / "model.onnx", load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    files = sorted((folder / "test_data_set_0").glob("input_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    infos = list(graph.input)
    if len(infos) != len(files):
        infos = [info for info in infos if info.name not in weights]
    return {info.name: read_value(path, info.type) for info, path in zip(infos, files, strict=False)}


def flat(name: str, value: Any) -> dict[str, bytes]:
    """Give what `--save-outputs` calls the arrays of a value, with their bytes."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return {f"{name}.keys": np.array(list(value)).tobytes(), f"{name}.values": np.array(list(value.values())).tobytes()}
    if isinstance(value, list):
        return {key: data for place, item in enumerate(value) for key, data in flat(f"{name}[{place}]", item).items()}
    array = np.asarray(value)
    return {name: array.astype(str).tobytes() if array.dtype.kind in "OUS" else array.tobytes()}


def run_plain(folder: Path) -> tuple[dict[str, bytes] | None, str]:
    """Run a case without us: its outputs by name, or None and why it does not run."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        outputs = session.run(None, inputs_of(folder))
    except Exception as error:  # the runtime refuses with exceptions of several classes
        return None, str(error).splitlines()[0][:200]
    names = [output.name for output in session.get_outputs()]
    return {key: data for name, value in zip(names, outputs, strict=True) for key, data in flat(name, value).items()}, ""


def run_tensortap(command: str, folder: Path, scratch: Path) -> tuple[dict[str, bytes], str]:
    """Run a case under capture: its outputs as they were written, and what went wrong."""
    saved = scratch / "outputs"
    words = [command, "run", str(folder / "model.onnx"), "--inputs", str(folder / "test_data_set_0"), "--threads", "1", "--verify"]
    words += ["--runtime", str(Path(onnxruntime.__file__).parent), "--out", str(scratch / "dump"), "--save-outputs", str(saved), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        return {}, f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1][:300] if done.stderr.strip() else ''}"
    written = {}
    for path in saved.glob("*.npy"):
        array = np.load(path, allow_pickle=False)
        written[path.stem] = array.tobytes()
    made = [given["name"] for given in json.loads(done.stdout).get("inputs", []) if given["made"]]
    return written, f"inputs were made: {made}" if made else ""


def check(command: str, folder: Path, plain: tuple[dict[str, bytes] | None, str]) -> tuple[str, str]:
    """Give the verdict on one case, and why."""
    expected, why = plain
    with tempfile.TemporaryDirectory() as scratch:
        written, problem = run_tensortap(command, folder, Path(scratch))
    if expected is None:
        return ("neither runs it", why) if problem else ("only tensortap runs it", why)
    if problem:
        return "only plain runs it", problem
    if sorted(expected.values()) != sorted(written.values()):
        return "outputs differ", f"{sorted(expected)} and {sorted(written)}"
    return "same", ""


def plain_runs(folders: list[Path]) -> list[tuple[dict[str, bytes] | None, str]]:
    """Run all cases plain, in a separate process, since the runtime may crash on one; such a case counts as one that does not run."""
    results: list[tuple[dict[str, bytes] | None, str]] = []
    context = multiprocessing.get_context("spawn")
    while len(results) < len(folders):
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=send_plain_runs, args=(there, folders[len(results) :]))
        child.start()
        there.close()
        try:
            while len(results) < len(folders):
                results.append(here.recv())
        except EOFError:
            results.append((None, "the runtime crashed"))
        child.join()
    return results


def send_plain_runs(pipe: Any, folders: list[Path]) -> None:
    """Run cases and send each result."""
    for folder in folders:
        pipe.send(run_plain(folder))


def sweep(command: str, folders: list[Path]) -> dict[str, list[tuple[str, str]]]:
    """Give the cases by verdict, each with why."""
    plain = plain_runs(folders)
    verdicts: dict[str, list[tuple[str, str]]] = collections.defaultdict(list)
    with ThreadPoolExecutor(2) as threads:
        results = threads.map(lambda pair: check(command, *pair), zip(folders, plain, strict=True))
        for folder, (verdict, why) in zip(folders, results, strict=True):
            verdicts[verdict].append((folder.name, why))
    return dict(verdicts)


def main() -> int:
    """Count, and fail when something does not run that runs plain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensortap", default="tensortap", help="the command")
    parser.add_argument("--show", action="store_true", help="also list the cases that plain ONNX Runtime does not run")
    parser.add_argument("patterns", nargs="*")
    arguments = parser.parse_args()
    verdicts = sweep(arguments.tensortap, cases(arguments.patterns))
    for verdict, found in verdicts.items():
        if verdict in QUIET and not (arguments.show and verdict != "same"):
            continue
        for name, why in found:
            print(f"{verdict}: {name}: {why}")
    total = sum(map(len, verdicts.values()))
    print(f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}: {total} cases")
    for verdict, found in sorted(verdicts.items()):
        print(f"{len(found):6} {verdict}")
    return 0 if set(verdicts) <= QUIET else 1


if __name__ == "__main__":
    sys.exit(main())
