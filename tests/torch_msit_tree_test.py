"""The tree of `msit llm dump` from a PyTorch program: files against the tensors that the program itself saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch_support import capture

PROGRAM = """
import numpy, torch
torch.manual_seed(0); torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
saved = {}
with torch.no_grad():
    for call in range(2):
        x = torch.randn(2, 4)
        saved[f"x{call}"] = x.numpy().copy()
        saved[f"y{call}"] = model(x).numpy().copy()
saved["bias"] = model[0].bias.detach().numpy()
numpy.savez("saved.npz", **saved)
"""


# L15 L16
def test_files_hold_what_the_program_computed(tmp_path: Path) -> None:
    done = capture(tmp_path, PROGRAM, options=["--layout", "msit", "--tensors", "--slots", "in,out"])
    assert done.code == 0, done.err
    (process,) = (tmp_path / "dump").glob("msit_dump_*/tensors/0_*")
    saved = np.load(tmp_path / "saved.npz")

    def elements(pattern: str) -> list[bytes]:
        # By round.
        return [path.read_bytes().partition(b"$End=1\n")[2] for path in sorted(process.glob(pattern))]

    products = "*/*_Linear/0_AddmmOperation/"
    assert elements(products + "before/intensor0.bin") == [saved["bias"].tobytes()] * 2
    assert elements(products + "before/intensor1.bin") == [saved["x0"].tobytes(), saved["x1"].tobytes()]
    assert elements("*/*_ReLU/0_ReluOperation/after/outtensor0.bin") == [saved["y0"].tobytes(), saved["y1"].tobytes()]
    # An operation has one place in all rounds.
    assert len({path.parent.parent.relative_to(path.parents[3]) for path in process.glob(products + "after/outtensor0.bin")}) == 1
