"""Whole programs under `tensortap exec`: the demonstration, MindSpore configs, ranks, torch.compile, C++, capture from inside."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_table import each_row
from cli_support import COMMAND, ROOT, package_alone, tensortap
from dump_data_support import parse_file
from torch_support import OUTPUT, PYTHON, PYTORCH_LIBRARY, TorchDump, capture, plain

TRAINING = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
x, y = torch.randn(6, 8), torch.randint(0, 4, (6,))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(5):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any], TorchDump]:
    """Capture the demonstration once: what it printed, the summary, the dump."""
    folder = tmp_path_factory.mktemp("digits")
    summary = folder / "summary.json"
    done = capture(folder, ROOT / "examples/train_digits.py", options=["--summary", str(summary)])
    assert done.code == 1, "the program's own exit code"
    return done.err, json.loads(summary.read_text()), done.dump


def test_the_demonstration_names_step_op_module_line_and_values(digits: tuple[str, dict[str, Any], TorchDump]) -> None:
    text, summary, _ = digits
    line = next(
        number for number, line in enumerate((ROOT / "examples/train_digits.py").read_text().splitlines(), 1) if "torch.rsqrt" in line
    )
    first = summary["first_nonfinite"]
    assert first["step"] == 61
    assert first["type"] == "pow"
    assert first["op"] == "Digits.norm/RsqrtBackward0/pow"
    assert first["module"] == "Digits.norm"
    assert first["source"].endswith(f"train_digits.py:{line}")
    assert first["pos_inf"] == 1
    read = summary["origin"]["chain"][-1]["inputs"]
    assert [round(float(one["max"])) for one in read if one["record"].startswith("Digits.norm/RsqrtBackward0/pow:in0")] == [994]
    assert f"train_digits.py:{line}" in text


def test_find_tells_the_same_later_and_finds_by_line(digits: tuple[str, dict[str, Any], TorchDump]) -> None:
    _, summary, dump = digits
    found = tensortap("find", dump.folder, "--json")
    assert found.code == 1
    assert found.object["first_nonfinite"]["op"] == summary["first_nonfinite"]["op"]
    line = summary["first_nonfinite"]["source"].rsplit(":", 1)[1]
    by_line = tensortap("find", dump.folder, "--source", f"train_digits.py:{line}", "--json").object
    assert "Digits.norm/rsqrt" in {op["op"] for op in by_line["ops"]}
    back = tensortap("find", dump.folder, "--source", "Digits.norm/rsqrt", "--json").object
    assert back["ops"][0]["source"].endswith(f"train_digits.py:{line}")


# B4
def test_trends_show_what_was_unlike_every_step_before(digits: tuple[str, dict[str, Any], TorchDump]) -> None:
    """The scan is empty in step 61 only: the inverse root, around 10 until then, is 1000."""
    _, _, dump = digits
    found = tensortap("find", dump.folder, "--trends", "--json")
    assert found.code == 1
    spikes = {one["record"]: one for one in found.object["trends"] if one["kind"] == "spike"}
    rsqrt = spikes["Digits.norm/rsqrt:out0@61"]
    assert round(rsqrt["to"]) == 994
    assert rsqrt["from"] < 20
    assert "torch.rsqrt" in (ROOT / "examples/train_digits.py").read_text().splitlines()[int(rsqrt["source"].rsplit(":", 1)[1]) - 1]
    assert found.object["counts"] == {"exploding": 0, "spike": len(spikes), "vanishing": 0, "dead": 0, "frozen": 0}
    assert tensortap("find", dump.folder, "--json").object["lead"] is None, "nothing grew up to it"


def test_names_and_steps_select(tmp_path: Path) -> None:
    done = capture(tmp_path, TRAINING, options=["--tensors", "--ops", "softmax", "--steps", "1-2"])
    assert done.code == 0, done.err
    assert sorted(set(done.dump.rows["step"].tolist())) == [1, 2]
    assert all("softmax" in done.dump.ops[int(row["op"])]["name"] for row in done.dump.rows)
    assert (done.dump.rows["flags"] & 1).all(), "tensors are there"


def mindspore(folder: Path, program: str, **settings: Any) -> Path:
    """Capture a program with its own MindSpore config and return its tree."""
    common = {
        "op_debug_mode": 0,
        "dump_mode": 0,
        "path": str(folder / "tree"),
        "net_name": "Net",
        "iteration": "all",
        "saved_data": "tensor",
        "input_output": 0,
        "kernels": [],
        "support_device": [0],
        **settings,
    }
    config = folder / "cfg.json"
    config.write_text(json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True, "trans_flag": True}}))
    (folder / "program.py").write_text(program)
    environment = {**os.environ, "MINDSPORE_DUMP_CONFIG": str(config), "PYTHONPATH": str(package_alone(folder))}
    done = subprocess.run(
        [COMMAND, "exec", "--", PYTHON, "program.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "did not come to its end" not in done.stderr
    (folder / "stderr").write_text(done.stderr)
    return folder / "tree"


def test_mindspore_iterations_are_optimizer_steps(tmp_path: Path) -> None:
    tree = mindspore(tmp_path, TRAINING, iteration="1|3")
    assert sorted(path.name for path in (tree / "rank_0/Net/0").iterdir()) == ["1", "3"]
    names = {path.name.split(".")[0] for path in (tree / "rank_0/Net/0/1").glob("*.npy")}
    assert {"addmm", "relu", "mm", "addcdiv_"} <= names
    assert (tree / "rank_0/execution_order/ms_execution_order_graph_0.csv").exists()


def test_mindspore_names_do_not_depend_on_the_iterations(tmp_path: Path) -> None:
    names = {}
    for iteration in ("all", "2"):
        (tmp_path / iteration).mkdir()
        tree = mindspore(tmp_path / iteration, TRAINING, iteration=iteration)
        names[iteration] = {path.name.split(".")[1] for path in (tree / "rank_0/Net/0/2").glob("*.npy")}
    assert names["all"] == names["2"] and any("-op" in name for name in names["2"])
    table = (tmp_path / "all/tree/rank_0/execution_order/ms_execution_order_graph_0.csv").read_text()
    name = next(word for word in table.replace("\n", ",").split(",") if "/addmm-op" in word)
    wrong = f"{name.rpartition('-op')[0]}-op990"
    (tmp_path / "some").mkdir()
    tree = mindspore(tmp_path / "some", TRAINING, iteration="2", dump_mode=1, kernels=[name, wrong])
    kept = {path.name.split(".")[1] for path in (tree / "rank_0/Net/0/2").glob("*.npy")}
    assert kept == {name.replace("/", "_")}
    notes = json.loads(next((tree / "rank_0/.dump_metadata").glob("tensortap*")).read_text())["unmatched"]
    assert any(f'Did you mean "{name}"' in note for note in notes), notes


def test_mindspore_kernels_and_statistics(tmp_path: Path) -> None:
    tree = mindspore(tmp_path, TRAINING, dump_mode=1, kernels=["relu"], saved_data="statistic", iteration="2")
    lines = (tree / "rank_0/Net/0/2/statistic.csv").read_text().splitlines()
    assert lines[0].startswith("Op Type,Op Name,")
    assert {line.split(",")[0] for line in lines[1:]} == {"relu"}


def test_mindspore_set_dump_takes_a_module_with_its_backward(tmp_path: Path) -> None:
    program = "import tensortap\n" + TRAINING.replace("x, y =", "tensortap.set_dump(model[2])\nx, y =")
    tree = mindspore(tmp_path, program, dump_mode=2, iteration="1")
    names = [path.name for path in (tree / "rank_0/Net/0/1").glob("*.npy")]
    assert any(name.startswith("addmm.Default_Sequential_2_") for name in names)
    assert any("_AddmmBackward0_" in name for name in names)
    assert all("_Sequential_2_" in name for name in names)


def test_set_dump_without_its_mode_is_answered_by_a_note(tmp_path: Path) -> None:
    program = "import tensortap\n" + TRAINING.replace("x, y =", "tensortap.set_dump(model[2])\nx, y =")
    for mode, in_vain in ((0, True), (2, False)):
        folder = tmp_path / str(mode)
        folder.mkdir()
        mindspore(folder, program, dump_mode=mode, iteration="1")
        assert ("set_dump(), which had no effect" in (folder / "stderr").read_text()) == in_vain


def test_set_dump_that_fits_nothing_is_answered_by_a_note(tmp_path: Path) -> None:
    calls = "tensortap.set_dump('no_such_op')\ntensortap.set_dump(model[2])\ntensortap.set_dump('aten::relu', False)\nx, y ="
    mindspore(tmp_path, "import tensortap\n" + TRAINING.replace("x, y =", calls), dump_mode=2, iteration="1")
    said = (tmp_path / "stderr").read_text()
    assert 'set_dump() was called for "no_such_op", and no operator of this name or type ran' in said
    assert said.count("set_dump() was called for") == 1


# A6
def test_an_op_that_writes_in_place_has_a_file_before_and_one_after(tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    path = tmp_path / "acl.json"
    path.write_text(
        json.dumps(
            {"dump": {"dump_path": str(tmp_path / "dump"), "dump_mode": "all", "dump_level": "op", "dump_list": [], "dump_op_switch": "on"}}
        )
    )
    done = capture(tmp_path, "import torch\nx = torch.ones(2)\nx.mul_(3)\nx * 2\n", options=["--config", str(path)])
    assert "none lost" in done.err
    files: dict[str, list[Any]] = {}
    for file in (tmp_path / "dump").rglob("*"):
        kind = file.name.split(".")[0]
        if file.is_file() and kind in ("mul_", "mul"):
            parsed = parse_file(file)
            read = [np.frombuffer(one, np.float32).tolist() for one in parsed.inputs if len(one) == 8]
            made = [np.frombuffer(one, np.float32).tolist() for one in parsed.outputs]
            files.setdefault(kind, []).append((read[:1], made))
    assert sorted(files["mul_"]) == [([], [[3.0, 3.0]]), ([[1.0, 1.0]], [])]
    assert files["mul"] == [([[3.0, 3.0]], [[6.0, 6.0]])]


# A14
def test_a_watcher_of_an_op_outside_every_module_is_answered_with_that(tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    dump = {"dump_path": "dump", "dump_scene": "watcher", "dump_list": [{"layer": ["exp"], "watcher_nodes": ["relu"]}]}
    (tmp_path / "acl.json").write_text(json.dumps({"dump": dump}))
    done = capture(tmp_path, "import torch\ntorch.ones(3).relu().exp()\n", options=["--config", str(tmp_path / "acl.json")])
    assert "Did you mean" not in done.err
    assert '"exp"' in done.err
    assert "called by itself, outside every model" in done.err


# M10
def test_mindspore_overflow_keeps_every_op_with_infinity_in_its_outputs(tmp_path: Path) -> None:
    program = (
        "import torch\nx = torch.tensor([1.0, 0.0])\nfor _ in range(2):\n    z = (1 / x).view(2, 1).mul_(2)\n    w = x + z.isinf().sum()\n"
    )
    tree = mindspore(tmp_path, program, op_debug_mode=3)
    files = sorted(path.name.split(".")[0] for path in tree.rglob("*.output.0.*.npy"))
    assert files == ["mul"] * 2 + ["mul_"] * 2 + ["reciprocal"] * 2 + ["view"] * 2, "1 / x is the reciprocal times one"


def test_mindspore_exception_keeps_what_the_failing_op_read(tmp_path: Path) -> None:
    program = "import torch\ntorch.ones(3) + 1\ntry:\n    torch.ones(3, 4) @ torch.ones(5, 6)\nexcept RuntimeError:\n    pass\n"
    tree = mindspore(tmp_path, program, op_debug_mode=4)
    files = sorted(path.name for path in tree.rglob("*.npy"))
    assert [name.split(".")[0] for name in files] == ["mm", "mm"]
    assert ".input.0." in files[0] + files[1]


def test_two_ranks_have_a_folder_each_and_the_reduced_value(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import torch, torch.distributed as dist
dist.init_process_group("gloo")
x = torch.full((3,), float(dist.get_rank() + 1))
dist.all_reduce(x)
assert x.tolist() == [3.0] * 3
dist.destroy_process_group()
""")
    out = tmp_path / "dump"
    words = [COMMAND, "exec", "--out", out, "--", PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "2", program]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["rank_0", "rank_1"]
    for rank in (0, 1):
        dump = TorchDump(out / f"rank_{rank}")
        assert dump.of_type("c10d.allreduce_", OUTPUT)["mean"].tolist() == [3.0]
        assert set(dump.rows["rank"].tolist()) == {rank}


