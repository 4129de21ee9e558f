"""Dumps of msit's successor: tensors in the same tree, and a table of statistics in the folder of each round."""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import tensortap as module
from case_table import each_row
from cli_support import ROOT, tensortap

GOLDEN = ROOT / "tests/golden/msit/g3.tar.gz"
WIDE = np.array([[1, 2, 3], [4, 5, 1e30]], np.float32)
TRUTH: dict[str, npt.NDArray[np.generic]] = {
    "Decoder_layer_1:in0": np.array([[1, -2], [3.5, np.nan]], np.float32),
    "LinearOperation_1_0:in0": WIDE,
    "LinearOperation_1_0:in1": np.array([-128, 127, 3], np.int8),
    "LinearOperation_1_0:in2": np.array([False, True]),
    "LinearKernel_1_0_0:out0": WIDE,
    "LinearOperation_1_0:out0": WIDE,
    "Decoder_layer_1:out0": np.array(1, np.float32),
}


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(tmp_path)
    return tmp_path / "g3"


@each_row("task", ["statistics", "all"])
def test_statistics_are_those_of_what_the_library_was_given(unpacked: Path, task: str) -> None:  # L15
    dump = module.open(unpacked / task)
    assert dump.layout == "msit" and dump.problems == []
    names = [dump._core.name(row) for row in range(len(dump))]
    assert names == [*TRUTH, *(f"{name}@1" for name in TRUTH)], "inputs before what is below, outputs behind it, round by round"
    for name, values in TRUTH.items():
        record = dump.record(name)
        assert record["shape"] == list(values.shape) and record["dtype"] == values.dtype.name
        if values.dtype == bool:
            assert record["max"] is None and record["mean"] is None
            continue
        real = values[~np.isnan(values)].astype(np.float64)
        wide = values.astype(np.float64)
        assert [record["max"], record["min"]] == pytest.approx([real.max(), real.min()], rel=1e-6)
        np.testing.assert_allclose([float(record["mean"]), float(record["l2"])], [wide.mean(), np.sqrt((wide**2).sum())], rtol=1e-6)
    linear = next(op for op in dump.ops if op.name == "LinearOperation_1_0")
    assert linear.attributes == {"a": 1}


def test_a_tensor_has_its_file_and_its_line_as_one_record(unpacked: Path) -> None:
    dump = module.open(unpacked / "all")
    for name, values in TRUTH.items():
        read = dump[name]
        np.testing.assert_array_equal(read.reshape(values.shape), values)
        assert dump.record(name)["file"].endswith(".bin")
    alone = module.open(unpacked / "statistics")
    assert alone.record("Decoder_layer_1:in0")["file"].endswith("/0/statistic.csv")
    with pytest.raises(module.Error, match=r"statistic\.csv: the table has the tensor's statistics, no values"):
        alone["Decoder_layer_1:in0"]


@each_row(
    "old,new,lost,said",
    [
        ("Device and PID", "Device", 7, ": its first line does not name the columns of statistic.csv"),
        ("Decoder_layer,1,input,0", "Decoder_layer,1_2,input,0", 1, ": no line of the statistics of a tensor"),
        ("input,1,int8", "input,99999,int8", 1, ": no line of the statistics of a tensor"),
        ("int8,nd,3,", "int8,nd,3x9999999999x9999999999,", 1, ": no line of the statistics of a tensor"),
        ("int8,nd,3,", "int8,nd,-3,", 1, ": no line of the statistics of a tensor"),
        ("int8,nd", "int99,nd", 1, ": no line of the statistics of a tensor"),
        ("output,0,float", "workspace,0,float", 3, ": no line of the statistics of a tensor"),
        ("bool,nd,2,N/A,N/A,N/A,N/A,N/A\n", "bool,nd,2\n", 1, ": no line of the statistics of a tensor"),
    ],
)
def test_what_a_table_says_wrong_is_told_and_left_out(unpacked: Path, old: str, new: str, lost: int, said: str) -> None:
    (process,) = (unpacked / "statistics/atb_dump_data/data").iterdir()
    table = process / "0/statistic.csv"
    whole = table.read_text()
    table.write_text(whole.replace(old, new))
    dump = module.open(unpacked / "statistics")
    table.write_text(whole)
    assert len(dump) == 2 * len(TRUTH) - lost
    place = dump.problems[0].removesuffix(said)
    assert re.fullmatch(rf"atb_dump_data/data/{process.name}/0/statistic\.csv(:[2-8])?", place), dump.problems[0]


def test_a_round_alone_opens_and_converts(unpacked: Path, tmp_path: Path) -> None:
    (process,) = (unpacked / "statistics/atb_dump_data/data").iterdir()
    shutil.rmtree(process / "0")
    assert len(module.open(process / "1")) == len(TRUTH)
    done = tensortap("convert", process / "1", tmp_path / "out", "--to", "tap")
    assert done.code == 0, done.err
    assert module.open(tmp_path / "out").record("LinearOperation_1_0:in1@1")["max"] == 127
