"""The arithmetic of ./dev bench: bars and verdicts, the load of the machine, a budget seen from outside."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from case_table import each_row

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "bench"))
import bars  # noqa: E402  # the folder of the bench
import budget  # noqa: E402
import children  # noqa: E402
import machine  # noqa: E402
import made_job  # noqa: E402
import many_ranks  # noqa: E402
import overhead  # noqa: E402
import overhead_page  # noqa: E402
import torch_overhead  # noqa: E402
import torch_page  # noqa: E402
from plan import Plan  # noqa: E402

import bench  # noqa: E402

ROW_OF_BENCH = {
    **dict.fromkeys(
        ["sequence", "numel", "bytes", "time_ns", "count", "storage", "data_bytes", "step", "element", "first_nonfinite"], "<i8"
    ),
    **dict.fromkeys(["nan", "pos_inf", "neg_inf", "zero", "neg_zero", "positive", "negative", "duration_ns"], "<i8"),
    **dict.fromkeys(["op", "call", "rank"], "<i4"),
    **dict.fromkeys(["slot_kind", "slot_index", "phase", "dims_count", "digest_kind", "flags"], "<u2"),
    **dict.fromkeys(["l2", "absmax", "max", "min", "mean", "std"], "<f8"),
    "shape": "(8,)<i8",
    "digest": "(20,)u1",
}
"""Fields of a record that a made job sets."""
RATIO = bars.Bar("x", 1.8, 1.6)
SHARE = bars.Bar("x", 0.75, 0.8, at_least=True, unit="share")
POINTS = bars.Bar("x", 0.01, unit="points")


@each_row(
    ("bar", "value", "text"),
    [
        (RATIO, 1.74, "x: bar ≤ 1.8: 1.74, holds"),
        (RATIO, 1.8, "x: bar ≤ 1.8: 1.80, holds"),
        (RATIO, 1.804, "x: bar ≤ 1.8: 1.804, falls short"),
        (RATIO, 2.2, "x: bar ≤ 1.8: 2.20, falls short"),
        (RATIO, 1.6, "x: bar ≤ 1.8: 1.60, holds, beyond 1.60 even"),
        (RATIO, math.nan, "x: bar ≤ 1.8: not measured"),
        (SHARE, 0.49, "x: bar ≥ 75 %: 49.0 %, falls short"),
        (SHARE, 0.76, "x: bar ≥ 75 %: 76.0 %, holds"),
        (SHARE, 0.81, "x: bar ≥ 75 %: 81.0 %, holds, beyond 80.0 % even"),
        (POINTS, 0.004, "x: bar ≤ 1 point: 0.4 points, holds"),
        (POINTS, 0.021, "x: bar ≤ 1 point: 2.1 points, falls short"),
    ],
)
def test_a_verdict_says_the_bar_the_figure_and_whether_it_holds(bar: bars.Bar, value: float, text: str) -> None:
    assert bars.Verdict(bar, value).text() == text


def test_bars_without_a_figure_were_not_measured_and_an_unknown_figure_is_an_error() -> None:
    found = bars.verdicts({"a": RATIO, "b": RATIO, "c": SHARE}, {"a": 1.7, "c": 0.1}, {"a": "3 of 9 models"})
    assert [verdict.holds for verdict in found] == [True, None, False]
    assert found[0].text() == "x: bar ≤ 1.8: 1.70, holds (3 of 9 models)"
    assert bars.summary(found) == "1 of 3 bars hold, 1 fall short, 1 were not measured"
    assert bars.table(found)[2:] == [
        "| x | ≤ 1.8 | 1.70, holds (3 of 9 models) |",
        "| x | ≤ 1.8 | not measured |",
        "| x | ≥ 75 % | 10.0 %, **falls short** |",
    ]
    with pytest.raises(KeyError, match="no such bar: d"):
        bars.verdicts({"a": RATIO}, {"d": 1.0})


def test_means_leave_out_what_was_not_measured() -> None:
    assert bars.geometric_mean([2.0, math.nan, 8.0]) == pytest.approx(4.0)
    assert math.isnan(bars.geometric_mean([]))
    assert bars.worst([1.0, math.nan, 1.3]) == 1.3
    assert math.isnan(bars.worst([math.nan]))


STAT = "cpu  300 10 200 5000 700 20 30 40 9 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"


def test_the_load_is_what_was_busy_and_not_with_the_bench() -> None:
    # user, nice, system, irq, softirq and steal; neither idle nor waiting for the disk, and guests are in user already.
    assert machine.busy_seconds(STAT, ticks=100) == pytest.approx(6.0)
    assert machine.share_of_others(busy=6.0, own=4.0, capacity=20.0) == pytest.approx(0.1)
    assert machine.share_of_others(busy=6.0, own=6.5, capacity=20.0) == 0.0


@each_row(("others", "word"), [(0.0, "quiet"), (0.05, "quiet"), (0.06, "loaded"), (1.0, "loaded")])
def test_a_machine_is_quiet_or_loaded(others: float, word: str) -> None:
    load = machine.Load(before=0.5, after=1.25, others=others, processors=2)
    assert load.sentence() == (
        f"The machine was {word}: other processes had {others:.0%} of the time of its 2 processors during the run "
        "(load average 0.50 before, 1.25 after, the bench included)."
    )


def test_the_meter_sees_this_process_as_its_own() -> None:
    meter = machine.LoadMeter()
    sum(range(1_000_000))
    load = meter.load()
    assert 0 <= load.others <= 1
    assert load.processors >= 1


def test_a_budget_is_held_against_what_the_program_itself_measured() -> None:
    turns = [
        (True, {"cpu": 10.4, "wall": 11.0}, 1.02),
        (False, {"cpu": 10.0, "wall": 10.0}, math.nan),
        (False, {"cpu": 10.0, "wall": 10.0}, math.nan),
        (True, {"cpu": 10.6, "wall": 11.0}, 1.04),
    ]
    kept = budget.combined(turns, runs=10_000)
    assert [kept.cpu, kept.wall, kept.reported] == pytest.approx([1.05, 1.1, 1.03])
    assert kept.turns == pytest.approx((1.04, 1.06))
    assert kept.distance == pytest.approx(0.02)
    assert kept.cells() == "10,000 | 1.050 (1.040, 1.060) | 1.100 | 1.030 | 2.0"


def test_the_reported_cost_is_found_in_the_dump(tmp_path: Path) -> None:
    assert math.isnan(budget.reported_overhead(tmp_path))
    (tmp_path / "process_7").mkdir()
    (tmp_path / "process_7/run.json").write_text(json.dumps({"governor": {"measured_overhead": 0.018}}))
    (tmp_path / "process_3").mkdir()
    (tmp_path / "process_3/run.json").write_text(json.dumps({"governor": None}))
    assert budget.reported_overhead(tmp_path) == pytest.approx(1.018)


def test_a_run_that_is_out_of_time_begins_nothing_new() -> None:
    late = Plan(quick=True, ends=0.0)
    assert not late.begins("cls, full statistics")
    assert late.problems == ["cls, full statistics: no time left in a quick run"]
    assert Plan().begins("cls, full statistics")


def test_the_report_is_strict_json_with_every_bar() -> None:
    found = bars.verdicts(bars.ONNX_BARS, {"cls": 1.5})
    load = machine.Load(before=0.0, after=0.0, others=0.5, processors=2)
    report = json.loads(bench.json_report(found, load, Plan(quick=True), {"onnx": {1: math.nan}}))
    assert report["load"] == {"before": 0.0, "after": 0.0, "others": 0.5, "processors": 2, "quiet": False}
    assert len(report["bars"]) == len(bars.ONNX_BARS)
    assert report["bars"][0] | {"value": 1.5, "holds": True} == report["bars"][0]
    assert report["bars"][1]["value"] is None
    assert report["figures"] == {"onnx": {"1": None}}
    text = bench.text_report(found, load, Plan(quick=True))
    assert "figures are rough" in text
    assert "The machine was loaded" in text


LOAD = machine.Load(before=7.25, after=7.0, others=0.61, processors=2)
KEPT = budget.Kept(cpu=1.05, wall=1.06, turns=(1.04, 1.06), reported=1.02, runs=10_000)


def text_of(page: Path) -> str:
    """Read a page; all its lines but those of tables are as wide as the project's documents may be."""
    text = page.read_text()
    assert [line for line in text.splitlines() if len(line) > 140 and not line.startswith("|")] == []
    return text


