"""The timeline of a dump as a Perfetto trace, decoded by protobuf with the descriptors of perfetto's own package."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import ROOT, nonfinite_model, small_model, tensortap
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, unknown_fields
from onnx import TensorProto, helper, save_model

tensortap_module = pytest.importorskip("tensortap", reason="the module is not built")

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def trace_class() -> Any:
    messages = json.loads((ROOT / "tests/golden/perfetto/messages.json").read_text())
    file = descriptor_pb2.FileDescriptorProto(name="trace.proto", package="perfetto.protos", syntax="proto2")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, what in fields.items():
            added = message.field.add(name=field, number=what["number"], type=what["type"], label=3 if what["repeated"] else 1)
            if "message" in what:
                added.type_name = f".perfetto.protos.{what['message']}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("perfetto.protos.Trace"))


def messages_in(message: Any) -> Iterator[Any]:
    yield message
    for field, value in message.ListFields():
        if field.message_type:
            for one in value if not hasattr(value, "ListFields") else [value]:
                yield from messages_in(one)


class Trace:
    """A trace with the numbers of its texts resolved, as perfetto's trace processor does."""

    def __init__(self, path: Path) -> None:
        trace = trace_class()()
        trace.ParseFromString(path.read_bytes())
        assert all(len(unknown_fields.UnknownFieldSet(message)) == 0 for message in messages_in(trace))
        texts: dict[str, dict[int, str]] = defaultdict(dict)
        self.processes: dict[int, Any] = {}
        self.tracks: dict[int, Any] = {}
        self.events: list[tuple[int, Any, str, str, dict[str, Any]]] = []
        for number, packet in enumerate(trace.packet):
            assert packet.trusted_packet_sequence_id == 1
            assert packet.sequence_flags == (2 if number else 1)
            for field, entries in packet.interned_data.ListFields():
                for entry in entries:
                    text = entry.name if hasattr(entry, "name") else entry.str.decode()
                    assert entry.iid not in texts[field.name]
                    texts[field.name][entry.iid] = text
            if packet.HasField("track_descriptor"):
                assert packet.track_descriptor.uuid not in self.tracks
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                event = packet.track_event
                notes = {
                    texts["debug_annotation_names"][note.name_iid]: note.int_value
                    if note.HasField("int_value")
                    else note.string_value or texts["debug_annotation_string_values"][note.string_value_iid]
                    for note in event.debug_annotations
                }
                name = texts["event_names"][event.name_iid] if event.name_iid else ""
                category = texts["event_categories"][event.category_iids[0]] if event.category_iids else ""
                assert event.track_uuid in self.tracks
                self.events.append((packet.timestamp, event, name, category, notes))

    def slices(self, *, threads: bool) -> list[tuple[int, int, str, str, dict[str, Any]]]:
        """Give begin, end, name, category and notes of each slice; fails where slices do not nest."""
        found, open_slices = [], defaultdict(list)
        last: dict[int, int] = defaultdict(int)
        for time, event, name, category, notes in self.events:
            if self.tracks[event.track_uuid].HasField("thread") != threads or event.type not in (BEGIN, END):
                continue
            assert time >= last[event.track_uuid]
            last[event.track_uuid] = time
            if event.type == BEGIN:
                open_slices[event.track_uuid].append((time, name, category, notes))
            else:
                began, *rest = open_slices[event.track_uuid].pop()
                found.append((began, time, *rest))
        assert not any(open_slices.values())
        return found

    def counts(self, name: str) -> list[tuple[int, float]]:
        return [
            (time, event.double_counter_value if event.HasField("double_counter_value") else event.counter_value)
            for time, event, *_ in self.events
            if event.type == COUNTER and self.tracks[event.track_uuid].name == name
        ]


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("perfetto")
    x = np.array([[-1, 0, 2], [3, -4, 5]], np.float32)
    return tensortap_module.run(nonfinite_model(folder / "model.onnx"), [{"x": x}, {"x": np.abs(x) + 1}], out=folder / "dump").dump


def trace_of(dump: Path | str, target: Path, *options: str) -> Trace:
    done = tensortap("convert", dump, target, "--to", "perfetto", *options)
    assert done.code == 0, done.err
    return Trace(target)


