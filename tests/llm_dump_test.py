"""`tensortap llm dump`: the recorded command lines of the real msit, the rules of Python's argparse, seeds, guards. L1, L10, L13, L14."""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from case_table import each_row
from cli_support import COMMAND, ROOT, Done, small_model, tensortap
from exec_support import TORCH_PYTHON

RECORDED = json.loads((ROOT / "tests/golden/msit/cli.json").read_text())
DIFFERS = {'{child} "a b"'}
"""What the real one refuses and this one understands: quotes."""

CHILD = """
import json, os, sys
mask = os.umask(0)
os.umask(mask)
print(json.dumps({**os.environ, "umask": f"{mask:04o}", "arguments": str(len(sys.argv) - 1)}))
"""


@pytest.fixture
def child(tmp_path: Path) -> Path:
    """Write a program that prints its environment, its umask and how many arguments it has."""
    (tmp_path / "child.py").write_text(CHILD)
    script = tmp_path / "child"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} "{tmp_path}/child.py" "$@"\n')
    script.chmod(0o755)
    return script


def dump(*words: str | Path, cwd: Path | None = None, environment: dict[str, str] | None = None) -> Done:
    return tensortap("llm", "dump", *words, cwd=cwd, environment=environment)


def test_every_recorded_command_line_starts_the_program_that_the_real_one_starts(tmp_path: Path, child: Path) -> None:
    names = {name for row in RECORDED for name in row["env"]}
    wrong = []
    for row in RECORDED:
        case = row["case"]
        command, words = (f"{child} one two", case) if isinstance(case, list) else (case["exec"].replace("{child}", str(child)), [])
        given = [word.replace("{out}", str(tmp_path / "out")) for word in words]
        done = dump("--exec", command, *(given if "-o" in given else ["-o", str(tmp_path / "out"), *given]))
        if not isinstance(case, list) and case["exec"] in DIFFERS:
            assert (done.code, json.loads(done.out)["arguments"]) == (0, "1")
            continue
        ran = done.out.startswith("{")
        seen: dict[str, Any] = {name: value for name, value in json.loads(done.out).items() if name in names} if ran else {}
        expected = {name: value.replace("{root}", str(tmp_path)) for name, value in row["env"].items()}
        ours = seen.pop("LD_PRELOAD", "")
        assert ran == ("LD_PRELOAD" in expected), case
        # A program of which nothing is to be captured, as "-er 1" has it, is left alone.
        assert ("libtensortap_preload" in ours) == (ran and row["env"]["ATB_SAVE_TENSOR_RANGE"] != "1"), case
        expected.pop("LD_PRELOAD", None)
        if ran:
            assert re.fullmatch(r"\d{8}_\d{6}", seen.pop("ATB_TIMESTAMP")), case
            assert seen.pop("ATB_CUR_PID").isdecimal(), case
            del expected["ATB_TIMESTAMP"], expected["ATB_CUR_PID"]
        if (done.code, ran, seen) != (row["status"], row["ran"], expected):
            wrong.append((case, done.code, sorted(set(seen.items()) ^ set(expected.items())), done.err))
    assert not wrong


def test_variables_that_nothing_is_said_for_are_taken_away(tmp_path: Path, child: Path) -> None:
    inherited = {"ATB_SAVE_TENSOR_IDS": "9", "ATB_SAVE_TENSOR_RUNNER": "x", "ATB_DEVICE_ID": "3", "ATB_SAVE_TENSOR_STATISTICS": "1"}
    done = dump("--exec", str(child), "-o", tmp_path / "out", environment={**inherited, "ATB_DUMP_CONFIG": "/kept"})
    seen = json.loads(done.out)
    assert not inherited.keys() & seen.keys()
    assert seen["ATB_DUMP_CONFIG"] == "/kept"


# ---- how it ends


@each_row(("command", "code"), [("/bin/false", 1), ("true", 0), ("sh exit7.sh", 7)])
def test_the_exit_status_is_the_programs_own(tmp_path: Path, command: str, code: int) -> None:
    (tmp_path / "exit7.sh").write_text("exit 7\n")
    assert dump("--exec", command, "-o", "out", cwd=tmp_path).code == code


