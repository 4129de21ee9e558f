"""Programs whose capture is changed while they run: `tensortap exec --idle`, `ps` and `set`: B9."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli_support import COMMAND, Done, NativeDump, small_model, tensortap
from exec_support import TORCH_PYTHON
from torch_support import PYTHON

needs_torch = pytest.mark.skipif(not TORCH_PYTHON, reason="no torch: run ./dev setup")

TRAINING = """
import hashlib, os, sys, time
import torch, torch.nn as nn
torch.manual_seed(0); torch.set_num_threads(1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.fc = nn.LayerNorm(16), nn.Linear(16, 4)
    def forward(self, x):
        return self.fc(self.norm(x))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.01)
digest = hashlib.sha256()
for step in range(100000):
    if os.path.exists("stop") or (len(sys.argv) > 1 and step == int(sys.argv[1])):
        break
    optimizer.zero_grad()
    loss = net(torch.randn(8, 16)).square().mean()
    loss.backward()
    optimizer.step()
    if step < 40:
        digest.update(loss.detach().numpy().tobytes())
    time.sleep(0.01)
print(digest.hexdigest())
"""
"""Trains until the file `stop` exists, or for so many steps, and prints a digest of the first 40 losses."""

INFERENCE = """
import hashlib, os, sys, time
import numpy as np
import onnxruntime as ort
session = ort.InferenceSession("model.onnx")
digest = hashlib.sha256()
for step in range(100000):
    if os.path.exists("stop") or (len(sys.argv) > 1 and step == int(sys.argv[1])):
        break
    x = np.random.default_rng(step).standard_normal((2, 3)).astype(np.float32)
    y = session.run(None, {"x": x})[0]
    if step < 40:
        digest.update(y.tobytes())
    time.sleep(0.01)
