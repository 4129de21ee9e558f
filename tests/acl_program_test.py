"""AscendCL programs in the style of the public ones, compiled as C++11 against our headers and library, and what they compute and dump."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from acl_support import PROGRAMS, compile_program, dumped_ops, image_model, reference, run_program, time_folders
from case_table import each_row
from cli_support import ROOT, small_model, tensortap
from dump_data_support import parse_file
from onnx import TensorProto, helper, numpy_helper

Build = Callable[[str], Path]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Give the compiled program of a name, compiled once."""
    folder = tmp_path_factory.mktemp("programs")

    def build(name: str) -> Path:
        target = folder / name
        return target if target.exists() else compile_program(PROGRAMS / f"{name}.cc", target)

    return build


def dump_config(path: Path, **dump: object) -> Path:
    """Write a dump config."""
    path.write_text(json.dumps({"dump": dump}))
    return path


# A15
def test_both_ways_to_a_config_answer_as_the_real_system(program: Build, tmp_path: Path) -> None:
    table = json.loads((ROOT / "tests/golden/acl_json/table.json").read_text())
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").write_text("")
    places = {"{dir}": str(tmp_path / "dir"), "{file}": str(tmp_path / "file"), "{none}": str(tmp_path / "none")}
    paths = []
    for row in table:
        paths.append(tmp_path / f"{row['id']}.json")
        if row["text"] is None:
            continue
        text = row["text"]
        for mark, place in places.items():
            text = text.replace(mark, place)
        paths[-1].write_text(text + " " * (row.get("pad_to", 0) - len(text)))
    commands = [word for path in paths for word in ("setdump", path)]
    done = run_program(program("dump_flow"), "init", "-", "initdump", *commands, cwd=tmp_path)
    codes = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("setdump")]
    expected = [row["set_dump"] for row in table]
    assert [(row["id"], code) for row, code in zip(table, codes, strict=True)] == [
        (row["id"], code) for row, code in zip(table, expected, strict=True)
    ]
    for row, path in zip(table, paths, strict=True):
        done = run_program(program("dump_flow"), "init", path, cwd=tmp_path)
        assert (row["id"], done.stdout) == (row["id"], f"init {row['init']}\n")


