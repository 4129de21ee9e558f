"""Runs the built fuzz targets one after the other over corpora made from the models and dumps that are there.

usage: run_fuzz.py [SECONDS] [TARGET...]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from project_files import ROOT

BUILD = ROOT / "build" / "fuzz"
SEED_LIMIT_BYTES = 256 * 1024
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
    corpus = BUILD / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    wanted = next((suffixes for word, suffixes in SEEDS.items() if word in target), None)
    chosen = [path for path in seeds if wanted is None or path.suffix in wanted]
    for number, path in enumerate(chosen[:: max(1, len(chosen) // 500)]):
        copy = corpus / f"seed_{number}{path.suffix}"
        if not copy.exists():
            shutil.copyfile(path, copy)
    return corpus


def run_target(program: Path, corpus: Path, seconds: int) -> bool:
    """Run one target; say whether it came through."""
    crashes = BUILD / "crashes"
    crashes.mkdir(parents=True, exist_ok=True)
    command = [str(program), str(corpus), f"-max_total_time={seconds}", f"-artifact_prefix={crashes}/{program.name}-"]
    command += ["-rss_limit_mb=2048", "-timeout=10", "-print_final_stats=1", "-verbosity=0"]
    environment = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1"}
    return subprocess.run(command, check=False, env=environment, cwd=BUILD).returncode == 0


def main() -> int:
    """Run the targets that the command line names, or all."""
    arguments = sys.argv[1:]
    seconds = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 30
    programs = sorted(path for path in (BUILD / "fuzz").glob("*_fuzz") if os.access(path, os.X_OK))
    if arguments:
        programs = [path for path in programs if path.name in arguments or path.name.removesuffix("_fuzz") in arguments]
    if not programs:
        print("run_fuzz: no such fuzz target was built", file=sys.stderr)
        return 2
    seeds = seed_files()
    failed = []
    for program in programs:
        print(f"run_fuzz: {program.name}, {seconds} s", flush=True)
        if not run_target(program, make_corpus(program.name, seeds), seconds):
            failed.append(program.name)
    for name in failed:
        print(f"run_fuzz: {name} failed; its input is in {(BUILD / 'crashes').relative_to(ROOT)}")
    print(f"{len(programs) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
