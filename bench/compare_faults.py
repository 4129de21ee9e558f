"""Plants faults of known places in small programs, makes sound pairs beside them, and counts what `tensortap compare` says of each.

A fault is found when the exit code is 1, and named when the culprit stands in the first lines of the answer. Dumps stay in the folder: the
same pairs can be judged again by another command.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import onnx
from compare_corpus import Pair, corpus
from compare_models import models

CHILDREN = {kind: Path(__file__).with_name(f"compare_{kind}_child.py") for kind in ("torch", "engine")}
FIRST_LINES = 6
EXIT_BAR, NAMED_BAR = 0.95, 0.93
ANSWERS = (0, 1, 3)  # exit codes; with any other the command failed


@dataclass(frozen=True)
class Places:
    """The commands and folders of a run of the bench."""

    command: Path
    folder: Path
    torch: Path
    runtimes: Path

    def words(self, run: list[str], out: Path) -> list[str]:
        """Return the command line that makes a dump."""
        if run[0] in CHILDREN:
            levels = [word for option in run[1:] if option.startswith("levels=") for word in ("--levels", option.removeprefix("levels="))]
            program = [str(self.torch), str(CHILDREN[run[0]]), *(option for option in run[1:] if not option.startswith("levels="))]
            return [str(self.command), "exec", "--quiet", "--full", *levels, "--out", str(out), "--", *program]
        options = [word for option in run[3:] for word in option.split()]
        return [str(self.command), "run", str(self.folder / f"{run[1]}.onnx"), "--quiet", "--full", "--out", str(out), *options]


def capture(places: Places, name: str, run: list[str]) -> str:
    """Make one dump unless it exists; returns what went wrong."""
    out = places.folder / "dumps" / name
    if out.exists():
        return ""
    environment = dict(os.environ)
    if run[0] == "onnx" and run[2]:
        environment["TENSORTAP_ONNXRUNTIME"] = str(next((places.runtimes / run[2]).rglob("libonnxruntime.so*")))
    unfinished = out.with_name(name + ".unfinished")
    subprocess.run(["rm", "-rf", str(unfinished)], check=True)
    done = subprocess.run(places.words(run, unfinished), capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        return f"{name}: {done.stderr[-600:]}"
    unfinished.rename(out)
    return ""


@dataclass(frozen=True)
class Answer:
    """What the command said of a pair."""

    pair: Pair
    code: int
    first: list[str]

    @property
    def named(self) -> bool:
        """Whether the first lines name the culprit."""
        return self.code == 1 and any(re.search(self.pair.culprit, line) for line in self.first)


def first_lines(text: str) -> list[str]:
    """Return the verdict with what stands below it, and the line of the first difference."""
    lines, wanted, kept = text.splitlines(), False, []
    for line in lines:
        title = line[:12].strip()
        if title:
            wanted = title in ("verdict", "first", "different", "agree")
        if wanted:
            kept.append(line)
    return kept[:FIRST_LINES]


def ask(places: Places, judge: Path, pair: Pair) -> Answer:
    """Compare a pair."""
    words = [str(judge), "compare", str(places.folder / "dumps" / pair.a), str(places.folder / "dumps" / pair.b), "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return Answer(pair, done.returncode, first_lines(done.stdout) or done.stderr.splitlines()[:2])


def report(answers: list[Answer], *, everything: bool) -> bool:
    """Print what was found; returns whether the bars hold."""
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        words = answer.pair.name.split()
        groups.setdefault(" ".join(words[: 2 if words[0] != "sound" else 3]), []).append(answer)
    for name, group in groups.items():
        if group[0].pair.culprit:
            found, named = sum(a.code == 1 for a in group), sum(a.named for a in group)
            print(f"{name:24} {len(group):3} faults   found {found:3}   named {named:3}")
        else:
            alarms, silent = sum(a.code == 1 for a in group), sum(a.code not in (0, 1) for a in group)
            print(f"{name:24} {len(group):3} sound    alarms {alarms:2}   no answer {silent}")
    for answer in answers:
        right = answer.named if answer.pair.culprit else answer.code == 0
        if not right or everything:
            print(
                f"\n{answer.pair.name}: exit {answer.code}, wanted {answer.pair.culprit or 'silence'}\n    {answer.pair.a} {answer.pair.b}"
            )
            print("\n".join("    " + line for line in answer.first))
    faults, sound = [a for a in answers if a.pair.culprit], [a for a in answers if not a.pair.culprit]
    found, named = sum(a.code == 1 for a in faults), sum(a.named for a in faults)
    alarms, silent = sum(a.code == 1 for a in sound), sum(a.code not in (0, 1) for a in sound)
    print(f"\nfound {found} of {len(faults)}, named {named}; false alarms {alarms} of {len(sound)}, without an answer {silent}")
    broken = [answer for answer in answers if answer.code not in ANSWERS]
    return found >= EXIT_BAR * len(faults) and named >= NAMED_BAR * len(faults) and alarms == silent == len(broken) == 0


def main() -> int:
    """Make what is missing, compare, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", type=Path, required=True, help="the installed command, which makes the dumps")
    parser.add_argument("--judge", type=Path, help="the command that compares them (--command)")
    parser.add_argument("--torch", type=Path, required=True, help="a Python that has torch")
    parser.add_argument("--runtimes", type=Path, required=True, help="folder with a folder for each release of the runtime")
    parser.add_argument("--folder", type=Path, required=True, help="where models and dumps are kept")
    parser.add_argument("-k", dest="only", default="", help="only pairs whose name matches this expression")
    parser.add_argument("--everything", action="store_true", help="print every answer, not only wrong ones")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each pair")
    options = parser.parse_args()
    places = Places(options.command, options.folder, options.torch, options.runtimes)
    (places.folder / "dumps").mkdir(parents=True, exist_ok=True)
    for name, model in models():
        if not (places.folder / f"{name}.onnx").exists():
            onnx.save(model, str(places.folder / f"{name}.onnx"))
    made = corpus(sorted(path.name for path in options.runtimes.iterdir()))
    pairs = [pair for pair in made.pairs if re.search(options.only, pair.name)]
    wanted = {name for pair in pairs for name in (pair.a, pair.b)}
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        failed = [text for text in workers.map(lambda name: capture(places, name, made.runs[name]), sorted(wanted)) if text]
        if failed:
            print("\n".join(failed), file=sys.stderr)
        pairs = [pair for pair in pairs if all((places.folder / "dumps" / side).exists() for side in (pair.a, pair.b))]
        answers = list(workers.map(lambda pair: ask(places, options.judge or options.command, pair), pairs))
    if options.json:
        for answer in answers:
            print(json.dumps({"pair": answer.pair.name, "code": answer.code, "named": answer.named, "first": answer.first}))
    good = report(answers, everything=options.everything) if not options.json else True
    return 0 if good and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
