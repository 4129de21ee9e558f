"""Programs whose functions have the names of libraries that we contain: neither side calls the other's."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_support import BUILD, COMMAND, HEADERS, LIBRARIES, ROOT, small_model
from torch_support import PYTHON, TorchDump

ENGINE = ROOT / "examples/engine/engine.c"
# What we used to call in OpenSSL, and its older interface.
OPENSSL = (
    "EVP_md5 EVP_sha1 EVP_MD_CTX_new EVP_MD_CTX_free EVP_DigestInit_ex EVP_DigestUpdate EVP_DigestFinal_ex MD5 MD5_Init SHA1 SHA1_Init"
)
XXHASH = "XXH32 XXH64 XXH3_64bits XXH3_128bits XXH3_128bits_reset XXH3_128bits_update XXH3_128bits_digest XXH128 XXH128_canonicalFromHash"


def defined(library: str | Path, *options: str) -> set[str]:
    """List the functions that a library has."""
    listed = subprocess.run(["nm", "-P", *options, "--defined-only", library], capture_output=True, text=True, check=True)
    return {match[1] for match in re.finditer(r"^(\S+) [TW] ", listed.stdout, re.MULTILINE)}


def system_library(name: str) -> str:
    """Give the path of a library that the compiler links."""
    return subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()


def write_functions(source: Path, names: set[str]) -> Path:
    """Write assembler code in which all these names end the process with 99."""
    lines = [f".globl {name}\n.type {name}, @function\n{name}:" for name in sorted(names)]
    end = "  mov $99, %edi\n  jmp _exit@PLT\n" if platform.machine() == "x86_64" else "  mov w0, 99\n  b _exit\n"
    source.write_text(".text\n" + "\n".join(lines) + "\n" + end + '.section .note.GNU-stack,"",%progbits\n')
    return source


@pytest.fixture(scope="module")
def names() -> set[str]:
    names = {name for name in defined(BUILD / "libtensortap_re2.a") if "3re2" in name}
    names |= defined(system_library("libmd.a")) | defined(system_library("libdeflate.a"))
    names |= {name for name in defined(system_library("libfmt.so"), "-D") if name.startswith(("_ZN3fmt", "_ZNK3fmt"))}
    assert len(names) > 300
    return names | set(XXHASH.split())


@pytest.fixture(scope="module")
def foreign_library(tmp_path_factory: pytest.TempPathFactory, names: set[str]) -> Path:
    """Make a library with these functions; without those of OpenSSL, which Python itself calls."""
    folder = tmp_path_factory.mktemp("foreign")
    source = write_functions(folder / "foreign.s", names)
    subprocess.run(["gcc", "-shared", source, "-o", folder / "libforeign.so"], check=True)
    return folder / "libforeign.so"


def test_the_names_are_found_before_those_of_any_library(foreign_library: Path) -> None:
    called = "import ctypes, sys; ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL); ctypes.CDLL(None).{}()"
    for name in ("_ZN3re23RE2D1Ev", "MD5Init", "XXH3_128bits_reset"):
        assert subprocess.run([sys.executable, "-c", called.format(name), str(foreign_library)], check=False).returncode == 99


def test_a_program_linked_with_us_has_them(names: set[str], tmp_path: Path) -> None:
    """The engine of examples/, with these names in the executable."""
    foreign = write_functions(tmp_path / "foreign.s", names | set(OPENSSL.split()))
    link = [f"-L{LIBRARIES}", "-ltensortap_capture", f"-Wl,-rpath,{LIBRARIES}", "-lm", "-rdynamic", "-o", str(tmp_path / "engine")]
    subprocess.run(["gcc", "-std=c11", f"-I{HEADERS}", str(ENGINE), str(foreign), *link], check=True)
    for digest in ("md5", "sha1", "xxh3"):
        out = tmp_path / digest
        config = {"include": [{"regex": "^mult.*ly$"}], "payload": "full", "digest": digest, "out": str(out), "limits": {"keep_free": 0}}
        done = subprocess.run([tmp_path / "engine", json.dumps(config)], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        rows, tensors = np.load(out / "records.npy"), np.load(out / "tensors.npz")
        assert len(rows) == 3
        if digest != "xxh3":
            assert bytes(rows[0]["digest"])[: hashlib.new(digest).digest_size] == hashlib.new(digest, tensors["multiply:out0"]).digest()


def under_exec(folder: Path, program: str, python: str, library: Path) -> subprocess.CompletedProcess[str]:
    """Run a Python program under capture, after it has loaded the library for all to see; keep ops by a regular expression."""
    text = f"import ctypes\nctypes.CDLL({str(library)!r}, ctypes.RTLD_GLOBAL)\n" + program
    (folder / "program.py").write_text(text)
    plain = subprocess.run([python, "program.py"], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert plain.returncode == 0, plain.stderr
    config = folder / "config.json"
    config.write_text(json.dumps({"include": [{"regex": "(?i)^.*relu"}], "payload": "full", "digest": "md5"}))
    words = [COMMAND, "exec", "--config", config, "--out", "dump", "--", python, "program.py"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_a_program_of_onnx_runtime_has_them(foreign_library: Path, tmp_path: Path) -> None:
    small_model(tmp_path / "m.onnx")
    program = """
import numpy, onnxruntime
print(onnxruntime.InferenceSession("m.onnx").run(None, {"x": numpy.ones((2, 3), numpy.float32)})[0].sum())
"""
    done = under_exec(tmp_path, program, sys.executable, foreign_library)
    assert (done.returncode, done.stdout) == (0, "2.0\n"), done.stderr
    dump = TorchDump(tmp_path / "dump")
    assert {dump.ops[number]["name"] for number in dump.rows["op"]} == {"relu_1"}


@pytest.mark.skipif(sys.executable == PYTHON, reason="no Python with torch: run ./dev setup")
def test_a_program_of_pytorch_has_them(foreign_library: Path, tmp_path: Path) -> None:
    program = """
import torch
print(torch.relu(torch.ones(2, 3) - 2).sum().item())
"""
    done = under_exec(tmp_path, program, PYTHON, foreign_library)
    assert (done.returncode, done.stdout) == (0, "0.0\n"), done.stderr
    assert set(TorchDump(tmp_path / "dump").calls()) == {"aten::relu"}
