"""The names that the Python package exports, and its tensors where torch is not loaded."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_support import ROOT, small_model

tensortap = pytest.importorskip("tensortap", reason="the module is not built")


def test_a_star_imports_what_the_documentation_lists_and_nothing_else() -> None:
    given: dict[str, object] = {}
    exec("from tensortap import *", given)
    del given["__builtins__"]
    assert sorted(given) == sorted(tensortap.__all__) == sorted(set(tensortap.__all__))
    text = (ROOT / "docs" / "python.md").read_text()
    (listed,) = re.findall(r"^## All names\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    documented = {name for row in re.findall(r"^\| [^|]* \| ([^|]*) \|$", listed, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert documented == set(tensortap.__all__)
    assert set(re.findall(r"\btensortap\.(\w+)", text)) <= documented | {"patch"}


def test_a_tensor_of_a_dump_is_an_array_where_torch_is_not_loaded(tmp_path: Path) -> None:
    assert "torch" not in sys.modules
    small_model(tmp_path / "model.onnx")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    dump = tensortap.run(tmp_path / "model.onnx", [{"x": x}, {"x": -x}], out=tmp_path / "dump", payload="full").dump
    name = next(name for name in dump.names() if name.endswith(":out0@1"))
    op = name.partition(":")[0]
    for array in (dump.tensor(name), dump.tensor(op, step=1), dump.tensor(f"{op}@1", as_="numpy"), dump.tensor(dump.names().index(name))):
        assert isinstance(array, np.ndarray)
        assert not array.flags.writeable
        assert np.array_equal(array, dump[name])
    with pytest.raises(tensortap.Error, match="out9"):
        dump.tensor(op, slot="out9")
    with pytest.raises(TypeError, match="for a model only"):
        tensortap.capture({}, modules="layers.*")
