"""Writes the man page of the command out of what its --help says.

usage: make_man_page.py TENSORTAP VERSION
"""

from __future__ import annotations

import re
import subprocess
import sys

ENTRY = re.compile(r"^  (?P<name>\S.*?)(?: {2,}(?P<text>\S.*))?$")
FURTHER = re.compile(r"^ {8,}(?P<text>\S.*)$")


def escaped(text: str) -> str:
    """Write text so that troff prints it as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{text}" if text.startswith((".", "'", "\\(aq")) else text


def entries(lines: list[str]) -> list[tuple[str, str]]:
    """Take the two columns of a list of options or commands apart."""
    found: list[tuple[str, str]] = []
    for line in lines:
        if further := FURTHER.match(line):
            if found:
                found[-1] = (found[-1][0], f"{found[-1][1]} {further['text']}".strip())
        elif entry := ENTRY.match(line):
            found.append((entry["name"], entry["text"] or ""))
    return found


def sections(text: str) -> dict[str, list[str]]:
    """Take a help text apart at its headings; the text before the first is under ''."""
    parts: dict[str, list[str]] = {"": []}
    heading = ""
    for line in text.splitlines():
        if found := re.fullmatch(r"([A-Z][\w ]*):(?: (.*))?", line):
            heading = found[1]
            parts[heading] = [found[2]] if found[2] else []
        else:
            parts[heading].append(line)
    return parts


def list_of(lines: list[str]) -> str:
    """Write options or commands as a list of troff."""
    return "".join(f".TP\n.B {escaped(name)}\n{escaped(text)}\n" for name, text in entries(lines))


def as_written(lines: list[str]) -> str:
    """Write lines that stay as they are."""
    kept = "\n".join(escaped(line) for line in lines).strip("\n")
    return f".PP\n.nf\n{kept}\n.fi\n"


def part(text: str) -> str:
    """Write the help of one command: what it does, its usage, its lists, its examples."""
    written = ""
    for heading, lines in sections(text).items():
        said = [line for line in lines if line.strip()]
        if not said:
            continue
        if heading in ("", "Usage"):
            written += (as_written if heading else lambda some: f"{escaped(' '.join(some))}\n")(said)
        elif any(entry_text for _, entry_text in entries(said)):
            written += f".PP\n{heading}:\n{list_of(said)}"
        else:
            written += f".PP\n{heading}:\n{as_written(said)}"
    return written


def groups(parts: dict[str, list[str]]) -> dict[str, list[str]]:
    """Give the lists of commands of the overview, by their headings."""
    return {heading: lines for heading, lines in parts.items() if heading not in ("", "Usage", "Options", "Exit codes")}


def man_page(version: str, overview: str, helps: dict[str, str]) -> str:
    """Write the page out of `tensortap --help` and the --help of each command."""
    parts = sections(overview)
    summary = " ".join(parts[""]).strip().partition(": ")[2].rstrip(".")
    page = f'.TH TENSORTAP 1 "" "tensortap {version}" "User Commands"\n.SH NAME\ntensortap \\- {escaped(summary)}\n'
    page += f".SH SYNOPSIS\n{escaped(' '.join(parts['Usage']).strip())}\n.SH OPTIONS\n{list_of(parts['Options'])}"
    page += ".SH COMMANDS\n" + "".join(f".SS {escaped(heading)}\n{list_of(lines)}" for heading, lines in groups(parts).items())
    for name, text in helps.items():
        page += f".SH TENSORTAP {escaped(name.upper())}\n{part(text)}"
    return page


def made_by(command: str, version: str) -> str:
    """Ask a command for its help and write its page."""

    def help_of(*words: str) -> str:
        return subprocess.run([command, *words, "--help"], check=True, capture_output=True, text=True).stdout

    overview = help_of()
    names = [name.split()[0] for lines in groups(sections(overview)).values() for name, _ in entries(lines)]
    return man_page(version, overview, {name: help_of(name) for name in names})


if __name__ == "__main__":
    sys.stdout.write(made_by(*sys.argv[1:]))
