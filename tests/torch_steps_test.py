"""Which step of a training an operator belongs to, where the program goes on with a step's values after the optimizer ended it."""

from __future__ import annotations

import json
from pathlib import Path

from torch_support import OUTPUT, Captured, capture

UPDATE = 3
TRAINING = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
x, y = torch.randn(6, 8), torch.randint(0, 4, (6,))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(4):
    noisy = x.flip(0)
    optimizer.zero_grad()
    out = model(noisy)
    loss = F.cross_entropy(out, y)
    loss.backward()
    optimizer.step()
    REST
"""


def steps_of(done: Captured, op_type: str) -> list[int]:
    """Give the step of each execution that is not the optimizer's own."""
    rows = done.dump.of_type(op_type)
    seen = {(int(row["step"]), int(row["op"]), int(row["call"])) for row in rows[rows["phase"] != UPDATE]}
    return sorted(step for step, _, _ in seen)


def summed_up(folder: Path, rest: str, *options: str) -> tuple[Captured, int]:
    summary = folder / "summary.json"
    done = capture(folder, TRAINING.replace("REST", rest), options=["--summary", str(summary), *options])
    assert done.code == 0, done.err
    return done, json.loads(summary.read_text())["steps"]


def test_a_loss_that_is_read_after_the_optimizer_belongs_to_its_step(tmp_path: Path) -> None:
    done, steps = summed_up(tmp_path, "print(loss.detach().item())")
    assert steps_of(done, "_local_scalar_dense") == [0, 1, 2, 3]
    assert steps == 4
    assert steps_of(done, "flip") == [0, 1, 2, 3], "what comes before the model is of its own step"
    assert sorted(done.dump.of_type("addmm", OUTPUT)["step"].tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_so_does_what_is_worked_out_from_the_outputs(tmp_path: Path) -> None:
    done, steps = summed_up(tmp_path, "right = (out.argmax(1) == y).float().mean().item()")
    assert steps_of(done, "argmax") == steps_of(done, "eq") == [0, 1, 2, 3]
    assert steps == 4


def test_what_reads_the_new_parameters_begins_the_next_step(tmp_path: Path) -> None:
    done, steps = summed_up(tmp_path, "sizes = [p.detach().abs().max() for p in model.parameters()]")
    assert sorted(set(steps_of(done, "abs"))) == [1, 2, 3, 4]
    assert steps == 5, "the last of it comes after the last step"


def test_steps_that_are_not_captured_are_counted_all_the_same(tmp_path: Path) -> None:
    done, steps = summed_up(tmp_path, "loss.item()", "--steps", "1,3")
    assert set(done.dump.rows["step"].tolist()) == {1, 3}
    assert steps_of(done, "addmm") == [1, 1, 3, 3]
    assert steps == 2


def test_a_budget_compares_captured_steps_with_others_that_ran_without_callbacks(tmp_path: Path) -> None:
    program = TRAINING.replace("REST", "").replace("range(4)", "range(300)")
    done = capture(tmp_path, program, options=["--summary", str(tmp_path / "summary.json"), "--budget", "3%"])
    assert done.code == 0, done.err
    governor = json.loads((tmp_path / "summary.json").read_text())["governor"]
    rows = done.dump.rows
    captured = sorted(set(rows["step"].tolist()))
    assert captured[0] == 0
    assert governor["captured"] == len(captured) < 150
    assert governor["seen"] in (300, 301), "the end of a step that is not captured begins the next"
    assert governor["by"] == "steps"
    basis = governor["measured_by"]
    assert basis["plain_steps"] > 0
    assert basis["captured_steps"] + basis["by_own_calls"] == governor["captured"]