COMPILED = """
import torch, sys
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
compiled = torch.compile(model, fullgraph=True, backend="aot_eager" if "plain" in sys.argv else "inductor")
print(compiled(torch.ones(2, 4)).sum().item().hex())
from torch._dynamo.utils import counters
print("graphs", counters["stats"]["unique_graphs"], "breaks", sum(counters["graph_break"].values()))
"""


@each_row(("mode", "graphs"), [("eager", 0), ("aot", 1)])
def test_compiled_programs_can_be_captured_by_operator(tmp_path: Path, mode: str, graphs: int) -> None:
    done = capture(tmp_path, COMPILED, options=["--compile", mode])
    assert done.code == 0, done.err
    assert done.out.splitlines()[1] == f"graphs {graphs} breaks 0"
    types = {op["type"] for op in done.dump.ops.values()}
    assert {"addmm", "relu"} <= types


def test_capture_from_inside(tmp_path: Path) -> None:
    program = """
import torch, tensortap
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
for number in range(2):
    with tensortap.capture(out=f"inside{number}", payload="full") as captured:
        y = model(torch.full((2, 4), float(number)))
    assert captured.report["lost"] == 0
    assert (captured.dump["Sequential.1/relu:out0"] == y.detach().numpy()).all()
model(torch.ones(1, 4))
print(captured.report["records"])
"""
    path = tmp_path / "program.py"
    path.write_text(program)
    done = subprocess.run(
        [PYTHON, path],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package_alone(tmp_path))},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(TorchDump(tmp_path / "inside1").rows) == int(done.stdout)


