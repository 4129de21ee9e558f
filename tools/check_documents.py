"""Checks that README.md, ARCHITECTURE.md and docs/ name what the code has: commands, options, layouts, folders, states of features."""

from __future__ import annotations

import re

from project_files import ROOT, report

GROUPS = {"A": "AscendCL", "T": "TorchAir", "M": "MindSpore", "L": "msit", "B": "what none of them has"}
STATES = ("works", "part", "differs", "not yet")
# The native dialect is described by the page of its keys.
DIALECT_PAGES = {"tensortap": "docs/capture_config.md"}


def read(path: str) -> str:
    """Give the text of one of the project's files."""
    return (ROOT / path).read_text()


def differences(what: str, page: str, named: set[str], wanted: set[str]) -> list[str]:
    """Say what a page lacks and what it names although it does not exist."""
    lacking = [f"{page} lacks the {what} `{name}`" for name in sorted(wanted - named)]
    return lacking + [f"{page} names the {what} `{name}`, which does not exist" for name in sorted(named - wanted)]


def commands() -> set[str]:
    """List the commands of src/cli/command/commands.cc."""
    return set(re.findall(r'Command\{\w+, "([\w-]+)"', read("src/cli/command/commands.cc")))


def check_commands(page: str) -> list[str]:
    """Compare the page's table of commands, and its headings, with the table of commands in the code."""
    overview = page[: page.index("\n## ")]
    in_table = set(re.findall(r"^\| `([\w-]+)` \|", overview, re.MULTILINE))
    # A heading may join related commands: "## `repair` and `doctor`".
    in_page = {name for heading in re.findall(r"^## (.*)$", page, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", heading)}
    wanted = commands()
    where = "docs/command_line.md"
    return differences("command", f"{where}, its table,", in_table, wanted) + differences("command", where, in_page, wanted)


def options() -> set[str]:
    """List the options that the commands declare."""
    found: set[str] = set()
    for path in sorted((ROOT / "src/cli").glob("*/*.cc")):
        if path.stem.endswith("_test"):
            continue
        found.update(re.findall(r'add_(?:option|flag)\(\s*"(?:-\w,)?(--[\w-]+)', path.read_text()))
    return found


def check_options(page: str) -> list[str]:
    """Find options of commands that the page does not name."""
    return [f"docs/command_line.md lacks the option `{name}`" for name in sorted(options()) if not re.search(rf"{name}(?![\w-])", page)]


def registered(table: str) -> list[str]:
    """List the names of the rows of a table, kDialects or kLayouts, of all systems."""
    names = []
    for path in sorted((ROOT / "src/core/system").glob("*/*_system.h")):
        rows = re.search(rf"{table}\[\] = \{{\n(.*?)^\}};", path.read_text(), re.MULTILINE | re.DOTALL)
        names += re.findall(r'^    \{"(\w+)"', rows[1], re.MULTILINE) if rows else []
    return names


def check_plugins(readme: str) -> list[str]:
    """Find layouts and dialects whose page README does not link to."""
    problems = []
    for name in registered("kLayouts"):
        if f"(docs/layouts/{name}.md)" not in readme:
            problems.append(f"README.md does not link to docs/layouts/{name}.md, the page of the layout {name}")
    for name in registered("kDialects"):
        page = DIALECT_PAGES.get(name, f"docs/dialects/{name}.md")
        if f"({page})" not in readme:
            problems.append(f"README.md does not link to {page}, the page of the dialect {name}")
    return problems


def check_folders(architecture: str) -> list[str]:
    """Compare ARCHITECTURE.md's table of folders with the folders of src/."""
    named = set(re.findall(r"`src/([\w/]+)/`", architecture))
    folders = [path for path in (ROOT / "src").glob("*/*") if path.is_dir() and path.parent.name != "cli" and path.name != "source"]
    folders += [path for path in (ROOT / "src/capture/source").iterdir() if path.is_dir()]
    wanted = {path.relative_to(ROOT / "src").as_posix() for path in folders} | {"cli"}
    return differences("folder of src/", "ARCHITECTURE.md", named, wanted)


def feature_states(compatibility: str) -> dict[str, str]:
    """Give the state of each feature of docs/compatibility.md."""
    return dict(re.findall(r"^\| ([ATMLB]\d+) \| [^|]* \| ([^|]*?) \|", compatibility, re.MULTILINE))


def spans(names: list[str]) -> str:
    """Join names such as T1, T2, T3, T7 as "T1 to T3, T7"."""
    runs: list[list[str]] = []
    for name in names:
        if runs and int(name[1:]) == int(runs[-1][-1][1:]) + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs) or "none"


def expected_row(group: str, states: dict[str, str]) -> str:
    """Write the row of the table of states for one group of features."""
    of_group = {name: state for name, state in states.items() if name[0] == group}
    cells = [spans([name for name, state in of_group.items() if state == wanted]) for wanted in STATES[1:]]
    return f"| {GROUPS[group]} ({group}1 to {group}{len(of_group)}) | {list(of_group.values()).count('works')} | {' | '.join(cells)} |"


def check_states(compatibility: str) -> list[str]:
    """Compare the table of states with the rows of the features."""
    states = feature_states(compatibility)
    problems = [f"docs/compatibility.md: {name} has the unknown state {state!r}" for name, state in states.items() if state not in STATES]
    for group in GROUPS:
        row = expected_row(group, states)
        if row not in compatibility:
            problems.append(f"docs/compatibility.md lacks this row of its table of states: {row}")
    return problems


def check_entrance(entrance: str) -> list[str]:
    """Find pages of docs/ that docs/README.md does not link to."""
    pages = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))
    return [f"docs/README.md does not link to {page}" for page in pages if page != "README.md" and f"({page})" not in entrance]


def main() -> int:
    """Check every document."""
    readme, page = read("README.md"), read("docs/command_line.md")
    problems = check_commands(page) + check_options(page) + check_plugins(readme)
    problems += check_folders(read("ARCHITECTURE.md")) + check_states(read("docs/compatibility.md"))
    problems += check_entrance(read("docs/README.md"))
    return report("documents", problems)


if __name__ == "__main__":
    raise SystemExit(main())
