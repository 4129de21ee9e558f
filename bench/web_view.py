"""Measures the web view and writes docs/overhead_web.md: pictures, frames and memory, beside Netron and Model Explorer.

usage: web_view.py [--output FILE] [--no-peers]; TENSORTAP_COMMAND, TENSORTAP_TEST_NODE and TENSORTAP_VIEWERS as ./dev sets them.

Dumps of 10,000 and 100,000 ops and of a million records are made by bench/layers_engine.c; the other viewers show the same network. Frames
are counted in Chromium without a window and without a graphics processor.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote

import web_model
from machine import LoadMeter

ROOT = Path(__file__).resolve().parent.parent
NODES = 10_000
FIRST_PICTURE_SECONDS = 1.5
FRAME_MILLISECONDS = 17
SCRIPT_MILLISECONDS = 4
MEMORY_MIB = 300
PEERS_HEADING = "## Other viewers"
# Netron shows its welcome page until it has drawn the graph.
NETRON_READY = "document.querySelectorAll('.node').length > 1000 && !document.body.classList.contains('welcome')"
EXPLORER_READY = "document.querySelector('webgl-renderer canvas') !== null && !document.querySelector('.loading')"


@dataclass(frozen=True)
class Bar:
    """A figure and its limit."""

    name: str
    value: float
    limit: float
    unit: str

    def line(self) -> str:
        """Write a row of the table."""
        return f"| {self.name} | {self.value:.3g} {self.unit} | {self.limit:g} {self.unit} | {'yes' if self.holds else 'no'} |"

    @property
    def holds(self) -> bool:
        """Whether the limit is kept."""
        return self.value <= self.limit


def in_browser(folder: Path, *words: str | Path) -> dict[str, Any]:
    """Run web/tests/bench.ts."""
    command = [os.environ["TENSORTAP_TEST_NODE"], ROOT / "web/tests/bench.ts", folder, *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: {' '.join(map(str, command))} failed:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def build_engine(folder: Path) -> Path:
    """Compile the engine against the release build's library."""
    release = Path(os.environ["TENSORTAP_COMMAND"]).resolve().parents[2]
    engine = folder / "layers_engine"
    include, source = f"-I{ROOT / 'include'}", ROOT / "bench/layers_engine.c"
    words = ["cc", "-O2", "-std=c11", include, source, f"-L{release}", "-ltensortap_capture", f"-Wl,-rpath,{release}", "-o", engine]
    subprocess.run([str(word) for word in words], check=True)
    return engine


def measure_own(folder: Path) -> dict[str, dict[str, Any]]:
    """Serve a dump of each size."""
    engine = build_engine(folder)
    results = {}
    for name, ops, steps in (("10,000 ops", NODES, 1), ("100,000 ops", 100_000, 1), ("1,000,000 records", 100_000, 10)):
        dump = folder / f"dump{ops}x{steps}"
        subprocess.run([str(engine), str(ops), str(steps), str(dump)], check=True)
        results[name] = in_browser(folder, "serve", os.environ["TENSORTAP_COMMAND"], dump)
        print(f"bench: {name}: {json.dumps(results[name])}", file=sys.stderr)
    return results


def measure_peers(folder: Path, viewers: Path) -> dict[str, dict[str, Any]]:
    """Start the other viewers with the same network."""
    model, graph = folder / "model.onnx", folder / "model.json"
    web_model.save_onnx(NODES, model)
    web_model.save_model_explorer(NODES, graph)
    data = quote(json.dumps({"models": [{"url": str(graph)}]}))
    explorer: list[str | Path] = ["--no_open_in_browser", "--skip_health_check", "--host", "127.0.0.1", "--port", "{port}", graph]
    programs: dict[str, tuple[str, list[str | Path]]] = {
        "Netron": (NETRON_READY, ["http://127.0.0.1:{port}/", viewers / "netron", "--host", "127.0.0.1", "--port", "{port}", model]),
        "Model Explorer": (EXPLORER_READY, [f"http://127.0.0.1:{{port}}/?data={data}", viewers / "model-explorer", *explorer]),
    }
    results = {}
    for name, (ready, words) in programs.items():
        results[name] = in_browser(folder, "peer", ready, *words)
        print(f"bench: {name}: {json.dumps(results[name])}", file=sys.stderr)
    return results