print(digest.hexdigest())
"""


@dataclass
class Running:
    """A program under `tensortap exec`."""

    folder: Path
    process: subprocess.Popen[str]
    environment: dict[str, str]

    @property
    def dump(self) -> NativeDump:
        return NativeDump(self.folder / "dump")

    def tensortap(self, *words: str | Path) -> Done:
        return tensortap(*words, cwd=self.folder, environment=self.environment)

    def ps(self) -> list[dict[str, Any]]:
        done = self.tensortap("ps", "--json")
        assert done.code == 0, done.err
        return done.objects

    def sessions(self, count: int = 1) -> list[dict[str, Any]]:
        """Wait until so many captures run."""
        for _ in range(600):
            found = [row for row in self.ps() if row["source"]]
            if len(found) >= count:
                return found
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.1)
        raise AssertionError(self.ps())

    def from_step(self, *words: str | Path) -> int:
        """Change something and return the step from which on it counts."""
        done = self.tensortap("set", *words, "--wait", "60", "--json")
        assert done.code == 0, done.err
        return int(done.object["sessions"][0]["from_step"])

    def wait_for(self, steps: int) -> None:
        """Wait until that many steps have begun."""
        for _ in range(600):
            if self.sessions()[0]["steps"]["seen"] > steps:
                return
            time.sleep(0.1)
        raise AssertionError(self.ps())

    def end(self) -> Done:
        (self.folder / "stop").touch()
        out, err = self.process.communicate(timeout=120)
        return Done(self.process.returncode, out, err)


@contextmanager
def started(folder: Path, *words: str | Path, options: Sequence[str] = (), runtime: Path | None = None) -> Iterator[Running]:
    runtime = runtime or folder / "runtime"
    runtime.mkdir(exist_ok=True)
    # Other captures of this user may run.
    environment = {"XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(runtime)}
    process = subprocess.Popen(
        [str(COMMAND), "exec", "--out", "dump", *options, "--", *map(str, words)],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield Running(folder, process, environment)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def training(folder: Path) -> Path:
    (folder / "train.py").write_text(TRAINING)
    return folder / "train.py"


def inference(folder: Path) -> Path:
    pytest.importorskip("onnxruntime")
    small_model(folder / "model.onnx")
    (folder / "infer.py").write_text(INFERENCE)
    return folder / "infer.py"


def names_by_step(dump: NativeDump) -> dict[int, set[str]]:
    ops = dump.ops
    found: dict[int, set[str]] = {}
    for row in dump.rows:
        found.setdefault(int(row["step"]), set()).add(ops[int(row["op"])]["name"])
    return found


@needs_torch
def test_an_idle_training_is_captured_from_the_next_step_on(tmp_path: Path) -> None:
    program = training(tmp_path)
    with started(tmp_path, PYTHON, program, options=["--idle"]) as running:
        row = running.sessions()[0]
        assert (row["state"], row["records"]) == ("off", 0)
        assert str(program) in row["program"]
        assert row["dump"] == str(tmp_path / "dump")
        running.wait_for(3)
        first = running.from_step(str(running.process.pid), "--ops", "norm", "--full", "--steps", "now..+3")
        assert first > 3, "the steps of an idle program are counted"
        running.wait_for(first + 10)
        second = running.from_step(str(row["pid"]), "--ops", "fc", "--stats", "--slots", "out")
        running.wait_for(second + 10)
        off = running.from_step("dump", "--off")
        assert running.ps()[0]["state"] == "off"
        running.wait_for(off + 5)
        done = running.end()
    assert done.code == 0, done.err
    plain = subprocess.run([PYTHON, str(program), "40"], cwd=Path("/"), capture_output=True, text=True, check=True)
    assert done.out == plain.stdout, "the program computes the same"
    names = names_by_step(running.dump)
    assert sorted(names) == [*range(first, first + 4), *range(second, off)]
    assert all("norm" in name for step in range(first, first + 4) for name in names[step])
    assert all("fc" in name for step in range(second, off) for name in names[step])
    has_data = running.dump.rows["flags"] & 1
    assert {int(step) for step in running.dump.rows["step"][has_data > 0]} == set(range(first, first + 4))
    changes = running.dump.run["changes"]
    assert [change["step"] for change in changes] == [first, second, off]
    assert changes[2]["asked"] == {"on": False}
    assert running.ps() == [], "nothing is left"
    assert list((tmp_path / "runtime/tensortap").iterdir()) == []


def test_an_idle_session_of_onnx_runtime_is_captured_from_the_next_run_on(tmp_path: Path) -> None:
    program = inference(tmp_path)
    with started(tmp_path, sys.executable, program, options=["--idle"]) as running:
        running.sessions()
        running.wait_for(3)
        first = running.from_step("dump", "--types", "Softmax", "--full", "--where", "max > 0", "--steps", "now..+1")
        running.wait_for(first + 10)
        done = running.end()
    assert done.code == 0, done.err
    (tmp_path / "stop").unlink()
    plain = subprocess.run([sys.executable, str(program), "40"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.out == plain.stdout
    assert names_by_step(running.dump) == {step: {"relu_1", "softmax_1"} for step in (first, first + 1)}, "what it read comes with it"
    assert [change["step"] for change in running.dump.run["changes"]] == [first]


def test_changes_that_are_asked_for_before_a_step_begins_are_all_taken(tmp_path: Path) -> None:
    pause = '    while step == 3 and not os.path.exists("go"):\n        open("paused", "w").close(); time.sleep(0.05)\n    y = session'
    program = inference(tmp_path)
    program.write_text(INFERENCE.replace("    y = session", pause))
    with started(tmp_path, sys.executable, program, options=["--idle"]) as running:
        running.sessions()
        while not (tmp_path / "paused").exists():
            time.sleep(0.05)
        for words in (["--types", "Softmax", "--stats"], ["--slots", "in,out"], ["--steps", "now..+1"]):
            waiting = running.tensortap("set", "dump", *words, "--wait", "0.1")
            assert (waiting.code, waiting.out) == (1, ""), waiting.err
        (tmp_path / "go").touch()
        running.wait_for(8)
        done = running.end()
    assert done.code == 0, done.err
    assert names_by_step(running.dump) == {3: {"relu_1", "softmax_1"}, 4: {"relu_1", "softmax_1"}}
    changes = running.dump.run["changes"]
    assert [(change["step"], sorted(change["asked"])) for change in changes] == [(3, ["config"]), (3, ["config"]), (3, ["steps"])]


@needs_torch
def test_a_selection_that_matches_nothing_so_far_is_said(tmp_path: Path) -> None:
    program = training(tmp_path)
    with started(tmp_path, PYTHON, program, options=["--idle"]) as running:
        running.sessions()
        done = running.tensortap("set", "dump", "--ops", "nrm", "--wait", "60")
        assert done.code == 0, done.err
        assert 'so far the regular expression "nrm" (--ops) matches no op.' in done.err
        for columns in (72, 100):
            listed = tensortap("ps", cwd=tmp_path, environment={**running.environment, "COLUMNS": str(columns)})
            assert len(listed.out.splitlines()) == 2 and all(len(line) <= columns for line in listed.out.splitlines()), listed.out
        assert running.end().code == 0


@needs_torch
def test_a_process_that_the_program_named_is_listed_with_its_name(tmp_path: Path) -> None:
    worker = f"import runpy, sys\ndef work():\n    sys.argv = ['train.py']\n    runpy.run_path({str(training(tmp_path))!r})\n"
    (tmp_path / "worker.py").write_text(worker)
    (tmp_path / "serve.py").write_text(
        "import multiprocessing, worker\nif __name__ == '__main__':\n"
        "    child = multiprocessing.get_context('spawn').Process(target=worker.work, name='Worker-7')\n"
        "    child.start()\n    worker.work()\n    child.join()\n"
    )
    with started(tmp_path, PYTHON, tmp_path / "serve.py", options=["--idle"]) as running:
        rows = running.sessions(2)
        while None not in (roles := {row["role"] for row in rows}) or len(roles) < 2:
            assert running.process.poll() is None
            rows = running.ps()
        assert roles == {None, "Worker-7"}, "the first process has no name"
        assert len({row["program"] for row in rows}) == 1
        header, *lines = tensortap("ps", cwd=tmp_path, environment={**running.environment, "COLUMNS": "200"}).out.splitlines()
        assert header.split()[:3] == ["pid", "process", "program"]
        named = next(row["pid"] for row in rows if row["role"])
        assert {line.split()[1] for line in lines if line.split()[0] == str(named)} == {"Worker-7"}
        assert {line.split()[1] for line in lines if line.split()[0] != str(named)} == {"-"}
        assert running.end().code == 0


def test_a_title_is_what_a_process_is(tmp_path: Path) -> None:
    program = inference(tmp_path)
    with started(tmp_path, sys.executable, program) as running:
        row = running.sessions()[0]
        assert row["role"] is None
        session = tmp_path / "dump/session.json"
        os.kill(row["pid"], signal.SIGSTOP)  # it writes the file anew now and then
        told = json.loads(session.read_text())
        for process, role in (
            ({"name": "EngineCore", "command": "python -c x", "title": "VLLM::EngineCore"}, "EngineCore, VLLM::EngineCore"),
            ({"name": None, "command": "VLLM::APIServer", "title": None}, "VLLM::APIServer"),
            ({"name": None, "command": "python -c x", "title": None}, None),
            ({"name": 3, "command": [], "title": {}}, None),
            (None, None),
        ):
            session.write_text(json.dumps({**told, "process": process}))
            assert running.ps()[0]["role"] == role, process
        os.kill(row["pid"], signal.SIGCONT)
        assert running.end().code == 0


def test_what_cannot_change_is_refused_with_the_reason(tmp_path: Path) -> None:
    program = inference(tmp_path)
    with started(tmp_path, sys.executable, program) as running:
        running.sessions()
        refused = {
            ("--layout", "ge"): "--layout: cannot change while the program runs: the dump is being written in one layout",
            ("--out", "x"): "--out: cannot change",
            ("--levels", "kernel"): "--levels: cannot change",
            ("--trigger", "watch"): "--trigger: cannot change",
            ("--dialect", "acl"): "--dialect: cannot change",
            ("--ops", "nothing"): "matches no op",
            ("--budget", "3%"): "budget: this session was opened without one",
            ("--steps", "now..0"): 'steps: "now..0" has ended',
            ("--steps", "x"): "steps",
            ("--snapshot",): "keeps no last ops",
            ("--where", "nan >"): "--where",
            (): "nothing to change",
        }
        for words, reason in refused.items():
            done = running.tensortap("set", "dump", *words)
            assert (done.code, done.out) == (2, ""), words
            assert reason in done.err, done.err
            assert len(done.err.splitlines()) == (3 if words[:1] == ("--where",) else 1), "expressions are shown with the place"
        running.end()
    assert running.dump.run["changes"] == []


@needs_torch
@pytest.mark.parametrize("layout", ["msit", "mindspore"])
def test_a_tree_of_another_system_takes_changes_or_says_that_it_does_not(layout: str, tmp_path: Path) -> None:
    program = training(tmp_path)
    with started(tmp_path, PYTHON, program, options=["--layout", layout]) as running:
        running.sessions()
        done = running.tensortap("set", "dump", "--ops", "norm", "--wait", "60")
        if layout == "msit":
            assert done.code == 0, done.err
        else:
            assert done.code == 2
            assert 'the layout "mindspore" takes no other plan while it is written' in done.err
        assert running.tensortap("set", "dump", "--flush", "--wait", "60").code == 0
        assert running.end().code == 0
    assert not list((tmp_path / "dump").rglob("session*"))
    assert not list((tmp_path / "dump").rglob("control*"))
    assert tensortap("ls", "dump", cwd=tmp_path).code == 0
    idle = tensortap("exec", "--idle", "--layout", layout, "--out", "other", "--", "true", cwd=tmp_path)
    assert idle.code == (0 if layout == "msit" else 2)


def test_processes_that_have_no_capture_are_told_apart(tmp_path: Path) -> None:
    runtime = {"XDG_RUNTIME_DIR": str(tmp_path), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(["sleep", "100"]) as foreign:
        done = tensortap("set", str(foreign.pid), "--off", environment=runtime)
        foreign.kill()
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert f"process {foreign.pid} was not started with tensortap" in done.err
    assert "`tensortap exec --idle -- sleep 100`" in done.err
    done = tensortap("set", str(foreign.pid), "--off", environment=runtime)
    assert done.code == 2
    assert f"process {foreign.pid} is gone" in done.err
    done = tensortap("set", "nowhere", "--off", cwd=tmp_path, environment=runtime)
    assert done.code == 2
    assert "no process and no folder" in done.err
    done = tensortap("set", ".", "--off", cwd=tmp_path, environment=runtime)
    assert done.code == 2
    assert "no capture runs in" in done.err
    assert tensortap("ps", environment=runtime).err == "no capture of yours runs\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_capture_of_another_user_is_left_alone(tmp_path: Path) -> None:
    program = inference(tmp_path)
    with started(tmp_path, sys.executable, program) as running:
        row = running.sessions()[0]
        session = tmp_path / "dump/session.json"
        os.kill(row["pid"], signal.SIGSTOP)  # it writes the file anew now and then
        os.chown(session, 4321, 4321)
        done = running.tensortap("set", "dump", "--off")
        assert done.code == 2
        assert "belongs to another user (number 4321), who alone can control it" in done.err
        assert not (tmp_path / "dump/control.json").exists()
        os.kill(row["pid"], signal.SIGCONT)
        running.end()
    with subprocess.Popen(["setpriv", "--reuid=4321", "--regid=4321", "--clear-groups", "sleep", "100"]) as other:
        time.sleep(0.3)
        done = running.tensortap("set", str(other.pid), "--off")
        other.kill()
    assert done.code == 2
    assert f"process {other.pid} belongs to another user (number 4321)" in done.err


@needs_torch
def test_a_job_of_two_ranks_is_changed_as_a_whole(tmp_path: Path) -> None:
    training(tmp_path)
    (tmp_path / "launch.py").write_text(
        "import os, subprocess, sys\n"
        "jobs = [subprocess.Popen([sys.executable, 'train.py'], env={**os.environ, 'RANK': str(rank), 'WORLD_SIZE': '2'})\n"
        "        for rank in range(2)]\n"
        "sys.exit(sum(job.wait() for job in jobs))\n"
    )
    with started(tmp_path, PYTHON, "launch.py", options=["--idle"]) as running:
        rows = running.sessions(2)
        assert sorted(row["dump"] for row in rows) == [str(tmp_path / f"dump/rank_{rank}") for rank in range(2)]
        done = running.tensortap("set", "dump", "--ops", "norm", "--wait", "60", "--json")
        assert [answer["answer"] for answer in done.object["sessions"]] == ["accepted", "accepted"]
        done = running.tensortap("set", str(running.process.pid), "--off", "--wait", "60", "--json")
        assert sorted(answer["pid"] for answer in done.object["sessions"]) == sorted(row["pid"] for row in rows)
        assert running.end().code == 0
    for rank in range(2):
        run = NativeDump(tmp_path / f"dump/rank_{rank}").run
        assert len(run["changes"]) == 2
        assert run["records"] > 0


def test_what_a_killed_program_left_is_removed_by_ps_but_for_what_it_was(tmp_path: Path) -> None:
    program = inference(tmp_path)
    with started(tmp_path, sys.executable, program) as running:
        row = running.sessions()[0]
        running.tensortap("set", "dump", "--flush", "--wait", "60")
        os.kill(row["pid"], signal.SIGKILL)
        running.process.communicate(timeout=60)
    left = tmp_path / "dump/session.json"
    assert left.exists()
    links = list((tmp_path / "runtime/tensortap").iterdir())
    assert len(links) == 1
    assert running.ps() == []
    assert json.loads(left.read_text())["process"]["command"].endswith(str(program))
    assert not links[0].is_symlink()
    assert not list((tmp_path / "dump").glob("control*"))
    assert tensortap("ls", "dump", cwd=tmp_path).code == 0


def test_a_program_that_begins_no_step_takes_it_later(tmp_path: Path) -> None:
    program = inference(tmp_path)
    text = program.read_text().replace("for step in", "while not os.path.exists('go'): time.sleep(0.05)\nfor step in")
    program.write_text(text)
    with started(tmp_path, sys.executable, program) as running:
        running.sessions()
        done = running.tensortap("set", "dump", "--types", "Softmax", "--wait", "0.5")
        assert done.code == 1
        assert "no step began within 0.5 s; the change is taken at the next step" in done.err
        (tmp_path / "go").touch()
        running.wait_for(2)
        assert running.end().code == 0
    names = {op["name"] for op in running.dump.ops.values() if op["type"] != "Initializer"}
    assert names_by_step(running.dump)[0] & names == {"relu_1", "softmax_1"}


def test_an_exec_can_be_told_as_soon_as_it_is_started(tmp_path: Path) -> None:
    program = inference(tmp_path)
    with started(tmp_path, sys.executable, program, options=["--idle"]) as running:
        assert running.from_step(str(running.process.pid), "--types", "Softmax") >= 0
        assert running.end().code == 0


def test_a_program_that_runs_no_operator_yet_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "wait.py").write_text("import os, time\nwhile not os.path.exists('stop'): time.sleep(0.05)\n")
    with started(tmp_path, sys.executable, "wait.py", options=["--idle"]) as running:
        for _ in range(100):
            if running.ps():
                break
            time.sleep(0.05)
        assert [(row["pid"], row["state"]) for row in running.ps()] == [(running.process.pid, "waiting")]
        for target in (str(running.process.pid), "dump"):
            done = running.tensortap("set", target, "--on", "--wait", "0.3")
            assert done.code == 1
            assert "has run no operator yet" in done.err
        running.end()


def test_without_a_runtime_folder_one_in_the_temporary_folder_is_used(tmp_path: Path) -> None:
    program = inference(tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    own = {"XDG_RUNTIME_DIR": "", "TMPDIR": str(scratch)}
    process = subprocess.Popen(
        [str(COMMAND), "exec", "--out", "dump", "--", sys.executable, str(program)], cwd=tmp_path, env={**os.environ, **own}
    )
    try:
        rows: list[dict[str, Any]] = []
        for _ in range(300):
            rows = [row for row in tensortap("ps", "--json", environment=own).objects if row["source"]]
            if rows:
                break
            time.sleep(0.1)
        assert len(rows) == 1
        folder = scratch / f"tensortap-{os.geteuid()}"
        assert folder.stat().st_mode & 0o777 == 0o700
        folder.chmod(0o755)
        assert tensortap("ps", "--json", environment=own).objects == [], "it could be anybody's"
        folder.chmod(0o700)
        (tmp_path / "stop").touch()
        assert process.wait(60) == 0
    finally:
        process.kill()
    shutil.rmtree(scratch)


def test_help_shows_what_can_change() -> None:
    assert "now..+3" in tensortap("set", "--help").out
    assert "--layout" not in tensortap("set", "--help").out
    assert "--json" in tensortap("ps", "--help").out