def test_a_program_without_torch_is_left_alone(tmp_path: Path) -> None:
    program = "print(sum(range(10)))\n"
    done = capture(tmp_path, program)
    assert (done.code, done.out) == (0, plain(tmp_path, program))
    assert "nothing was captured" in done.err
    assert not done.dump.folder.exists()


def torch_folder() -> Path:
    """Find torch without importing it."""
    code = "import importlib.util; print(importlib.util.find_spec('torch').submodule_search_locations[0])"
    return Path(subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout.strip())


def test_a_cpp_program_linked_to_libtorch(tmp_path: Path) -> None:
    source = tmp_path / "program.cc"
    source.write_text("""
#include <ATen/ATen.h>
#include <cstdio>
int main() {
  const at::Tensor x = at::ones({2, 3}) * 4;
  std::printf("%g\\n", at::matmul(x, x.t()).sum().item<double>());
}
""")
    torch = torch_folder()
    words = ["g++", "-std=c++20", "-D_GLIBCXX_USE_CXX11_ABI=1", "-w", f"-I{torch}/include", str(source), "-o", str(tmp_path / "program")]
    words += [
        f"-L{torch}/lib",
        "-ltorch",
        "-ltorch_cpu",
        "-lc10",
        f"-Wl,-rpath,{torch}/lib",
        "-Wl,--no-as-needed",
        "-Wl,--unresolved-symbols=ignore-all",
    ]
    subprocess.run(words, check=True)
    out = tmp_path / "dump"
    done = subprocess.run(
        [COMMAND, "exec", "--out", out, "--", tmp_path / "program"], capture_output=True, text=True, timeout=240, check=False
    )
    assert (done.returncode, done.stdout) == (0, "192\n"), done.stderr
    dump = TorchDump(out)
    assert dump.of_type("mm", OUTPUT)["mean"].tolist() == [48.0]
    assert {op["module"] for op in dump.ops.values()} == {""}


