"""The messages of DumpData files, built from field numbers by protobuf itself, for tests of what we read and write."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Field = descriptor_pb2.FieldDescriptorProto
TEXT, NUMBER, SIGNED, BYTES = Field.TYPE_STRING, Field.TYPE_UINT64, Field.TYPE_INT32, Field.TYPE_BYTES

MESSAGES: dict[str, list[tuple[int, str, int | str, bool]]] = {
    "Shape": [(1, "dim", NUMBER, True)],
    "OriginalOp": [
        (1, "name", TEXT, False), (2, "output_index", NUMBER, False), (3, "data_type", SIGNED, False), (4, "format", SIGNED, False),
    ],
    "DimRange": [(1, "dim_start", NUMBER, False), (2, "dim_end", NUMBER, False)],
    "OpAttr": [(1, "name", TEXT, False), (2, "value", TEXT, False)],
    "OpBuffer": [(1, "buffer_type", SIGNED, False), (2, "data", BYTES, False), (3, "size", NUMBER, False)],
    "Workspace": [
        (1, "type", SIGNED, False), (2, "data", BYTES, False), (3, "size", NUMBER, False), (4, "arg_index", NUMBER, False),
    ],
    "OpOutput": [
        (1, "data_type", SIGNED, False), (2, "format", SIGNED, False), (3, "shape", "Shape", False),
        (4, "original_op", "OriginalOp", False), (5, "data", BYTES, False), (6, "size", NUMBER, False),
        (7, "original_shape", "Shape", False), (8, "sub_format", SIGNED, False), (9, "address", NUMBER, False),
        (10, "dim_range", "DimRange", True), (11, "offset", NUMBER, False),
    ],
    "OpInput": [
        (1, "data_type", SIGNED, False), (2, "format", SIGNED, False), (3, "shape", "Shape", False), (4, "data", BYTES, False),
        (5, "size", NUMBER, False), (6, "original_shape", "Shape", False), (7, "sub_format", SIGNED, False), (8, "address", NUMBER, False),
        (9, "offset", NUMBER, False), (10, "arg_index", NUMBER, False), (11, "input_type", NUMBER, False),
    ],
    "DumpData": [
        (1, "version", TEXT, False), (2, "dump_time", NUMBER, False), (3, "output", "OpOutput", True), (4, "input", "OpInput", True),
        (5, "buffer", "OpBuffer", True), (6, "op_name", TEXT, False), (7, "attr", "OpAttr", True), (8, "space", "Workspace", True),
        (9, "dfx_message", TEXT, False),
    ],
}  # fmt: skip


def message_classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="dump_data.proto", package="dump", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field_name, kind, repeated in fields:
            field = message.field.add(name=field_name, number=number)
            field.label = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
            field.type = Field.TYPE_MESSAGE if isinstance(kind, str) else kind
            if isinstance(kind, str):
                field.type_name = f".dump.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"dump.{name}")) for name in MESSAGES}


CLASSES = message_classes()


@dataclass(frozen=True)
class Parsed:
    """A file taken apart by protobuf."""

    message: Any
    inputs: list[bytes]
    outputs: list[bytes]


def parse_file(path: Path) -> Parsed:
    """Take a file apart; every byte has to belong to something, and every field of the message has to be known."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    message = CLASSES["DumpData"].FromString(content[8 : 8 + length])
    known = CLASSES["DumpData"].FromString(content[8 : 8 + length])
    known.DiscardUnknownFields()
    assert known.SerializeToString() == message.SerializeToString()
    at = 8 + length
    payloads = []
    for tensor in [*message.input, *message.output, *message.buffer, *message.space]:
        payloads.append(content[at : at + tensor.size])
        assert len(payloads[-1]) == tensor.size
        at += tensor.size
    assert at == len(content)
    count = len(message.input)
    return Parsed(message, payloads[:count], payloads[count : count + len(message.output)])


def make_file(message: Any, payloads: list[bytes]) -> bytes:
    head = message.SerializeToString()
    return struct.pack("<Q", len(head)) + head + b"".join(payloads)


def float_output(values: Any, op_name: str = "net/conv1") -> bytes:
    """Make a file of one output: a vector of float32."""
    output = CLASSES["OpOutput"](data_type=1, format=2, size=values.nbytes)
    output.shape.dim.extend(values.shape)
    message = CLASSES["DumpData"](version="2.0", dump_time=1763668800000000, op_name=op_name, output=[output])
    return make_file(message, [values.tobytes()])
