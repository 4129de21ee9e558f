"""Accepts tensortap on a machine with a device: small programs run plain and under `tensortap exec`, and are compared.

usage: python3 bench/gpu_check.py --wheel 'dist/*.whl' [options]

Needs torch and NumPy, and no network. --tap names an unpacked command in the place of a wheel. Prints a table, and writes result.json into
the folder of --out. Exit code: 0 every check holds, 1 one does not, 3 nothing could be run. On the test device:
`PYTHONPATH=tests/device python3 bench/gpu_check.py --device tapdev --import tapdev --tap build/release/src/cli/tensortap`.

same    losses, parameters, random numbers, peak of the device's memory: equal bits in the plain and the captured run
values  of what the program read itself, how much stands in records that are no copies to the host
blind   records with elements that nobody looked at
find    the exit code of `tensortap find`, and what is to be said of it
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

PROGRAMS = Path(__file__).resolve().parent / "gpu_programs.py"
UNWRITTEN = 32  # of a record's flags
DTYPES = {"bool": 1, "int32": 4, "int64": 5, "uint8": 6, "float16": 10, "bfloat16": 11, "float32": 12, "float64": 13}
WORD = 300  # of what a table's cell has at most


@dataclass(frozen=True)
class Row:
    """A program, and how it is captured."""

    program: str
    options: tuple[str, ...] = ("--stats",)
    codes: tuple[int, ...] = (0,)  # of find
    hides: bool = False  # something of it runs unseen by design
    alone: bool = False
    exact: bool = True  # whether capture leaves the kernels that run
    cuda: bool = False  # whether the program needs CUDA


ROWS = {
    "mlp": Row("mlp"),
    "mlp full": Row("mlp", ("--full",)),
    "mlp wait": Row("mlp", ("--stats", "--device-stats", "wait")),
    "mlp host": Row("mlp", ("--stats", "--device-stats", "host"), codes=(0, 3), hides=True),
    "mlp kernel": Row("mlp", ("--stats", "--device-stats", "kernel"), codes=(0, 3), hides=True),
    "gpt kernel": Row("gpt", ("--stats", "--device-stats", "kernel"), codes=(0, 1, 3), hides=True),
    "gpt operators": Row("gpt", ("--stats", "--device-stats", "operators"), codes=(0, 1, 3), hides=True),
    "mlp off": Row("mlp", ("--stats", "--device-stats", "off"), codes=(3,), hides=True),
    "fused": Row("fused", ("--tensors",)),
    "gpt": Row("gpt", codes=(0, 1)),
    "infer": Row("infer", ("--tensors",)),
    "half_nan": Row("half_nan", codes=(1,)),
    "views": Row("views", ("--tensors",)),
    "loader": Row("loader"),
    "pinned": Row("pinned", codes=(0, 1)),
    "streams": Row("streams"),
    "unseen": Row("unseen"),
    "nccl": Row("nccl", cuda=True),
    "compiled": Row("compiled", codes=(0, 3), hides=True),
    "eager": Row("compiled", ("--stats", "--compile", "eager"), exact=False),
    "aot": Row("compiled", ("--stats", "--compile", "aot"), exact=False),
    "nodes": Row("compiled", ("--stats", "--compile", "inductor-nodes"), codes=(0, 3), exact=False, cuda=True),
    "compiled_nan": Row("compiled_nan", codes=(3,), hides=True, cuda=True),
    "nan nodes": Row("compiled_nan", ("--stats", "--compile", "inductor-nodes"), exact=False, cuda=True),
    "reduced": Row("reduced", codes=(3,), hides=True, cuda=True),
    "recorded": Row("recorded", codes=(1,), hides=True, cuda=True),
    "asserts": Row("asserts", codes=(0, 1, 3), hides=True),
    "memory": Row("memory", alone=True, cuda=True),
}
WAYS = {  # against each other, by turns
    "plain": None,
    "--stats": ("--stats",),
    "--stats --slots out": ("--stats", "--slots", "out"),
    "--device-stats wait": ("--stats", "--device-stats", "wait"),
    "--device-stats host": ("--stats", "--device-stats", "host"),
    "--device-stats kernel": ("--stats", "--device-stats", "kernel"),
    "--device-stats operators": ("--stats", "--device-stats", "operators"),
    "--device-stats off": ("--stats", "--device-stats", "off"),
}


@dataclass
class Answer:
    """What came of a row."""

    name: str
    good: bool = True
    skipped: bool = False
    words: dict[str, str] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)

    def say(self, column: str, word: str, good: bool = True) -> None:
        """Add to a cell."""
        before = self.words.get(column, "")
        self.words[column] = f"{before}; {word}" if before else word
        self.good = self.good and good


class Check:
    """The command, the programs and a folder for what they write."""

    def __init__(self, given: argparse.Namespace, command: Path, work: Path) -> None:
        self.given = given
        self.command = command
        self.work = work
        self.deadline = time.time() + float(given.seconds)

    def left(self) -> float:
        """Give the seconds that are left."""
        return self.deadline - time.time()

    def lacks(self, row: Row) -> bool:
        """Say whether a row needs another device."""
        return row.cuda and self.given.device.split(":")[0] != "cuda"

    def run(self, name: str, tag: str, before: list[str]) -> dict[str, Any]:
        """Run a program; `missing` of the result says why it has none."""
        out = self.work / f"{name}.{tag}.json"
        words = [sys.executable, str(PROGRAMS), name, str(out), "--device", self.given.device, "--import", self.given.module]
        start = time.time()
        if self.left() < 5:
            return {"missing": "no time left", "stderr": ""}
        try:
            limit = min(self.left(), self.given.each)
            done = subprocess.run(
                [*before, *words], capture_output=True, text=True, errors="replace", timeout=limit, check=False, cwd=self.work
            )
        except subprocess.TimeoutExpired as late:
            return {"missing": f"took more than {late.timeout:.0f} s", "stderr": str((late.stderr or b"")[-3000:])}
        result: dict[str, Any] = {"code": done.returncode, "seconds": round(time.time() - start, 1), "stderr": done.stderr[-6000:]}
        try:
            result.update(json.loads(out.read_text()))
            return result
        except (OSError, ValueError):
            return result | {"missing": "no result: " + " | ".join(done.stderr.strip().splitlines()[-3:])[:WORD]}

    def captured(self, name: str, tag: str, options: tuple[str, ...]) -> tuple[dict[str, Any], Path]:
        """Run a program under capture."""
        dump = self.work / f"dump.{name}.{tag}"
        shutil.rmtree(dump, ignore_errors=True)
        words = [str(self.command), "exec", "--out", str(dump), "--keep-free", "64MiB", *options, "--"]
        return self.run(name, tag, words), dump

    def find(self, dump: Path) -> tuple[int, str]:
        """Ask `find`."""
        done = subprocess.run(
            [str(self.command), "find", str(dump)], capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
        return done.returncode, (done.stdout + done.stderr).strip()


def records_of(dump: Path) -> tuple[Any, list[dict[str, Any]], dict[str, Any]]:
    """Give the records, the ops and run.json."""
    rows = np.load(dump / "records.npy", mmap_mode="r")
    ops = [json.loads(line) for line in (dump / "ops.jsonl").read_text().splitlines()]
    return rows[rows["committed"] != 0], ops, json.loads((dump / "run.json").read_text())


def is_found(reading: dict[str, Any], rows: Any) -> bool:
    """Say whether a record has exactly what the program read; sums within the bound of docs/statistics.md."""
    shape = reading["shape"]
    some = rows[(rows["dtype"] == DTYPES[reading["dtype"]]) & (rows["dims_count"] == len(shape)) & (rows["count"] > 0)]
    for i, size in enumerate(shape):
        some = some[some["shape"][:, i] == size]
    for key in ("nan", "pos_inf", "neg_inf", "zero"):
        some = some[some[key] == reading[key]]
    some = some[some["first_nonfinite"] == reading["first"]]
    if "min" in reading:
        some = some[(some["min"] == reading["min"]) & (some["max"] == reading["max"])]
        some = some[abs(some["l2"] - reading["l2"]) <= 2.0**-17 * reading["l2"]]
    return len(some) > 0


DIGESTS = """
import hashlib, json, sys, numpy, tensortap
dump = tensortap.open(sys.argv[1])
digests = set()
for row in range(len(dump)):
    try:
        digests.add(hashlib.sha256(numpy.ascontiguousarray(dump[row]).tobytes()).hexdigest())
    except Exception as error:
        digests.add(f"{type(error).__name__}: {error}"[:120])
