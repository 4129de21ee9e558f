"""A capture leaves the program's memory as it is: the heap does not grow with the steps, and holds no dead blocks."""

from __future__ import annotations

from pathlib import Path

from case_table import each_row
from torch_support import capture

# Activations of a transformer layer: blocks of all sizes that the heap can join and split, as real trainings have them.
PROGRAM = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(64, 128), nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True), nn.Linear(128, 10))
x, y = torch.randn(2, 64, 64), torch.randint(0, 10, (2,))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
def anonymous():
    line = next(line for line in open("/proc/self/status") if line.startswith("RssAnon"))
    return int(line.split()[1])
sizes = []
for step in range(301):
    optimizer.zero_grad()
    F.cross_entropy(model(x).mean(1), y).backward()
    optimizer.step()
    if step in (50, 300):
        sizes.append(anonymous())
print("anonymous", *sizes)
"""


@each_row("options", [[], ["--ops", "no such op"]])
def test_the_heap_does_not_grow_with_the_steps(tmp_path: Path, options: list[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = capture(tmp_path, program, options=options)
    early, late = (int(word) for word in done.out.split("anonymous ")[1].split()[:2])
    assert late < 1.1 * early, f"{early} KiB after 50 steps, {late} KiB after 300"
