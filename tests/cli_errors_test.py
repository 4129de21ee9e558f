"""Errors that need a compiler or a disk of their own; all others are in tests/command/errors_test.cc."""

from __future__ import annotations

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
