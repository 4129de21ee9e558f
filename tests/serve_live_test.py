"""`tensortap serve` on the dump of a program that runs: records as they come, and changes of its capture. B13, B9."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cli_support import COMMAND, small_model, tensortap
from serve_test import Server, serving


def events_of(server: Server) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the event stream until it ends."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.request("GET", "/api/live", headers=server.authorization)
    answer = connection.getresponse()
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
    name = ""
    for raw in answer:
        line = raw.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def marks(server: Server) -> dict[str, str]:
    return {"Origin": f"http://127.0.0.1:{server.port}", "X-Tensortap": "1"}


def change(server: Server, request: dict[str, Any]) -> dict[str, Any]:
    status, body = server.ask("/api/live/set", "POST", marks(server), json.dumps(request))
    assert status == 200, body
    answer = json.loads(body)
    assert isinstance(answer, dict)
    return answer


def test_a_program_is_watched_and_told(tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir(mode=0o700)
    environment = {"XDG_RUNTIME_DIR": str(tmp_path / "runtime")}  # other captures of this user may run
    small_model(tmp_path / "m.onnx")
    words = [str(COMMAND), "run", "m.onnx", "--runs", "1000000000", "--out", "dump"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, cwd=tmp_path, env={**os.environ, **environment}, stdout=quiet, stderr=quiet) as program:
        try:
            wait_for_capture(tmp_path / "dump", environment)
            watch_and_tell(tmp_path / "dump", program, environment)
        finally:
            program.kill()


def wait_for_capture(dump: Path, environment: dict[str, str]) -> None:
    """Wait until a capture can be controlled, and a dump can be opened."""
    until = time.monotonic() + 120
    while tensortap("ls", dump, "--limit", "1").code != 0 or not any(
        row["source"] for row in tensortap("ps", "--json", environment=environment).objects
    ):
        assert time.monotonic() < until, "no capture runs"
        time.sleep(0.05)


def one_step_and_back(server: Server) -> None:
    """Ask for one step with its tensors: the answer says when the plan before returns; nonsense is one reason."""
    reply = change(server, {"config": {"payload": "full"}, "steps": "now", "then": "back"})
    assert (reply["accepted"], reply["reason"]) == (True, None)
    assert reply["back_at"] == reply["from_step"] + 1
    for wrong, said in (
        ({"steps": "now", "then": "forward"}, 'then must be "back"'),
        ({"steps": "now", "then": 1}, "then must be"),
        ({"config": {"payload": "full"}, "then": "back"}, "then: needs steps"),
        ({"steps": "now..+-3", "then": "back"}, "now..+-3"),
        ({"steps": "now..+99999999999999999999", "then": "back"}, "99999999999999999999"),
    ):
        reply = change(server, wrong)
        assert (reply["accepted"], reply["from_step"], reply["back_at"]) == (False, None, None), (wrong, reply)
        assert said in reply["reason"] and "\n" not in reply["reason"], (wrong, reply)


def watch_and_tell(dump: Path, program: subprocess.Popen[bytes], environment: dict[str, str]) -> None:
    with serving(dump, "--no-open", environment=environment) as server:
        assert server.json("/api/dump")["dumps"][0]["live"] is True
        now = server.json("/api/live/state")
        assert now["records"] > 0 and now["state"]["pid"] == program.pid
        events = events_of(server)
        totals: list[int] = []
        while len(totals) < 3:
            name, data = next(events)
            if name == "records":
                totals.append(data["total"])
            else:
                assert data["on"] is True and data["pid"] == program.pid
        assert totals == sorted(set(totals)), "records come"
        refused = change(server, {"config": {"where": "nann > 0"}})
        assert refused["accepted"] is False and "nann" in refused["reason"]
        assert server.ask("/api/live/set", "POST", marks(server), "[]")[0] == 400
        one_step_and_back(server)
        paused = change(server, {"on": False})
        assert paused["accepted"] is True and isinstance(paused["from_step"], int)
        while data.get("state") != "off":
            name, data = next(events)
        program.kill()
        *_, (name, last) = events
        assert (name, last["state"]) == ("state", "ended")
        info = server.json("/api/dump")["dumps"][0]
        assert info["live"] is False
        assert server.json("/api/live/state")["state"]["state"] == "ended"
        assert info["steps"][-1] < paused["from_step"], "a pause holds from the step on that was named"
        assert server.error("/api/live")[0] == 404


def test_a_large_dump_that_grows_quickly_is_shown_at_once(tmp_path: Path) -> None:
    """Looking through all records takes long, and ends after the next ones have come. The first answers of the page do not wait for it."""
    (tmp_path / "runtime").mkdir(mode=0o700)
    environment = {"XDG_RUNTIME_DIR": str(tmp_path / "runtime")}
    small_model(tmp_path / "m.onnx")
    words = [str(COMMAND), "run", "m.onnx", "--runs", "1000000000", "--out", "dump"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, cwd=tmp_path, env={**os.environ, **environment}, stdout=quiet, stderr=quiet) as program:
        try:
            wait_for_capture(tmp_path / "dump", environment)
            until = time.monotonic() + 120
            while (tmp_path / "dump/records.npy").stat().st_size < 200_000_000 and time.monotonic() < until:
                time.sleep(0.1)
            with serving(tmp_path / "dump", "--no-open", environment=environment) as server:
                whole = threading.Thread(target=lambda: server.json("/api/dump"))
                whole.start()
                taken = []
                for _ in range(8):
                    begun = time.monotonic()
                    assert server.json("/api/dump?wait=no")["dumps"][0]["live"] is True
                    records = server.json("/api/live/state")["records"]
                    assert server.json(f"/api/records?from={records - 200}&limit=200")["items"]
                    taken.append(time.monotonic() - begun)
                    time.sleep(0.3)
                program.kill()
                whole.join()
            assert sorted(taken)[len(taken) // 2] < 2, taken
        finally:
            program.kill()
