"""`tensortap convert`: DumpData files of the vendor's protobuf against the arrays recorded beside them, ours against protobuf."""

from __future__ import annotations

import json
import math
import tarfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from case_table import each_row
from cli_support import COMMAND, small_model, tensortap
from dump_data_support import CLASSES, make_file, parse_file

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")

GOLDEN = Path(__file__).resolve().parent / "golden"
CASES: list[dict[str, Any]] = json.loads((GOLDEN / "acl_dump/manifest.json").read_text())["cases"]
NAME = "Conv2D.conv1.3.0.1763668800000000"
# Numbers of element types in files, with the dtype whose bytes they are and the one in which NumPy gets the values.
TYPES = {
    0: ("int8", "int8"), 1: ("float32", "float32"), 2: ("float16", "float16"), 3: ("int8", "int8"), 4: ("uint8", "uint8"),
    5: ("int16", "int16"), 6: ("uint16", "uint16"), 7: ("int32", "int32"), 8: ("int64", "int64"), 9: ("uint32", "uint32"),
    10: ("uint64", "uint64"), 11: ("bool", "bool"), 12: ("float64", "float64"), 14: ("int8", "int8"), 15: ("uint8", "uint8"),
    16: ("complex64", "complex64"), 17: ("complex128", "complex128"), 18: ("int8", "int8"), 19: ("int16", "int16"),
    20: ("int32", "int32"), 21: ("uint8", "uint8"), 22: ("uint16", "uint16"), 27: ("bfloat16", "float32"),
    34: ("float8_e5m2", "float32"), 35: ("float8_e4m3fn", "float32"), 36: ("float8_e8m0fnu", "float32"),
}  # fmt: skip


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    with tarfile.open(GOLDEN / "acl_dump/cases.tar.gz") as archive:
        archive.extractall(folder)
    return folder / "cases"