def test_the_library_exports_c_functions_only() -> None:
    names = subprocess.run(["nm", "-D", "--defined-only", PYTORCH_LIBRARY], capture_output=True, text=True, check=True).stdout.split()[2::3]
    assert names
    assert all(name.startswith("tensortap_") for name in names)


WORKERS = """
import sys, torch
from torch.utils.data import DataLoader, Dataset

class Cosines(Dataset):
    def __len__(self): return 4
    def __getitem__(self, number): return torch.tensor(float(number)).cos()

if __name__ == "__main__":
    torch.ones(2).sin()
    for batch in DataLoader(Cosines(), num_workers=2, multiprocessing_context=sys.argv[1]):
        batch.exp()
"""


def dumps_with(folder: Path, op_type: str) -> list[Path]:
    """Find the folders of the processes that ran an op of this type."""
    files = sorted(folder.rglob("ops.jsonl"))
    return [file.parent for file in files if any(json.loads(line)["type"] == op_type for line in file.read_text().splitlines())]


@each_row("start", ["fork", "spawn"])
def test_workers_of_a_data_loader_are_captured_when_asked_for(tmp_path: Path, start: str) -> None:
    done = capture(tmp_path, WORKERS, start, options=["--workers"])
    assert done.code == 0, done.err
    workers = dumps_with(tmp_path / "dump", "cos")
    assert len(workers) == 2
    assert all(folder.name.startswith("process_") for folder in workers)
    assert dumps_with(tmp_path / "dump", "exp") == [tmp_path / "dump"]


