"""What capture must not cost a PyTorch program: memory, and pages of memory touched anew in every step."""

from __future__ import annotations

import json
from pathlib import Path

from torch_support import capture, plain

# Activations of some hundred megabytes, so that what the capture itself takes is small beside them.
MEMORY = """
import json, resource, torch, torch.nn as nn
torch.manual_seed(0); torch.set_num_threads(1)
model = nn.Sequential(nn.Conv2d(3, 48, 3, padding=1), nn.ReLU(), nn.Conv2d(48, 48, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.LazyLinear(4))
images = torch.randn(32, 3, 64, 64)
for step in range(3):
    model(images).sum().backward()
print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""

FAULTS = """
import json, resource, torch, torch.nn as nn
torch.manual_seed(0); torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
rows = torch.randn(64, 64)
optimizer = torch.optim.Adam(model.parameters())
def step():
    optimizer.zero_grad()
    model(rows).square().mean().backward()
    optimizer.step()
for _ in range(50): step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(200): step()
print(json.dumps((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 200))
"""


def test_peak_memory_is_that_of_the_program(tmp_path: Path) -> None:
    before = json.loads(plain(tmp_path, MEMORY))
    done = capture(tmp_path, MEMORY)
    assert done.code == 0, done.err
    fixed = 24 << 10  # libraries, the table of known contents, the part of the row file that is mapped
    assert json.loads(done.out) <= before * 1.02 + fixed


def test_a_step_touches_no_memory_anew_but_that_of_its_rows(tmp_path: Path) -> None:
    before = json.loads(plain(tmp_path, FAULTS))
    done = capture(tmp_path, FAULTS)
    assert done.code == 0, done.err
    rows_per_step = len(done.dump.rows) / 250
    pages_of_rows = rows_per_step * 512 / 4096
    assert json.loads(done.out) <= before + 2 * pages_of_rows + 16  # each page of the row file is mapped once, and faulted in by halves
