"""`tensortap serve` on the dump of a program that runs: records as they come, and changes of its capture. B13, B9."""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cli_support import tensortap
from live_control_test import inference, started
from serve_test import Server, serving


def events_of(server: Server) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the event stream until it ends."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.request("GET", "/api/live", headers={"Cookie": server.cookie})
    answer = connection.getresponse()
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
    name = ""
    for raw in answer:
        line = raw.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def change(server: Server, request: dict[str, Any]) -> dict[str, Any]:
    headers = {"Origin": f"http://127.0.0.1:{server.port}", "X-Tensortap": "1"}
    status, body = server.ask("/api/live/set", "POST", headers, json.dumps(request))
    assert status == 200, body
    answer = json.loads(body)
    assert isinstance(answer, dict)
    return answer


def test_a_program_is_watched_and_told(tmp_path: Path) -> None:
    program = inference(tmp_path)
    with started(tmp_path, sys.executable, program) as running:
        dump = running.sessions()[0]["dump"]
        running.wait_for(3)
        with serving(dump, "--no-open", environment=running.environment) as server:
            assert server.json("/api/dump")["dumps"][0]["live"] is True
            events = events_of(server)
            totals: list[int] = []
            while len(totals) < 3:
                name, data = next(events)
                if name == "records":
                    totals.append(data["total"])
                else:
                    assert data["on"] is True and data["pid"] == running.sessions()[0]["pid"]
            assert totals == sorted(set(totals)), "records come"
            refused = change(server, {"config": {"where": "nann > 0"}})
            assert refused["accepted"] is False and "nann" in refused["reason"]
            paused = change(server, {"on": False})
            assert paused["accepted"] is True and isinstance(paused["from_step"], int)
            running.wait_for(paused["from_step"] + 5)
            assert running.sessions()[0]["state"] == "off"
            assert running.end().code == 0
            *_, (name, last) = events
            assert (name, last["state"]) == ("state", "ended")
            info = server.json("/api/dump")["dumps"][0]
            assert info["live"] is False
            assert info["records"] == len(tensortap("ls", dump, "--json").objects)
            assert max(info["steps"]) == paused["from_step"] - 1
            assert server.error("/api/live")[0] == 404
