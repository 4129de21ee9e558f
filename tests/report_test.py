"""`tensortap report`: one file that a browser opens from disk, with what the command line says of the same dumps."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import nonfinite_model, save, small_model, tensortap
from onnx import helper
from torch_support import capture
from web_support import needs_browser, scenarios

tensortap_module = pytest.importorskip("tensortap", reason="the module is not built")

MOST = 20_000_000
HOSTILE = "</script><script>window.hurt=1</script><!--\u2028<img src=x onerror=window.hurt=1>\"'"


TRAINING = """
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    loss = model(torch.randn(2, 4)).square().mean()
    loss.backward()
    optimizer.step()
"""


class Page(HTMLParser):
    """The data of a report, as an HTML parser finds it, and what the page would ask others for."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.data = ""
        self.asked: list[str] = []
        self.tags: list[str] = []
        self.inside: str | None = None
        assert path.stat().st_size <= MOST
        self.feed(path.read_text())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.asked += [value for name in ("src", "href", "action", "data") if (value := given.get(name))]
        self.inside = given.get("id") if tag == "script" else None

    def handle_endtag(self, tag: str) -> None:
        self.inside = None

    def handle_data(self, data: str) -> None:
        if self.inside == "tensortap-data":
            self.data += data

    @property
    def answers(self) -> dict[str, Any]:
        parsed = json.loads(self.data)
        assert isinstance(parsed, dict)
        return parsed


@dataclass
class Case:
    """What web/tests/report_scenarios.ts expects of one report."""

    name: str
    file: str
    records: int
    op: str
    record: int
    views: list[str]
    values: bool = True
    note: str = "tensortap"
    cut: bool = False


def made_report(folder: Path, name: str, *dumps: Path) -> Path:
    done = tensortap("report", *dumps, "--out", folder / f"{name}.html")
    assert done.code == 0, done.err
    return folder / f"{name}.html"


def captured(model: Path, out: Path, *options: str | Path) -> Path:
    done = tensortap("run", model, "--out", out, *options)
    assert done.code == 0, done.err
    return out


def listed(dump: Path) -> list[dict[str, Any]]:
    return tensortap("ls", dump, "--json").objects


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def cases(folder: Path) -> list[Case]:
    """Make reports of each kind of dump."""
    zero = folder / "zero.npy"
    np.save(zero, np.array([[1, 2, 0], [4, 5, 6]], np.float32))
    hostile = save([helper.make_node("Relu", ["x"], ["y"], name=HOSTILE)], folder / "hostile.onnx")
    trained = capture(folder, TRAINING, options=["--full"])
    assert trained.code == 0, trained.err
    small = small_model(folder / "m.onnx")
    inputs = ["--full", "--slots", "in,out", "--runs", "3"]
    made = {
        "values": ([captured(small, folder / "values", *inputs)], ["steps"]),
        "statistics": ([captured(nonfinite_model(folder / "inf.onnx"), folder / "statistics", "--input", f"x={zero}")], []),
        "hostile": ([captured(hostile, folder / "hostile", "--full")], []),
        "dump": ([folder / "dump"], ["steps"]),
        "two": ([captured(small, folder / "two", *inputs, "--as-written"), folder / "values"], ["steps", "pairs"]),
    }
    found = []
    for name, (dumps, views) in made.items():
        rows = listed(dumps[0])
        record = next(i for i, row in enumerate(rows) if row["slot"] == "out0" and row["absmax"] is not None)
        path = str(made_report(folder, name, *dumps))
        shown = ["start", "table", "tensor", "graph", *views]
        found.append(Case(name, path, len(rows), rows[record]["op"], record, shown, values=name != "statistics"))
    return found


def test_the_report_has_the_same_numbers_as_ls_and_asks_for_nothing(folder: Path, cases: list[Case]) -> None:  # B13
    for case in cases:
        page = Page(Path(case.file))
        assert page.asked == []
        assert page.tags.count("script") == 2
        assert "img" not in page.tags
        rows = page.answers["/api/records"]["items"]
        assert [{key: row[key] for key in one} for row, one in zip(rows, listed(folder / case.name), strict=True)] == listed(
            folder / case.name
        )


def test_python_writes_the_same_report(folder: Path, cases: list[Case]) -> None:  # B13
    out = folder / "python.html"
    done = tensortap_module.report(folder / "two", folder / "values", out=out)
    assert done["bytes"] == out.stat().st_size
    assert done["left_out"] == []
    assert out.read_bytes() == (folder / "two.html").read_bytes()
    opened = tensortap_module.open(folder / "values")
    tensortap_module.report(opened, out=out)
    assert Page(out).answers["/api/records"] == Page(folder / "values.html").answers["/api/records"]
    op = listed(folder / "values")[-1]["op"]
    done = tensortap_module.report(opened, out=out, ops=f"^{op}$", last=1)  # B22
    items = Page(out).answers["/api/records"]["items"]
    assert items and {item["op"] for item in items} == {op}
    assert f"chosen records: {len(items)} of {len(opened)}." in done["left_out"][0]
    for wrong in (folder / "missing", folder / "statistics"):
        with pytest.raises(tensortap_module.Error):
            tensortap_module.report(opened, wrong, out=folder / "wrong.html")
    assert not (folder / "wrong.html").exists()


@needs_browser
def test_reports_of_every_kind_open_from_disk(folder: Path, cases: list[Case]) -> None:  # B13
    (folder / "cases.json").write_text(json.dumps([asdict(case) for case in cases]))
    results = scenarios("report_scenarios.ts", folder / "cases.json")
    assert set(results) == {case.name for case in cases}
    assert {name: problem for name, problem in results.items() if problem is not None} == {}