def test_the_page_of_onnx_models_has_the_bars_and_what_failed(tmp_path: Path) -> None:
    measured = overhead_page.Cell(1.9, 1.8, 2.0)
    row = dict.fromkeys(["plain", "statistics", "written", "plain session", "all tensors as outputs"])
    page = overhead_page.Page(
        ratios={1: {mode: {overhead.OCR_CASES["cls"]: measured} for mode in overhead.MODES}},
        budgets={"cls": KEPT},
        memory={"cls": {**row, "plain": 40e6, "statistics": 44e6}},
        writing={"dump": 0.8e9, "direct": 1e9, "bytes": 4e9},
        numpy={},
        kernels=[],
        opening={},
        mindspore=[],
        problems=["magika: it said\n" + "much " * 100],
        processes=2,
    )
    figures = overhead.onnx_figures(page)
    wanted = dict.fromkeys(["cls", "models", "watch cls"], 1.9)
    wanted |= {"budget cls": 1.05, "reported cls": 0.03, "disk": 0.8, "memory": 1.1}
    assert {name: value for name, value in figures.items() if not math.isnan(value)} == pytest.approx(wanted)
    overhead_page.write_page(page, bars.verdicts(bars.ONNX_BARS, figures, overhead.figure_notes(page)), LOAD, tmp_path / "page.md")
    text = text_of(tmp_path / "page.md")
    assert "| OCR cls, full statistics | ≤ 1.55 | 1.90, **falls short** |" in text
    assert "1.90, **falls short** (1 of 9 models) |" in text
    assert "geometric mean | ≤ 1.45 | not measured (0 of 6 models) |" in text
    assert "The machine was loaded" in text
    assert "| cls | 10,000 | 1.050 (1.040, 1.060) | 1.060 | 1.020 | 3.0 |" in text
    assert "- much much" in text


