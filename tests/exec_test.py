"""`tensortap exec`: getting into programs, staying out of their way, choosing and refusing adapters."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from case_table import each_row
from cli_support import COMMAND, LIBRARIES, ROOT, Done, tensortap
from exec_support import ADAPTER, CHILDREN, RANKS, RUN_OPERATORS, THREADS, TORCH_PYTHON, FakeTorch, compile_c

NOTHING = "nothing was captured"


@pytest.fixture
def torch(tmp_path: Path) -> FakeTorch:
    return FakeTorch(tmp_path / "torch").build()


def left_behind(folder: Path) -> list[Path]:
    return list(folder.glob("tensortap-exec-*"))


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """TMPDIR of the test; the folder of an exec must be gone at its end."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert left_behind(folder) == []


# ---- programs without torch


def test_a_program_without_torch_is_untouched(tmp_path: Path, scratch: Path) -> None:
    done = tensortap("exec", "--", "sh", "-c", 'cat; echo "to err" >&2; exit 7', cwd=tmp_path)
    assert done.code == 7
    assert done.out == ""
    assert "to err\n" in done.err
    assert NOTHING in done.err
    assert not (tmp_path / "tensortap_dump").exists()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["scratch"]


def test_standard_input_and_output_are_the_programs_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(COMMAND), "exec", "--", "tr", "a-z", "A-Z"], input="one two\n", capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ONE TWO\n")


