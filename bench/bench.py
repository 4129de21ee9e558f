"""Measures what capture costs, says which bars hold, and writes docs/overhead.md and docs/overhead_pytorch.md; `./dev bench` calls it.

usage: bench.py [--quick] [--onnx | --pytorch] [--processes N] [--pairs N] [--one-thread] [--json] [--output FOLDER]

The bars go to standard output: as text, or with --json as one JSON object that has the figures of the pages, too. Exit code 1 when
something could not be measured; a bar that does not hold is a result.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import time
from pathlib import Path
from typing import Any

import overhead
import torch_overhead
from bars import ONNX_BARS, TORCH_BARS, Verdict, summary, verdicts
from cases import ROOT
from machine import Load, LoadMeter, machine_class
from overhead_page import Page
from overhead_page import write_page as write_onnx_page
from plan import Plan, say
from torch_overhead import TorchPage
from torch_page import write_page as write_torch_page

ROUGH = "A quick run: the figures are rough (few pairs, few programs), and no page was written."


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="./dev bench", description="Measure what capture costs.")
    parser.add_argument("--quick", action="store_true", help="five minutes at most, rough figures, no page; for trying")
    half = parser.add_mutually_exclusive_group()
    half.add_argument("--onnx", action="store_true", help="ONNX models alone")
    half.add_argument("--pytorch", action="store_true", help="PyTorch programs alone")
    parser.add_argument("--processes", type=int, default=2, help="processes for each figure of an ONNX model (2)")
    parser.add_argument("--pairs", type=int, default=9, help="pairs of bursts for each figure of a PyTorch program (9)")
    parser.add_argument("--one-thread", action="store_true", help="leave out the tables with two threads; the bars are of one")
    parser.add_argument("--json", action="store_true", help="bars and figures as one JSON object on standard output")
    parser.add_argument("--output", type=Path, default=ROOT / "docs", metavar="FOLDER", help="where the pages go (docs)")
    return parser.parse_args()


def strict(value: Any) -> Any:
    """Make figures fit for strict JSON: NaN and Inf become null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return strict(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {str(key): strict(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [strict(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def text_report(found: list[Verdict], load: Load, plan: Plan) -> str:
    """Write what the terminal shows at the end."""
    lines = [verdict.text() for verdict in found]
    if plan.problems:
        lines += ["", "Not measured:", *(f"- {problem}" for problem in plan.problems)]
    lines += ["", *([ROUGH] if plan.quick else []), load.sentence(), summary(found) + "."]
    return "\n".join(lines)


def json_report(found: list[Verdict], load: Load, plan: Plan, figures: dict[str, Any]) -> str:
    """Write the same as JSON."""
    report = {
        "machine": machine_class(),
        "load": {**dataclasses.asdict(load), "quiet": load.is_quiet},
        "quick": plan.quick,
        "bars": [verdict.as_json() for verdict in found],
        "problems": plan.problems,
        "figures": figures,
    }
    return json.dumps(strict(report), indent=1, allow_nan=False)


def onnx_half(plan: Plan, meter: LoadMeter, folder: Path) -> tuple[list[Verdict], Page]:
    """Measure ONNX models and write their page."""
    page = overhead.measure(plan)
    found = verdicts(ONNX_BARS, overhead.onnx_figures(page), overhead.figure_notes(page))
    if not plan.quick:
        write_onnx_page(page, found, meter.load(), folder / "overhead.md")
    return found, page


def torch_half(plan: Plan, meter: LoadMeter, folder: Path) -> tuple[list[Verdict], TorchPage]:
    """Measure PyTorch programs and write their page."""
    before = len(plan.problems)
    page = torch_overhead.measure(plan)
    found = verdicts(TORCH_BARS, torch_overhead.torch_figures(page))
    if not plan.quick:
        write_torch_page(page, found, meter.load(), plan.problems[before:], folder / "overhead_pytorch.md")
    return found, page


def main() -> int:
    """Measure, judge, write."""
    arguments = parse_arguments()
    start = time.monotonic()
    threads = (1,) if arguments.one_thread else (1, 2)
    plan = Plan.of_quick_run() if arguments.quick else Plan(processes=arguments.processes, pairs=arguments.pairs, threads=threads)
    meter = LoadMeter()
    found: list[Verdict] = []
    figures: dict[str, Any] = {}
    if not arguments.pytorch:
        onnx_found, figures["onnx"] = onnx_half(plan, meter, arguments.output)
        found += onnx_found
    if not arguments.onnx:
        torch_found, figures["pytorch"] = torch_half(plan, meter, arguments.output)
        found += torch_found
    load = meter.load()
    print(json_report(found, load, plan, figures) if arguments.json else text_report(found, load, plan))
    say(f"took {time.monotonic() - start:.0f} s")
    return 1 if plan.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
