"""Tables of the records: every cell is what NumPy reads in the files of the dump."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import table_support as made
import tensortap


@pytest.mark.parametrize("measured", [False, True])
def test_every_cell_of_the_tables_is_that_of_the_files(tmp_path: Path, measured: bool) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    ops = made.made_ops(50)
    rows = made.made_rows(70_001, len(ops))  # more than a batch
    if measured:
        rows["valid"] = made.ALL_MEASURED
    dump = tensortap.open(made.write_dump(tmp_path / "dump", rows, ops))
    expected = made.expected_frame(rows, ops)
    table, frame = dump.to_arrow(), dump.to_pandas()
    table.validate(full=True)
    assert list(expected) == table.column_names == list(frame.columns)
    for name, column in expected.items():
        if isinstance(column, list):
            assert table[name].to_pylist() == column, name
            assert frame[name].tolist() == column, name
            continue
        assert table[name].type == pyarrow.from_numpy_dtype(column.dtype), name
        assert frame[name].dtype == column.dtype, name
        np.testing.assert_array_equal(table[name].to_numpy(), column, name)
        np.testing.assert_array_equal(frame[name].to_numpy(), column, name)
    assert str(table["shape"].type) == "list<item: int64>"


def test_a_table_outlives_its_dump_and_may_be_empty(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    ops = made.made_ops(3)
    reader = pyarrow.RecordBatchReader.from_stream(tensortap.open(made.write_dump(tmp_path / "dump", made.made_rows(9, 3), ops)))
    assert reader.read_all().num_rows == 9
    empty = tensortap.open(made.write_dump(tmp_path / "empty", made.made_rows(0, 3), ops))
    assert empty.to_arrow().num_rows == len(empty.to_pandas()) == 0
    assert empty.to_arrow().schema.field("op").type == pyarrow.string()


def test_frames_can_be_changed(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    dump = tensortap.open(made.write_dump(tmp_path / "dump", made.made_rows(9, 3), made.made_ops(3)))
    frame = dump.to_pandas()
    frame.loc[0, "l2"] = 7.0
    frame.loc[0, "step"] = 8
    assert (frame["l2"][0], frame["step"][0], dump.to_pandas()["step"][0]) == (7.0, 8, 0)