# B13
def test_slices_counters_and_instants_are_those_of_the_records(dump: Any, tmp_path: Path) -> None:
    trace = trace_of(dump.path, tmp_path / "trace.pftrace")
    rows = dump.records
    timed = rows[rows["duration_ns"] >= 0]
    assert len(timed)
    expected = {
        (dump.ops[row["op"]].name, int(row["step"])): (int(row["time_ns"] - row["duration_ns"]), int(row["time_ns"])) for row in timed
    }
    found = {(name, notes["step"]): (begin, end) for begin, end, name, _, notes in trace.slices(threads=True)}
    assert found == expected
    for _, _, name, category, notes in trace.slices(threads=True):
        op = next(op for op in dump.ops if op.name == name)
        assert category == op.type
        record = dump.record(f"{name}:out0@{notes['step']}")
        kind, _, absmax = notes["out0"].partition(", absmax ")
        assert kind == f"{record['dtype']}{record['shape']}"
        np.testing.assert_equal(float(absmax), float(record["absmax"]))
    finite = [row for row in timed if np.isfinite(row["absmax"])]
    assert sorted(trace.counts("absmax of outputs")) == sorted((int(row["time_ns"]), float(row["absmax"])) for row in finite)
    assert sorted(trace.counts("bytes of outputs")) == sorted((int(row["time_ns"]), int(row["bytes"])) for row in timed)
    broken = {
        (dump.names()[number], int(row["nan"]), int(row["pos_inf"]), int(row["neg_inf"]))
        for number, row in enumerate(rows)
        if row["nan"] + row["pos_inf"] + row["neg_inf"]
    }
    instants = [(name, notes) for _, event, name, _, notes in trace.events if event.type == INSTANT]
    assert broken
    assert {(notes["record"], notes["nan"], notes["pos_inf"], notes["neg_inf"]) for _, notes in instants} == broken
    assert all(name == ("NaN" if notes["nan"] else "Inf") for name, notes in instants)
    steps = {name: (begin, end) for begin, end, name, *_ in trace.slices(threads=False)}
    for step in (0, 1):
        times = [time for (_, of), time in expected.items() if of == step]
        assert steps[f"step {step}"] == (min(begin for begin, _ in times), max(end for _, end in times))


def test_one_step_and_a_folder_can_be_asked_for(dump: Any, tmp_path: Path) -> None:
    done = tensortap("convert", dump.path, tmp_path / "folder", "--to", "perfetto", "--step", "1")
    assert done.code == 0, done.err
    assert {notes["step"] for *_, notes in Trace(tmp_path / "folder/trace.pftrace").slices(threads=True)} == {1}


def test_ops_inside_of_others_nest(tmp_path: Path) -> None:
    body = helper.make_graph(
        [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Neg", ["e"], ["n"]), helper.make_node("Abs", ["n"], ["b"])],
        "then",
        [],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)],
    )
    other = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["c"])], "else", [], [helper.make_tensor_value_info("c", TensorProto.FLOAT, None)]
    )
    graph = helper.make_graph(
        [helper.make_node("If", ["s"], ["y"], name="choice", then_branch=body, else_branch=other)],
        "nested",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]), helper.make_tensor_value_info("s", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx")
    inputs = {"x": np.ones(3, np.float32), "s": np.array(True)}
    dump = tensortap_module.run(tmp_path / "model.onnx", inputs, out=tmp_path / "dump").dump
    found = trace_of(dump.path, tmp_path / "trace.pftrace").slices(threads=True)
    executions = {(row["op"], row["call"]) for row in dump.records if row["duration_ns"] >= 0}
    assert len(found) == len(executions) >= 4


def test_hostile_rows_and_names_make_a_trace(dump: Any, tmp_path: Path) -> None:
    copy = tmp_path / "dump"
    shutil.copytree(dump.path, copy)
    ops = copy / "ops.jsonl"
    name = dump.ops[int(dump.records["op"][-1])].name
    ops.write_text(ops.read_text().replace(json.dumps(name), '"\\udcff</script>\\u0000"'))
    rows = np.load(copy / "records.npy", mmap_mode="r+")
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    for number, (time, duration) in enumerate([(least, most), (most, most), (most, 0), (5, most), (-1, 7)]):
        rows[number]["time_ns"], rows[number]["duration_ns"], rows[number]["bytes"] = time, duration, 2**64 - 1
    rows.flush()
    trace = trace_of(copy, tmp_path / "trace.pftrace")
    assert "\ufffd</script>\0" in {name for _, _, name, *_ in trace.events}


def test_dumps_without_durations_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "dump"
    assert tensortap("run", small_model(tmp_path / "model.onnx"), "--out", source).code == 0
    shutil.copytree(source, tmp_path / "untimed")
    rows = np.load(tmp_path / "untimed/records.npy", mmap_mode="r+")
    rows["duration_ns"] = -1
    rows.flush()
    for dump, options, words in (
        (tmp_path / "untimed", (), "no record has the duration of its op"),
        (source, ("--step", "7"), 'no record is of step "7"'),
        (source, ("--step", "x"), "--step"),
        (source, ("--key", "l2"), "--key: only --to model-explorer has it"),
    ):
        done = tensortap("convert", dump, tmp_path / "trace.pftrace", "--to", "perfetto", *options)
        assert done.code == 2, done
        assert words in done.err
        assert not (tmp_path / "trace.pftrace").exists()
