"""Wrong input: one clear error, exit code 2 or 3, nothing half written."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli_support import COMMAND, Done, save, small_model, tensortap
from onnx import helper, numpy_helper

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of good and bad files."""
    made = tmp_path_factory.mktemp("wrong")
    small_model(made / "good.onnx")
    whole = (made / "good.onnx").read_bytes()
    (made / "text.onnx").write_text("this is no model\n" * 50)
    (made / "empty.onnx").write_bytes(b"")
    (made / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    save([helper.make_node("NoSuchOperator", ["x"], ["y"], name="odd_1")], made / "operator.onnx")
    external = numpy_helper.from_array(np.ones((3, 4), np.float32), "w")
    save([helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], made / "with_data.onnx", initializers=[external])
    model = onnx.load(str(made / "with_data.onnx"))
    onnx.save(model, str(made / "external.onnx"), save_as_external_data=True, location="external.data", size_threshold=0)
    (made / "external.data").unlink()
    np.save(made / "x.npy", np.ones((2, 3), np.float32))
    np.save(made / "shape.npy", np.ones((2, 5), np.float32))
    np.save(made / "rank.npy", np.ones(6, np.float32))
    np.save(made / "dtype.npy", np.ones((2, 3), np.int64))
    (made / "text.npy").write_text("no array")
    (made / "cut.npy").write_bytes((made / "x.npy").read_bytes()[:-4])
    (made / "full").mkdir()
    (made / "full" / "mine.txt").write_text("mine")
    (made / "empty_set").mkdir()
    (made / "config.json").write_text('{"steps": "0",\n "stepz": 1}')
    (made / "broken.json").write_text('{"steps": \n')
    (made / "library.so").write_text("no library")
    return made


@dataclass(frozen=True)
class Case:
    """A command line, what it ends with, and what its error must say."""

    name: str
    words: str  # "{}" is the folder
    says: str  # regular expressions, all of which the error must match, separated by " && "
    codes: tuple[int, ...] = (2, 3)


RUN = "run good.onnx --input x=x.npy --out new "
CASES = [
    # Models.
    Case("no such model", "run nothing.onnx --out new", r"nothing\.onnx"),
    Case("model is a folder", "run full --out new", r"full"),
    Case("not ONNX", "run text.onnx --out new", r"text\.onnx && (?i)onnx"),
    Case("empty model", "run empty.onnx --out new", r"empty\.onnx"),
    Case("truncated ONNX", "run cut.onnx --out new", r"cut\.onnx"),
    Case("operator that the runtime lacks", "run operator.onnx --out new", r"NoSuchOperator"),
    Case("missing external data", "run external.onnx --out new", r"external\.data"),
    # Inputs.
    Case("input of the wrong name", "run good.onnx --input z=x.npy --out new", r"\bz\b && \bx\b", (2,)),
    Case("input of the wrong shape", "run good.onnx --input x=shape.npy --out new", r"\bx\b && 2, ?5 && 2, ?3", (2,)),
    Case("input of the wrong rank", "run good.onnx --input x=rank.npy --out new", r"\bx\b && \[6\] && 2, ?3", (2,)),
    Case("input of the wrong dtype", "run good.onnx --input x=dtype.npy --out new", r"\bx\b && int64 && float", (2,)),
    Case("input file that is not there", "run good.onnx --input x=no.npy --out new", r"no\.npy", (2,)),
    Case("input file that is no array", "run good.onnx --input x=text.npy --out new", r"text\.npy", (2,)),
    Case("input file cut short", "run good.onnx --input x=cut.npy --out new", r"cut\.npy", (2,)),
    Case("input without a name", "run good.onnx --input x.npy --out new", r"NAME=x", (2,)),
    Case("folder of inputs that is not there", "run good.onnx --inputs nowhere --out new", r"nowhere", (2,)),
    Case("folder without inputs", "run good.onnx --inputs empty_set --out new", r"input_0", (2,)),
    Case("dimension that is no number", "run good.onnx --dim N=x --out new", r"--dim N=x", (2,)),
    Case("carried output of the wrong name", RUN + "--carry nope=x", r"nope", (2,)),
    # Selections.
    Case("type that no op has, with the nearest", RUN + "--types Matmul", r"Matmul && MatMul", (2,)),
    Case("name that no op has", RUN + "--ops no_such_op", r"no_such_op", (2,)),
    Case("broken regular expression", RUN + "--ops a(b", r"--ops && \(", (2,)),
    Case("steps that are none", RUN + "--steps 5-3", r"5-3", (2,)),
    Case("slots that are none", RUN + "--slots outs", r"outs", (2,)),
    Case("expression with an unknown name", RUN + "--where nann>0", r"nann && \bnan\b", (2,)),
    Case("expression that stops, with the position", RUN + "--where nan>", r"--where|column|\^", (2,)),
    Case("two payloads", RUN + "--stats --tensors", r"--stats && --tensors", (2,)),
    Case("budget that is none", RUN + "--budget much", r"much", (2,)),
    Case("size that is none", RUN + "--max-bytes lots", r"lots", (2,)),
    Case("config that is not there", RUN + "--config no.json", r"no\.json", (2,)),
    Case("config with an unknown key", RUN + "--config config.json", r"config\.json:2: ?\d+ && stepz && steps", (2,)),
    Case("config that is no JSON", RUN + "--config broken.json", r"broken\.json:\d+:\d+", (2,)),
    Case("layout that is none", RUN + "--layout tapp", r"tapp && \btap\b", (2,)),
    # Output.
    Case("folder that is not empty", "run good.onnx --out full", r"full && empty"),
    Case("folder below a file", "run good.onnx --out text.onnx/dump", r"text\.onnx"),
    Case("folder that can not be made", "run good.onnx --out /proc/nope/dump", r"/proc/nope"),
    Case("outputs to a folder below a file", RUN + "--save-outputs text.onnx/o", r"text\.onnx"),
    # Runtimes.
    Case("runtime that is not there", RUN + "--runtime nowhere/libonnxruntime.so", r"nowhere"),
    Case("runtime that is no library", RUN + "--runtime library.so", r"library\.so"),
    # Usage.
    Case("no command", "", r"command", (2,)),
    Case("unknown command, with the nearest", "rnu", r"rnu && run", (2,)),
    Case("unknown option, with the nearest", "run good.onnx --verfy", r"--verfy && --verify", (2,)),
    Case("option without a value", "run good.onnx --out", r"--out", (2,)),
    Case("number that is none", "run good.onnx --runs many", r"--runs", (2,)),
    Case("number out of range", "run good.onnx --runs 0", r"--runs", (2,)),
    Case("choice that is none", "run good.onnx --optimize best", r"best && basic", (2,)),
    Case("no model", "run", r"MODEL", (2,)),
    Case("one argument too many", "run good.onnx another.onnx", r"another\.onnx", (2,)),
    # Dumps.
    Case("ls of nothing", "ls nothing", r"nothing", (2,)),
    Case("ls of a folder that is no dump", "ls full", r"full"),
    Case("show of nothing", "show nothing a:out0", r"nothing", (2,)),
    Case("find of nothing", "find nothing", r"nothing", (2,)),
    Case("repair of nothing", "repair nothing", r"nothing", (2,)),
    Case("explain with a bad expression", "explain --where nan>", r"--where|column|\^", (2,)),
    Case("explain of a model that is not there", "explain --model nothing.onnx", r"nothing\.onnx"),
    Case("shell that is none", "completion fish", r"fish && bash", (2,)),
]


def contents(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def check_error(done: Done, says: str, codes: tuple[int, ...]) -> None:
    assert done.code in codes, done
    errors = [line for line in done.err.splitlines() if line.startswith("error:")]
    assert len(errors) == 1, done.err
    for pattern in says.split(" && "):
        assert re.search(pattern, done.err), (pattern, done.err)
    assert "terminate called" not in done.err


@pytest.mark.parametrize("case", CASES, ids=[case.name.replace(" ", "_") for case in CASES])
def test_wrong_input_gives_one_error_and_leaves_nothing(case: Case, folder: Path) -> None:
    before = contents(folder)
    done = tensortap(*case.words.split(), cwd=folder)
    check_error(done, case.says, case.codes)
    assert done.out == ""
    assert contents(folder) == before


@pytest.mark.parametrize("words", ["run nothing.onnx", "run good.onnx --runs x", "show nothing a", "find nothing", "explain --where nan>"])
def test_errors_in_json_are_an_object(words: str, folder: Path) -> None:
    done = tensortap(*words.split(), "--json", cwd=folder)
    assert done.code in (2, 3)
    assert set(done.object) >= {"error"}
    assert done.object["error"] in done.err.replace("error: ", "", 1)


C_LIBRARIES = {
    "no_symbol": ("int tensortap_test_unrelated(void) { return 0; }", r"OrtGetApiBase|onnxruntime"),
    "too_old": (
        "struct base { const void* (*get)(unsigned); const char* (*version)(void); };"
        "static const void* get(unsigned v) { (void)v; return 0; }"
        'static const char* version(void) { return "1.10.0"; }'
        "static const struct base api = {get, version};"
        "const void* OrtGetApiBase(void) { return &api; }",
        r"1\.10\.0 && 1\.19",
    ),
}


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("name", C_LIBRARIES)
def test_libraries_that_are_no_usable_runtime(name: str, folder: Path, tmp_path: Path) -> None:
    source, says = C_LIBRARIES[name]
    (tmp_path / "library.c").write_text(source)
    library = tmp_path / "libonnxruntime.so.1.10.0"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "library.c")], check=True)
    done = tensortap("run", folder / "good.onnx", "--runtime", library, "--out", tmp_path / "new")
    check_error(done, says, (2, 3))
    assert not (tmp_path / "new").exists()


