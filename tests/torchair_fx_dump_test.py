"""The FX data dump of TorchAir, against what the real Python part has written; and the reader of its tree."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from cli_support import ROOT, tensortap
from torchair_graph_support import run

GOLDEN = ROOT / "tests/golden/torchair"
TIME = re.compile(r"\.\d{20}\.npy$")
DUMPED = """
from tensortap.torchair._fx_dump import FxDumper

def dumped(function, path, **options):
    return compiled(function, lambda graph, name: FxDumper(graph, name, config(data_dump=("npy", path))), **options)
"""
# The program whose dump was recorded; its inputs follow from the recorded digests.
ARITHMETIC = (
    DUMPED
    + """
def arithmetic(x, y):
    total = x + y
    first, second = torch.split(torch.cat([x, y]), 3)
    return total.relu(), total.to(torch.bfloat16) * 2, first, second, x.sum(), total > 0

torch.manual_seed(1)
step = dumped(arithmetic, "dump")
for _ in range(2):
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    for ours, eager in zip(step(x, y), arithmetic(x, y)):
        assert torch.equal(ours, eager)
"""
)


def files_of(folder: Path) -> dict[str, npt.NDArray[Any]]:
    """Read a tree; the times in the names are replaced by {ts}."""
    paths = sorted(folder.rglob("*.npy"))
    return {TIME.sub(".{ts}.npy", str(path.relative_to(folder))): np.load(path, allow_pickle=True) for path in paths}


def header_of(data: bytes) -> tuple[bytes, int]:
    """Return the magic, version and header of a .npy file, and the size of its values."""
    start = 10 + int.from_bytes(data[8:10], "little")
    return data[:start], len(data) - start


# T10
def test_files_are_those_that_the_real_system_has_recorded(tmp_path: Path) -> None:
    run(tmp_path, ARITHMETIC)
    recorded = {
        row[0].partition("/")[2].replace("graph_N", "graph_1"): row[1:] for row in json.loads((GOLDEN / "fx_arithmetic.json").read_text())
    }
    written = {
        name: [str(array.dtype), list(array.shape), hashlib.sha256(array.tobytes()).hexdigest()[:16]]
        for name, array in files_of(tmp_path / "dump").items()
    }
    # The order in which a processor's kernel sums is its own: of sums, only type and shape are the recording machine's.
    for name in recorded:
        if "sum.default.OUTPUT" in name:
            recorded[name].pop(), written[name].pop()
    assert written == recorded


def test_bytes_of_the_files_are_those_of_the_recorded_tree(tmp_path: Path) -> None:
    with tarfile.open(GOLDEN / "fx_step0.tar.gz") as archive:
        archive.extractall(tmp_path / "golden")
    step = "worldsize1_global_rank0/graph_1/0"
    golden = {TIME.sub("", path.name): path.read_bytes() for path in (tmp_path / "golden/fx" / step).iterdir()}
    inputs = {name: next((tmp_path / "golden/fx" / step).glob(f"{name}.*")) for name in golden}
    x, weight, bias = (
        str(inputs[f"{name}"]) for name in ("mm-aten.mm.default.INPUT.0", "mm-aten.mm.default.INPUT.1", "add-aten.add.Tensor.INPUT.1")
    )
    run(
        tmp_path,
        DUMPED
        + f"""
import numpy as np
def program(x, weight, bias):
    total = torch.mm(x, weight) + bias
    return total.relu(), total.sum(-1), total > 0
dumped(program, "dump")(*(torch.from_numpy(np.load(path)) for path in {[x, weight, bias]!r}))
""",
    )
    written = {TIME.sub("", path.name): path.read_bytes() for path in (tmp_path / "dump" / step).iterdir()}
    assert {name: header_of(data) for name, data in written.items()} == {name: header_of(data) for name, data in golden.items()}
    # The product of two matrices is rounded as the processor's kernel sums it: the recording machine's last bits are its own.
    rounded = [name for name in golden if not name.startswith("mm-aten.mm.default.INPUT") and name != "add-aten.add.Tensor.INPUT.1"]
    for name in rounded:
        ours, theirs = (np.load(io.BytesIO(files[name])) for files in (written, golden))
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert {name: written[name] for name in golden if name not in rounded} == {name: golden[name] for name in golden if name not in rounded}


def test_values_without_a_place_in_numpy_are_files_too(tmp_path: Path) -> None:
    run(
        tmp_path,
        DUMPED
        + """
def program(x):
    return torch.nn.functional.layer_norm(x, (4,)), x.to(torch.float8_e4m3fn), x[:, 1:3], torch.complex(x, x).conj() + 1
