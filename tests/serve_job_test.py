"""`tensortap serve JOB`: its answers about ranks agree with `tensortap ranks --json` and NumPy. B13, B15."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import table_support as made
from cli_support import COMMAND, tensortap
from serve_test import Server, serving
from web_support import needs_browser, scenarios


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranks") / "job"


@pytest.fixture(scope="module")
def distances(job: Path) -> Any:
    norms = made.write_job(job)
    return np.abs(np.log(norms / np.median(norms, axis=0)))


@pytest.fixture(scope="module")
def server(job: Path, distances: Any) -> Iterator[Server]:
    assert distances.shape == (5, 10, 12)
    with serving(job, "--no-open") as server:
        yield server


def test_ranks_say_what_the_command_says(server: Server, job: Path, distances: Any) -> None:
    done = tensortap("ranks", job, "--json")
    answer = server.json("/api/ranks?wait=yes")
    assert answer["state"] == "ready"
    assert answer["report"] == done.object
    printed = tensortap("ranks", job).out
    assert answer["summary"] in printed
    for said in answer["answers"]:
        assert f"{said['question']}: {said['text']}" in printed
        for example in said["examples"]:
            assert example["text"] in printed
    rows = answer["report"]["map"]["ranks"]
    assert np.allclose([row["distances"] for row in rows], distances.mean(axis=2))
    assert [row["records"] for row in rows] == [[12] * 10] * 5
    assert rows[2]["nonfinite"] == [0] * 7 + [8, 12, 12]
    assert rows[0]["nonfinite"] == [0] * 10


def test_links_lead_to_the_rank(server: Server, job: Path) -> None:
    answer = server.json("/api/ranks?wait=yes")
    assert [(dump["name"], dump["ranks"]) for dump in answer["dumps"]] == [(str(job / f"rank_{rank}"), [rank]) for rank in range(5)]
    first = next(said for said in answer["answers"] if said["question"] == "first NaN or Inf")
    row = 7 * 12 + 4
    assert first["link"] == f"/dump/2/#graph?op=4&step=7&flow={row}"
    assert server.json(f"/dump/2/api/record/{row}")["nan"] == 6
    listed = tensortap("ls", job / "rank_3", "--json").objects
    items = server.json("/dump/3/api/records?limit=1000")["items"]
    assert [{key: item[key] for key in row} for item, row in zip(items, listed, strict=True)] == listed
    status, page = server.ask("/dump/3/")
    assert (status, page) == server.ask("/")
    assert server.ask("/dump/3/app.js") == server.ask("/app.js")


def test_mistakes_are_said(server: Server) -> None:
    for target, status, words in (
        ("/dump/5/api/dump", 404, "no such address"),
        ("/dump/5/", 404, "no such address"),
        ("/dump/x/api/dump", 404, "no such address"),
        ("/api/records", 404, "ask the dump of a rank"),
        ("/api/ranks?wit=no", 400, 'Did you mean "wait"'),
        ("/dump/3/api/ranks", 404, "no such address"),
    ):
        found, sentence = server.error(target)
        assert (found, words in sentence) == (status, True), (target, sentence)
    assert server.ask("/dump/3/api/dump", headers={"Authorization": ""})[0] == 401
    assert server.ask("/dump/3/api/live/set", "POST", {"X-Tensortap": "1", "Origin": server.address.partition("/?")[0]}, "{}")[0] == 404


def test_ranks_that_are_damaged_or_vanish_are_said(tmp_path: Path) -> None:
    made.write_job(tmp_path / "job")
    (tmp_path / "job/rank_1/records.npy").write_bytes(b"nonsense")
    with serving(tmp_path / "job", "--no-open") as server:
        answer = server.json("/api/ranks?wait=yes")
        assert "rank 1: has no records" in answer["troubles"]
        assert server.json("/dump/1/api/dump")["dumps"][0]["records"] == 0
        assert server.json("/dump/0/api/dump")["dumps"][0]["records"] == 120
        shutil.rmtree(tmp_path / "job/rank_4")
        status, sentence = server.error("/dump/4/api/dump")
        assert status >= 400 and "rank_4" in sentence
    for rank in range(4):
        (tmp_path / f"job/rank_{rank}/records.npy").write_bytes(b"nonsense")
    with serving(tmp_path / "job", "--no-open") as server:
        answer = server.json("/api/ranks?wait=yes")
        assert (answer["state"], answer["report"]["map"]["steps"]) == ("ready", [])


@needs_browser
def test_the_page_shows_the_ranks(tmp_path: Path) -> None:  # B13
    made.write_job(tmp_path / "job")
    (tmp_path / "facts.json").write_text(json.dumps(tensortap("ranks", tmp_path / "job", "--json").object))
    results = scenarios("rank_scenarios.ts", COMMAND, tmp_path / "job", tmp_path / "facts.json")
    assert len(results) == 4
    assert {name: problem for name, problem in results.items() if problem is not None} == {}
