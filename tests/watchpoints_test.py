"""`find --watch` against the answers of MindInsight's own debugger, and against NumPy."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tensortap as package
from cli_support import tensortap

GOLDEN = Path(__file__).resolve().parent / "golden/mindspore"
# The debugger checks some conditions on weights only; it was asked about every tensor.
NAMES = {
    "too_large": "tensor_too_large",
    "too_small": "tensor_too_small",
    "all_zero": "tensor_all_zero",
    "change_too_large": "tensor_change_too_large",
    "change_too_small": "tensor_change_too_small",
    "not_changed": "tensor_not_changed",
    "range": "tensor_range",
}


def unpack(folder: Path, tree: str) -> Path:
    """Unpack a recorded tree; its dump."""
    with tarfile.open(GOLDEN / f"trees/{tree}.tar.gz") as archive:
        archive.extractall(folder)
    return next(folder.glob("**/rank_0")).parent


def condition_of(name: str, parameters: dict[str, float | None]) -> str:
    """Write a watchpoint as the command line has it."""
    given = [f"{key}={value}" for key, value in parameters.items() if value is not None]
    return NAMES.get(name, name) + (":" + ",".join(given) if given else "")


Answer = tuple[str, int, int, tuple[tuple[str, bool, float], ...]]


def ours(answer: dict[str, Any], graph: int) -> list[Answer]:
    """Give what we list, in the debugger's terms: names without their graph, and 0 where nothing was looked at."""
    return sorted(
        (
            hit["op"].removeprefix(f"{graph}/"),
            int(hit["slot"].removeprefix("out")),
            hit["error_code"],
            tuple((one["name"], one["hit"], float(one["actual"] or 0)) for one in hit["parameters"]),
        )
        for hit in answer["hits"] + answer["errors"]
    )


def theirs(record: dict[str, Any]) -> list[Answer]:
    """Give what the debugger listed."""
    return sorted(
        (hit["node"], hit["slot"], hit["error_code"], tuple((one["name"], one["hit"], one["actual"]) for one in hit["params"]))
        for hit in record["hits"]
    )


# M25
@pytest.mark.parametrize("tree", ["2.0.0-add", "2.0.0-nan", "2.0.0-dtypes"])
def test_hits_and_values_are_those_of_the_debugger(tree: str, tmp_path: Path) -> None:
    dump = unpack(tmp_path, tree)
    recorded = [json.loads(line) for line in (GOLDEN / f"debugger/{tree}.jsonl").read_text().splitlines()]
    nodes = {record["node"] for record in recorded if record["kind"] == "tensor"}
    questions = [record for record in recorded if record["kind"] == "watch"]
    assert {record["condition"] for record in questions} == {*range(13, 22)}
    assert len({condition_of(record["name"], record["params"]) for record in questions}) == 14
    for record in questions:
        condition = condition_of(record["name"], record["params"])
        done = tensortap("find", dump, "--watch", condition, "--steps", str(record["iteration"]), "--limit", "1000", "--json")
        (answer,) = done.object["watchpoints"]
        listed = [one for one in ours(answer, record["graph"]) if one[0] in nodes]
        wanted = theirs(record)
        assert [one[:3] for one in listed] == [one[:3] for one in wanted], (condition, record["iteration"])
        for one, other in zip(listed, wanted, strict=True):
            assert [value[:2] for value in one[3]] == [value[:2] for value in other[3]], (condition, one[0])
            assert [value[2] for value in one[3]] == pytest.approx([value[2] for value in other[3]], rel=1e-12), (condition, one[0])
        judged = answer["checked"] and done.object["not_known"] is None
        assert done.code == (1 if done.object["hits"] else 0 if judged else 3)


Arrays = dict[tuple[str, int], npt.NDArray[Any]]


