"""Runs the built fuzz targets, one for each processor at a time, over corpora made from the available models and dumps.

It also runs earlier findings that are kept (fuzz/findings).

usage: run_fuzz.py BUILD_FOLDER [SECONDS] [TARGET...]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from project_files import ROOT

# Corpora and crashes, whichever build the targets are of.
KEPT = ROOT / "build" / "fuzz"
# What a target found, FINDINGS/<target>/: kept, so that it is not found again.
FINDINGS = ROOT / "fuzz" / "findings"
SEED_LIMIT_BYTES = 256 * 1024
MOST_SHOWN = 6000  # characters of a failed target's report
# Which files make good beginnings for a target, by a word of its name. Targets without a line begin with all of them.
SEEDS = {
    "onnx_editor": (".onnx",),
    "onnx_tensor": (".pb",),
    "npy": (".npy",),
    "npz": (".npz",),
    "tap": (".npy", ".npz", ".json", ".jsonl"),
    "where": (".txt",),
    "config": (".json",),
    "dialect": (".json",),
    "requests": (".jsonl",),
}


def seed_files() -> list[Path]:
    """List small files of every kind: test data of the project, the onnx package's, the demo's dump."""
    places = [ROOT / "tests", ROOT / "fuzz", ROOT / "build" / "demo", ROOT / "build" / "assets" / "models"]
    backend = list(ROOT.glob("build/venv/lib/python3*/site-packages/onnx/backend/test/data"))
    suffixes = {suffix for wanted in SEEDS.values() for suffix in wanted}
    found = []
    for place in [*places, *backend]:
        if place.is_dir():
            found += [path for path in place.rglob("*") if path.suffix in suffixes and path.is_file()]
    return [path for path in found if 0 < path.stat().st_size <= SEED_LIMIT_BYTES]


def make_corpus(target: str, seeds: list[Path]) -> Path:
    """Fill the corpus folder of a target, at most 500 seeds; what earlier runs found stays."""
    corpus = KEPT / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    wanted = next((suffixes for word, suffixes in SEEDS.items() if word in target), None)
    chosen = [path for path in seeds if wanted is None or path.suffix in wanted]
    for number, path in enumerate(chosen[:: max(1, len(chosen) // 500)]):
        copy = corpus / f"seed_{number}{path.suffix}"
        if not copy.exists():
            shutil.copyfile(path, copy)
    return corpus


def run_target(program: Path, seeds: list[Path], seconds: int) -> bool:
    """Run one target over its corpus and its kept findings; print what it did and say whether it came through."""
    crashes = KEPT / "crashes"
    crashes.mkdir(parents=True, exist_ok=True)
    corpora = [make_corpus(program.name, seeds), FINDINGS / program.name.removesuffix("_fuzz")]
    command = [str(program), *(str(folder) for folder in corpora if folder.is_dir())]
    command += [f"-max_total_time={seconds}", f"-artifact_prefix={crashes}/{program.name}-"]
    command += ["-rss_limit_mb=2048", "-timeout=60", "-print_final_stats=1", "-verbosity=0"]
    environment = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1"}
    done = subprocess.run(command, check=False, env=environment, cwd=KEPT, stderr=subprocess.PIPE, text=True, errors="replace")
    executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    print(
        f"run_fuzz: {program.name}, {seconds} s: {executed[1] if executed else 0} inputs{', FAILED' if done.returncode else ''}", flush=True
    )
    if done.returncode != 0:
        print(done.stderr[-MOST_SHOWN:], file=sys.stderr)
    return done.returncode == 0


def main() -> int:
    """Run the targets that the command line names, or all."""
    if len(sys.argv) < 2:
        print("run_fuzz: which build folder?", file=sys.stderr)
        return 2
    build = Path(sys.argv[1]).resolve()
    arguments = sys.argv[2:]
    seconds = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 30
    programs = sorted(path for path in (build / "fuzz").glob("*_fuzz") if os.access(path, os.X_OK))
    known = {path.name.removesuffix("_fuzz") for path in programs}
    wanted = {name.removesuffix("_fuzz") for name in arguments}
    if not programs or wanted - known:
        print(f"run_fuzz: no such fuzz target was built: {', '.join(sorted(wanted - known)) or 'none was'}", file=sys.stderr)
        return 2
    programs = [path for path in programs if not wanted or path.name.removesuffix("_fuzz") in wanted]
    seeds = seed_files()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = list(pool.map(lambda program: run_target(program, seeds, seconds), programs))
    failed = [program.name for program, came_through in zip(programs, passed, strict=True) if not came_through]
    for name in failed:
        print(f"run_fuzz: {name} failed; its input is in {(KEPT / 'crashes').relative_to(ROOT)}; keep it in fuzz/findings")
    print(f"{len(programs) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