@each_row("start", ["fork", "spawn"])
def test_workers_of_a_data_loader_leave_nothing_otherwise(tmp_path: Path, start: str) -> None:
    done = capture(tmp_path, WORKERS, start)
    assert done.code == 0, done.err
    assert dumps_with(tmp_path / "dump", "cos") == []
    assert [file.parent for file in (tmp_path / "dump").rglob("run.json")] == [tmp_path / "dump"]


FORKED = """
import multiprocessing, torch
from torch.utils.data import DataLoader

def work():
    torch.ones(2).log().sum().item()

if __name__ == "__main__":
    for batch in DataLoader(torch.ones(4, 2), num_workers=2, multiprocessing_context="fork"):
        batch.sum().item()
    processes = [multiprocessing.get_context("fork").Process(target=run) for run in (work, work, print)]
    for process in processes: process.start()
    for process in processes: process.join()
"""


def test_forked_processes_that_run_operators_are_counted_and_clear_nothing(tmp_path: Path) -> None:
    done = capture(tmp_path, FORKED)
    assert done.code == 0, done.err
    assert "not captured: 1 operators of processes made by fork, which do not go on with the capture (fork (2 processes))" in done.err
    found = tensortap("find", done.dump.folder)
    assert found.code == 3
    assert found.out.startswith("no NaN and no Inf in what was captured\n")
    assert "operators of processes made by fork" in found.out


SPARSE = """
import torch
dense = torch.eye(3)
for value in (dense, dense.to_sparse()): value.clone()
"""


def test_tensors_that_are_not_looked_into_clear_nothing(tmp_path: Path) -> None:
    done = capture(tmp_path, SPARSE)
    assert done.code == 0, done.err
    found = tensortap("find", done.dump.folder)
    assert found.code == 3
    assert found.out.startswith("not known: values of ")
    assert " are in a form that is not looked into, such as sparse tensors; otherwise no NaN and no Inf" in found.out
    assert tensortap("find", done.dump.folder, "--json").object["hidden_ops"] >= 2


