"""Settings that change numbers: what run.json has of them, and what `compare` says of two dumps that differ in one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli_support import small_model, tensortap
from torch_support import Captured, capture, plain

PROGRAM = """
import sys, warnings, torch
warnings.simplefilter("error")
torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Linear(4, 4)
torch.nn.init.ones_(net.weight)
torch.nn.init.ones_(net.bias)
print(net(torch.ones(2, 4)).sum().item())
if "change" in sys.argv:
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.enable_flash_sdp(False)
    torch.set_default_dtype(torch.float64)
    torch.set_float32_matmul_precision("high")
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Captured]]:
    """Run the program with and without changes at its end."""
    made = {}
    for word in ("keep", "change"):
        folder = tmp_path_factory.mktemp(word)
        done = capture(folder, PROGRAM, word, options=["--full"])
        assert done.code == 0, done.err
        made[word] = folder / "dump", done
    return made


def test_the_manifest_has_the_settings(runs: dict[str, tuple[Path, Captured]], tmp_path: Path) -> None:
    asked = """
import json, torch
torch.set_num_threads(1)
print(json.dumps({
    "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
    "threads": torch.get_num_threads(),
    "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
    "cudnn.benchmark": torch.backends.cudnn.benchmark,
    "cudnn.deterministic": torch.backends.cudnn.deterministic,
    "attention.flash": torch.backends.cuda.flash_sdp_enabled(),
    "attention.math": torch.backends.cuda.math_sdp_enabled(),
    "attention.memory_efficient": torch.backends.cuda.mem_efficient_sdp_enabled(),
    "autocast_dtype.cpu": str(torch.get_autocast_dtype("cpu")).removeprefix("torch."),
    "flush_denormal": False,
    "torch_compile": "not used",
}))
"""
    runtime = runs["keep"][1].dump.run["runtime"]
    expected = json.loads(plain(tmp_path, asked))
    assert {name: runtime["settings"].get(name) for name in expected} == expected
    assert runtime.get("settings_changed", {}) == {}


def test_a_change_during_the_run_is_told(runs: dict[str, tuple[Path, Captured]]) -> None:
    runtime = runs["change"][1].dump.run["runtime"]
    changed = {name: values for name, values in runtime["settings_changed"].items() if not name.endswith("fp32_precision")}
    assert changed.pop("float32_matmul_precision", ["highest", "high"]) == ["highest", "high"]  # of releases up to 2.8
    assert changed.pop("cuda.matmul.allow_tf32", [False, True]) == [False, True]
    assert changed == {
        "deterministic_algorithms": [False, True],
        "cudnn.benchmark": [False, True],
        "attention.flash": [True, False],
        "default_dtype": ["float32", "float64"],
    }
    assert runtime["settings"]["default_dtype"] == "float64"


def summary_of(a: Path, b: Path) -> tuple[dict[str, Any], list[str], int]:
    """Compare two dumps; gives the summary, the text and the exit code."""
    text = tensortap("compare", a, b)
    return json.loads(tensortap("compare", "--json", a, b).out.splitlines()[-1])["summary"], text.out.splitlines(), text.code


def test_compare_says_first_that_settings_differ(runs: dict[str, tuple[Path, Captured]]) -> None:
    summary, text, code = summary_of(runs["keep"][0], runs["change"][0])
    assert text[0].startswith("settings")
    assert "settings differ: attention.flash true in A, true, then false in B" in text[0]
    assert {"name": "default_dtype", "a": "float32", "b": "float32, then float64"} in summary["settings"]
    # The verdict is that of the values.
    assert text[1].split() == ["verdict", "equal"]
    assert code == 0


def test_equal_settings_are_no_news(runs: dict[str, tuple[Path, Captured]]) -> None:
    summary, text, _ = summary_of(runs["keep"][0], runs["keep"][0])
    assert (summary["settings"], summary["settings_differ"]) == ([], None)
    assert text[0].startswith("verdict")


def with_settings(dump: Path, folder: Path, change: Any) -> Path:
    """Copy a dump with other settings in its manifest."""
    copy = folder / f"copy{len(list(folder.iterdir()))}"
    shutil.copytree(dump, copy)
    run = json.loads((copy / "run.json").read_text())
    change(run["runtime"])
    (copy / "run.json").write_text(json.dumps(run))
    return copy