dumped(program, "dump")(torch.arange(12.0).reshape(3, 4))
""",
    )
    files = {name.rpartition("/")[2]: array for name, array in files_of(tmp_path / "dump").items()}
    of_norm = {name: array for name, array in files.items() if name.startswith("native_layer_norm-")}
    assert of_norm["native_layer_norm-aten.native_layer_norm.default.INPUT.2.{ts}.npy"].item() is None
    assert of_norm["native_layer_norm-aten.native_layer_norm.default.INPUT.1.{ts}.npy"].tolist() == [4]
    assert [f"OUTPUT.{i}." in " ".join(of_norm) for i in range(4)] == [True, True, True, False]
    eights = files["_to_copy-aten._to_copy.default.OUTPUT.0.{ts}.npy"]
    assert eights.dtype == np.float32 and eights.ravel().tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    conjugated = next(array for name, array in files.items() if "add.Tensor.INPUT.0" in name)
    assert conjugated[0, 1] == 1 - 1j


def test_inputs_are_those_before_an_operator_wrote_into_them(tmp_path: Path) -> None:
    run(
        tmp_path,
        DUMPED
        + """
graph = torch.fx.Graph()
x = graph.placeholder("x")
graph.output((graph.call_function(torch.ops.aten.add_.Tensor, (x, 1)),))
module = torch.fx.GraphModule(torch.nn.Module(), graph)
FxDumper(module, "graph_7", config(data_dump=("npy", "dump")))(torch.zeros(2))
""",
    )
    files = files_of(tmp_path / "dump/worldsize1_global_rank0/graph_7/0")
    of_slot = {name.partition("-aten.add_.Tensor.")[2]: array.tolist() for name, array in files.items()}
    assert of_slot == {"INPUT.0.{ts}.npy": [0, 0], "INPUT.1.{ts}.npy": 1, "OUTPUT.0.{ts}.npy": [1, 1]}


def test_a_filter_leaves_nodes_out_and_names_the_others(tmp_path: Path) -> None:
    run(
        tmp_path,
        DUMPED
        + """
def only_sums(node):
    return next(iter(node.graph.nodes)) if "sum" in node.name else None
settings = config(data_dump=("npy", None))
settings.debug.data_dump.filter = only_sums
compiled(lambda x: (x + 1).sum(), lambda graph, name: FxDumper(graph, name, settings))(torch.ones(2))
""",
    )
    names = sorted(files_of(tmp_path / "worldsize1_global_rank0/graph_1/0"))
    assert names == [f"arg0_1-aten.sum.default.{slot}.0.{{ts}}.npy" for slot in ("INPUT", "OUTPUT")]


def test_a_path_that_is_a_file_raises_at_the_first_call(tmp_path: Path) -> None:
    program = DUMPED + 'open("file", "w").close()\nstep = dumped(lambda x: x + 1, "file")\nstep(torch.ones(2))\n'
    _, reported = run(tmp_path, program, expected=1)
    assert "NotADirectoryError" in reported


def test_a_full_disk_leaves_the_results_and_no_part_of_a_file(tmp_path: Path) -> None:
    _, reported = run(
        tmp_path,
        DUMPED
        + """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
step = dumped(lambda x: (x + 1).sum(), "dump")
step(torch.ones(4))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
assert step(torch.ones(4000)).item() == 8000
""",
    )
    assert reported.count("the program goes on") == 1
    assert "more files were not written" in reported
    written = list((tmp_path / "dump").rglob("*"))
    assert not [path for path in written if path.is_file() and path.suffix != ".npy"]
    for path in (path for path in written if path.is_file()):
        np.load(path)


def test_each_graph_counts_its_own_steps(tmp_path: Path) -> None:
    run(
        tmp_path,
        DUMPED
        + """
step = dumped(lambda x: x + 1, "dump", dynamic=False)
for rows in (2, 3, 2):
    step(torch.ones(rows))
""",
    )
    root = tmp_path / "dump/worldsize1_global_rank0"
    assert sorted(str(path.relative_to(root)) for path in root.glob("*/*")) == ["graph_1/0", "graph_1/1", "graph_2/0"]


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dump")
    run(folder, ARITHMETIC)
    return folder / "dump"


def test_the_reader_lists_every_tensor_with_its_step(dump: Path) -> None:
    listed = tensortap("ls", dump, "--json")
    assert listed.code == 0, listed.err
    assert len(listed.out.splitlines()) == 44
    assert "graph_1" not in listed.err


@pytest.mark.parametrize("level", ["", "worldsize1_global_rank0", "worldsize1_global_rank0/graph_1", "worldsize1_global_rank0/graph_1/1"])
def test_the_reader_opens_every_level(dump: Path, level: str) -> None:
    shown = tensortap("show", dump / level, "mul:out0@1", "--json")
    assert shown.code == 0, shown.err
    array = files_of(dump)["worldsize1_global_rank0/graph_1/1/mul-aten.mul.Tensor.OUTPUT.0.{ts}.npy"]
    assert tuple(shown.object["shape"]) == array.shape


def test_dumps_convert_into_a_layout_that_is_written_and_not_into_this_one(dump: Path, tmp_path: Path) -> None:
    done = tensortap("convert", dump, tmp_path / "native", "--to", "tap")
    assert done.code == 0, done.err
    assert len(tensortap("ls", tmp_path / "native", "--json").out.splitlines()) == 44
    refused = tensortap("convert", dump, tmp_path / "again", "--to", "fx")
    assert refused.code == 2 and "tap, ge, mindspore" in refused.err
    refused = tensortap("run", "--layout", "fx", "no.onnx")
    assert refused.code == 2 and 'dumps are read and not written in the layout "fx"; valid: tap, ge, mindspore, msit.' in refused.err
