"""What a notebook shows of a dump, a record and a comparison."""

from __future__ import annotations

import copy
import json
import pickle
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from case_table import each_row
from cli_support import save
from onnx import TensorProto, helper

tensortap = pytest.importorskip("tensortap", reason="the module is not built")

TAGS = {"div", "svg", "title", "path", "table", "thead", "tbody", "tr", "th", "td", "b"}
ATTRIBUTES = {"style", "role", "width", "height", "viewbox", "d", "stroke", "stroke-width", "stroke-opacity", "fill"}
HOSTILE = ["<img src=x onerror=alert(1)>", "</td></table><script>alert(1)</script>", "\"'&amp;\x1b[2J\u202e", "long" * 500]
MOST = 50_000


class Page(HTMLParser):
    """A page as a parser sees it: its texts, its strokes by colour."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.strokes: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == [], "every tag is closed"
        assert len(text) < MOST
        text.encode()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        given = dict(attrs)
        assert set(given) <= ATTRIBUTES
        assert "url" not in (given.get("style") or "")
        if tag == "path":
            self.strokes[given["stroke"] or ""] = given["d"] or ""
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        assert not re.search("[\x00-\x1f\u202a-\u202e]", data)
        self.texts.append(data)

    def bars(self, colour: str) -> int:
        return self.strokes.get(colour, "").count("M")


BLUE, RED = "#3f7fbf", "#d7301f"


def shown(thing: Any) -> Page:
    return Page(thing._repr_html_())


def hostile_model(path: Path) -> Path:
    nodes = [
        helper.make_node("Reciprocal", ["x"], [f"r{number}"], name=name)
        if number == 0
        else helper.make_node("Neg", [f"r{number - 1}"], [f"r{number}"], name=name)
        for number, name in enumerate(HOSTILE)
    ]
    return save([*nodes, helper.make_node("Relu", [f"r{len(HOSTILE) - 1}"], ["y"], name="last")], path)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("notebook")
    model = hostile_model(folder / "hostile.onnx")
    finite, other = np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.array([[1, 2, 3], [4, 5, 7]], np.float32)
    broken = np.array([[0, 2, 3], [4, np.nan, 6]], np.float32)
    many = [{"x": finite * (number + 1)} for number in range(1000)]
    runs = {"finite": finite, "other": other, "broken": [{"x": finite}, {"x": broken}], "many": many}
    return {
        name: tensortap.run(
            model, given if isinstance(given, list) else {"x": given}, out=folder / name, payload="stats" if name == "many" else "full"
        ).dump
        for name, given in runs.items()
    }


@each_row("name", ["finite", "broken", "many"])
def test_a_dump_is_a_table_and_a_picture_of_bounded_size(name: str, dumps: dict[str, Any]) -> None:
    dump = dumps[name]
    page = shown(dump)
    rows = dump.records
    broken = rows["nan"] + rows["pos_inf"] + rows["neg_inf"] > 0
    if len(dump) <= 160:
        assert page.bars(RED) == int(broken.sum())
        assert page.bars(BLUE) == int((~broken & (rows["absmax"] > 0)).sum())
        assert HOSTILE[0] in page.texts
    else:
        assert page.bars(BLUE) == 160
    listed = [int(page.texts[at - 1]) for at, text in enumerate(page.texts) if text in (*HOSTILE[:2], "last", "x")]
    assert listed
    if broken.any():
        assert all(broken[listed])
        assert f"NaN or Inf in {broken.sum()} records; the first {min(10, broken.sum())}:" in page.texts
    else:
        largest = np.sort(rows["absmax"])[::-1][:10]
        assert all(rows["absmax"][listed] >= largest[-1])


def test_a_record_is_a_dict_that_shows_its_values(dumps: dict[str, Any]) -> None:
    dump = dumps["broken"]
    for row in range(len(dump)):
        record = dump.record(row)
        page = shown(record)
        values = np.asarray(dump[row])
        exponents = {int(one) for one in np.floor(np.log2(np.abs(values[np.isfinite(values) & (values != 0)])))}
        assert page.bars(BLUE) == len(exponents)
        if exponents:
            assert f"values by binary exponent, 2^{min(exponents)} to 2^{max(exponents)}" in page.texts
        assert {"op", "absmax", "×".join(map(str, values.shape))} <= set(page.texts)
        plain = json.loads(json.dumps(record))
        assert plain == record
        for copied in (copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
            assert type(copied) is dict
            assert copied == record


def test_a_record_without_values_shows_its_statistics_or_its_histogram(dumps: dict[str, Any], tmp_path: Path) -> None:
    page = shown(dumps["many"].record("last:out0"))
    assert page.strokes == {}
    assert "absmax" in page.texts
    x = np.array([[1, 2, 3], [4, 0.25, -7]], np.float32)
    dump = tensortap.run(hostile_model(tmp_path / "model.onnx"), {"x": x}, out=tmp_path / "dump", config={"histogram": True}).dump
    page = shown(dump.record("x:out0"))
    assert page.bars(BLUE) == len(set(np.floor(np.log2(np.abs(x))).ravel()))
    assert "values by binary exponent, 2^-2 to 2^2" in page.texts


@each_row("kind", ["FLOAT16", "BFLOAT16", "FLOAT8E4M3FN", "INT64", "UINT8", "BOOL", "STRING", "DOUBLE", "INT4"])
def test_records_of_every_kind_of_type_are_shown(kind: str, tmp_path: Path) -> None:
    number = getattr(TensorProto, kind)
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=number), helper.make_node("Cast", ["s"], ["e"], to=TensorProto.FLOAT)],
        "kinds",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]), helper.make_tensor_value_info("s", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info("y", number, [3]), helper.make_tensor_value_info("e", TensorProto.FLOAT, ["n"])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, tmp_path / "model.onnx")
    inputs = {"x": np.array([1, 0, 2], np.float32), "s": np.zeros(0, np.float32)}
    dump = tensortap.run(tmp_path / "model.onnx", inputs, out=tmp_path / "dump", payload="full").dump
    shown(dump)
    pages = {record: shown(dump.record(record)) for record in dump}
    cast = next(page for record, page in pages.items() if dump.record(record)["type"] == "Cast" and dump.record(record)["shape"] == [3])
    assert cast.bars(BLUE) == {"STRING": 0, "BOOL": 1}.get(kind, 2), kind


def test_a_comparison_shows_its_errors_and_what_differs(dumps: dict[str, Any]) -> None:
    both = tensortap.compare(dumps["other"], dumps["finite"], tolerance=[(".*", 0, 0)])
    assert both.differing
    page = shown(both)
    born = [row for row in both if row["birth"] == "born"]
    assert page.bars(RED) == len(born)
    errors = [row["error"] for row in both if row["birth"] != "born" and float(row["error"] or 0) > 0]
    assert page.bars(BLUE) == len(errors)
    equal = shown(tensortap.compare(dumps["finite"], dumps["finite"]))
    assert equal.strokes == {}
    assert "verdict" not in equal.texts
    many = tensortap.compare(dumps["many"], dumps["many"])
    many.rows = [{**row, "verdict": "different", "error": "nan", "b": HOSTILE[3]} for row in many.rows]
    assert "verdict" in shown(many).texts
