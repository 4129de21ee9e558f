"""`tensortap llm dump -config`: what a file says counts from the next round on, in a PyTorch program that runs meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli_support import Done, package_alone, tensortap
from torch_rounds_test import operations, rounds
from torch_support import PYTHON

# It is its own second hand: writes the file, lets the time pass after which it is looked at again, and goes on.
PROGRAM = """
import json, os, sys, time, torch, torch.nn as nn
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
    def forward(self, x):
        return torch.relu(self.inner(x))
torch.manual_seed(0)
net = nn.Sequential(*(Layer() for _ in range(3))).eval()
with torch.no_grad():
    for text in json.load(open("texts.json")):
        if text is not None:
            with open("part", "w") as file:
                file.write(text)
            os.replace("part", "followed.json")
            time.sleep(1.2)
        for _ in range(2):
            print(float(net(torch.ones(2, 3, 4)).sum()))
"""


def followed(folder: Path, texts: list[dict[str, str] | str | None]) -> Done:
    """Run the program, two rounds under each text of the file; None leaves it as it is."""
    written: list[Any] = [json.dumps(text) if isinstance(text, dict) else text for text in texts]
    (folder / "texts.json").write_text(json.dumps(written))
    (folder / "followed.json").write_text(written[0])
    (folder / "program.py").write_text(PROGRAM)
    words = ("llm", "dump", "--exec", f"{PYTHON} program.py", "--type", "tensor", "-config", "followed.json", "-o", "out")
    return tensortap(*words, cwd=folder, environment={"PYTHONPATH": str(package_alone(folder))})


def test_a_dump_is_switched_on_changed_and_off_while_the_program_runs(tmp_path: Path) -> None:  # L12
    on = {"dump_enable": "true", "er": "all"}
    done = followed(
        tmp_path, [{"dump_enable": "false"}, on, {**on, "ids": "1"}, {**on, "ids": "1", "child": "false"}, {"dump_enable": "false"}]
    )
    assert done.code == 0, done.err
    assert len(set(done.out.split())) == 1, "the results stay what they are"
    tids = rounds(tmp_path)
    assert sorted(tids) == list(range(2, 8))
    for tid in (2, 3):
        assert list(operations(tids[tid]).values()).count("Prefill_layer") == 3
    for tid in (4, 5, 6, 7):
        assert operations(tids[tid]) == {1: "Prefill_layer"}, "an operation keeps its id"
    assert operations(tids[5] / "1_Prefill_layer") == {0: "Linear", 1: "ReluOperation"}
    assert operations(tids[7] / "1_Prefill_layer") == {}


def test_a_file_that_is_wrong_changes_nothing_and_is_said_once(tmp_path: Path) -> None:  # L12
    on = {"dump_enable": "true", "er": "all", "ids": "0"}
    done = followed(tmp_path, [on, '{"dump_enable": "tr', None, {**on, "ids": "2"}])
    assert done.code == 0, done.err
    assert done.err.count("followed.json:1:") == 1, done.err
    tids = rounds(tmp_path)
    assert [list(operations(tids[tid])) for tid in sorted(tids)] == 6 * [[0]] + 2 * [[2]]
