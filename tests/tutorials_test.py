"""The tutorials and docs/faq.md run as printed: their files are saved, and their commands run in order, in one folder for each page.

A block under `<!-- saved as NAME -->` is the file NAME. A block under `<!-- tested -->` holds commands behind "$ ", each with the output
that the page shows; each command ends with 0, the last one of `<!-- tested, exits with N -->` with N. Every shown line has to be printed,
in the shown order; other lines may come between, "..." matches anything, and white space counts as one blank. The layout of answers for
people may change: of `exec`, `find`, `ls`, `show` and `ps` only the names of ops and files and the lines of source are compared, as words.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_support import COMMAND, ROOT, package_alone
from onnxruntime_api import RUNTIMES
from torch_support import PYTHON, PYTORCH_LIBRARY

pytestmark = pytest.mark.skipif(not PYTORCH_LIBRARY.exists(), reason="the PyTorch source is not built")

TUTORIALS = sorted(f"tutorials/{path.name}" for path in (ROOT / "docs/tutorials").glob("*.md"))
BLOCK = re.compile(r"<!-- (saved as|tested)(?: (\S+)|, exits with (\d))? -->\n```\w+\n(.*?)```\n", re.DOTALL)
FREE_LAYOUT = re.compile(r"tensortap (exec|find|ls|show|ps)\b")
# Ops, files and lines of source: words with a letter, and a slash, a colon or a dot inside.
NAME = re.compile(r"(?<!\S)/?[A-Za-z_][\w.-]*[/:.@][\w/:.@#-]*\w")
LONGEST_SECONDS = 120
GGML = os.environ.get("TENSORTAP_TEST_GGML", "")


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Give each command of a block with the lines of output under it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        yield command, [line for line in shown if line.strip() not in ("", "...")]


def pattern_of(line: str) -> str:
    """Give the pattern of a line. Processors differ in the last digits of a float32."""
    pattern = re.escape(" ".join(line.split())).replace(re.escape("..."), ".*")
    return re.sub(r"(?<=\d)(\\\.\d{5})\d{2,}", r"\1\\d*", pattern)


def check_lines(shown: list[str], printed: str) -> None:
    """Find the shown lines in what was printed, in their order."""
    rest = [" ".join(line.split()) for line in printed.splitlines()]
    for line in shown:
        pattern = pattern_of(line)
        found = next((number for number, one in enumerate(rest) if re.fullmatch(pattern, one)), None)
        assert found is not None, f"not printed, or not in this place: {line}\n{printed}"
        rest = rest[found + 1 :]


def check_names(shown: list[str], printed: str) -> None:
    """Find the names in the shown lines among the words that were printed."""
    names = {name for line in shown for name in NAME.findall(line) if "..." not in name}
    missing = sorted(name for name in names if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", printed))
    assert not missing, f"not printed: {', '.join(missing)}\n{printed}"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Make torch's Python and the command the first of PATH, with the packages that a reader has installed beside them."""
    packages = package_alone(tmp_path)
    for name in ("onnx", "google", "ml_dtypes"):
        spec = importlib.util.find_spec(name)
        assert spec and spec.submodule_search_locations, f"{name} is not installed"
        (packages / name).symlink_to(spec.submodule_search_locations[0])
    runtime = importlib.util.find_spec("onnxruntime")
    assert runtime and runtime.submodule_search_locations
    (library,) = Path(runtime.submodule_search_locations[0]).glob("capi/libonnxruntime.so*")
    # The folder of the command may have another Python, without torch.
    commands = tmp_path / "commands"
    commands.mkdir()
    (commands / "tensortap").symlink_to(COMMAND.resolve())
    paths = (str(commands), str(Path(PYTHON).parent), os.environ["PATH"])
    return {
        **os.environ,
        "PATH": os.pathsep.join(paths),
        "PYTHONPATH": str(packages),
        "TENSORTAP_ONNXRUNTIME": str(library),
        "OMP_NUM_THREADS": "1",
    }


def run_block(text: str, status: int, folder: Path, environment: dict[str, str], started: list[int]) -> None:
    """Run the commands of one block and compare what they print."""
    every = list(commands(text))
    assert every, text
    for number, (command, shown) in enumerate(every, 1):
        # Standard error goes where standard output goes, as in a terminal.
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        started.append(process.pid)
        printed, _ = process.communicate(timeout=LONGEST_SECONDS)
        expected = status if number == len(every) else 0
        assert process.returncode == expected, f"{command}\nended with {process.returncode}, not {expected}\n{printed}"
        (check_names if FREE_LAYOUT.search(command) else check_lines)(shown, printed)


def run_page(page: str, folder: Path, environment: dict[str, str]) -> list[tuple[str, str, str, str]]:
    """Save the files of a page and run its commands; gives its blocks."""
    blocks: list[tuple[str, str, str, str]] = BLOCK.findall(page)
    assert len(blocks) == page.count("\n```\n") - page.count("<!-- not tested"), "every block is saved, tested, or marked as not tested"
    folder.mkdir()
    (folder / "releases").symlink_to(RUNTIMES)
    if GGML:
        (folder / "ggml").symlink_to(Path(GGML).parent.parent)
    started: list[int] = []
    try:
        for kind, file, status, text in blocks:
            if kind == "saved as":
                (folder / file).write_text(text)
            else:
                run_block(text, int(status or 0), folder, environment, started)
    finally:
        for group in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
    return blocks


@pytest.mark.parametrize("name", [*TUTORIALS, "faq.md"])
def test_a_page_runs_as_printed(name: str, tmp_path: Path, environment: dict[str, str]) -> None:
    if name == "tutorials/llama_cpp.md" and not GGML:
        pytest.skip("no environment with ggml: run ./dev setup")
    blocks = run_page((ROOT / "docs" / name).read_text(), tmp_path / "reader", environment)
    assert {kind for kind, *_ in blocks} == {"saved as", "tested"}, "a page has a whole program and commands"


def test_there_is_a_tutorial_for_each_question() -> None:
    assert [Path(name).stem for name in TUTORIALS] == ["ci", "from_msprobe", "llama_cpp", "long_job", "nan", "onnx_differs", "wrong_rank"]