def test_the_sample_flow_computes_what_the_runtime_computes(program: Build, tmp_path: Path) -> None:
    model = image_model(tmp_path / "resnet50.om", [1, 3, 8, 8])
    image = np.random.default_rng(1).random((1, 3, 8, 8), np.float32)
    image.tofile(tmp_path / "image.bin")
    done = run_program(program("sample_flow"), model, tmp_path / "out", tmp_path / "image.bin", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "prob 1 4\n"
    assert done.stderr == ""
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out0.bin", np.float32), reference(model, image)[0].ravel())


# A16
def test_an_acl_json_in_the_current_folder_dumps_the_model(program: Build, tmp_path: Path) -> None:
    model = image_model(tmp_path / "resnet50.om", [1, 3, 8, 8])
    image = np.random.default_rng(1).random((1, 3, 8, 8), np.float32)
    image.tofile(tmp_path / "image.bin")
    (tmp_path / "dump").mkdir()
    dump_config(tmp_path / "acl.json", dump_path=str(tmp_path / "dump"), dump_mode="output", dump_list=[{"model_name": "resnet50"}])
    done = run_program(program("sample_flow"), model, tmp_path / "out", tmp_path / "image.bin", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out0.bin", np.float32), reference(model, image)[0].ravel())
    (dump,) = time_folders(tmp_path / "dump")
    step = dump / "0" / "resnet50" / "1" / "0"
    assert "Softmax.prob1" in dumped_ops(step)
    listed = tensortap("ls", tmp_path / "dump", "--json")
    assert listed.code == 0, listed.err
    assert any("prob1" in json.dumps(row) for row in listed.objects)


# A3
def test_names_that_no_loaded_model_has_are_said(program: Build, tmp_path: Path) -> None:
    models = [image_model(tmp_path / f"{name}.onnx", [1, 3, 8, 8]) for name in ("resnet50", "other")]
    wanted = [{"model_name": "resnet50", "layer": ["conv1", "relu9"]}, {"model_name": "other"}]
    config = dump_config(tmp_path / "acl.json", dump_path=str(tmp_path), dump_list=wanted)
    words = ("init", config, "load", models[0], "load", models[1], "run", "1", "1", "1", "run", "2", "1", "1")
    done = run_program(program("dump_flow"), *words, "end", cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert 'the name "relu9" of the model "resnet50" (' in line and line.endswith('matches no op. Did you mean "relu1"?')
    wanted[1]["model_name"] = "resnet-50"
    dump_config(tmp_path / "acl.json", dump_path=str(tmp_path), dump_list=wanted[1:])
    for end in (("end",), ()):
        done = run_program(program("dump_flow"), *words, *end, cwd=tmp_path)
        (line,) = done.stderr.splitlines()
        assert 'the model "resnet-50" (' in line
        assert 'names of running models: "resnet50", "classifier", "other". Did you mean "resnet50"?' in line


# A16
def test_images_of_a_convolutional_model_are_labelled_so(program: Build, tmp_path: Path) -> None:
    model = image_model(tmp_path / "m.onnx", [1, 3, 8, 8])
    config = dump_config(tmp_path / "acl.json", dump_path=str(tmp_path), dump_mode="all", dump_list=[{}])
    assert run_program(program("dump_flow"), "init", config, "load", model, "run", "1", "1", "1", "end", cwd=tmp_path).returncode == 0
    (step,) = tmp_path.glob("*/0/m/1/0")
    formats = {path.name.split(".")[1]: parse_file(path).message.output[0].format for path in step.iterdir()}
    nchw, nd = 0, 2
    assert (formats["data"], formats["pool1"], formats["prob1"]) == (nchw, nchw, nd)


# A16
@each_row("dimensions, order", [(2, 0), (3, 30)])
def test_orders_and_shapes_are_those_of_the_author_in_inputs_and_outputs(tmp_path: Path, dimensions: int, order: int) -> None:
    sizes = [4, 5, 6][:dimensions]
    weight = numpy_helper.from_array(np.ones([3, 2, *[3] * dimensions], np.float32), "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1] * 2 * dimensions),
        helper.make_node("GlobalMaxPool", ["c"], ["p"], name="pool"),
        helper.make_node("Flatten", ["p"], ["y"], name="flat"),
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [1, 2, *sizes]), ("y", [1, 3]))]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(tmp_path / "m.onnx"))
    config = dump_config(tmp_path / "acl.json", dump_path=str(tmp_path), dump_mode="all", dump_list=[{}])
    done = tensortap("run", tmp_path / "m.onnx", "--config", config)
    assert done.code == 0, done.err
    seen = {}
    for path in tmp_path.glob("*/0/m/1/0/*"):
        message = parse_file(path).message
        tensors = [*message.input, *message.output]
        assert all(tensor.original_shape == tensor.shape for tensor in tensors)
        assert all(tensor.original_op.format == tensor.format for tensor in message.output if tensor.original_op.name)
        seen[path.name.split(".")[0]] = [(tensor.format, list(tensor.shape.dim)) for tensor in tensors]
    one, nd = [1] * dimensions, 2
    assert seen["Conv"] == [(order, [1, 2, *sizes]), (order, [3, 2, *[3] * dimensions]), (order, [1, 3, *sizes])]
    assert seen["GlobalMaxPool"] == [(order, [1, 3, *sizes]), (order, [1, 3, *one])]
    assert seen["Flatten"] == [(order, [1, 3, *one]), (nd, [1, 3])]


def test_a_wrong_config_ends_the_program_with_its_code(program: Build, tmp_path: Path) -> None:
    model = image_model(tmp_path / "m.onnx", [1, 3, 8, 8])
    dump_config(tmp_path / "acl.json", dump_path=str(tmp_path / "not there"), dump_list=[])
    done = run_program(program("sample_flow"), model, tmp_path / "out", tmp_path / "m.onnx", cwd=tmp_path)
    assert done.returncode == 1
    assert "100009" in done.stderr
    assert "not there" in done.stderr