@pytest.fixture(scope="module")
def dump(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("dumps") / "dump"
    done = tensortap("run", folder / "good.onnx", "--input", f"x={folder / 'x.npy'}", "--full", "--runs", "3", "--out", made)
    assert done.code == 0, done
    return made


def file_of(dump: Path, name: str) -> Path:
    return next(dump.rglob(name))


def cut(share: float) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        os.truncate(path, int(path.stat().st_size * share))

    return change


def flip_bits(path: Path) -> None:
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(3)
    for place in rng.integers(0, len(data), 64):
        data[place] ^= 1 << int(rng.integers(0, 8))
    path.write_bytes(bytes(data))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "empty": cut(0),
    "half": cut(0.5),
    "almost_whole": cut(0.99),
    "flipped": flip_bits,
    "gone": lambda path: path.unlink(),
}


def commands_on(dump: Path) -> Iterator[Done]:
    yield tensortap("ls", dump)
    yield tensortap("ls", dump, "--json", "--where", "nan > 0 or absmax >= 0")
    yield tensortap("show", dump, "softmax_1:out0")
    yield tensortap("find", dump)
    yield tensortap("repair", dump, "--dry-run")


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["records.npy", "ops.jsonl", "tensors.npz", "run.json"])
def test_damaged_dumps_give_records_or_errors_never_a_crash(name: str, damage: str, dump: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(dump, copy)
    DAMAGES[damage](file_of(copy, name))
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    for done in commands_on(copy):
        assert done.code in (0, 1, 2, 3), done
        assert done.code < 2 or len([line for line in done.err.splitlines() if line.startswith("error:")]) == 1, done
        if done.out.startswith("{"):
            for line in done.out.splitlines():
                json.loads(line)
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_show_says_what_is_near_a_record_that_is_not_there(dump: Path) -> None:
    done = tensortap("show", dump, "softmax_2:out0")
    check_error(done, r"softmax_2 && softmax_1", (2,))


@pytest.mark.parametrize("at", ["9,0", "0,0,0", "a", "0:2:0"])
def test_parts_that_a_tensor_has_not(at: str, dump: Path) -> None:
    check_error(tensortap("show", dump, "softmax_1:out0", "--at", at), r"--at", (2,))


def test_sort_key_that_is_none(dump: Path) -> None:
    check_error(tensortap("ls", dump, "--sort", "-absmaxx"), r"absmaxx && absmax", (2,))


def test_disk_full_is_one_error_or_a_counted_loss(folder: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a small file system")
    try:
        done = tensortap("run", folder / "good.onnx", "--full", "--keep-free", "0", "--runs", "3000", "--out", disk / "dump", "--json")
        assert done.code in (0, 1, 3), done
        report = done.object
        assert report.get("error") or report["lost"] > 0, report
    finally:
        subprocess.run(["umount", str(disk)], check=True)