def hits_by_numpy(arrays: Arrays, condition: str) -> set[tuple[str, int]]:
    """Give the (op, step) that a condition holds for, computed anew."""
    hits = set()
    for (op, step), array in arrays.items():
        values = array.astype(np.float64)
        before = arrays.get((op, step - 1))
        if not np.isfinite(values).all():
            continue
        with np.errstate(all="ignore"):
            hit = {
                "TL:abs_mean_gt=0.7": lambda v, b: np.abs(v).mean() > 0.7,
                "TS:max_lt=0.5,mean_lt=-0.05": lambda v, b: v.max() < 0.5 or v.mean() < -0.05,
                "TZ:zero_percentage_ge=20": lambda v, b: 100 * (v == 0).mean() >= 20,
                "TR:range_start_inclusive=-0.25,range_end_inclusive=0.5,range_percentage_lt=30,max_min_gt=6": (
                    lambda v, b: 100 * ((v >= -0.25) & (v <= 0.5)).mean() < 30 or v.max() - v.min() > 6
                ),
                "TCL:abs_mean_update_ratio_gt=0.9": lambda v, b: b is not None and np.abs(v - b).mean() / (np.abs(b).mean() + 1e-9) > 0.9,
                "TCS:abs_mean_update_ratio_lt=0.9": lambda v, b: b is not None and np.abs(v - b).mean() / (np.abs(b).mean() + 1e-9) < 0.9,
                "TNC:rtol=0.5,atol=0.25": lambda v, b: b is not None and np.allclose(v, b, rtol=0.5, atol=0.25),
            }[condition](values, None if before is None else before.astype(np.float64))
        if hit:
            hits.add((op, step))
    return hits


def write_tree(folder: Path, arrays: Arrays) -> Path:
    """Write arrays as a tree of MindSpore."""
    tree = folder / "tree/rank_0/Net/0"
    for (op, step), array in arrays.items():
        (tree / str(step)).mkdir(parents=True, exist_ok=True)
        np.save(tree / str(step) / f"Mul.{op}.0.0.{1000 + step}.output.0.DefaultFormat.npy", array)
    return folder / "tree"


def test_hits_are_those_that_numpy_computes(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    arrays: Arrays = {}
    for number, dtype in enumerate([np.float32, np.float64, np.float16, np.int32, np.int8, np.uint8]):
        values = np.zeros(0)
        for step in range(5):
            if step in (1, 4):
                values = values * 1.1 if step == 1 else values * (1 + 1e-6)
            else:
                values = rng.normal(0, rng.choice([0.1, 1, 3]), (5, 1300)) * (rng.random((5, 1300)) > rng.choice([0, 0.3]))
            arrays[f"Mul-op{number}", step] = np.abs(values).astype(dtype) if dtype is np.uint8 else values.astype(dtype)
    arrays["Mul-op0", 2][1, 7] = np.nan
    dump = package.open(write_tree(tmp_path, arrays))
    conditions = [
        "TL:abs_mean_gt=0.7",
        "TS:max_lt=0.5,mean_lt=-0.05",
        "TZ:zero_percentage_ge=20",
        "TR:range_start_inclusive=-0.25,range_end_inclusive=0.5,range_percentage_lt=30,max_min_gt=6",
        "TCL:abs_mean_update_ratio_gt=0.9",
        "TCS:abs_mean_update_ratio_lt=0.9",
        "TNC:rtol=0.5,atol=0.25",
    ]
    found = package.find(dump, watch=conditions, limit=1000)
    total = 0
    for condition, answer in zip(conditions, found["watchpoints"], strict=True):
        hits = {(hit["op"], hit["step"]) for hit in answer["hits"]}
        assert hits == hits_by_numpy(arrays, condition), condition
        assert answer["checked"] == len(arrays)
        assert answer["unknown"] == 0
        assert 0 < len(hits) < len(arrays), f"{condition} tells some from others"
        total += len(hits)
    assert found["hits"] == total


def test_python_asks_one_question_at_a_time(tmp_path: Path) -> None:
    dump = write_tree(tmp_path, {("Mul-op0", 0): np.ones(3, np.float32)})
    assert package.find(dump, watch=["recommended"])["hits"] == 0
    assert package.find(dump, watch=["TL:max_gt=0"], ops="Mul")["hits"] == 1
    with pytest.raises(package.Error, match="the dump has step 0"):
        package.find(dump, watch=["TL:max_gt=0"], steps="1-")
    assert package.find(dump, trends=True)["trends"] == []
    with pytest.raises(ValueError, match="one at a time"):
        package.find(dump, trends=True, watch=["TO"])
    with pytest.raises(package.Error, match="did you mean tensor_overflow"):
        package.find(dump, watch=["tensor_overflw"])