# A3, A9
def test_an_ascendcl_config_drives_training(tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    path = tmp_path / "acl.json"
    dump = {"dump_path": str(tmp_path / "dump"), "dump_mode": "all", "dump_step": "1", "dump_level": "op"}
    dump["dump_list"] = [{"model_name": "program", "layer": ["Sequential.1/relu"]}]  # type: ignore[assignment]
    path.write_text(json.dumps({"dump": dump}))
    done = capture(tmp_path, TRAINING, options=["--config", str(path)])
    assert done.code == 0, done.err
    assert "did not come to its end" not in done.err
    files = [file for file in (tmp_path / "dump").rglob("*") if file.is_file() and ".tensortap" not in file.parts]
    assert len(files) == 1
    assert files[0].name.startswith("relu.Sequential_1_relu.")
    assert files[0].parent.relative_to(tmp_path / "dump").parts[1:] == ("0", "program", "1", "1")


LISTS = """
import torch
torch.set_num_threads(1)
torch.nn.Identity()(torch.ones(1))
joined = torch.cat([torch.full((1, 2), 1.0), torch.full((2, 2), 2.0), torch.full((3, 2), 3.0)])
joined.index_put_((torch.tensor([0]), torch.tensor([1])), torch.tensor([7.0]))
first, second = torch.unbind(joined[:2])
whole = torch.native_layer_norm(joined, (2,), None, None, 1e-5)
"""


def test_tensors_of_lists_are_inputs_and_outputs_of_their_own_in_trees_without_lists(tmp_path: Path) -> None:
    tree = mindspore(tmp_path, LISTS)
    assert "none lost" in (tmp_path / "stderr").read_text()
    values = {}
    for path in tree.rglob("*.npy"):
        kind, _, _, _, _, slot, number = path.name.split(".")[:7]
        values[(kind, slot, int(number))] = np.load(path)
    assert [values[("cat", "input", number)][0, 0] for number in range(3)] == [1, 2, 3]
    assert values[("index_put_", "input", 3)].tolist() == [7]
    assert [values[("unbind", "output", number)].tolist() for number in range(2)] == [[1, 7], [2, 2]]


def test_a_file_of_ascendcl_holds_all_outputs_of_an_op(tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    path = tmp_path / "acl.json"
    path.write_text(
        json.dumps(
            {"dump": {"dump_path": str(tmp_path / "dump"), "dump_mode": "all", "dump_level": "op", "dump_list": [], "dump_op_switch": "on"}}
        )
    )
    done = capture(tmp_path, LISTS, options=["--config", str(path)])
    assert "none lost" in done.err
    counts = {}
    for file in (tmp_path / "dump").rglob("*"):
        kind = file.name.split(".")[0]
        if file.is_file() and kind in ("cat", "unbind", "native_layer_norm"):
            message = parse_file(file).message
            assert kind not in counts, "one file for one execution"
            counts[kind] = (len(message.input), len(message.output))
    assert counts == {"cat": (3, 1), "unbind": (1, 2), "native_layer_norm": (1, 3)}


ADVERSARIES = """
import torch, torch.nn as nn
torch.manual_seed(0); torch.set_num_threads(1)
generator, critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), nn.Linear(2, 1)
first, second = torch.optim.Adam(critic.parameters()), torch.optim.Adam(generator.parameters())
loss = nn.BCEWithLogitsLoss()
for step in range(3):
    fake = generator(torch.randn(5, 4))
    first.zero_grad()
    (loss(critic(torch.randn(5, 2)), torch.ones(5, 1)) + loss(critic(fake.detach()), torch.zeros(5, 1))).backward()
    first.step()
    second.zero_grad()
    loss(critic(fake), torch.ones(5, 1)).backward()
    second.step()
"""


def test_steps_are_those_of_one_optimizer_among_equals_and_begin_with_the_training(tmp_path: Path) -> None:
    dump = capture(tmp_path, ADVERSARIES).dump
    generated = [int(row["step"]) for row in dump.rows if dump.ops[int(row["op"])]["module"] == "Sequential.0"]
    assert set(generated) == {0, 1, 2, 3}, "the last backward pass comes after the last step of the first optimizer"
    forward = {int(row["step"]) for row in dump.rows if dump.ops[int(row["op"])]["name"] == "Sequential.0/addmm"}
    assert forward == {0, 1, 2}


COMPILED_OPTIMIZER = """
import torch
torch.manual_seed(0); torch.set_num_threads(1)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
step = torch.compile(optimizer.step)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).pow(2).sum().backward()
    step()
print(*[value.item().hex() for value in model.weight.flatten()])
"""


def test_a_compiled_optimizer_stays_as_it_is(tmp_path: Path) -> None:
    done = capture(tmp_path, COMPILED_OPTIMIZER)
    assert done.code == 0, done.err
    assert done.out == plain(tmp_path, COMPILED_OPTIMIZER)


def test_what_was_selected_and_never_ran_is_said(tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    options = ["--ops", "relu", "--ops", "softmaxx", "--summary", str(summary)]
    done = capture(tmp_path, "import torch\ntorch.ones(3).relu().softmax(0)", options=options)
    (text,) = json.loads(summary.read_text())["unmatched"]
    assert text.startswith('the regular expression "softmaxx" (--ops) matches no op.')
    assert text in done.err
