"""Which step of a training an operator belongs to, where the program goes on with a step's values after the optimizer ended it."""

from __future__ import annotations

import json
from pathlib import Path

from cli_support import tensortap
from torch_support import OUTPUT, Captured, capture, run_program

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


WITHOUT_OPTIMIZER = """
import torch
torch.manual_seed(0); model = torch.nn.Linear(2, 1); measure = torch.nn.MSELoss()
for step in range(5):
    model.zero_grad()
    measure(model(torch.ones(1, 2)), torch.ones(1, 1)).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad
"""


def test_without_an_optimizer_calls_of_the_model_are_the_steps(tmp_path: Path) -> None:
    done = capture(tmp_path, WITHOUT_OPTIMIZER)
    assert done.code == 0, done.err
    assert steps_of(done, "addmm") == steps_of(done, "mse_loss") == [0, 1, 2, 3, 4]
    assert done.dump.run["steps"]["captured"] == 5, "the loss is none by itself"


FOLDS = """
import sys, torch
kept = []
def train(make):
    nets = [torch.nn.Linear(4, 4) for _ in make]
    optimizers = [one(net.parameters(), 0.1) for one, net in zip(make, nets)]
    for step in range(4):
        for net, optimizer in zip(nets, optimizers):
            optimizer.zero_grad()
            net(torch.randn(2, 4)).sum().backward()
            optimizer.step()
    if "keep" in sys.argv:
        kept.extend(optimizers)
for fold in range(3):
    train([torch.optim.SGD, torch.optim.SGD] if "pairs" in sys.argv else [torch.optim.SGD])
"""


SERVING = """
import torch, torch.nn as nn
torch.set_num_threads(1)
class Sampler(nn.Module):
    def forward(self, logits):
        return logits.argmax(-1)
class Prepare(nn.Module):
    def forward(self, x):
        return x.abs()
model, sampler, prepare = nn.Linear(4, 4), Sampler(), Prepare()
with torch.no_grad():
    if WARM_UP:
        logits = model(torch.ones(2, 4))
        for _ in range(3):
            sampler(logits)
    for _ in range(3):
        sampler(model(prepare(torch.ones(2, 4))))
"""


def test_a_sampler_is_in_the_step_of_its_model_after_a_warm_up_too(tmp_path: Path) -> None:
    for warm_up, models, samplers in (("True", [0, 1, 2, 3], [0, 0, 0, 1, 2, 3]), ("False", [0, 1, 2], [0, 1, 2])):
        folder = tmp_path / warm_up
        folder.mkdir()
        done = capture(folder, SERVING.replace("WARM_UP", warm_up))
        assert done.code == 0, done.err
        assert (steps_of(done, "addmm"), steps_of(done, "argmax")) == (models, samplers)
    # What prepares the input and ran before any model begins the steps.
    assert steps_of(done, "abs") == [0, 1, 2]


def test_each_training_of_a_program_has_its_steps(tmp_path: Path) -> None:
    wrong = []
    for words in ((), ("keep",), ("pairs",), ("keep", "pairs")):
        folder = tmp_path / "_".join(("of", *words))
        folder.mkdir()
        done = capture(folder, FOLDS, *words)
        assert done.code == 0, done.err
        steps = done.dump.run["steps"]["captured"]
        # The work of the second optimizer after the last step of the first one is one more step.
        if steps != (13 if "pairs" in words else 12) or set(steps_of(done, "addmm")) != set(range(steps)):
            wrong.append((words, steps, steps_of(done, "addmm")))
    assert not wrong


ENGINE = """
import sys, torch
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)
    def forward(self, x):
        return self.fc(x).relu()
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.Sequential(Block(), Block())
        if "compiled" in sys.argv:
            self.blocks.compile(backend="eager")
    def forward(self, x):
        return self.blocks(x)
class Sampler(torch.nn.Module):
    def forward(self, x):
        return x.argmax(-1)
model, sampler = Model(), Sampler()
runs = torch.compile(model, backend="eager") if "compiled" in sys.argv else model
with torch.no_grad():
    for prompt in range(2):
        for token in range(3):
            hidden = runs(torch.ones(1, 8))
            sampler(hidden); sampler(hidden)
"""


def test_the_user_says_which_modules_calls_are_the_steps(tmp_path: Path) -> None:
    wrong = []
    # A model and its submodules are one step; that of a block inside of a compiled graph is no call.
    rows = [("", 6), ("^Model$", 6), ("Model", 6), ("Block", 12), ("[.]fc$", 12), ("Sampler", 12), ("Nothing", 1)]
    compiled = [("^Model$", 6), ("^Model[.]blocks$", 1)]
    for number, (expression, expected, *words) in enumerate([*rows, *((*row, "compiled") for row in compiled)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        options = ["--step-at", expression] if expression else []
        done = capture(folder, ENGINE, *words, options=options)
        assert done.code == 0, done.err
        if done.dump.run["steps"]["captured"] != expected:
            wrong.append((expression, words, done.dump.run["steps"], expected))
        said = done.dump.run["unmatched"]
        if expression == "Nothing":
            assert "no module has such a path or class. There are, among others, Model (Model)" in said[0]
            assert "began no step" in done.err
        elif words and expected == 1:
            assert "Model.blocks (Sequential) matched, but no call of it was seen" in said[0]
        else:
            assert not said
    assert not wrong


def test_step_at_is_a_key_of_the_config_and_is_explained(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"tensortap": 1, "step_at": "^Sampler$", "steps": "1-2"}))
    done = capture(tmp_path, ENGINE, options=["--config", str(config)])
    assert set(done.dump.rows["step"].tolist()) == {1, 2}
    explained = tensortap("explain", config).out
    assert 'A step begins with each call of a module whose path or class matches "^Sampler$".' in explained
    refused = tensortap("exec", "--step-at", "(", "--", "true")
    assert refused.code == 2
    assert "--step-at: wrong" in refused.err
    inside = tmp_path / "inside"
    inside.mkdir()
    head, _, tail = ENGINE.partition("with torch.no_grad():")
    program = f"import tensortap\n{head}with tensortap.capture(out='dump', step_at='Sampler') as capture, torch.no_grad():{tail}"
    ended = run_program(inside, program + 'print(capture.report["steps"]["captured"])\n')
    assert ended.stdout == "12\n", ended.stderr