def test_standard_input_is_the_programs_own(tmp_path: Path) -> None:
    words = [str(COMMAND), "llm", "dump", "--exec", "cat", "-o", "out"]
    done = subprocess.run(words, input="asked\n", capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (0, "asked\n")


# ---- argparse


class RefusedError(Exception):
    """What a parser says."""


class RealParser(argparse.ArgumentParser):
    """Python's own, which raises where it would end the process."""

    def error(self, message: str) -> NoReturn:
        raise RefusedError(message)


def safe_string(text: str) -> str:
    if re.search(r"[^_A-Za-z0-9\"'><=\[\])(,}{: /.~-]", text):
        raise ValueError
    return text


def whole(least: int, most: int) -> Any:
    def check(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text} is an invalid int value")
        return number

    check.__name__ = "int"
    return check


def yes(text: str) -> bool:
    if text.lower() in ("yes", "true", "t", "y", "1"):
        return True
    if text.lower() in ("no", "false", "f", "n", "0"):
        return False
    raise argparse.ArgumentTypeError("Boolean value expected true, 1, false, 0 with case insensitive.")


def ids(text: str) -> str:
    if text and not re.fullmatch(r"[0-9]+(_[0-9]+)*(,[0-9]+(_[0-9]+)*)*", text):
        raise argparse.ArgumentTypeError(f'dym range string "{text}" is not a legal string')
    return text


def rounds(text: str) -> str:
    if any(piece and not re.fullmatch("[0-9]+", piece) for piece in text.split(",")):
        raise argparse.ArgumentTypeError(f'output size "{text}" is not a legal number')
    return text


def seed(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} can not convert to int.") from None


def real_parser() -> RealParser:
    """Declare the options as the fact sheet has them."""
    parser = RealParser(add_help=False)
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--only-save-desc", "-sd", action="store_true")
    parser.add_argument("--save-operation-ids", "-ids", type=ids, default="")
    parser.add_argument("--execute-range", "-er", type=rounds, default="0,0")
    parser.add_argument("--save-operation-child", "-child", type=yes, default=True)
    parser.add_argument("--save-time", "-time", type=whole(0, 3), default=3)
    parser.add_argument("--operation-name", "-opname", type=safe_string)
    parser.add_argument("--save-tiling", "-tiling", action="store_true")
    parser.add_argument("--exec", type=safe_string, required=True)
    parser.add_argument("--output", "-o", default="./")
    parser.add_argument("--save-tensor-part", "-stp", type=whole(0, 2), default=2)
    kinds = ["model", "layer", "op", "kernel", "tensor", "cpu_profiling", "onnx", "stats"]
    parser.add_argument("--type", nargs="+", choices=kinds, default=["tensor", "model"])
    parser.add_argument("--device-id", "-device", type=whole(0, 2**31 - 1))
    parser.add_argument("-seed", nargs="?", const=2024, type=seed)
    parser.add_argument("--enable-symlink", "-symlink", action="store_true")
    parser.add_argument("--config-path", "-config")
    parser.add_argument("--log-level", "-l", choices=["debug", "info", "warning", "error", "fatal", "critical"], default="info")
    return parser


def variables_of(parsed: argparse.Namespace) -> dict[str, str | None]:
    """Give what the fact sheet makes of parsed options, as far as one option decides it."""
    return {
        "ATB_SAVE_TENSOR": "2" if parsed.only_save_desc else "1",
        "ATB_SAVE_TENSOR_IDS": parsed.save_operation_ids or None,
        "ATB_SAVE_TENSOR_RANGE": parsed.execute_range,
        "ATB_SAVE_CHILD": "1" if parsed.save_operation_child else "0",
        "ATB_SAVE_TENSOR_RUNNER": (parsed.operation_name or "").lower() or None,
        "ATB_SAVE_TILING": "1" if parsed.save_tiling else "0",
        "ATB_SAVE_TENSOR_PART": str(parsed.save_tensor_part),
        "ATB_DEVICE_ID": None if parsed.device_id is None else str(parsed.device_id),
        "ATB_SAVE_SYMLINK": "1" if parsed.enable_symlink else "0",
        "PYTHONHASHSEED": None if parsed.seed is None else str(parsed.seed),
    }


LEFT_OUT = {"--help", "-h", "-config", "-o"}
NAMES = [name for action in real_parser()._actions for name in action.option_strings if name not in LEFT_OUT]
VALUES = ["1", "0", "3", "2,3_1", "0,1", "1-2", "-1", "-1,2", "-.5", "x", "False", "tensor", "trace", "debug", "--", "-", "a b", "-a b", ""]


def some_words(chance: random.Random) -> list[str]:
    """Make a command line that may be right or wrong."""
    words = ["--exec", chance.choice(["true", "true", "a b", "a|b"])] if chance.random() < 0.95 else []
    for _ in range(chance.randrange(1, 4)):
        name = chance.choice(NAMES)
        if chance.random() < 0.3:
            name = name[: chance.randrange(2, len(name) + 1)]
        if chance.random() < 0.2 and (name in NAMES or name.startswith("--")):
            words.append(f"{name}={chance.choice([one for one in VALUES if one != '--'])}")
            continue
        words.append(name)
        words.extend(chance.choice(VALUES) for _ in range(chance.choice([0, 1, 1, 1, 2])))
    return words


def refused_by(words: Sequence[str]) -> tuple[str, argparse.Namespace | None]:
    try:
        return "", real_parser().parse_args(words)
    except RefusedError as refused:
        return str(refused), None


def test_command_lines_are_read_as_pythons_argparse_reads_them(tmp_path: Path) -> None:
    chance = random.Random(15)
    right = 0
    for _ in range(400):
        words = some_words(chance)
        message, parsed = refused_by(words)
        if parsed is not None and (parsed.config_path or parsed.output != "./" or (parsed.seed or 0) < 0 or parsed.exec == ""):
            continue
        done = dump(*words, "--explain", "--json", cwd=tmp_path) if parsed is not None else dump(*words, cwd=tmp_path)
        if parsed is None:
            # Python before 3.12 looks for ambiguous words before it looks at any value.
            ambiguous = "ambiguous" in message or "ambiguous" in done.err
            assert done.code == 2, (words, message, done.err)
            # Releases of Python list the choices in different ways.
            said = message.partition(" (choose from")[0]
            assert ambiguous or f"error: {said}" in done.err, (words, message, done.err)
            continue
        right += 1
        assert done.code == 0, (words, done.err)
        seen = done.object["environment"]
        assert {name: seen.get(name) for name in variables_of(parsed)} == variables_of(parsed), words
    assert right > 10


# ---- the guard


def test_a_disk_with_too_little_room_starts_nothing(tmp_path: Path, child: Path) -> None:
    folder = Path("/dev/shm")  # a file system in memory, where there is a small one
    facts = os.statvfs(folder) if folder.is_dir() else None
    if facts is None or facts.f_bavail * facts.f_frsize >= 2 << 30:
        pytest.skip("no file system here has less than 2 GiB free")
    done = dump("--exec", str(child), "-o", folder / "tensortap-out")
    assert (done.code, done.out) == (1, "")
    assert "Please make sure that the remaining disk space in the dump path is greater than 2 GB" in done.err
    assert not (folder / "tensortap-out").exists()


# ---- seeds


DRAWS = """
import random
print(random.random())
import numpy as np
print(np.random.rand())
"""


def test_a_seed_fixes_what_the_program_draws(tmp_path: Path) -> None:
    (tmp_path / "draws.py").write_text(DRAWS)
    command = f"{sys.executable} draws.py"
    words = ["--exec", command, "-o", "out"]
    random.seed(7)
    np.random.seed(7)
    expected = f"{random.random()}\n{np.random.rand()}\n"
    assert dump(*words, "-seed", "7", cwd=tmp_path).out == expected
    assert dump(*words, "-seed", cwd=tmp_path).out == dump(*words, "-seed", "2024", cwd=tmp_path).out != expected
    assert dump(*words, cwd=tmp_path).out != expected


def test_a_sitecustomize_of_the_program_runs_beside_the_seeds(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/sitecustomize.py").write_text("print('own')\n")
    (tmp_path / "draws.py").write_text("import random, sitecustomize\nprint(random.random())\n")
    random.seed(7)
    own = {"PYTHONPATH": str(tmp_path / "own")}
    done = dump("--exec", f"{sys.executable} draws.py", "-seed", "7", "-o", "out", cwd=tmp_path, environment=own)
    assert done.out == f"own\n{random.random()}\n"


@pytest.mark.skipif(not TORCH_PYTHON, reason="needs a Python with torch")
def test_a_seed_fixes_torch_before_its_first_operator(tmp_path: Path) -> None:
    (tmp_path / "draws.py").write_text(
        "import sys, torch\nif len(sys.argv) > 1: torch.manual_seed(7)\n"
        "print(torch.randn(2).tolist(), sys.argv[1:] or torch.are_deterministic_algorithms_enabled())\n"
    )
    plain = subprocess.run([TORCH_PYTHON, "draws.py", "own"], cwd=tmp_path, capture_output=True, text=True, check=True)
    done = dump("--exec", f"{TORCH_PYTHON} draws.py", "-seed", "7", "-o", "out", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == plain.stdout.strip().replace("['own']", "True")


# ---- what is captured


NET = """
import torch

net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
with torch.no_grad():
    for number in range(3):
        net(torch.full((2, 3), float(number)))
"""


@pytest.mark.skipif(not TORCH_PYTHON, reason="needs a Python with torch")
def test_a_dump_holds_the_rounds_and_slots_that_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    done = dump("--exec", f"{TORCH_PYTHON} net.py", "-er", "1,1", "-stp", "1", "-o", "out", cwd=tmp_path)
    assert done.code == 0, done.err
    (folder,) = (tmp_path / "out").glob("msit_dump_*")
    assert re.fullmatch(r"msit_dump_\d{8}_\d{6}", folder.name)
    files = [path for path in folder.rglob("*.bin")]
    assert {path.relative_to(folder).parts[2] for path in files} == {"1"}
    assert {re.sub(r"\d+.*", "", path.name) for path in files} == {"outtensor"}
    assert {path.parent.name for path in files} == {"after"}
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o640"}
    assert oct(folder.stat().st_mode & 0o777) == "0o750"


@each_row("dumps", [("one",), ("one", "other")])
def test_dumps_that_lie_about_are_none_of_the_programs(tmp_path: Path, dumps: tuple[str, ...]) -> None:
    small_model(tmp_path / "model.onnx")
    for name in dumps:
        assert tensortap("run", "model.onnx", "--out", name, cwd=tmp_path).code == 0
    done = tensortap("llm", "dump", "--exec", "/bin/false", cwd=tmp_path)
    assert done.code == 1
    assert not re.search(r"\bone\b", done.err) and "incomplete" not in done.out and "records" not in done.out, "nothing was captured"