@each_row("batch", [1, 2, 8])
def test_a_batch_is_set_through_the_input_of_sizes(program: Build, tmp_path: Path, batch: int) -> None:
    model = image_model(tmp_path / "m.onnx", ["batch", 3, 8, 8])
    images = np.random.default_rng(2).random((batch, 3, 8, 8), np.float32)
    images.tofile(tmp_path / "in.bin")
    done = run_program(program("dynamic_flow"), "batch", model, tmp_path / "in.bin", tmp_path / "out.bin", batch, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"made {batch} 4\n"
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out.bin", np.float32), reference(model, images)[0].ravel())


def test_all_dimensions_are_set_through_the_input_of_sizes(program: Build, tmp_path: Path) -> None:
    model = image_model(tmp_path / "m.onnx", ["batch", 3, "h", "w"])
    images = np.random.default_rng(2).random((2, 3, 5, 7), np.float32)
    images.tofile(tmp_path / "in.bin")
    done = run_program(program("dynamic_flow"), "dims", model, tmp_path / "in.bin", tmp_path / "out.bin", 2, 3, 5, 7, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out.bin", np.float32), reference(model, images)[0].ravel())


def test_a_description_gives_the_shape_and_outputs_get_memory(program: Build, tmp_path: Path) -> None:
    model = image_model(tmp_path / "m.onnx", ["batch", 3, "h", "w"])
    images = np.random.default_rng(2).random((3, 3, 5, 7), np.float32)
    images.tofile(tmp_path / "in.bin")
    done = run_program(program("dynamic_flow"), "shape", model, tmp_path / "in.bin", tmp_path / "out.bin", 3, 3, 5, 7, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "made 3 4\n"
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out.bin", np.float32), reference(model, images)[0].ravel())


def test_guessed_sizes_are_said_and_the_command_line_of_atc_ends_the_guessing(program: Build, tmp_path: Path) -> None:
    model = image_model(tmp_path / "resnet.om", ["batch", 3, "h", "w"])
    images = np.random.default_rng(2).random((2, 3, 8, 8), np.float32)
    images.tofile(tmp_path / "in.bin")
    words = ("dims", model, tmp_path / "in.bin", tmp_path / "out.bin", 2, 3, 8, 8)
    done = run_program(program("dynamic_flow"), *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("TENSORTAP_ACL_ATC") == 1
    assert 'model "resnet": the program sets sizes of open dimensions' in done.stderr
    command = (
        "atc --model=./resnet.onnx --framework=5 --output=resnet --soc_version=Ascend310P3 --log=error \\\n"
        "  --input_shape='data:-1,3,-1,-1' --dynamic_dims=\"1,8,8;2,8,8\" --precision_mode=allow_fp32_to_fp16"
    )
    done = run_program(program("dynamic_flow"), *words, cwd=tmp_path, environment={"TENSORTAP_ACL_ATC": command})
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out.bin", np.float32), reference(model, images)[0].ravel())
    aipp = {"TENSORTAP_ACL_ATC": f"{command} --insert_op_conf=aipp.cfg"}
    done = run_program(program("dynamic_flow"), *words, cwd=tmp_path, environment=aipp)
    assert "--insert_op_conf is not followed" in done.stderr


def test_only_the_gears_that_atc_was_told_are_taken(program: Build, tmp_path: Path) -> None:
    model = image_model(tmp_path / "m.onnx", ["batch", 3, 8, 8])
    np.zeros((3, 3, 8, 8), np.float32).tofile(tmp_path / "in.bin")
    gears = {"TENSORTAP_ACL_ATC": "--dynamic_batch_size=1,2,4"}
    done = run_program(
        program("dynamic_flow"), "batch", model, tmp_path / "in.bin", tmp_path / "out.bin", 3, cwd=tmp_path, environment=gears
    )
    assert done.returncode == 1
    assert "100000" in done.stderr
    done = run_program(
        program("dynamic_flow"), "batch", model, tmp_path / "in.bin", tmp_path / "out.bin", 4, cwd=tmp_path, environment=gears
    )
    assert done.returncode == 0, done.stderr


def test_runs_in_a_stream_call_back_in_order(program: Build, tmp_path: Path) -> None:
    nodes = [helper.make_node("Mul", ["x", "x"], ["y"], name="square")]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(tmp_path / "m.onnx"))
    done = run_program(program("async_flow"), tmp_path / "m.onnx", 50, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{run} {run * run}" for run in range(50)]


# A1
def test_a_dump_holds_for_models_loaded_after_it_until_it_is_replaced_or_ended(program: Build, tmp_path: Path) -> None:
    one, two = small_model(tmp_path / "one.onnx"), small_model(tmp_path / "two.onnx")
    for name in ("before", "first", "second"):
        (tmp_path / name).mkdir()
    first = dump_config(tmp_path / "first.json", dump_path=str(tmp_path / "first"), dump_list=[{"model_name": "one", "layer": ["relu_1"]}])
    second = dump_config(tmp_path / "second.json", dump_path=str(tmp_path / "second"), dump_mode="all", dump_list=[{}])
    fixed = {"TENSORTAP_ACL_ATC": "--input_shape=x:2,3"}
    commands = ["init", "-", "device", 3, "load", one, "run", 1, 1, 1, "initdump", "setdump", first, "path", "load", one, "load", two]
    commands += ["run", 2, 2, 1, "run", 3, 1, 1, "run", 1, 1, 1, "setdump", second, "load", two, "run", 4, 1, 1, "run", 2, 1, 1]
    commands += ["enddump", "load", two, "run", 5, 1, 1, "unload", 2, "unload", 3, "unload", 4, "unload", 4, "end"]
    done = run_program(program("dump_flow"), *commands, cwd=tmp_path, environment=fixed)
    assert done.returncode == 0, done.stderr
    answers = [line for line in done.stdout.splitlines() if not line.startswith(("model", "path"))]
    failed = [answer for answer in answers if not answer.endswith(" 0")]
    assert failed == ["unload 100011"], done.stdout + done.stderr
    (folder,) = time_folders(tmp_path / "first")
    assert f"path {folder}/" in done.stdout
    assert dumped_ops(folder) == {
        "FusedGemm.relu_1",
        "Data.x",
    }  # the op that executes the author's relu_1, and what it reads of the model's
    assert {path.name for path in (folder / "3" / "one" / "2").iterdir()} == {"0", "1", "2"}
    (other,) = time_folders(tmp_path / "second")
    assert [path.name for path in (other / "3").iterdir()] == ["two"]
    assert [path.name for path in (other / "3" / "two").iterdir()] == ["4"]
    assert "Softmax.softmax_1" in dumped_ops(other)


def test_two_models_with_different_configs_run_in_four_threads_each(program: Build, tmp_path: Path) -> None:
    one, two = small_model(tmp_path / "one.onnx"), small_model(tmp_path / "two.onnx")
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    first = dump_config(
        tmp_path / "first.json", dump_path=str(tmp_path / "first"), dump_list=[{"model_name": "one", "layer": ["softmax_1"]}]
    )
    second = dump_config(
        tmp_path / "second.json", dump_path=str(tmp_path / "second"), dump_list=[{"model_name": "two", "layer": ["matmul_1"]}]
    )
    commands = ["init", "-", "initdump", "setdump", first, "load", one, "setdump", second, "load", two]
    commands += ["run", 1, 10, 4, "run", 2, 10, 4, "enddump", "unload", 1, "unload", 2, "end"]
    done = run_program(program("dump_flow"), *commands, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(line.endswith(" 0") for line in done.stdout.splitlines() if not line.startswith("model")), done.stdout + done.stderr
    # matmul_1 is executed by the op that is named after its last node.
    for name, model, number, ops in (("first", "one", "1", {"Softmax.softmax_1"}), ("second", "two", "2", {"FusedGemm.relu_1", "Data.x"})):
        (folder,) = time_folders(tmp_path / name)
        steps = sorted(int(path.name) for path in (folder / "0" / model / number).iterdir())
        assert steps == list(range(40))
        assert all(dumped_ops(folder / "0" / model / number / str(step)) == ops for step in steps)


def test_a_callback_gets_the_files_and_the_disk_does_not(program: Build, tmp_path: Path) -> None:
    model = small_model(tmp_path / "one.onnx")
    configs = []
    for name, data in (("tensors", "tensor"), ("numbers", "stats")):
        (tmp_path / name).mkdir()
        configs.append(dump_config(tmp_path / f"{name}.json", dump_path=str(tmp_path / name), dump_data=data, dump_list=[{}]))
    commands = ["init", "-", "initdump", "setdump", configs[0], "callback", "load", model, "run", 1, 1, 1, "setdump", configs[1]]
    done = run_program(program("dump_flow"), *commands, "load", model, "run", 2, 1, 1, "end", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    chunks = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("chunk")]
    files = [Path(name) for name, _, last in chunks if last == "1"]
    assert len(files) == len(chunks)
    found = {(path.relative_to(tmp_path).parts[0], ".".join(path.name.split(".")[:2]), path.suffix == ".csv") for path in files}
    assert {("tensors", "Softmax.softmax_1", False), ("numbers", "Softmax.softmax_1", True)} <= found
    assert all(int(size) > 0 for _, size, _ in chunks)
    assert list((tmp_path / "tensors").iterdir()) == list((tmp_path / "numbers").iterdir()) == []


# A11
def test_a_run_that_fails_names_the_op_and_leaves_its_inputs(program: Build, tmp_path: Path) -> None:
    table = numpy_helper.from_array(np.arange(3, dtype=np.int64), "table")
    values = [helper.make_tensor_value_info(name, TensorProto.INT64, [2]) for name in ("index", "y")]
    nodes = [
        helper.make_node("Add", ["index", "index"], ["twice"], name="add1"),
        helper.make_node("Gather", ["table", "twice"], ["y"], name="gather1"),
    ]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [table])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(tmp_path / "m.onnx"))
    config = dump_config(tmp_path / "acl.json", dump_path=str(tmp_path), dump_scene="aic_err_norm_dump")
    done = run_program(program("exception_flow"), config, tmp_path / "m.onnx", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["device 0", "op 0 gather1"]
    assert "input twice type 9 size 16" in lines
    assert lines[-1] == "execute 500002"
    assert not list(tmp_path.glob("crash*"))
    files = [path.name for path in (tmp_path / "extra-info" / "data-dump" / "0").iterdir()]
    (name,) = (name for name in files if name.startswith("Gather.gather1."))
    assert name.split(".")[2] == "1", "the second op of the model"
    assert "task 1 arguments 0 1 0" in lines
    assert "output y type 9 size 16" in lines
    plain = run_program(program("exception_flow"), "-", tmp_path / "m.onnx", cwd=tmp_path)
    expected = ["device 0", "op 100024 ", "task 4294967295 arguments 0 1 0", "execute 500002"]
    assert plain.stdout.splitlines() == expected


def test_a_program_saves_tensors_as_the_vendors_messages(program: Build, tmp_path: Path) -> None:
    config = dump_config(tmp_path / "acl.json", dump_path=str(tmp_path), dump_scene="aic_err_brief_dump")
    done = run_program(program("exception_info_flow"), config, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "extra-info" / "data-dump" / "1"
    assert done.stdout == f"{folder}/\n"
    files = sorted((folder / "sub").iterdir())
    assert len(files) == 3, "saved three times, each under a different time"
    for path in files:
        assert re.fullmatch(r"info\.custom\.\d{17}", path.name)
        assert path.stat().st_mode & 0o777 == 0o400
    parsed = parse_file(files[0])
    assert parsed.message.op_name == "info"
    assert [(attribute.name, attribute.value) for attribute in parsed.message.attr] == [("user_tag", "my tag")]
    assert [(tensor.data_type, list(tensor.shape.dim)) for tensor in parsed.message.input] == [(1, [2, 3])]
    assert [(tensor.data_type, list(tensor.shape.dim)) for tensor in parsed.message.output] == [(7, [3])]
    np.testing.assert_array_equal(np.frombuffer(parsed.inputs[0], np.float32), np.array([0.5, -1, 2, 3, 4, 1e30], np.float32))
    np.testing.assert_array_equal(np.frombuffer(parsed.outputs[0], np.int32), [7, -8, 9])
    assert [tensor.size for tensor in parsed.message.space] == [5]
    assert files[0].read_bytes()[-5:] == bytes([1, 2, 3, 4, 5])


def test_memory_of_the_program_itself_is_refused(program: Build, tmp_path: Path) -> None:
    model = small_model(tmp_path / "m.onnx")
    done = run_program(program("dump_flow"), "init", "-", "load", model, "corrupt", 1, "run", 1, 1, 1, "end", cwd=tmp_path)
    assert done.stdout.splitlines() == ["init 0", "model 1", "load 0", "corrupt 100000", "run 0", "end 0"], done.stderr


def operator_lines() -> str:
    """Compute what operator_flow prints, with NumPy."""
    a = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
    b = np.arange(10, 70, 10, dtype=np.float32).reshape(2, 3)
    rows = {"Add": a + b, "RealDiv": b / a, "Relu": np.maximum(a, 0), "MatMul": a @ b.T, "Cast": a.astype(np.int32), "Neg": -a}
    lines = [f"{name} {' '.join(f'{value:g}' for value in values.ravel())}" for name, values in rows.items()]
    return "\n".join([*lines, "NoSuchOperator failed 100024", "Relu failed 100022", ""])


# A8
def test_single_operators_are_those_of_onnx(program: Build, tmp_path: Path) -> None:
    done = run_program(program("operator_flow"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == operator_lines()


# A8
def test_single_operators_are_dumped_when_the_switch_is_on(program: Build, tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    config = dump_config(tmp_path / "acl.json", dump_path=str(tmp_path / "dump"), dump_op_switch="on", dump_mode="all")
    done = run_program(program("operator_flow"), config, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == operator_lines()
    (folder,) = time_folders(tmp_path / "dump")
    assert [path.name for path in folder.iterdir() if not path.name.startswith(".")] == ["0"]
    files = [path for path in (folder / "0").iterdir() if path.is_file()]
    assert {path.name.split(".")[0] for path in files} >= {"Add", "Relu", "Neg", "Cast"}


def test_a_missing_model_and_a_broken_one_have_their_codes(program: Build, tmp_path: Path) -> None:
    (tmp_path / "broken.om").write_bytes(b"IMOD" + bytes(200))
    done = run_program(program("dump_flow"), "init", "-", "load", "missing.om", "load", "broken.om", "end", cwd=tmp_path)
    assert [line for line in done.stdout.splitlines() if line.startswith("load")] == ["load 100014", "load 100013"]
    assert "broken.om" in done.stderr