print(json.dumps(sorted(digests)))
"""


def missing_tensors(check: Check, dump: Path, readings: list[dict[str, Any]]) -> list[str]:
    """Name the values that the program read and whose bytes no tensor of the dump has."""
    package = next(iter(check.work.glob("wheel/tensortap/__init__.py")), None)
    if package is None:
        return []
    environment = {**os.environ, "PYTHONPATH": str(package.parents[1])}
    words = [sys.executable, "-c", DIGESTS, str(dump)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, env=environment)
    if done.returncode != 0:
        return [done.stderr.strip()[-WORD:]]
    digests = set(json.loads(done.stdout))
    return [one["name"] for one in readings if one["digest"] and one["digest"] not in digests]


def compare_runs(check: Check, row: Row, answer: Answer, plain: dict[str, Any], tapped: dict[str, Any]) -> None:
    """Say whether the capture changed what the program computed."""
    ours, theirs = plain["same"], tapped["same"]
    if ours == theirs and plain["code"] == tapped["code"]:
        answer.say("same", "yes")
        return
    if not row.exact:
        pairs = zip(ours["losses"], theirs["losses"], strict=True)
        close = all(abs(float.fromhex(a) - float.fromhex(b)) <= 1e-3 * abs(float.fromhex(a)) for a, b in pairs)
        answer.say("same", "close" if close else "far", close)
        return
    again = check.run(row.program, "again", [])
    for key in ours:
        if ours[key] == theirs.get(key):
            continue
        varies = again.get("same", {}).get(key) != ours[key]
        answer.say("same", f"{key} varies" if varies else f"{key} {str(ours[key])[-40:]} -> {str(theirs.get(key))[-40:]}", varies)
    if plain["code"] != tapped["code"]:
        answer.say("same", f"exit code {plain['code']} -> {tapped['code']}", False)


def judge_values(check: Check, row: Row, answer: Answer, tapped: dict[str, Any], dump: Path) -> None:
    """Hold the records against what the program read."""
    rows, ops, report = records_of(dump)
    copies = [op["id"] for op in ops if op["type"] == "_to_copy"]
    made = rows[~np.isin(rows["op"], copies)]
    if row.hides:
        answer.say("values", "-")
    else:
        readings = tapped["readings"]
        missed = [one["name"] for one in readings if "--tensors" not in row.options and not is_found(one, made)]
        if "--stats" not in row.options:
            missed += [f"{name} (bytes)" for name in missing_tensors(check, dump, readings)]
        answer.say("values", f"{len(readings) - len(missed)}/{len(readings)} {', '.join(missed[:3])}".strip(), not missed)
    blind = rows[(rows["numel"] > 0) & (rows["count"] == 0) & ((rows["flags"] & UNWRITTEN) == 0)]
    reasons = [f"{one['count']} {one['reason']}" for one in [*report["ops"]["not_captured"], *report["ops"].get("partly", [])]]
    answer.say("blind", f"{len(blind)}/{len(rows)} {', '.join(reasons)}".strip(), row.hides or len(blind) == 0)
    for key in ("lost", "content_mismatch", "problems", "first_error"):
        if report.get(key):
            answer.say("find", f"{key}: {str(report[key])[:80]}", False)
    answer.kept["run.json"] = {
        key: report.get(key) for key in ("devices", "not_looked_at", "records", "ops", "notes", "first_nonfinite", "losses")
    }
    if answer.name == "pinned":
        # copy_ overwrites NaN with values that are not NaN.
        types = {op["id"]: op["type"] for op in ops}
        wrong = sum(int(one["nan"]) > 0 for one in made[made["slot_kind"] == 0] if types[int(one["op"])] not in ("full", "fill_"))
        answer.say("find", f"false alarms: {wrong}", wrong == 0)


def judge_find(check: Check, row: Row, answer: Answer, dump: Path) -> None:
    """Hold what `find` says against what is known of the program."""
    code, text = check.find(dump)
    lines = text.splitlines()
    answer.say("find", f"{code}: {lines[0] if lines else ''}"[:WORD], code in row.codes)
    answer.kept["find"] = text[:4000]
    if answer.name == "half_nan":
        line = next(i for i, source in enumerate(PROGRAMS.read_text().splitlines(), 1) if "x.exp()" in source)
        answer.say(
            "find",
            "" if "exp" in lines[0] and f"{PROGRAMS.name}:{line}" in text else "not the op or the line",
            f"{PROGRAMS.name}:{line}" in text,
        )


def one(check: Check, name: str, plains: dict[str, Any]) -> Answer:
    """Check one row."""
    row, answer = ROWS[name], Answer(name)
    if check.lacks(row):
        answer.say("same", "is about CUDA alone")
        answer.skipped = True
        return answer
    plain = plains[row.program]
    if "missing" in plain:
        answer.say("same", f"the program does not run here: {plain['missing']}")
        answer.skipped = True
        return answer
    tapped, dump = check.captured(row.program, name.replace(" ", "_"), row.options)
    answer.kept |= {"plain": plain, "captured": tapped}
    try:
        if "missing" in tapped:
            answer.say("same", tapped["missing"], False)
            return answer
        compare_runs(check, row, answer, plain, tapped)
        judge_values(check, row, answer, tapped, dump)
        judge_find(check, row, answer, dump)
    except Exception as error:
        answer.say("find", f"{type(error).__name__}: {error}"[:WORD], False)
    if not check.given.keep:
        shutil.rmtree(dump, ignore_errors=True)
    return answer


def times(check: Check) -> list[str]:
    """Measure steps of a transformer by turns: medians without the first four, each way twice, in both orders."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn, way in enumerate([*WAYS, *reversed(WAYS)]):
        options = WAYS[way]
        if check.left() < 15:
            break
        done = check.run("gpt_time", f"{turn}", []) if options is None else check.captured("gpt_time", f"time{turn}", options)[0]
        steps = sorted(done.get("steps_ms", [])[4:])
        found[way] += steps[len(steps) // 2 : len(steps) // 2 + 1]
        shutil.rmtree(check.work / f"dump.gpt_time.time{turn}", ignore_errors=True)
    mean = {way: sum(some) / len(some) for way, some in found.items() if some}
    plain = mean.get("plain", float("nan"))
    return [f"{way:20} {value:8.2f} ms  x {value / plain:.3f}  {[round(one, 2) for one in found[way]]}" for way, value in mean.items()]


def unpacked(pattern: str, work: Path) -> Path:
    """Unpack a wheel; gives its command."""
    wheels = sorted(glob.glob(pattern))
    if not wheels:
        raise SystemExit(f"no wheel {pattern}")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheels[-1], str(work / "wheel")], check=True)
    command = next(iter((work / "wheel").glob("*.data/scripts/tensortap")))
    command.chmod(0o755)
    print("wheel:", Path(wheels[-1]).name)
    return command