def dtype_called(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name)) if name not in np.sctypeDict else np.dtype(name)


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether the dtypes, shapes and bits are the same, of NaN only that they are NaN."""
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def tensor(kind: str, array: np.ndarray[Any, Any], number: int, **fields: Any) -> Any:
    made = CLASSES[kind](data_type=number, size=array.nbytes, **{"format": 2, **fields})
    made.shape.dim.extend(array.shape)
    made.original_shape.dim.extend(fields.pop("original", array.shape))
    return made


def write_output(path: Path, array: np.ndarray[Any, Any], number: int, original: tuple[int, ...] = (), **fields: Any) -> Path:
    output = tensor("OpOutput", array, number, **fields)
    if original:
        del output.original_shape.dim[:]
        output.original_shape.dim.extend(original)
    message = CLASSES["DumpData"](version="2.0", dump_time=1763668800000000, op_name="net/conv1", output=[output])
    path.write_bytes(make_file(message, [array.tobytes()]))
    return path


# A16
def test_vendor_files_become_the_recorded_arrays(cases: Path, tmp_path: Path) -> None:
    expected = np.load(GOLDEN / "acl_dump/expected.npz")
    done = tensortap("convert", cases, tmp_path / "out", "--json", "--threads", 3)
    bad = [case["file"] for case in CASES if case["expect"] == "error"]
    assert done.code == 3
    assert done.object["converted"] == len(CASES) - len(bad)
    assert sorted(failure["source"] for failure in done.object["failed"]) == sorted(str(cases / name) for name in bad)
    told = (tmp_path / "out/convert_failed_file_list.txt").read_text().splitlines()
    assert sorted(told) == sorted(str(cases / name) for name in bad)
    made = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    made.remove("convert_failed_file_list.txt")
    wrong = []
    for case in CASES:
        if case["expect"] == "error":
            continue
        if "overflow_json" in case:
            name = f"{case['file']}.output.0.json"
            made.remove(name)
            if (tmp_path / "out" / name).read_text() != json.dumps(case["overflow_json"], indent=4):
                wrong.append(name)
            continue
        for one in case["tensors"]:
            name = f"{case['file']}.{one['io']}.{one['index']}.npy"
            made.remove(name)
            if not same(np.load(tmp_path / "out" / name), expected[one["array"]]):
                wrong.append(name)
    assert wrong == []
    assert made == set(), "nothing else is written"


# A16
@each_row("case", [case for case in CASES if "logical" in case])
def test_vendor_files_are_put_into_the_order_that_is_asked_for(case: dict[str, Any], cases: Path, tmp_path: Path) -> None:
    expected = np.load(GOLDEN / "acl_dump/expected.npz")[case["logical"]]
    source = cases / case["file"]
    assert tensortap("convert", source, tmp_path / "plain", "-f", case["logical_format"]).code == 0
    (plain,) = (tmp_path / "plain").iterdir()
    assert same(np.load(plain), expected)
    assert plain.name == f"{source.name}.output.0.{'x'.join(map(str, expected.shape))}.npy"


def test_the_dump_of_a_small_device(tmp_path: Path) -> None:
    (source,) = (GOLDEN / "acl_nano").iterdir()
    assert tensortap("convert", source, tmp_path).code == 0
    first, second, joined = (np.load(tmp_path / f"{source.name}.{slot}.npy") for slot in ("input.0", "input.1", "output.0"))
    assert [array.shape for array in (first, second, joined)] == [(1, 14652), (1, 30), (1, 14682)]
    assert np.array_equal(np.concatenate([first, second], 1), joined)
    assert joined.dtype == np.float16
    assert np.isfinite(joined).all()


def test_every_element_type_of_protobufs_files_is_read(tmp_path: Path) -> None:
    expected = {}
    (tmp_path / "in").mkdir()
    for number, (stored, shown) in TYPES.items():
        dtype = dtype_called(stored)
        bits = np.random.default_rng(number).integers(0, 2 if stored == "bool" else 256, 24 * dtype.itemsize, dtype=np.uint8)
        array = bits.view(dtype).reshape(2, 3, 4)
        name = f"Conv2D.type{number}.3.0.1763668800000000"
        write_output(tmp_path / "in" / name, array, number)
        with np.errstate(invalid="ignore"):
            expected[name] = (array.reshape(-1) if number == 0 else array).astype(shown)
    assert tensortap("convert", tmp_path / "in", tmp_path / "out").code == 0
    read = {name: np.load(tmp_path / "out" / f"{name}.output.0.npy") for name in expected}
    assert [name for name, array in expected.items() if not same(read[name], array)] == []


def test_types_without_values_are_told(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in (13, 23, 37, 40, 99):
        write_output(tmp_path / "in" / f"Conv2D.type{number}.3.0.1763668800000000", np.zeros(16, np.uint8), number)
    done = tensortap("convert", tmp_path / "in", tmp_path / "out", "--json")
    assert done.code == 3
    assert done.object["converted"] == 0
    assert ["output.0" in failure["reason"] for failure in done.object["failed"]] == [True] * 5


def test_bits_and_small_integers_become_bytes(tmp_path: Path) -> None:
    bits = np.random.default_rng(5).integers(0, 2, 16, dtype=np.uint8)
    message = CLASSES["DumpData"](version="2.0", op_name="a")
    for number, size in ((29, 2), (28, 2), (31, 1)):
        output = message.output.add(data_type=number, format=2, size=size)
        output.shape.dim.extend([2, {29: 8, 28: 2, 31: 2}[number]])
    payloads = [np.packbits(bits).tobytes(), bytes([0x21, 0xF8]), bytes([0b11_10_01_00])]
    (tmp_path / NAME).write_bytes(make_file(message, payloads))
    assert tensortap("convert", tmp_path / NAME, tmp_path / "out").code == 0
    read = [np.load(tmp_path / "out" / f"{NAME}.output.{i}.npy") for i in range(3)]
    assert same(read[0], bits.reshape(2, 8))
    assert same(read[1], np.array([[1, 2], [-8, -1]], np.int8))
    assert same(read[2], np.array([[0, 1], [2, 3]], np.uint8))


def hifloat8(bits: int) -> float:
    """HiFloat8 by its definition: sign, a dot of a prefix code, exponent with a separate sign and a hidden one, fraction."""
    sign, text = (-1 if bits >> 7 else 1), f"{bits & 127:07b}"
    if bits == 0x80:
        return math.nan
    if text == "1101111":
        return sign * math.inf
    if text.startswith("0000"):
        return sign * 2.0 ** (int(text[4:], 2) - 23) if text != "0000000" else 0.0
    dot, size = next((dot, size) for dot, size in (("11", 4), ("10", 3), ("01", 2), ("001", 1), ("0001", 0)) if text.startswith(dot))
    exponent, fraction = text[len(dot) : len(dot) + size], text[len(dot) + size :]
    power = int("1" + exponent[1:], 2) * (-1 if exponent[0] == "1" else 1) if exponent else 0
    return sign * 2.0**power * (1 + int(fraction, 2) / 2 ** len(fraction))


def test_hifloat8_has_its_values(tmp_path: Path) -> None:
    source = write_output(tmp_path / NAME, np.arange(256, dtype=np.uint8), 33)
    assert tensortap("convert", source, tmp_path / "out").code == 0
    expected = np.array([hifloat8(bits) for bits in range(256)], np.float32)
    assert same(np.load(tmp_path / "out" / f"{NAME}.output.0.npy"), expected)


def test_what_lies_beside_tensors_is_written_too(tmp_path: Path) -> None:
    message = CLASSES["DumpData"](version="2.0", op_name="net/conv1")
    message.buffer.add(size=3)
    message.space.add(size=2)
    output = message.output.add(data_type=1, format=0, size=8)
    output.shape.dim.append(2)
    (tmp_path / NAME).write_bytes(make_file(message, [np.float32([1, 2]).tobytes(), b"abc", b"de"]))
    assert tensortap("convert", tmp_path / NAME, tmp_path / "out", "--to", "bin").code == 0
    found = {path.name.removeprefix(f"{NAME}."): path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert found == {"output.0.2.float32.NCHW.bin": np.float32([1, 2]).tobytes(), "l1buffer.0.bin": b"abc", "space.0.bin": b"de"}
    assert tensortap("convert", tmp_path / NAME, tmp_path / "named", "--to", "msnpy").code == 0
    assert (tmp_path / "named/Conv2D.conv1.3.0.1763668800000000.output.0.NCHW.npy").exists()


def test_payloads_of_tensors_without_an_address_may_be_missing(tmp_path: Path) -> None:
    message = CLASSES["DumpData"](version="2.0")
    for address in (4096, 0, 8192):
        output = message.output.add(data_type=1, format=2, size=8, address=address)
        output.shape.dim.append(2)
    (tmp_path / NAME).write_bytes(make_file(message, [np.float32([1, 2]).tobytes(), np.float32([3, 4]).tobytes()]))
    assert tensortap("convert", tmp_path / NAME, tmp_path / "out").code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [f"{NAME}.output.0.npy", f"{NAME}.output.2.npy"]
    assert np.load(tmp_path / "out" / f"{NAME}.output.2.npy").tolist() == [3, 4]


def test_npy_becomes_dump_data_that_protobuf_reads_and_comes_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    arrays, wrong = {}, []
    (tmp_path / "in").mkdir()
    dtypes = ["float16", "float32", "float64", "int8", "uint16", "int64", "uint64", "bool", "complex64"]
    for dtype in dtypes:
        for slot, shape in (("input.0", (2, 3)), ("output.0", (4,)), ("output.2", ())):
            name = f"Conv2D.{dtype}.3.0.1763668800000000.{slot}"
            arrays[name] = (rng.standard_normal(shape) * 50).astype(dtype)
            np.save(tmp_path / "in" / f"{name}.npy", arrays[name])
    assert tensortap("convert", tmp_path / "in", tmp_path / "files", "--to", "dump_data").code == 0
    for dtype in dtypes:
        file = f"Conv2D.{dtype}.3.0.1763668800000000"
        parsed = parse_file(tmp_path / "files" / file)
        found = (
            (parsed.message.version, parsed.message.op_name, parsed.message.dump_time),
            (parsed.inputs, parsed.outputs),
            ([TYPES[one.data_type][0] for one in parsed.message.input], list(parsed.message.input[0].shape.dim)),
        )
        outputs = [arrays[f"{file}.output.0"].tobytes(), b"", arrays[f"{file}.output.2"].tobytes()]
        expected = (("2.0", dtype, 1763668800000000), ([arrays[f"{file}.input.0"].tobytes()], outputs), ([dtype], [2, 3]))
        if found != expected:
            wrong.append((dtype, found, expected))
    assert wrong == []
    assert tensortap("convert", tmp_path / "files", tmp_path / "back").code == 0
    assert {path.stem for path in (tmp_path / "back").iterdir()} == set(arrays)
    assert [name for name, array in arrays.items() if not same(np.load(tmp_path / "back" / f"{name}.npy"), array)] == []


def up(value: int, block: int) -> int:
    return -(-value // block)


def channel_blocks(array: np.ndarray[Any, Any], c0: int = 16) -> np.ndarray[Any, Any]:
    """NCHW or NCDHW to blocks of channels, by NumPy."""
    pad = up(array.shape[1], c0) * c0 - array.shape[1]
    array = np.pad(array, [(0, 0), (0, pad)] + [(0, 0)] * (array.ndim - 2))
    parts = array.reshape(array.shape[0], -1, c0, *array.shape[2:])
    return np.moveaxis(parts, 2, -1) if array.ndim == 4 else parts.transpose(0, 3, 1, 4, 5, 2)


def fractal_nz(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    rows, columns = array.shape[-2:]
    array = np.pad(array, [(0, 0)] * (array.ndim - 2) + [(0, up(rows, 16) * 16 - rows), (0, up(columns, 16) * 16 - columns)])
    parts = array.reshape(*array.shape[:-2], array.shape[-2] // 16, 16, array.shape[-1] // 16, 16)
    lead = list(range(array.ndim - 2))
    at = len(lead)
    return parts.transpose(*lead, at + 2, at, at + 1, at + 3)


def fractal_z(array: np.ndarray[Any, Any], groups: int = 1) -> np.ndarray[Any, Any]:
    """NCHW to FRACTAL_Z, element by element as its definition says."""
    n_all, c_all, height, width = array.shape
    n_group = n_all // groups
    beside = min(math.lcm(math.lcm(c_all, 16) // c_all, math.lcm(n_group, 16) // n_group), groups)
    c1, n1 = up(beside * c_all, 16), up(beside * n_group, 16)
    out = np.zeros((up(groups, beside) * c1 * height * width, n1, 16, 16), array.dtype)
    for n, c, h, w in np.ndindex(array.shape):
        group = n // n_group
        channel = group % beside * c_all + c
        row = group % beside * n_group + n % n_group
        out[(group // beside) * c1 * height * width + channel // 16 * height * width + h * width + w, row // 16, row % 16, channel % 16] = (
            array[n, c, h, w]
        )
    return out


ORDERS = [
    ("NC1HWC0", "NCHW", (2, 17, 3, 5), channel_blocks, 3, 0),
    ("NC1HWC0", "NHWC", (2, 17, 3, 5), channel_blocks, 3, 0),
    ("NC1HWC0", "HWCN", (2, 32, 3, 5), channel_blocks, 3, 0),
    ("NDC1HWC0", "NCDHW", (2, 17, 4, 3, 5), channel_blocks, 32, 0),
    ("FRACTAL_NZ", "ND", (2, 17, 33), fractal_nz, 29, 0),
    ("FRACTAL_NZ", "ND", (33, 16), fractal_nz, 29, 0),
    ("FRACTAL_Z", "NCHW", (17, 5, 3, 2), fractal_z, 4, 0),
    ("FRACTAL_Z", "HWCN", (17, 5, 3, 2), fractal_z, 4, 0),
    ("FRACTAL_Z", "NCHW", (12, 3, 2, 3), lambda array: fractal_z(array, 4), 4, 4),
    ("FRACTAL_Z", "NCHW", (40, 2, 2, 2), lambda array: fractal_z(array, 20), 4, 20),
    ("FRACTAL_Z", "NCHW", (34, 16, 1, 2), lambda array: fractal_z(array, 2), 4, 2),
]
AXES = {"NCHW": (0, 1, 2, 3), "NHWC": (0, 2, 3, 1), "HWCN": (2, 3, 1, 0), "NCDHW": (0, 1, 2, 3, 4)}


@each_row("dtype", ["float16", "float32", "int8"])
@each_row(("blocked", "plain", "shape", "make", "number", "groups"), ORDERS)
def test_blocks_are_taken_apart(
    blocked: str, plain: str, shape: tuple[int, ...], make: Any, number: int, groups: int, dtype: str, tmp_path: Path
) -> None:
    array = np.random.default_rng(1).integers(-100, 100, shape).astype(dtype)
    expected = array.transpose(AXES[plain]) if plain != "ND" else array
    stored = np.ascontiguousarray(make(array))
    types = {"float16": 2, "float32": 1, "int8": 3}
    source = write_output(tmp_path / NAME, stored, types[dtype], original=expected.shape, format=number, sub_format=groups)
    done = tensortap("convert", source, tmp_path / "out", "--data-format", plain)
    assert done.code == 0, done.err
    (made,) = (tmp_path / "out").iterdir()
    assert same(np.load(made), np.ascontiguousarray(expected))
    if groups == 0 and plain != "HWCN":
        np.save(tmp_path / "plain.npy", expected)
        back = tensortap(
            "convert", tmp_path / "plain.npy", tmp_path / "file.dump_data", "--to", "dump_data", "-f", blocked, "--from-format", plain
        )
        assert back.code == 0, back.err
        parsed = parse_file(tmp_path / "file.dump_data")
        assert parsed.outputs == [stored.tobytes()]
        assert list(parsed.message.output[0].shape.dim) == list(stored.shape)
        assert list(parsed.message.output[0].original_shape.dim) == list(expected.shape)
        assert parsed.message.output[0].format == number


def test_shapes_that_do_not_fit_are_told(tmp_path: Path) -> None:
    stored = np.zeros((1, 2, 3, 3, 16), np.float16)
    for original in ((1, 16, 3, 3), (1, 33, 3, 3), (1, 17, 4, 3)):
        source = write_output(tmp_path / NAME, stored, 2, original=original, format=3)
        done = tensortap("convert", source, tmp_path / "out", "-f", "NCHW", "--json")
        assert done.code == 3, original
        assert str(list(original)) in done.object["failed"][0]["reason"]
    given = tensortap("convert", source, tmp_path / "out", "-f", "NCHW", "--shape", "1,17,3,3")
    assert given.code == 0
    assert (tmp_path / "out" / f"{NAME}.output.0.1x17x3x3.npy").exists()


def records_of(dump: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    return {(one["op"], one["slot"], one["step"]): one for one in tensortap("ls", dump, "--json").objects}


@each_row("layout", ["tap", "ge", "mindspore"])
def test_dumps_become_dumps_of_another_layout(layout: str, tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    first = tmp_path / "first"
    assert tensortap("run", tmp_path / "model.onnx", "--full", "--runs", "2", "--out", first).code == 0
    assert tensortap("convert", first, tmp_path / "second", "--to", layout).code == 0
    assert tensortap("convert", tmp_path / "second", tmp_path / "third", "--to", "tap").code == 0
    before, after = records_of(first), records_of(tmp_path / "third")
    assert set(after) == set(before)
    for key, record in before.items():
        assert all(after[key][field] == record[field] for field in ("type", "dtype", "shape"))
        if layout == "tap":
            assert after[key]["l2"] == record["l2"]
        for dump, name in ((first, "a.npy"), (tmp_path / "third", "b.npy")):
            assert tensortap("show", dump, f"{key[0]}:{key[1]}@{key[2]}", "--npy", tmp_path / name).code == 0
        assert same(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"))


# M25
@each_row("layout", ["ge", "mindspore"])
def test_statistics_that_a_tree_does_not_keep_are_made_again(layout: str, tmp_path: Path) -> None:
    """Trees have few statistics, of six digits, but they contain the tensors."""
    small_model(tmp_path / "model.onnx")
    first = tmp_path / "first"
    assert tensortap("run", tmp_path / "model.onnx", "--full", "--out", first).code == 0
    assert tensortap("convert", first, tmp_path / "second", "--to", layout).code == 0
    assert tensortap("convert", tmp_path / "second", tmp_path / "third", "--to", "tap").code == 0
    fields = ("type", "min", "max", "mean", "std", "l2", "absmax", "nan", "pos_inf", "neg_inf", "zero", "shape")

    def statistics(dump: Path) -> set[str]:
        ops = [one for one in records_of(dump).values() if one["type"] not in ("Input", "Initializer")]
        return {json.dumps([one[field] for field in fields]) for one in ops}

    made = statistics(tmp_path / "third")
    assert made == statistics(first)
    assert not any("null" in one for one in made)


def test_records_of_any_dump_become_npy_files(tmp_path: Path) -> None:
    small_model(tmp_path / "model.onnx")
    assert tensortap("run", tmp_path / "model.onnx", "--tensors", "--out", tmp_path / "dump", "--save-outputs", tmp_path / "y").code == 0
    done = tensortap("convert", tmp_path / "dump", tmp_path / "out", "--json")
    assert done.code == 0
    softmax = next((tmp_path / "out/0").glob("Softmax.softmax_1.*.output.0.npy"))
    assert same(np.load(softmax), np.load(tmp_path / "y/y.npy"))


@each_row(
    ("arguments", "words"),
    [
        (["nowhere", "out"], "no such file"),
        (["x.npy", "out", "--to", "npx"], "npz"),
        (["x.npy", "out", "-f", "NCHX"], "NCHW"),
        (["x.npy", "out", "--shape", "1,x"], "--shape"),
        (["x.npy", "out", "--to", "tap"], "tap"),
        (["x.npy"], "where to"),
    ],
)
def test_wrong_usage_is_told(arguments: list[str], words: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    done = tensortap("convert", *arguments, cwd=tmp_path)
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())
