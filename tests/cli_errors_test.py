"""Errors that need a compiler or a separate disk; all others are in tests/command/errors_test.cc."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cli_support import COMMAND, small_model, tensortap

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")


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
def test_libraries_that_are_no_usable_runtime(tmp_path: Path) -> None:
    model = small_model(tmp_path / "good.onnx")
    for name, (source, says) in C_LIBRARIES.items():
        (tmp_path / "library.c").write_text(source)
        library = tmp_path / f"libonnxruntime.so.1.10.{len(name)}"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "library.c")], check=True)
        done = tensortap("run", model, "--runtime", library, "--out", tmp_path / "new")
        assert done.code in (2, 3), done
        assert done.err.count("error:") == 1, done.err
        assert all(re.search(pattern, done.err) for pattern in says.split(" && ")), done.err
        assert not (tmp_path / "new").exists()


def test_disk_full_is_one_error_or_a_counted_loss(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a small file system")
    try:
        done = tensortap(
            "run", small_model(tmp_path / "good.onnx"), "--full", "--keep-free", "0", "--runs", "3000", "--out", disk / "dump", "--json"
        )
        assert done.code in (0, 1, 3), done
        report = done.object
        assert report.get("error") or report["lost"] > 0, report
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_custom_operators_that_need_python_say_who_loads_them(tmp_path: Path) -> None:
    (tmp_path / "library.c").write_text("int PyErr_Occurred(void); void* RegisterCustomOps(void) { return PyErr_Occurred() ? 0 : 0; }")
    library = tmp_path / "libneeds_python.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "library.c")], check=True)
    done = tensortap("run", small_model(tmp_path / "good.onnx"), "--custom-ops", library, "--out", tmp_path / "new")
    assert done.code in (2, 3), done
    assert "tensortap.run(" in done.err and "tensortap exec" in done.err, done.err


PIPES = [
    "run PIPE --out new",
    "run good.onnx --out new --input x=PIPE",
    "run good.onnx --out new --inputs PIPE",
    "run good.onnx --out new --runtime PIPE",
    "run good.onnx --out new --custom-ops PIPE",
    "run good.onnx --out new --config PIPE",
    "run good.onnx --out PIPE",
    "run good.onnx --out new --save-outputs PIPE",
    "exec --out new --config PIPE -- true",
    "exec --out PIPE -- true",
    "exec --out new --summary PIPE -- true",
    "exec --out new -- ./PIPE",
    "compare PIPE dump",
    "compare dump PIPE",
    "compare dump dump --map PIPE",
    "compare dump dump --tolerance PIPE",
    "compare dump dump --noise PIPE",
    "compare dump dump --csv PIPE",
    "compare dump dump --report PIPE",
    "compare dump dump --replay --runtime PIPE",
    "convert PIPE new --to npy",
    "convert dump PIPE --to npy",
    "doctor --runtime PIPE",
    "doctor --python ./PIPE",
    "explain PIPE",
    "explain good.json --model PIPE",
    "explain good.json --model good.onnx --runtime PIPE",
    "explain good.json --model good.onnx --custom-ops PIPE",
    "export PIPE new",
    "export dump PIPE",
    "find PIPE",
    "ls PIPE",
    "ranks PIPE",
    "repair PIPE",
    "replay PIPE",
    "replay dump --runtime PIPE",
    "replay dump --with PIPE",
    "replay dump --custom-ops PIPE",
    "replay dump mm --emit PIPE",
    "report PIPE",
    "report dump --out PIPE",
    "show PIPE mm",
    "show dump mm --npy PIPE",
    "watch-diff PIPE",
    "serve PIPE",
    "build-adapter --python ./PIPE",
    "build-adapter --libtorch PIPE",
    "build-adapter --headers PIPE --release 2.8.0",
]


def test_a_pipe_in_the_place_of_a_file_is_an_error_and_no_wait(tmp_path: Path) -> None:
    small_model(tmp_path / "good.onnx")
    (tmp_path / "good.json").write_text('{"dump": {}}')
    os.mkfifo(tmp_path / "PIPE", 0o755)
    assert tensortap("run", "good.onnx", "--full", "--slots", "in,out", "--out", "dump", cwd=tmp_path).code == 0
    waited, taken = [], []
    for words in PIPES:
        try:
            done = tensortap(*words.split(), cwd=tmp_path, timeout=15)
        except subprocess.TimeoutExpired:
            waited.append(words)
            continue
        if done.code == 0 and "PIPE" not in done.out + done.err:
            taken.append((words, done.out[-300:]))
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
    assert (waited, taken) == ([], [])
    assert (tmp_path / "PIPE").is_fifo()
