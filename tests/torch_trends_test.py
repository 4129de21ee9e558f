"""`find --trends` on trainings: one that diverges at a rate that is known, and ordinary ones, which raise no alarm."""

from __future__ import annotations

from pathlib import Path

import pytest
from case_table import each_row
from cli_support import tensortap
from torch_support import capture

# Gradient descent on a parabola with too long steps: each one multiplies w by 1 - 0.75 * 4 = -2, so that the sum of w * w does not fit
# 32-bit numbers in step 63.
DIVERGES = """
import torch
torch.set_num_threads(1)
w = torch.nn.Parameter(torch.linspace(0.25, 1, 16))
optimizer = torch.optim.SGD([w], lr=0.75)
for step in range(70):
    optimizer.zero_grad()
    loss = 2 * (w * w).sum()
    loss.backward()
    optimizer.step()
    if not loss.isfinite():
        break
"""

IMAGES = """
import torch, torch.nn as nn, torch.nn.functional as F
from sklearn.datasets import load_digits
torch.manual_seed(0); torch.set_num_threads(1)
digits = load_digits()
images, labels = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16, torch.tensor(digits.target)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
        self.norm1, self.norm2, self.drop, self.head = nn.BatchNorm2d(16), nn.LayerNorm(256), nn.Dropout(0.1), nn.Linear(256, 10)
    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        return self.head(self.drop(self.norm2((x + F.gelu(self.conv2(x))).flatten(1))))
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 80)
for step in range(80):
    batch = torch.randint(0, 1500, (32,))
    loss = F.cross_entropy(model(images[batch]), labels[batch])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step(); schedule.step()
assert loss < 0.5
"""

TEXT = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(1); torch.set_num_threads(1)
words, length = 64, 24
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.place = nn.Embedding(words, 32), nn.Embedding(length, 32)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0), 2)
        self.head = nn.Linear(32, words)
    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return self.head(self.layers(self.word(x) + self.place(torch.arange(length)), mask=mask, is_causal=True))
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
data = torch.cumsum(torch.randint(0, 3, (400, length + 1)), 1) % words
for step in range(60):
    batch = data[torch.randint(0, 400, (16,))]
    loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
assert loss < 2
"""


# Ten layers with activations that pass on a quarter of a gradient at most, and half of that or nearly all.
DEEP = """
import sys, torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(1)
layers = [layer for _ in range(10) for layer in (nn.Linear(32, 32), getattr(nn, sys.argv[1])())]
model = nn.Sequential(*layers, nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), 1e-2)
x, y = torch.randn(64, 32), torch.randint(0, 4, (64,))
for step in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


# B4
@each_row("activation, vanishes", [("Sigmoid", True), ("ReLU", False), ("Tanh", False)])
def test_gradients_of_a_deep_stack_of_sigmoids_vanish_on_their_way_back(activation: str, vanishes: bool, tmp_path: Path) -> None:
    done = capture(tmp_path, DEEP, activation)
    assert done.code == 0, done.err
    found = tensortap("find", done.dump.folder, "--trends", "--json")
    depth = found.object["depth"]
    assert found.code == int(vanishes)
    if not vanishes:
        assert depth is None
        return
    assert (depth["step"], depth["modules"], depth["first"], depth["last"]) == (3, 11, "Sequential.20", "Sequential.0")
    assert -4 < depth["slope"] < -2
    assert "gradients vanish on their way back" in tensortap("find", done.dump.folder, "--trends").out


# B4
def test_a_training_that_diverges_has_the_rate_of_its_learning_rate(tmp_path: Path) -> None:
    done = capture(tmp_path, DIVERGES)
    assert done.code == 0, done.err
    report = tensortap("find", done.dump.folder, "--trends", "--limit", "100", "--json").object
    exploding = {one["record"]: one for one in report["trends"] if one["kind"] == "exploding"}
    square = exploding["mul:out0@63"]
    assert square["slope"] == pytest.approx(2, abs=1e-9)
    assert square["since"] == 0
    # w * w is 2**(2 * step), and the largest number next to 2**128: each step takes two of the doublings that are left after step 63.
    assert square["steps_to_limit"] == pytest.approx((128 - 126) / 2, abs=1e-3)
    assert exploding["mul:in0@63"]["slope"] == pytest.approx(1, abs=1e-9)
    found = tensortap("find", done.dump.folder)
    assert found.code == 1
    assert "first non-finite value: step 63, sum (sum) out0" in found.out
    assert "  its absmax doubled every 0.5 steps since step 0 (" in found.out


@each_row("program", [IMAGES, TEXT])
def test_ordinary_trainings_raise_no_alarm(program: str, tmp_path: Path) -> None:
    done = capture(tmp_path, program)
    assert done.code == 0, done.err
    found = tensortap("find", done.dump.folder, "--trends", "--json")
    assert found.object["judged"] > 80
    assert [(one["kind"], one["record"]) for one in found.object["trends"]] == []
    assert found.code == 0
