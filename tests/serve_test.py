"""`tensortap serve`: a real server, asked over HTTP; its answers agree with the output of the commands. B13."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
import onnx
import pytest
from cli_support import COMMAND, nonfinite_model, save, small_model, tensortap

HOSTILE = "<img src=x onerror=alert(1)>\u202e"


@dataclass
class Server:
    """A server that runs, and the way to ask it."""

    process: subprocess.Popen[str]
    address: str

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port is not None
        return port

    @property
    def authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.address.partition('=')[2]}"}

    def ask(self, target: str, method: str = "GET", headers: dict[str, str] | None = None, body: str | None = None) -> tuple[int, bytes]:
        """Ask with the token; `headers` win over ours."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, target, body, {**self.authorization, **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def json(self, target: str) -> Any:
        status, body = self.ask(target)
        assert status == 200, (target, body)
        return json.loads(body)

    def error(self, target: str) -> tuple[int, str]:
        status, body = self.ask(target)
        return status, json.loads(body)["error"]

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


@contextmanager
def serving(*words: str | Path, environment: dict[str, str] | None = None) -> Iterator[Server]:
    """Start a server; it is ended afterwards, and has to end with 0."""
    process = subprocess.Popen(
        [str(COMMAND), "serve", *(str(word) for word in words)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    assert process.stdout is not None
    server = Server(process, process.stdout.readline().strip())
    assert server.address.startswith("http://127.0.0.1:"), server.address
    try:
        yield server
    finally:
        assert server.end() == 0
        process.stdout.close()


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of y = exp(1 / x), with all tensors; x holds a zero."""
    folder = tmp_path_factory.mktemp("serve")
    nonfinite_model(folder / "m.onnx")
    np.save(folder / "x.npy", np.array([[1, 2, 0], [4, -5, 6]], dtype=np.float32))
    done = tensortap(
        "run",
        folder / "m.onnx",
        "--input",
        f"x={folder / 'x.npy'}",
        "--runs",
        "3",
        "--full",
        "--optimize",
        "none",
        "--out",
        folder / "dump",
    )
    assert done.code in (0, 1), done.err
    return folder / "dump"


@pytest.fixture(scope="module")
def server(dump: Path) -> Iterator[Server]:
    with serving(dump, "--no-open") as server:
        yield server


def test_numbers_are_those_of_the_commands(server: Server, dump: Path) -> None:
    listed = tensortap("ls", dump, "--json").objects
    items = server.json("/api/records?limit=1000")["items"]
    assert [{key: item[key] for key in row} for item, row in zip(items, listed, strict=True)] == listed
    where = "pos_inf > 0"
    chosen = tensortap("ls", dump, "--json", "--where", where, "--sort", "-max").objects
    items = server.json(f"/api/records?where={quote(where)}&sort=-max")["items"]
    assert chosen and [{key: item[key] for key in row} for item, row in zip(items, chosen, strict=True)] == chosen
    found = tensortap("find", dump, "--json").object
    assert found.pop("dump")["complete"] is True, "the server says this of the dump itself"
    assert server.json("/api/dump")["dumps"][0]["find"] == found
    assert server.json("/api/dump?wait=no") == server.json("/api/dump"), "all is known by now"
    trends = server.json("/api/trends?limit=10")
    for trend in trends["trends"]:
        del trend["op_id"]
    assert trends == {key: value for key, value in tensortap("find", dump, "--trends", "--json").object.items() if key != "dump"}
    for row, item in enumerate(server.json("/api/records")["items"]):
        name = f"{item['op']}:{item['slot']}@{item['step']}"
        shown = tensortap("show", dump, name, "--json").object
        record = server.json(f"/api/record/{row}")
        assert {key: record[key] for key in shown if key not in ("values", "at", "dump")} == {
            key: value for key, value in shown.items() if key not in ("values", "at", "dump")
        }, name


def test_mistakes_are_the_words_of_the_command(server: Server, dump: Path) -> None:
    for parameter, value in (("where", "nann > 0"), ("sort", "absmaxx"), ("slot", "up0"), ("step", "x"), ("op", "(")):
        status, sentence = server.error(f"/api/records?{parameter}={quote(value)}")
        said = tensortap("ls", dump, f"--{parameter}", value).err
        assert status == 400 and sentence.partition(": ")[2].split(".")[0] in said, (sentence, said)


def test_a_nan_leads_to_the_program(server: Server) -> None:
    sentences = server.json("/api/dump")["sentences"]
    first = next(sentence for sentence in sentences if sentence["kind"] == "nonfinite")
    assert "div_1" in first["text"] and first["link"].startswith("#graph?op=")
    record = int(first["link"].partition("flow=")[2])
    flow = server.json(f"/api/flow?record={record}")
    names = [server.json(f"/api/op/{op}")["name"] for op in flow["ops"]]
    assert names[0] == "div_1"


def test_strangers_are_kept_out(server: Server) -> None:
    port = server.port
    token = server.address.partition("=")[2]
    refused: list[tuple[str, dict[str, str], int]] = [
        ("GET", {"Authorization": ""}, 401),
        ("GET", {"Authorization": f"Bearer {'0' * 32}"}, 401),
        ("GET", {"Authorization": "", "Cookie": f"tensortap_{port}={token}"}, 401),
        ("GET", {"Host": f"evil.example:{port}"}, 403),
        ("GET", {"Origin": "http://evil.example"}, 403),
        ("HEAD", {}, 405),
        ("DELETE", {}, 405),
        ("POST", {}, 403),
        ("POST", {"Origin": f"http://127.0.0.1:{port}", "X-Tensortap": "1"}, 404),
    ]
    for method, headers, wanted in refused:
        target = "/api/live/set" if method == "POST" else "/api/records"
        assert server.ask(target, method, headers, "{}" if method == "POST" else None)[0] == wanted, (method, headers)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", port), 60)


def test_names_of_a_dump_are_texts(tmp_path: Path) -> None:
    node = onnx.helper.make_node("Neg", ["x"], ["y"], name=HOSTILE)
    save([node], tmp_path / "m.onnx")
    assert tensortap("run", tmp_path / "m.onnx", "--out", tmp_path / "dump").code == 0
    with serving(tmp_path / "dump", "--no-open") as server:
        assert HOSTILE in {node["path"] for node in server.json("/api/graph?open=all")["nodes"]}
        assert server.json(f"/api/search?q={quote('<img')}")["items"][0]["name"] == HOSTILE


def test_a_dump_that_vanishes_or_is_damaged(dump: Path, tmp_path: Path) -> None:
    shutil.copytree(dump, tmp_path / "gone")
    with serving(tmp_path / "gone", "--no-open") as server:
        before = server.json("/api/records")
        assert server.json("/api/dump")["dumps"][0]["changed"] is False
        shutil.rmtree(tmp_path / "gone")
        assert server.json("/api/records") == before
        assert server.json("/api/dump")["dumps"][0]["changed"] is True
    shutil.copytree(dump, tmp_path / "cut")
    with (tmp_path / "cut/records.npy").open("r+b") as file:
        file.truncate(4096 + 3 * 576 + 100)
    with serving(tmp_path / "cut", "--no-open") as server:
        info = server.json("/api/dump")["dumps"][0]
        assert info["records"] == 3 and info["problems"]
    (tmp_path / "empty").mkdir()
    for words in (["nowhere"], [str(tmp_path / "empty")], [str(dump), str(tmp_path / "empty")]):
        done = tensortap("serve", *words, "--no-open", cwd=tmp_path)
        assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1, done


def test_dumps_that_share_nothing_are_served_without_a_comparison(dump: Path, tmp_path: Path) -> None:
    small_model(tmp_path / "m.onnx")
    assert tensortap("run", tmp_path / "m.onnx", "--full", "--quiet", "--out", tmp_path / "stranger").code == 0
    refused = tensortap("compare", dump, tmp_path / "stranger")
    assert refused.code == 3
    sentence = refused.err.strip().removeprefix("error: ")
    with serving(dump, tmp_path / "stranger", "--no-open") as server:
        wait = time.monotonic() + 120
        while (compared := server.json("/api/compare"))["state"] == "running":
            assert time.monotonic() < wait
        assert (compared["state"], compared["error"], compared["summary"]) == ("failed", sentence, None)
        answer = server.json("/api/dump")
        assert [one["text"] for one in answer["sentences"] if sentence in one["text"]] == [f"There is no comparison: {sentence}."]
        for target in ("pairs", "unpaired?of=b", "pair/0", "pair/0/slice", "heat?by=error", "heat?by=own&dump=b"):
            assert server.error(f"/api/{target}") == (404, sentence)
        names = [{item["op"] for item in server.json(f"/api/records?dump={which}")["items"]} for which in "ab"]
        assert [{"div_1", "exp_1"} <= names[0], "softmax_1" in names[1]] == [True, True]


def test_a_port_that_is_taken_is_named(server: Server, dump: Path) -> None:
    done = tensortap("serve", dump, "--no-open", "--port", str(server.port))
    assert done.code == 2 and f"port {server.port}: another program listens there" in done.err


def asked_by(server: Server, host: str, origin: str | None = None) -> int:
    """Ask under another name; give the status."""
    return server.ask("/api/dump", headers={"Host": host, **({"Origin": origin} if origin else {})})[0]


def test_only_names_that_are_allowed_are_answered(server: Server, dump: Path) -> None:
    assert asked_by(server, "devbox:8443") == 403
    with serving("--no-open", "--allow-host", "devbox", "--allow-host", "Hub.example:8443", dump) as named:
        for host in ("devbox", "DevBox:80", "devbox:8443", "hub.example:8443", f"127.0.0.1:{named.port}"):
            assert asked_by(named, host) == 200, host
        for host in ("hub.example", "hub.example:1", "devbox.evil.com", "devbox:8443x", "evil-devbox", f"127.0.0.1:{named.port + 1}"):
            assert asked_by(named, host) == 403, host
        assert asked_by(named, "devbox:8443", "https://devbox:8443") == 200
        assert asked_by(named, "devbox:8443", "https://devbox:8444") == 403
        assert asked_by(named, f"127.0.0.1:{named.port}", f"https://127.0.0.1:{named.port}") == 403
    for wrong in ("*", "http://devbox", "dev box", ":80", "devbox:", "devbox:x"):
        done = tensortap("serve", dump, "--no-open", "--allow-host", wrong)
        assert done.code == 2, wrong
        assert "not a host name" in done.err


class SocketConnection(http.client.HTTPConnection):
    """HTTP through a socket in the file system."""

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(name, timeout=60)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


def test_a_socket_in_the_file_system_is_private_and_goes_away(dump: Path, tmp_path: Path) -> None:
    path = tmp_path / "page"
    with serving("--listen", f"unix:{path}", "--port", "8765", dump) as server:
        assert server.address.startswith("http://127.0.0.1:8765/?token=")
        assert path.stat().st_mode & 0o777 == 0o600
        for name, headers, wanted in (
            ("127.0.0.1:8765", server.authorization, 200),
            ("localhost:99", server.authorization, 200),
            ("evil.example:8765", server.authorization, 403),
            ("127.0.0.1:8765", {}, 401),
        ):
            connection = SocketConnection(path, name)
            connection.request("GET", "/api/dump", headers=headers)
            assert connection.getresponse().status == wanted, (name, headers)
        done = tensortap("serve", dump, "--listen", f"unix:{path}")
        assert (done.code, f"--listen unix:{path}: exists already" in done.err) == (2, True)
    assert not path.exists()
    # The socket of a killed server is replaced; a file stays.
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    with serving("--listen", f"unix:{path}", dump):
        pass
    path.write_text("mine")
    assert tensortap("serve", dump, "--listen", f"unix:{path}").code == 2
    assert path.read_text() == "mine"
    for wrong in ("unix:", "0.0.0.0", f"unix:{tmp_path}/{'long' * 40}", f"unix:{tmp_path}/none/page"):
        assert tensortap("serve", dump, "--listen", wrong).code == 2, wrong


def test_the_icon_is_of_the_page(server: Server) -> None:
    status, body = server.ask("/icon.svg", headers={"Authorization": ""})
    assert (status, body[:4]) == (200, b"<svg")


def test_python_serves_a_dump_until_it_is_told_or_ends(dump: Path) -> None:
    package = pytest.importorskip("tensortap", reason="the module is not built")
    with package.serve(dump, allow_hosts=["hub.example"]) as server:
        other = Server(server._process, server.address)
        assert other.json("/api/dump")["dumps"][0]["name"] == str(dump)
        assert asked_by(other, "hub.example") == 200
        assert 'target="_blank"' in server._repr_html_()
    with pytest.raises(OSError, match="refused"):
        other.json("/api/dump")
    with pytest.raises(package.Error, match="nothing"):
        package.serve(dump.parent / "nothing")
    # A kernel that is killed takes the server with it.
    begin = f"import os, signal, tensortap; print(tensortap.serve({str(dump)!r}).address, flush=True)"
    program = f"{begin}; os.kill(os.getpid(), signal.SIGKILL)"
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    left = Server(other.process, killed.stdout.strip())
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            left.ask("/api/dump")
        except (OSError, http.client.HTTPException):
            return
        time.sleep(0.1)
    raise AssertionError("the server is still there")


def test_the_browser_gets_a_private_page(dump: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "run").mkdir(mode=0o700)
    opener = tmp_path / "bin/xdg-open"
    script = f'#!/bin/sh\nstat -c %a "$1" > {tmp_path}/mode\ncat "$1" > {tmp_path}/page.new\nmv {tmp_path}/page.new {tmp_path}/page\n'
    opener.write_text(script)
    opener.chmod(0o755)
    environment = {"DISPLAY": ":9", "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    with serving(dump, environment=environment) as server:
        until = time.monotonic() + 120
        while not (tmp_path / "page").exists() and time.monotonic() < until:
            time.sleep(0.02)
        assert server.address in (tmp_path / "page").read_text()
        assert (tmp_path / "mode").read_text() == "600\n"
    assert not list((tmp_path / "run").rglob("serve-*"))
    (tmp_path / "page").unlink()
    with serving(dump, environment={**environment, "DISPLAY": "", "WAYLAND_DISPLAY": ""}):
        pass
    assert not (tmp_path / "page").exists()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGHUP])
def test_signals_end_it(dump: Path, sent: signal.Signals) -> None:
    with serving(dump, "--no-open") as server:
        connection = socket.create_connection(("127.0.0.1", server.port), 60)  # one that waits does not hold it up
        server.process.send_signal(sent)
        assert server.process.wait(120) == 0
        connection.close()


def test_a_small_model_has_its_graph(tmp_path: Path) -> None:
    small_model(tmp_path / "m.onnx")
    assert tensortap("run", tmp_path / "m.onnx", "--optimize", "none", "--out", tmp_path / "dump").code == 0
    with serving(tmp_path / "dump", "--no-open") as server:
        graph = server.json("/api/graph?open=all")
        names = [node["path"] for node in graph["nodes"]]
        edges = {(names[edge["from"]], names[edge["to"]]) for edge in graph["edges"]}
        assert {("matmul_1", "add_1"), ("add_1", "relu_1"), ("relu_1", "softmax_1")} <= edges
