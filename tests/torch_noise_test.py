"""`exec --noise`: PyTorch programs run again with their numbers moved by the last bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensortap
from case_table import each_row
from cli_support import tensortap as command
from torch_support import capture

NET = """
import sys, torch, torch.nn as nn
torch.set_num_threads(1)
if "free" not in sys.argv: torch.manual_seed(0)
x = torch.randn(4, 8)
if "functions" in sys.argv:
    print((x @ torch.randn(8, 3)).relu().sum())
    raise SystemExit(int("fails" in sys.argv))
if "elsewhere" in sys.argv:
    # As on a device: the memory cannot be written to.
    print(nn.Linear(8, 3, device="meta")(x.to("meta")).shape, nn.Linear(8, 3)(x).shape)
    raise SystemExit
if "names" in sys.argv:
    class Scaled(nn.Module):
        def forward(self, x, scale): return x * scale["of"]
    print(Scaled()(x=x, scale={"of": torch.full((8,), 1.5)}).sum())
    raise SystemExit
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(2):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
"""


def test_noise_moves_weights_and_inputs_and_nothing_else(tmp_path: Path) -> None:
    done = capture(tmp_path, NET, options=["--full", "--slots", "in,out", "--noise", "2", "--json"])
    assert done.code == 0, done.err
    assert sorted(path.name for path in (tmp_path / "dump").glob("noise*")) == ["noise1", "noise2"]
    plain, moved, other = (tensortap.open(tmp_path / "dump" / name) for name in ("", "noise1", "noise2"))
    assert list(plain) == list(moved), "the same operators ran"
    weight, same, third = (dump["Sequential.0/addmm:in2"] for dump in (plain, moved, other))
    steps = weight.view(np.int32).astype(np.int64) - same.view(np.int32)
    assert set(np.abs(steps).flat) == {1}
    assert not np.array_equal(same, third)
    assert set(np.abs(plain["Sequential.0/addmm:in1"].view(np.int32) - moved["Sequential.0/addmm:in1"].view(np.int32)).flat) == {1}
    masks = [name for name in plain if "bernoulli" in name and ":out" in name]
    assert masks, "random draws stay the same"
    assert all(np.array_equal(plain[name], moved[name]) for name in masks)
    compared = tensortap.compare(tmp_path / "dump", tmp_path / "dump/noise1")
    assert compared.summary["noise_dumps"] >= 1


def test_arguments_with_names_are_moved(tmp_path: Path) -> None:
    done = capture(tmp_path, NET, "names", options=["--full", "--slots", "in,out", "--noise", "1"])
    assert done.code == 0, done.err
    plain, moved = (tensortap.open(tmp_path / "dump" / name) for name in ("", "noise1"))
    for slot in ("in0", "in1"):
        before, after = (dump[f"Scaled/mul:{slot}"].view(np.int32) for dump in (plain, moved))
        assert set(np.abs(before - after).flat) == {1}, slot


@each_row(
    "words, reason",
    [
        (["free"], "the program gives other values when it runs again, first in "),
        (["elsewhere"], "the modules have 3 tensors on meta (torch.strided) that cannot be moved; only tensors in CPU memory are"),
        (["functions"], "nothing was moved: the program called no module of torch"),
    ],
)
def test_noise_that_cannot_be_measured_is_an_error(words: list[str], reason: str, tmp_path: Path) -> None:
    done = capture(tmp_path, NET, *words, options=["--full", "--noise", "1"])
    assert done.code == 3
    assert reason in done.err
    assert not list((tmp_path / "dump").glob("noise*"))
    assert (tmp_path / "dump/run.json").exists(), "the dump itself stays"


@each_row(
    "options, reason", [(["--noise", "1"], "add --full"), (["--full", "--noise", "1", "--layout", "msit"], 'the layout "msit" has no room')]
)
def test_noise_that_is_asked_for_wrongly_is_refused_before_the_program_runs(options: list[str], reason: str, tmp_path: Path) -> None:
    done = command("exec", "--out", tmp_path / "dump", *options, "--", "/bin/echo", "ran")
    assert done.code == 2
    assert reason in done.err
    assert "ran" not in done.out
