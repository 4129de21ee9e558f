"""Finds stiff phrases in comments, messages and documents, and holds their number in each file against tools/english_allowed.txt.

usage: check_english.py [--update | --list] [PATH...]

The list may only shrink: a file with more phrases than it allows fails the check, and so does one with fewer, until --update lowers its
number. A file without a line allows none. --list prints the phrases of the files instead, with a better wording.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from project_files import ROOT, files_with, report

ALLOWED = ROOT / "tools" / "english_allowed.txt"
HEADER = "# Stiff phrases that each file still has (tools/check_english.py). Numbers only fall.\n"
# Verbs of a clause with "what" that is the subject of a sentence.
VERB = r"(?:is|was|has|had|an?|the|no|it|they|comes?|came|can(?:not)?|may|could|\w+s)"
# What to look for, and what people write instead.
PHRASES = {
    r"\b(?:is|are|was|were|being|be) told\b|\btold of\b": "report, pass, know",
    r"\btells? (?:of|which|what|that|whether|the)\b": "report, list, name",
    r"\bsays? (?:so|what|which|for each)\b": "report, list, name",
    r"\bstands? (?:for|in|there|beside|beyond|apart|under|elsewhere)\b": "be, represent, contain",
    r"\b(?:that|which) there (?:is|are)\b|\bthere (?:is|are) no such\b": "exist, be unknown",
    r"\bthat (?:is|are) there\b|\b(?:is|are) (?:not )?there\b": "exist, be missing",
    r"\b(?:have|has|had|no) (?:a )?place for\b|\b(?:have|has|had) (?:a|no) place\b": "can store, cannot store",
    r"\bcan not\b": "cannot",
    r"\bbut for\b": "except",
    r"\bdo(?:es)? not go with\b": "does not match",
    r"\b(?:as )?it is with\b|\bas there\b": "as in X",
    r"\b(?:made|begins?) anew\b": "recreate, restart",
    r"\bof (?:its|their) own\b(?! process)": "separate",
    rf"\b[Ww]hat {VERB} [^.;:?]{{2,60}}? (?:is|are|was|were|stays?|goes|becomes?)\b": "name the thing: the ops that, files that",
    r"^\s*(?://|#|\*)?\s*Of (?:an?|the|what|those|these|several|all|ops|tensors|models?|programs?)\b": "begin with the subject",
    r"\b(?:nobody|no one|whoever|somebody)\b": "name the reader, the caller, the user",
    r"\btake[sn]? (?:up|for)\b|\bcomes? to (?:be|pass)\b|\bbecomes? of\b": "treat as, happen",
    r"\bmend(?:s|ed|ing)?\b": "fix, repair",
    r"\bkin\b|\b(?:its|this) kind\b": "similar, such",
    r"\bgive[sn]? (?:out|back|away)\b": "return",
    r"\b(?:it is|are) none of\b|\bnone the less\b": "does not belong to",
    r"\bhanded (?:on|over|in)\b": "pass, forward",
    r"\bwants? (?:none|nothing|no)\b": "needs nothing",
}
COMPILED = {re.compile(pattern): better for pattern, better in PHRASES.items()}
# Comments, long texts between quotes, and lines of docstrings.
READ_BY_PEOPLE = re.compile(
    r'//(.*)$|/\*(.*)|^\s*\*(.*)|#(?!include|if|endif|define|else|pragma)(.*)$|"((?:[^"\\]|\\.){12,})"|^\s*([A-Z][a-z][^=;{}]*)$'
)
CODE = (".cc", ".h", ".c", ".py", ".ts", ".tsx", ".js", ".mjs")


def phrases(path: Path) -> Iterator[tuple[int, str, str]]:
    """Give the line, the phrase and a better wording for each phrase of a file."""
    for number, line in enumerate((ROOT / path).read_text(errors="replace").splitlines(), 1):
        groups = (match.groups() for match in READ_BY_PEOPLE.finditer(line))
        text = line if path.suffix == ".md" else " ".join(part for parts in groups for part in parts if part)
        for pattern, better in COMPILED.items():
            if found := pattern.search(text):
                yield number, found[0].strip(), better


def checked_files() -> list[Path]:
    """List the files whose English counts: all but built and recorded ones, this one, and its test, which quote the phrases."""
    left_out = {"dist", "testdata", "golden", "data"}
    quoting = {Path("tools") / "check_english.py", Path("tests") / "checks_test.py"}
    return [path for path in files_with(".md", *CODE) if not left_out & set(path.parts) and path not in quoting]


def allowances() -> dict[str, int]:
    """Read how many phrases each file may have."""
    lines = ALLOWED.read_text().splitlines() if ALLOWED.exists() else []
    return {name: int(count) for count, name in (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))}


def complaints(counts: dict[str, int], allowed: dict[str, int]) -> list[str]:
    """Compare the numbers of phrases with those that are allowed."""
    problems = []
    for name in sorted(counts | allowed):
        found, may = counts.get(name, 0), allowed.get(name, 0)
        if found > may:
            problems.append(f"{name}: {found} stiff phrases, {may} allowed; see tools/check_english.py --list {name}")
        elif found < may:
            problems.append(f"{name}: {found} stiff phrases, {may} allowed; lower the number with tools/check_english.py --update")
    return problems


def main() -> int:
    """Check, list or update."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="lower the numbers to what the files have")
    parser.add_argument("--list", action="store_true", help="print the phrases")
    parser.add_argument("paths", nargs="*", type=Path)
    options = parser.parse_args()
    if options.list:
        wanted = {path.resolve() for path in options.paths}
        for path in checked_files():
            if not wanted or any((ROOT / path).resolve().is_relative_to(one) for one in wanted):
                for number, found, better in phrases(path):
                    print(f"{path}:{number}: {found!r}; better: {better}")
        return 0
    counts = {path.as_posix(): sum(1 for _ in phrases(path)) for path in checked_files()}
    allowed = allowances()
    if options.update:
        lowered = {name: min(count, allowed.get(name, 0)) for name, count in counts.items()}
        ALLOWED.write_text(HEADER + "".join(f"{count:4d} {name}\n" for name, count in sorted(lowered.items()) if count))
        allowed = allowances()
    return report("English", complaints(counts, allowed))


if __name__ == "__main__":
    raise SystemExit(main())