def bars_of(own: dict[str, dict[str, Any]]) -> list[Bar]:
    """Compare the measured figures with the promised limits."""
    bars = []
    for name in ("10,000 ops", "100,000 ops"):
        flight = own[name]["flight"]
        bars.append(Bar(f"{name}: from frame to frame, 95 of 100", flight["interval"], FRAME_MILLISECONDS, "ms"))
        bars.append(Bar(f"{name}: script for a frame, 95 of 100", flight["script"], SCRIPT_MILLISECONDS, "ms"))
    large = own["1,000,000 records"]
    bars.append(Bar("1,000,000 records: first picture after the command began", large["start"], FIRST_PICTURE_SECONDS, "s"))
    bars.append(Bar("1,000,000 records: the server's own memory", large["memory"]["own"], MEMORY_MIB, "MiB"))
    return bars


def number(value: float | None, unit: str) -> str:
    """Write a figure, or "none in 4 minutes"."""
    return "none in 4 minutes" if value is None else f"{value:.3g} {unit}"


def peers_section(own: dict[str, dict[str, Any]], peers: dict[str, dict[str, Any]], machine: str) -> str:
    """Write the part of the page about other viewers, which are measured less often than the rest."""
    lines = [
        PEERS_HEADING,
        "",
        *textwrap.wrap(f"Measured on {datetime.now(timezone.utc):%Y-%m-%d}. {machine}", 140),
        "",
        f"The same network of {NODES:,} ops. Time from the page's call to the graph; then turns of the wheel, from frame to frame, 95 of",
        "100:",
        "",
        "| | graph | frame |",
        "|---|---|---|",
        f"| tensortap | {number(own['10,000 ops']['graph'], 's')} | {number(own['10,000 ops']['wheel'], 'ms')} |",
        *(f"| {name} | {number(one['graph'], 's')} | {number(one['wheel'], 'ms')} |" for name, one in peers.items()),
    ]
    return "\n".join(lines)


def kept_section(page_before: Path) -> str:
    """Give the part about other viewers of the earlier page, with its own day and load, or a line that it was not measured."""
    text = page_before.read_text() if page_before.is_file() else ""
    at = text.find(PEERS_HEADING)
    return f"{PEERS_HEADING}\n\nNot measured (`--no-peers`)." if at < 0 else text[at:].rstrip("\n")


def page(own: dict[str, dict[str, Any]], peers: str, machine: str) -> str:
    """Write docs/overhead_web.md; `peers` is its last part."""
    lines = [
        "# What the web view costs",
        "",
        "Made by `./dev bench --web`; the figures are not edited. Chromium without a window, drawing without a graphics processor, at",
        "1280 × 720, all groups of the graph open.",
        *textwrap.wrap(machine, 140),
        "",
        "| | measured | limit | holds |",
        "|---|---|---|---|",
        *(bar.line() for bar in bars_of(own)),
        "",
        "Frames are those of a flight from far away down to where ops can be read, along the graph, and away again. Rows of the dump are",
        "mapped from its file, whose pages the server shares with the system's cache: they are not counted.",
        "",
        f"The sentences about a million records appeared {number(own['1,000,000 records']['sentences'], 's')} after the command began.",
        "",
        peers,
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure and write the page; 1 when a limit is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "docs/overhead_web.md")
    parser.add_argument("--no-peers", action="store_true", help="skip the other viewers: the page keeps its part about them")
    options = parser.parse_args()
    meter = LoadMeter()
    with tempfile.TemporaryDirectory() as name:
        own = measure_own(Path(name))
        peers = {} if options.no_peers else measure_peers(Path(name), Path(os.environ["TENSORTAP_VIEWERS"]))
    bars = bars_of(own)
    machine = meter.load().sentence()
    last = kept_section(options.output) if options.no_peers else peers_section(own, peers, machine)
    options.output.write_text(page(own, last, machine))
    for bar in bars:
        print(bar.line())
    return 0 if all(bar.holds for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