def test_a_difference_of_values_stays_one_whatever_the_settings_are(tmp_path: Path, runs: dict[str, tuple[Path, Captured]]) -> None:
    (tmp_path / "other").mkdir()
    other = capture(tmp_path / "other", PROGRAM.replace("ones_(net.bias)", "zeros_(net.bias)"), options=["--full"])
    assert other.code == 0, other.err
    plain_summary, _, plain_code = summary_of(runs["keep"][0], tmp_path / "other/dump")
    changed = with_settings(tmp_path / "other/dump", tmp_path, lambda runtime: runtime["settings"].update(threads=7))
    summary, text, code = summary_of(runs["keep"][0], changed)
    assert text[0].endswith("settings differ: threads 1 in A, 7 in B")
    assert text[1].split()[:2] == ["verdict", "different:"]
    assert (code, summary["culprit"], summary["verdicts"]) == (plain_code, plain_summary["culprit"], plain_summary["verdicts"])
    assert code == 1
    report = tmp_path / "report.html"
    assert tensortap("compare", runs["keep"][0], changed, "--report", report).code == 1
    assert "The settings differ: threads 1 in A, 7 in B." in report.read_text()


def test_variables_and_settings_that_one_dump_lacks(tmp_path: Path, runs: dict[str, tuple[Path, Captured]]) -> None:
    dump = runs["keep"][0]

    def change(runtime: dict[str, Any]) -> None:
        runtime["settings"].update({"environment.NVIDIA_TF32_OVERRIDE": "0", "of_a_later_release": True})
        del runtime["settings"]["cudnn.benchmark"]

    summary, _, _ = summary_of(dump, with_settings(dump, tmp_path, change))
    assert summary["settings"] == [{"name": "environment.NVIDIA_TF32_OVERRIDE", "a": "not set", "b": "0"}]
    without = with_settings(dump, tmp_path, lambda runtime: runtime.pop("settings"))
    assert summary_of(dump, without)[0]["settings"] == []
    odd = with_settings(dump, tmp_path, lambda runtime: runtime.update(settings=[1], settings_changed={"threads": 3}))
    assert summary_of(dump, odd)[0]["settings"] == []


GRAPH = """
import torch
base = torch.cuda.CUDAGraph.__mro__[1]
base.capture_begin = lambda self, *given, **named: None
base.capture_end = lambda self: None
base.replay = lambda self: None
def new_graph():
    graph = object.__new__(torch.cuda.CUDAGraph)
    graph._tracker = None
    return graph
x = torch.ones(3) + 1
early = new_graph()
graph = new_graph()
graph.capture_begin()
y = (x * 2).exp()
graph.capture_end()
for _ in range(5):
    graph.replay()
early.replay()
print(float(y.sum()))
"""


def test_replays_of_a_device_graph_are_counted_as_not_captured(tmp_path: Path) -> None:
    # A stand-in for the class that is a part of torch's builds for CUDA.
    done = capture(tmp_path, GRAPH)
    assert done.code == 0, done.err
    assert done.dump.run["runtime"]["device_graphs"] == [{"ops": 2, "replays": 5}, {"ops": None, "replays": 1}]
    reasons = done.dump.run["ops"]["not_captured"]
    assert [(one["count"], one["examples"]) for one in reasons] == [
        (2, ["device graph 1: 2 ops x 5 replays", "device graph 2: an unknown number of ops x 1 replay"])
    ]
    assert "2 replays of a graph of the device, which run no operator" in done.err
    found = tensortap("find", tmp_path / "dump")
    assert found.code == 3
    assert "not captured: 2 replays of a graph of the device" in found.out
    assert "no NaN and no Inf in what was captured" in found.out


def test_runs_of_onnx_runtime_have_their_settings(tmp_path: Path) -> None:
    model = small_model(tmp_path / "model.onnx")
    for threads in ("1", "2"):
        done = tensortap("run", model, "--full", "--threads", threads, "--out", tmp_path / threads)
        assert done.code == 0, done.err
        settings = json.loads((tmp_path / threads / "run.json").read_text())["runtime"]["settings"]
        assert settings == {"graph_optimization": "all", "threads": int(threads), "providers": ["CPUExecutionProvider"]}
    summary, text, code = summary_of(tmp_path / "1", tmp_path / "2")
    assert summary["settings"] == [{"name": "threads", "a": "1", "b": "2"}]
    assert text[0].endswith("settings differ: threads 1 in A, 2 in B")
    assert code == 0