def show(answers: list[Answer]) -> None:
    """Print the table, and more of what failed."""
    columns = {"same": 36, "values": 24, "blind": 60, "find": 110}
    for answer in answers:
        mark = "-   " if answer.skipped else "ok  " if answer.good else "FAIL"
        print(mark, f"{answer.name:12}", "  ".join(answer.words.get(key, "")[:width] for key, width in columns.items()), flush=True)
    for answer in answers:
        if answer.good and not answer.skipped:
            continue
        print(f"---- {answer.name}:", json.dumps(answer.words)[:700])
        told = answer.kept.get("captured", answer.kept.get("plain", {}))
        print("\n".join("    " + line[:200] for line in told.get("stderr", "").strip().splitlines()[-6:]))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--wheel", default="*.whl")
    parser.add_argument("--tap", type=Path)
    parser.add_argument("--out", type=Path, default=Path("gpu_check.out"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--import", dest="module", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--each", type=float, default=90)
    parser.add_argument("--parallel", type=int, default=6)
    parser.add_argument("--no-time", action="store_true")
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args()


def main() -> int:
    """Check every row."""
    given = arguments()
    # The programs run in another folder.
    os.environ["PYTHONPATH"] = os.pathsep.join(
        str(Path(one).resolve()) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one
    )
    given.out.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="gpu_check."))
    check = Check(given, given.tap.resolve() if given.tap else unpacked(given.wheel, work), work)
    names = [name for name in ROWS if not given.only or name in given.only.split(",")]
    programs = list(dict.fromkeys(ROWS[name].program for name in names if not ROWS[name].alone and not check.lacks(ROWS[name])))
    with ThreadPoolExecutor(given.parallel) as pool:
        plains = dict(zip(programs, pool.map(lambda name: check.run(name, "plain", []), programs), strict=True))
        together = [name for name in names if not ROWS[name].alone]
        answers = dict(zip(together, pool.map(lambda name: one(check, name, plains), together), strict=True))
    for name in names:
        if ROWS[name].alone:
            plains[ROWS[name].program] = {"missing": ""} if check.lacks(ROWS[name]) else check.run(ROWS[name].program, "plain", [])
            answers[name] = one(check, name, plains)
    lines = [] if given.no_time else times(check)
    ordered = [answers[name] for name in names]
    show(ordered)
    print("step of a transformer (4 layers, d 512, 8 x 128 tokens, amp):", *lines, sep="\n  ")
    result = {"rows": [{"name": a.name, "good": a.good, **a.words, **a.kept} for a in ordered], "times": lines}
    (given.out / "result.json").write_text(json.dumps(result, indent=1))
    print("kept:" if given.keep else "", work if given.keep else "")
    if not given.keep:
        shutil.rmtree(work, ignore_errors=True)
    if all(answer.skipped for answer in ordered):
        return 3
    return 0 if all(answer.good for answer in ordered) else 1


if __name__ == "__main__":
    raise SystemExit(main())
