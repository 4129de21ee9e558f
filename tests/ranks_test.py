"""`tensortap ranks` on a real job: two ranks of a data-parallel training with a planted fault each; engines answer the same."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import table_support as made
from cli_support import ROOT, tensortap
from torch_support import Captured, capture

ENGINES = os.environ.get("TENSORTAP_TEST_ENGINES", "")
EXAMPLES = ["duckdb", "dask", "ray"]
SAME = ["rank", "step", "op", "slot", "nan"]
"""What the examples and the command say alike of the first NaN or Inf."""
INT64 = made.dtype_number("int64")
NOT_WRITTEN_TO = 32
FIRST_OF_MADE = {"rank": 2, "step": 7, "op": "op_4", "slot": "out0", "nan": 6}

# Rank 1 goes wrong three times: its first weight moves before step 3, it makes NaN in step 5, and it ends before step 7.
TRAINING = """
import torch, torch.nn as nn, torch.distributed as dist
from contextlib import nullcontext
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)))
optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
torch.manual_seed(1 + rank)
for step in range(8):
    bad = rank == 1
    if bad and step == 7:
        break
    if bad and step == 3:
        with torch.no_grad():
            model.module[0].weight.data.mul_(1.001)
    x, y = torch.randn(8, 8), torch.randint(0, 4, (8,))
    x = x * torch.full((8, 8), -1.0 if bad and step == 5 else 1.0).sqrt()
    with model.no_sync() if step == 7 else nullcontext():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    folder = tmp_path_factory.mktemp("job")
    program = folder / "train.py"
    program.write_text(TRAINING)
    done = capture(folder, Path("-m"), "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(program), options=["--stats"])
    assert done.code == 0, done.err
    assert sorted(path.name for path in done.dump.folder.glob("rank_*")) == ["rank_0", "rank_1"], done.err
    return done


# B15
def test_each_planted_fault_is_named_by_rank_op_and_step(job: Captured) -> None:
    done = tensortap("ranks", job.dump.folder, "--json")
    assert done.code == 1, done.err
    report = done.object

    first = report["nonfinite"]["first"]
    assert (first["rank"], first["step"], first["type"]) == (1, 5, "sqrt")
    assert first["nan"] == 64
    assert first["source"].startswith("train.py:")
    assert first["origin"]["kind"] == "op"

    replicas = report["replicas"]
    assert replicas["groups"] == [{"name": None, "ranks": [0, 1]}]
    unequal = replicas["unequal"][0]
    assert (unequal["step"], unequal["role"], unequal["module"]) == (3, "weight", "Sequential.0")
    assert sorted(unequal["ranks"] + unequal["others"]) == [0, 1]

    last = {rank["rank"]: rank["last"] for rank in report["progress"]}
    assert last[0] == last[1] + 1
    assert report["missing"]["steps"][-1]["lacking"] == [1]

    gradients = report["gradients"]
    assert {layer["layer"] for layer in gradients["layers"]} == {"Sequential.0", "Sequential.2"}
    assert gradients["global"][0] == pytest.approx(sum(layer["norms"][0] ** 2 for layer in gradients["layers"]) ** 0.5)
    assert {"nonfinite", "replicas", "missing"} <= set(report["found"])


def test_the_summary_says_so_in_a_line_each(job: Captured) -> None:
    done = tensortap("ranks", job.dump.folder)
    assert "first NaN or Inf: rank 1, step 5, " in done.out
    assert "step 3, " in done.out
    assert "rank 1: ended in step " in done.out


def has_package(name: str) -> bool:
    """Whether the Python of the engines has a package."""
    if not Path(ENGINES).is_file():
        return False
    found = f"import sys, importlib.util; sys.exit(importlib.util.find_spec({name!r}) is None)"
    return subprocess.run([ENGINES, "-c", found], check=False).returncode == 0


def ask_example(engine: str, tables: Path) -> dict[str, Any]:
    """Run the example of an engine."""
    words = [ENGINES, ROOT / f"examples/ranks_{engine}.py", tables]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    environment.pop("RAY_ADDRESS", None)
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert isinstance(answers, dict)
    return answers


@pytest.fixture(params=EXAMPLES)
def example(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if not has_package(name):
        pytest.skip(f"TENSORTAP_TEST_ENGINES names no Python with {name}")
    return name


@pytest.fixture(scope="module")
def tables_of_job(job: Captured, tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = tmp_path_factory.mktemp("tables") / "t"
    assert tensortap("export", job.dump.folder, "--to", "parquet", "--out", tables).code == 0
    return tables


def test_the_examples_find_the_nan_of_the_job(job: Captured, tables_of_job: Path, example: str) -> None:  # B15
    first = tensortap("ranks", job.dump.folder, "--json").object["nonfinite"]["first"]
    answers = ask_example(example, tables_of_job)
    assert {name: answers["first"][name] for name in SAME} == {name: first[name] for name in SAME}
    assert answers["distances"] == []  # which take three ranks


@dataclass(frozen=True)
class MadeJob:
    """A job made of random values, and the distances of its ranks by NumPy."""

    folder: Path
    tables: Path
    distances: list[float]


@pytest.fixture(scope="module")
def made_job(tmp_path_factory: pytest.TempPathFactory) -> MadeJob:
    """Make five ranks: one drifts, one has NaN, one has memory that nothing was written to; the last op gives integers."""
    folder = tmp_path_factory.mktemp("made")

    def change(rank: int, rows: made.Rows) -> None:
        rows["dtype"][rows["op"] == 11] = INT64
        if rank == 4:
            rows["flags"][3 * 12 + 6] |= NOT_WRITTEN_TO

    norms = made.write_job(folder / "job", change)
    assert tensortap("export", folder / "job", "--out", folder / "tables").code == 0
    norms[4, 3, 6] = np.nan
    judged = norms[:, :, :11]
    distances = np.nanmean(np.abs(np.log(judged / np.nanmedian(judged, axis=0))), axis=(1, 2))
    return MadeJob(folder / "job", folder / "tables", list(distances))


def test_of_a_made_job_the_answers_are_those_of_numpy(made_job: MadeJob) -> None:  # B15
    report = tensortap("ranks", made_job.folder, "--json").object
    assert [one["distance"] for one in report["apart"]["distances"]] == pytest.approx(made_job.distances)
    assert [one["rank"] for one in report["apart"]["ranks"]] == [3]
    assert {name: report["nonfinite"]["first"][name] for name in SAME} == FIRST_OF_MADE


def test_the_examples_say_of_a_made_job_what_ranks_says(made_job: MadeJob, example: str) -> None:  # B15
    answers = ask_example(example, made_job.tables)
    assert {name: answers["first"][name] for name in SAME} == FIRST_OF_MADE
    assert [one["rank"] for one in answers["distances"]] == [0, 1, 2, 3, 4]
    assert [one["distance"] for one in answers["distances"]] == pytest.approx(made_job.distances)


def test_the_examples_refuse_what_has_no_tables(tmp_path: Path, example: str) -> None:
    for words, said in (
        ([], "give the folder of the tables: "),
        (["nowhere"], "there is no folder nowhere"),
        (["."], ". has no tables: make "),
    ):
        command = [ENGINES, ROOT / f"examples/ranks_{example}.py", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(said)
        assert done.stderr.count("\n") == 1