def test_the_page_of_pytorch_programs_has_the_bars_and_the_peers(tmp_path: Path) -> None:
    row = {program: overhead_page.Cell(1.5, 1.4, 1.6) for program in torch_overhead.PROGRAMS}
    page = torch_overhead.TorchPage(
        "2.13.0", {1: {torch_overhead.STATISTICS: row}}, {"mlp": KEPT}, {"mlp": (1100.0, 1000.0)}, {"hooks": row}
    )
    figures = torch_overhead.torch_figures(page)
    assert [figures[name] for name in ("gpt_tiny", "budget mlp", "reported mlp", "memory")] == pytest.approx([1.5, 1.05, 0.03, 1.1])
    torch_page.write_page(page, bars.verdicts(bars.TORCH_BARS, figures), LOAD, [], tmp_path / "page.md")
    text = text_of(tmp_path / "page.md")
    assert "| gpt_tiny, statistics of inputs and outputs | ≤ 1.8 | 1.50, holds, beyond 1.60 even |" in text
    assert "| hooks | 1.50 (1.40–1.60) |" in text
    assert "2.13.0, CPU." in " ".join(text.split())


@each_row(
    ("script", "answer"),
    [
        ("echo noise; echo '{\"a\": 1}'; echo '{\"a\": 2}'", {"a": 2}),
        ("echo why >&2; exit 3", "why"),
        ("echo '{}'; exit 4", "{}"),
        ("true", "exit status 0"),
        ("sleep 60 & sleep 60", "took more than 0.2 s"),
    ],
)
def test_a_child_gives_its_last_object_or_why_it_has_none(script: str, answer: object) -> None:
    if isinstance(answer, dict):
        assert children.report_of(["sh", "-c", script], 60) == answer
        return
    with pytest.raises(RuntimeError, match=str(answer)):
        children.report_of(["sh", "-c", script], 0.2 if "sleep" in script else 60)


def test_a_made_job_that_the_disk_has_no_room_for_is_refused_beforehand() -> None:
    size = made_job.JobSize(ranks=1000, ops=10_000, steps=100)
    needed = size.rows * (576 + 100 + 50)  # a record, its row in the tables, what an engine spills
    assert many_ranks.refusal(size, Path("/place"), needed) == ""
    said = many_ranks.refusal(size, Path("/place"), needed - 1)
    assert said.startswith("bench: 1,000,000,000 records need 726.0 GB in /place, which has 726.0 GB free; ")


def test_faults_of_a_made_job_are_where_they_were_planted() -> None:
    size = made_job.JobSize(ranks=8, ops=40, steps=10)
    faults = made_job.faults_of(size)
    example = np.zeros(1, [(name, kind) for name, kind in ROW_OF_BENCH.items()])
    common = made_job.common_rows(size, example)
    rows = [made_job.rows_of(rank, size, common) for rank in range(size.ranks)]
    with_nan = [(rank, int(one["step"][at]), int(one["op"][at])) for rank, one in enumerate(rows) for at in np.flatnonzero(one["nan"])[:1]]
    assert with_nan == [(faults.rank, faults.step, faults.op)]
    norms = np.array([one["l2"] for one in rows])
    distances = np.abs(np.log(norms / np.median(norms, axis=0))).mean(axis=1)
    assert int(np.argmax(distances)) == faults.drifting
    weights = [one["digest"][one["slot_kind"] == made_job.WEIGHT].tobytes() for one in rows]
    assert len(set(weights)) == 1