def test_children_that_compile_work_under_the_preload(tmp_path: Path) -> None:
    (tmp_path / "hello.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); }\n')
    done = tensortap("exec", "--quiet", "--", "sh", "-c", "cc hello.c -o hello && ./hello", cwd=tmp_path)
    assert (done.code, done.out) == (0, "hello\n")
    assert "preload" not in done.err


def test_a_child_with_an_empty_environment_runs_uncaptured(torch: FakeTorch) -> None:
    program = torch.program(RUN_OPERATORS)
    done = torch.exec("env", "-i", program)
    assert (done.code, done.out) == (3, "right 5\n")
    assert NOTHING in done.err


def test_a_watch_for_failures_that_saw_none_says_so(torch: FakeTorch) -> None:
    config = torch.folder.parent / "failures.json"
    config.write_text('{"trigger": "exception", "layout": "ge"}')
    done = torch.exec(torch.program(RUN_OPERATORS), options=["--config", config])
    assert (done.code, done.out) == (3, "right 5\n")
    assert "failed in what the config watches" in done.err
    assert "warning" not in done.err
    assert not (torch.folder.parent / "dump").exists()


# ---- how it ends


@each_row("code", [0, 1, 2, 42, 255])
def test_the_exit_code_is_passed_through(tmp_path: Path, code: int) -> None:
    assert tensortap("exec", "--", "sh", "-c", f"exit {code}", cwd=tmp_path).code == code


@each_row("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_death_by_a_signal_is_passed_through(tmp_path: Path, number: signal.Signals) -> None:
    assert tensortap("exec", "--", "sh", "-c", f"kill -{number.value} $$", cwd=tmp_path).code == 128 + number


@each_row("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGALRM, signal.SIGCONT, signal.SIGWINCH])
def test_signals_sent_to_the_launcher_reach_the_program(tmp_path: Path, number: signal.Signals) -> None:
    script = f"trap 'echo caught; exit 9' {number.name.removeprefix('SIG')}; echo ready; while :; do sleep 0.05; done"
    # A shell cannot trap what was ignored when it began, as in tests that run in the background of a script.
    command = ["env", "--default-signal", str(COMMAND), "exec", "--quiet", "--", "sh", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(number)
        try:
            rest, _ = running.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            raise
    assert (running.returncode, rest) == (9, "caught\n")


def test_a_program_that_is_not_there_is_an_error_of_usage(tmp_path: Path) -> None:
    for word in ("no-such-program", "./no-such-program"):
        done = tensortap("exec", "--", word, cwd=tmp_path)
        assert done.code == 2
        assert "no-such-program" in done.err
    (tmp_path / "text").write_text("no program")
    assert tensortap("exec", "--", "./text", cwd=tmp_path).code == 2
    assert tensortap("exec", cwd=tmp_path).code == 2
    assert not (tmp_path / "tensortap_dump").exists()


def test_a_script_with_a_missing_interpreter_is_an_error_of_usage(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = tensortap("exec", "--", "./script", cwd=tmp_path)
    assert done.code == 2
    assert "/no/such/interpreter" in done.err


def test_a_script_without_a_first_line_is_one_for_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$1"; exit 5\n')
    script.chmod(0o755)
    done = tensortap("exec", "--quiet", "--", "./script", "word", cwd=tmp_path)
    assert (done.code, done.out) == (5, "word\n")


def test_a_static_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "static.c").write_text("int main(void) { return 0; }\n")
    compile_c(tmp_path / "static.c", tmp_path / "static", "-static", "-fno-PIC")
    done = tensortap("exec", "--", "./static", cwd=tmp_path)
    assert done.code == 2
    assert "linked statically" in done.err


def test_wrong_options_are_said_before_the_program_starts(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/precious").write_text("x")
    for options in (["--out", "full"], ["--ops", "("], ["--steps", "x"], ["--compile", "fast"], ["--overhead"]):
        done = tensortap("exec", *options, "--", "sh", "-c", "echo started", cwd=tmp_path)
        assert (done.code, done.out) == (2, ""), options
        assert done.err, options


# ---- LD_PRELOAD


def preloaded(tmp_path: Path, before: str) -> list[str]:
    done = tensortap("exec", "--quiet", "--", "sh", "-c", 'echo "$LD_PRELOAD"', cwd=tmp_path, environment={"LD_PRELOAD": before})
    assert done.code == 0, done.err
    return done.out.strip().split(":")


def test_what_was_preloaded_stays_and_still_works(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text("int getpagesize(void) { return 12345; }\n")
    mine = compile_c(tmp_path / "mine.c", tmp_path / "mine.so", "-shared")
    (tmp_path / "ask.c").write_text('#include <stdio.h>\nint getpagesize(void);\nint main(void) { printf("%d\\n", getpagesize()); }\n')
    ask = compile_c(tmp_path / "ask.c", tmp_path / "ask")
    done = tensortap("exec", "--quiet", "--", ask, cwd=tmp_path, environment={"LD_PRELOAD": str(mine)})
    assert done.out == "12345\n"
    names = [Path(path).name for path in preloaded(tmp_path, str(mine))]
    assert names == ["libtensortap_preload.so", "mine.so"]


def test_a_sanitizers_runtime_stays_first(tmp_path: Path) -> None:
    (tmp_path / "empty.c").write_text("int nothing;\n")
    first = compile_c(tmp_path / "empty.c", tmp_path / "libasan.so.8", "-shared")
    other = compile_c(tmp_path / "empty.c", tmp_path / "other.so", "-shared")
    names = [Path(path).name for path in preloaded(tmp_path, f"{first} {other}")]
    assert names == ["libasan.so.8", "libtensortap_preload.so", "other.so"]


# ---- operators


def test_the_first_operator_brings_the_capture_in_and_every_operator_works(torch: FakeTorch, scratch: Path) -> None:
    torch.adapter()
    done = torch.exec(torch.program(RUN_OPERATORS), options=["--json"])
    assert done.code == 3, done.err
    said, summary = done.out.splitlines()
    assert said == "right 5"
    found = json.loads(summary)
    assert found["dump"] == str(torch.folder.parent / "dump")
    assert found["complete"] is True
    assert found["exit_code"] == 3
    manifest = json.loads((torch.folder.parent / "dump/run.json").read_text())
    assert manifest["source"] is not None
    assert str(torch.folder.parent / "program") in manifest["program"]


def test_operators_of_threads_that_come_while_one_loads_are_not_held_up_or_changed(torch: FakeTorch) -> None:
    torch.adapter()
    done = torch.exec(torch.program(THREADS))
    assert (done.code, done.out) == (0, "right 16000\n")
    assert (torch.folder.parent / "dump/run.json").exists()


def test_a_launcher_that_runs_no_operator_takes_no_place(torch: FakeTorch) -> None:
    torch.adapter()
    done = torch.exec(torch.program(CHILDREN), options=["--summary", "summary.json"])
    assert done.code == 0, done.err
    dump = torch.folder.parent / "dump"
    others = sorted(dump.glob("process_*"))
    assert (dump / "run.json").exists()
    assert len(others) == 2
    assert all((other / "run.json").exists() for other in others)
    summary = json.loads((torch.folder.parent / "summary.json").read_text())
    assert sorted(process["dump"] for process in summary["processes"]) == sorted(map(str, [dump, *others]))


def test_every_rank_has_its_folder(torch: FakeTorch) -> None:
    torch.adapter()
    done = torch.exec(torch.program(RANKS), options=["--json"])
    assert done.code == 0, done.err
    dump = torch.folder.parent / "dump"
    assert sorted(item.name for item in dump.iterdir()) == ["rank_0", "rank_1"]
    assert json.loads((dump / "rank_1/run.json").read_text())["rank"] == 1
    assert {process["rank"] for process in done.object["processes"]} == {0, 1}


def test_a_library_of_another_name_is_found_all_the_same(tmp_path: Path) -> None:
    torch = FakeTorch(tmp_path / "torch").build()
    program = torch.program(RUN_OPERATORS)
    library = torch.library.rename(torch.library.with_name("libdeep.so"))
    subprocess.run(["cp", library, torch.library], check=True)
    source = tmp_path / "program.c"
    # Linked under its other name: the library has no soname then.
    compile_c(Path(__file__).parent / "fake_torch.c", library, "-shared")
    program = compile_c(source, tmp_path / "program", f"-L{library.parent}", "-l:libdeep.so", f"-Wl,-rpath,{library.parent}")
    torch.library.unlink()
    done = torch.exec(program)
    assert (done.code, done.out) == (3, "right 5\n")


def test_the_stub_only_jumps_when_nothing_asks_for_capture(torch: FakeTorch) -> None:
    program = torch.program(RUN_OPERATORS)
    stub = LIBRARIES / "libtensortap_preload.so"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TENSORTAP_")}
    done = subprocess.run([str(program)], env={**clean, "LD_PRELOAD": str(stub)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "right 5\n", "")


def test_a_request_that_is_gone_or_damaged_leaves_the_program_alone(torch: FakeTorch, tmp_path: Path) -> None:
    program = torch.program(RUN_OPERATORS)
    (tmp_path / "damaged").write_text('{"out": 3')
    for request in ("missing", "damaged"):
        environment = {
            **os.environ,
            "LD_PRELOAD": str(LIBRARIES / "libtensortap_preload.so"),
            "TENSORTAP_EXEC": str(tmp_path / request),
            "TENSORTAP_PYTORCH_LIBRARY": str(LIBRARIES / "libtensortap_pytorch.so"),
        }
        done = subprocess.run([str(program)], env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (3, "right 5\n")
        assert done.stderr.count("nothing is captured") == 1, done.stderr


def test_a_library_that_is_gone_leaves_the_program_alone(torch: FakeTorch, tmp_path: Path) -> None:
    stub = LIBRARIES / "libtensortap_preload.so"
    for library in ("/no/such/library.so", "relative.so", ""):
        environment = {**os.environ, "LD_PRELOAD": str(stub), "TENSORTAP_EXEC": "x", "TENSORTAP_PYTORCH_LIBRARY": library}
        program = torch.program(RUN_OPERATORS)
        done = subprocess.run([str(program)], env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (3, "right 5\n")
        assert "nothing is captured" in done.stderr


# ---- adapters


def assert_uncaptured(torch: FakeTorch, done: Done, *parts: str) -> None:
    """Check that the program ran to its own end, that it was said why it was not captured, and what to type."""
    assert (done.code, done.out) == (3, "right 5\n")
    assert f"tensortap build-adapter --libtorch {torch.folder}`" in done.err
    for part in parts:
        assert part in done.err
    assert NOTHING in done.err
    assert not (torch.folder.parent / "dump").exists()


def test_without_an_adapter_the_program_runs_on_and_the_command_is_said(torch: FakeTorch) -> None:
    assert_uncaptured(torch, torch.exec(torch.program(RUN_OPERATORS)), "there is no adapter for torch 2.99")


def test_the_release_of_an_old_torch_is_found_beside_it(tmp_path: Path) -> None:
    torch = FakeTorch(tmp_path / "torch").build("-DFAKE_ABI_VERSION=0", "-DFAKE_STRING_ABI=0")
    (torch.folder / "version.py").write_text("__version__ = '2.4.1.post1'\n")  # no release: not for the package's adapter
    program = torch.program(RUN_OPERATORS)
    assert_uncaptured(torch, torch.exec(program), "there is no adapter for torch 2.4")
    torch.adapter('-DFAKE_RELEASE="2.4.0"', name="tensortap_torch_2.4_0.so")
    assert torch.exec(program, options=["--json"]).out.count('"complete":true') == 1


@each_row(
    ("definition", "part"),
    [
        ("-DFAKE_INTERFACE=999", "built for interface 999"),
        ('-DFAKE_RELEASE="2.12.1"', "built for torch 2.12.1, this process has torch 2.99"),
        ("-DFAKE_RESULT=1", "refused to work"),
        ("-DFAKE_NAME=something_else", "it is no adapter"),
    ],
)
def test_a_wrong_adapter_is_refused_loudly(torch: FakeTorch, definition: str, part: str) -> None:
    torch.adapter(definition)
    assert_uncaptured(torch, torch.exec(torch.program(RUN_OPERATORS)), part, "is not used")


def test_an_adapter_file_that_is_no_library_is_refused_loudly(torch: FakeTorch) -> None:
    torch.adapter().write_text("no library")
    assert_uncaptured(torch, torch.exec(torch.program(RUN_OPERATORS)), "cannot be loaded")


# ---- build-adapter, without a torch that it would fit


def fake_headers(torch: FakeTorch) -> None:
    (torch.folder / "include/ATen").mkdir(parents=True)
    (torch.folder / "include/ATen/record_function.h").write_text("#error this is no torch\n")


def test_building_says_what_is_missing(torch: FakeTorch, tmp_path: Path) -> None:
    done = tensortap("build-adapter", "--libtorch", tmp_path / "nowhere")
    assert done.code == 2
    assert "no libtorch_cpu.so" in done.err
    done = tensortap("build-adapter", "--libtorch", torch.folder)
    assert (done.code, "find out the release" in done.err) == (2, True)
    (torch.folder / "version.py").write_text("__version__ = '2.99.0'\n")
    done = tensortap("build-adapter", "--libtorch", torch.folder)
    assert (done.code, "has no headers" in done.err) == (2, True)
    fake_headers(torch)
    for compiler in ("no-such-compiler", "/no/such/compiler -O2"):
        done = tensortap("build-adapter", "--libtorch", torch.folder, environment={"CXX": compiler})
        assert (done.code, "CXX" in done.err) == (2, True)
    done = tensortap("build-adapter", "--libtorch", torch.folder, environment={"PATH": str(tmp_path)})
    assert (done.code, "no C++ compiler" in done.err) == (2, True)
    done = tensortap("build-adapter", "--python", "no-such-python")
    assert (done.code, "no-such-python" in done.err) == (2, True)


def test_a_torch_that_does_not_compile_is_said_with_the_compilers_errors_and_leaves_nothing(torch: FakeTorch) -> None:
    (torch.folder / "version.py").write_text("__version__ = '2.99.0'\n")
    fake_headers(torch)
    out = torch.folder.parent / "adapters"
    done = tensortap("build-adapter", "--libtorch", torch.folder, "--out", out)
    assert done.code == 3
    assert "does not compile" in done.err
    assert "error" in done.err
    assert list(out.iterdir()) == []


def test_the_compiler_of_the_environment_is_obeyed_with_its_options(torch: FakeTorch, tmp_path: Path) -> None:
    (torch.folder / "version.py").write_text("__version__ = '2.99.0'\n")
    fake_headers(torch)
    compiler = tmp_path / "my-compiler"
    compiler.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words\nexit 1\n')
    compiler.chmod(0o755)
    done = tensortap("build-adapter", "--libtorch", torch.folder, "--out", tmp_path, environment={"CXX": f"{compiler} --mine"})
    assert done.code == 3
    words = (tmp_path / "words").read_text().split()
    assert words[0] == "--mine"
    assert {"-std=c++20", "-D_GLIBCXX_USE_CXX11_ABI=1", "-DNDEBUG", "-shared"} <= set(words)
    assert not [word for word in words if "rpath" in word]


def adapter_compiler(folder: Path, *definitions: str) -> dict[str, str]:
    """Make a compiler that produces the fake adapter from any source."""
    quoted = " ".join(shlex.quote(one) for one in definitions)
    compiler = folder / "fake-compiler"
    compiler.write_text(
        "#!/bin/sh\nfor word; do last=$word; done\n"
        f'exec cc -shared -fPIC -I{ROOT}/src/capture -I{ROOT}/include {quoted} {ROOT}/tests/fake_adapter.c -o "$last"\n'
    )
    compiler.chmod(0o755)
    return {"CXX": str(compiler)}


@each_row(
    ("definitions", "torch_loads", "code", "said"),
    [
        (['-DFAKE_RELEASE="2.99.0"'], True, 0, "self-test passed"),
        (['-DFAKE_RELEASE="2.99.0"', '-DFAKE_PROBLEM="two and two are five"'], True, 3, "two and two are five"),
        (['-DFAKE_RELEASE="2.12.0"'], True, 3, "built for torch 2.12.0"),
        (['-DFAKE_RELEASE="2.99.0"', "-DFAKE_CRASH"], True, 3, "crashed with signal 11"),
        (['-DFAKE_RELEASE="2.99.0"'], False, 0, "not tried out"),
    ],
)
def test_an_adapter_is_tried_before_it_is_kept(tmp_path: Path, definitions: list[str], torch_loads: bool, code: int, said: str) -> None:
    torch = FakeTorch(tmp_path / "torch").build()
    (torch.folder / "version.py").write_text("__version__ = '2.99.0'\n")
    fake_headers(torch)
    if not torch_loads:
        (tmp_path / "needed.c").write_text("int needed;\n")
        needed = compile_c(tmp_path / "needed.c", tmp_path / "libneeded.so", "-shared")
        torch.build("-Wl,--no-as-needed", f"-L{tmp_path}", "-lneeded")
        needed.unlink()
    out = tmp_path / "adapters"
    environment = adapter_compiler(tmp_path, *definitions)
    done = tensortap("build-adapter", "--libtorch", torch.folder, "--out", out, environment=environment)
    assert done.code == code, done.err
    assert said in done.out + done.err
    assert [item.name for item in out.iterdir()] == ([ADAPTER] if code == 0 else [])


# ---- before a Python program starts


@pytest.fixture
def python_with_torch(torch: FakeTorch, monkeypatch: pytest.MonkeyPatch) -> FakeTorch:
    """Make a torch of a release that never was what any Python here would import."""
    (torch.folder / "__init__.py").write_text("")
    (torch.folder / "version.py").write_text("__version__ = '2.99.0'\n")
    monkeypatch.setenv("PYTHONPATH", str(torch.folder.parent))
    return torch


PIP_SHELL_SCRIPT = "#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\n"


def python_commands(folder: Path) -> list[list[str]]:
    """Give the ways in which a Python program is started."""
    firsts = {
        "plain": f"#!{sys.executable} -s\n",
        "env": "#!/usr/bin/env python3\n",
        "long": PIP_SHELL_SCRIPT.format(python=sys.executable),
    }
    for name, first in firsts.items():
        (folder / name).write_text(f"{first}print('started')\n")
        (folder / name).chmod(0o755)
    return [[sys.executable, "-c", "print('started')"], ["python3", "plain"], ["./plain"], ["./env"], ["./long"]]


def test_without_building_a_missing_adapter_is_refused_with_the_command(python_with_torch: FakeTorch) -> None:
    for words in python_commands(python_with_torch.folder.parent):
        done = python_with_torch.exec(*words, options=["--no-build"])
        assert (done.code, done.out) == (2, ""), words
        assert "torch 2.99.0" in done.err
        assert re.search(r"`tensortap build-adapter --python \S*python\S*`", done.err), done.err
        assert not (python_with_torch.folder.parent / "dump").exists()


def test_with_an_adapter_a_python_program_starts_at_once(python_with_torch: FakeTorch) -> None:
    python_with_torch.adapter()
    for words in python_commands(python_with_torch.folder.parent):
        done = python_with_torch.exec(*words, options=["--no-build"])
        assert (done.code, done.out) == (0, "started\n"), done.err


def test_a_python_program_whose_adapter_can_not_be_built_is_not_started(python_with_torch: FakeTorch) -> None:
    fake_headers(python_with_torch)
    done = python_with_torch.exec(sys.executable, "-c", "print('started')")
    assert (done.code, done.out) == (2, "")
    assert "does not compile" in done.err


def test_without_a_compiler_exec_says_what_else_works(python_with_torch: FakeTorch, tmp_path: Path) -> None:
    fake_headers(python_with_torch)
    (tmp_path / "empty").mkdir()
    environment = {"PATH": str(tmp_path / "empty"), "CXX": ""}
    done = python_with_torch.exec(sys.executable, "-c", "print('started')", environment=environment)
    assert (done.code, done.out) == (2, "")
    assert "no C++ compiler" in done.err
    assert "torch 2.99 (`tensortap build-adapter --out .`)" in done.err
    assert f"copy {ADAPTER} into {python_with_torch.cache}/tensortap/adapters/" in done.err
    assert "--no-torch" in done.err
    done = python_with_torch.exec(sys.executable, "-c", "print('started')", options=["--no-torch"], environment=environment)
    assert (done.code, done.out) == (0, "started\n"), done.err
    # An adapter that was compiled elsewhere does.
    built = compile_c(ROOT / "tests/fake_adapter.c", tmp_path / "elsewhere.so", "-shared", '-DFAKE_RELEASE="2.99.0"')
    place = re.search(rf"copy {ADAPTER} into (\S+);", python_with_torch.exec(sys.executable, "-c", "", environment=environment).err)
    assert place is not None
    Path(place[1]).mkdir(parents=True, exist_ok=True)
    shutil.copy(built, Path(place[1]) / ADAPTER)
    done = python_with_torch.exec(sys.executable, "-c", "print('started')", environment=environment)
    assert (done.code, done.out) == (0, "started\n"), done.err


def test_a_torch_that_is_newer_than_those_we_know_is_called_so(python_with_torch: FakeTorch) -> None:
    fake_headers(python_with_torch)
    done = python_with_torch.exec(sys.executable, "-c", "print('started')")
    assert (done.code, done.out) == (2, "")
    assert re.search(r"supports torch 2\.4 to 2\.\d+; 2\.99\.0 is newer", done.err), done.err


def test_a_folder_called_torch_where_the_program_starts_is_not_its_torch(tmp_path: Path) -> None:
    (tmp_path / "torch/lib").mkdir(parents=True)
    (tmp_path / "torch/__init__.py").write_text("")
    (tmp_path / "torch/version.py").write_text("__version__ = '2.99.0'\n")
    (tmp_path / "torch/lib/libtorch_cpu.so").write_text("no library")
    (tmp_path / "program.py").write_text("print('started')\n")
    done = tensortap("exec", "--", "/usr/bin/python3", "program.py", cwd=tmp_path)
    assert (done.code, done.out) == (0, "started\n")
    assert "libtorch_cpu.so" not in done.err


# ---- with an official torch


@pytest.fixture(scope="session")
def adapter_cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Keep the adapters of this user apart; the first exec builds one where the build folder has none."""
    assert TORCH_PYTHON, "TENSORTAP_TEST_PYTHON names no Python with torch"
    return {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


TRAIN = """
import torch
layer = torch.nn.Linear(4, 3)
loss = layer(torch.ones(2, 4)).sum()
loss.backward()
print("done")
"""


def test_a_python_program_is_captured_the_first_time_and_again(tmp_path: Path, adapter_cache: dict[str, str]) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    words = ["exec", "--json", "--", TORCH_PYTHON, "train.py"]
    done = tensortap(*words, cwd=tmp_path, environment=adapter_cache, timeout=600)
    assert done.code == 0, done.err
    said, summary = done.out.splitlines()
    assert said == "done"
    found = json.loads(summary)
    assert found["records"] > 0, done.err
    assert found["ops"]["captured"] > 0
    again = tensortap(*words, cwd=tmp_path, environment=adapter_cache, timeout=600)
    assert again.code == 0
    assert "compiling the adapter" not in again.err


def test_an_adapter_is_hardened_and_needs_torch_alone(
    tmp_path: Path, adapter_cache: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = tensortap("build-adapter", "--python", TORCH_PYTHON, "--out", tmp_path / "adapters", environment=adapter_cache, timeout=600)
    assert built.code == 0, built.err
    monkeypatch.syspath_prepend(ROOT / "tools")
    checks = importlib.import_module("check_symbols")
    (adapter,) = (tmp_path / "adapters").glob("tensortap_torch_*.so")
    assert checks.hardening_problems(adapter) + checks.needed_problems(adapter) + checks.exported_problems(adapter) == []


def test_doctor_names_the_torch_and_its_adapter(adapter_cache: dict[str, str]) -> None:
    found = tensortap("doctor", "--json", "--python", TORCH_PYTHON, environment=adapter_cache).object["pytorch"]
    assert found["problem"] is None
    assert found["torch"]["version"].startswith("2.")
    assert (found["torch"]["adapter"] is None) != (found["torch"]["command"] is None)


def test_an_option_that_there_is_not_is_named_though_its_value_looks_like_the_program(tmp_path: Path) -> None:
    done = tensortap("exec", "--trigger", "overflow", "--", "true", cwd=tmp_path)
    assert done.code == 2
    assert "error: tensortap exec has no option --trigger." in done.err


@each_row("word", ["[1,2]", "[]", '[{"a": 1}, {"b": 2}]', "{1,2}", "", "--", "--json", "-x", "a b", "'q'", '"', "a=[1,2]", "%"])
def test_a_program_gets_its_words_as_they_were_given(tmp_path: Path, word: str) -> None:
    done = tensortap("exec", "--no-torch", "--", "printf", "<%s>", "first", word, "last", cwd=tmp_path)
    assert (done.code, done.out) == (0, f"<first><{word}><last>")
