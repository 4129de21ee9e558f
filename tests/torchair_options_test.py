"""TorchAir's options: what the real system accepted, refused and told its engine; its logger."""

from __future__ import annotations

import copy
import itertools
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from case_table import each_row
from cli_support import PACKAGE, ROOT

CompilerConfig = pytest.importorskip("tensortap.torchair", reason="the module is not built").CompilerConfig

REAL: dict[str, Any] = json.loads((ROOT / "tests/golden/torchair/real_part.json").read_text())


def assign(config: Any, name: str, value: object) -> Any:
    """Assign to an option of a config by its whole name, and give what reading it returns."""
    *groups, option = name.split(".")
    for group in groups:
        config = getattr(config, group)
    setattr(config, option, value)
    return getattr(config, option)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with what the recorded values name: a folder d and a file f.json."""
    (tmp_path / "d").mkdir()
    (tmp_path / "f.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_values_are_taken_and_refused_as_in_the_real_system(places: Path) -> None:  # T1
    wrong = []
    for row in REAL["options"]:
        try:
            got = assign(CompilerConfig(), row["option"], row["value"])
            text = got.value if hasattr(got, "value") else got
            answer = {"ok": True, "text": text, "truth": bool(got)}
        except Exception as error:
            answer = {"ok": False, "error": type(error).__name__}
        expected = {key: row[key] for key in ("ok", "text", "truth", "error") if key in row}
        if isinstance(expected.get("text"), str):
            expected["text"] = expected["text"].replace("{cwd}", str(places))
        if answer != expected:
            wrong.append(f"{row['option']} = {row['value']!r}: {answer}, the real one {expected}")
    assert not wrong, "\n".join(wrong)


def test_the_engine_is_told_what_the_real_system_tells_it(places: Path) -> None:  # T1
    config = CompilerConfig()
    assert config.as_dict() == ({}, {})
    config.dump_config.enable_dump = True
    assert config.as_dict() == ({}, REAL["engine"]["enabled"])
    assert (places / "worldsize1_global_rank0").is_dir()
    config = CompilerConfig()
    config.dump_config.dump_config_path = "f.json"
    assert config.as_dict() == ({}, REAL["engine"]["config_path"])


def test_steps_and_layers_are_told_when_they_are_set(places: Path) -> None:
    config = CompilerConfig()
    config.dump_config.enable_dump = True
    config.dump_config.dump_step = "0|2-3"
    config.dump_config.dump_layer = " Add Mul_1"
    config.dump_config.quant_dumpable = True
    config.dump_config.dump_data = "stats"
    told = config.as_dict()[1]
    assert told["ge.exec.dumpStep"] == "0|2-3"
    assert told["ge.exec.dumpLayer"] == " Add Mul_1"
    assert (told["ge.quant_dumpable"], told["ge.exec.dumpData"]) == ("1", "stats")
    config.mode = "reduce-overhead"
    assert config.as_dict()[1] == {
        "aclgraph.enableDump": "1",
        "aclgraph.dumpPath": "./worldsize1_global_rank0",
        "aclgraph.dumpStage": "optimized",
    }


# The expression of the real system.
STEPS = re.compile(r"^(((\d+)|(\d+-{0,1}\d+))\|{0,1})*$")


def test_dump_step_accepts_what_the_real_expression_accepts() -> None:
    option = CompilerConfig().dump_config
    texts = {
        "".join(text)
        for letters, longest in (("0-|a", 6), ("0-|", 9))
        for length in range(longest + 1)
        for text in itertools.product(letters, repeat=length)
    }
    assert len(texts) == 33892
    wrong = []
    for text in sorted(texts):
        try:
            option.dump_step = text
            accepted = True
        except ValueError:
            accepted = False
        if accepted != bool(STEPS.match(text)):
            wrong.append(text)
    assert not wrong


def test_a_long_dump_step_is_refused_at_once() -> None:
    # The real expression takes 23 seconds for 20 digits and a letter, and twice as long for each further digit.
    with pytest.raises(ValueError, match="Please set legal regex value format match"):
        CompilerConfig().dump_config.dump_step = "1" * 100_000 + "a"


REFUSED: list[tuple[str, object, type[Exception], str]] = [
    (
        "dump_config.enable_dump",
        "True",
        ValueError,
        "Value 'True' (type: <class 'str'>) not in optional list [False, True] (type: <class 'bool'>).",
    ),
    (
        "dump_config.dump_path",
        "gone",
        FileNotFoundError,
        "Please set legal dir path, gone is not found or is not a file directory!",
    ),
    (
        "dump_config.dump_path",
        None,
        FileNotFoundError,
        "Please set legal dir path, None is not found or is not a file directory!",
    ),
    ("dump_config.dump_config_path", "", ValueError, "File path cannot be empty!"),
    (
        "dump_config.dump_config_path",
        "gone.json",
        FileNotFoundError,
        "Please set legal file path, gone.json is not found or is not '.json' file!",
    ),
    ("dump_config.dump_step", None, TypeError, "expected string or bytes-like object, got 'NoneType'"),
    (
        "dump_config.dump_step",
        "0|2&",
        ValueError,
        r"Please set legal regex value format match ^(((\d+)|(\d+-{0,1}\d+))\|{0,1})*$, 0|2& is Illegal format, "
        "correct example:0|1|2-5|6.",
    ),
    ("dump_config.dump_layer", 3, TypeError, "expected string or bytes-like object, got 'int'"),
    (
        "dump_config.dump_layer",
        "a:b",
        ValueError,
        r'Please set legal regex value format match ^[0-9a-zA-Z_" "/\\.]*$, a:b is Illegal format, correct example:Mul_1 Add1 Conv2D_1.',
    ),
    (
        "dump_config.dump_setp",
        "0",
        ValueError,
        "_DataDumpConfig has no option dump_setp, all options ['enable_dump', 'dump_path', 'dump_mode', 'quant_dumpable', 'dump_step', "
        "'dump_layer', 'dump_data', 'dump_config_path', 'data_dump_stage']",
    ),
    ("dump", True, ValueError, "CompilerConfig has no option dump, all options ['debug', "),
    ("dump_config", True, TypeError, "dump_config is a group of options, got True"),
    ("debug.data_dump.path", None, TypeError, "expected str, bytes or os.PathLike object, not NoneType"),
    (
        "debug.aclgraph.static_capture_size_limit",
        0,
        ValueError,
        "Please set value in [1, 9223372036854775807], 0 is out of range.",
    ),
    (
        "experimental_config.static_model_ops_lower_limit",
        "1",
        ValueError,
        "Please set integer type, but got <class 'str'>",
    ),
    ("post_grad_custom_pre_pass", 3, TypeError, "value must be Callable or None, got <class 'int'>"),
    (
        "fusion_config.fusion_switch_file",
        ".",
        FileNotFoundError,
        "Please set legal file path, . is not found or is not a file!",
    ),
]


@each_row("name, value, error, first_line", REFUSED)
def test_a_refused_value_is_said_with_type_text_and_error_code(  # T9
    name: str, value: object, error: type[Exception], first_line: str
) -> None:
    config = CompilerConfig()
    with pytest.raises(error) as raised:
        assign(config, name, value)
    assert type(raised.value) is error
    lines = str(raised.value).splitlines()
    assert lines[0].startswith(first_line), lines[0]
    assert lines[1].startswith("Traceback")
    assert lines[-1].endswith("ERR03005 GRAPH internal error")
    assert config == CompilerConfig(), "a refused value changes nothing"


# Name, default as text, values that are taken, values that are not: the options that have no effect here.
OTHERS = [
    ("aoe_config.aoe_mode", None, ["2"], ["1", None]),
    ("aoe_config.work_path", "./", ["."], ["gone"]),
    ("aoe_config.aoe_config_file", None, [None, __file__], ["gone"]),
    ("export.export_mode", "0", [True], ["on"]),
    ("export.export_path_dir", "./", ["."], ["gone"]),
    ("export.experimental.enable_record_nn_module_stack", "0", [True], [2]),
    ("export.experimental.auto_atc_config_generated", "0", [True], [2]),
    ("export.experimental.enable_lite_export", "0", [True], [2]),
    ("fusion_config.fusion_switch_file", None, [None, __file__], ["gone"]),
    ("inference_config.dynamic_gears_merge_policy", "zip", ["product"], ["sum"]),
    ("ge_config.enable_single_stream", "0", [True], [2]),
    ("ge_config.oo_level", "O3", ["O1"], ["O2"]),
    ("ge_config.oo_constant_folding", None, [True, False], [None]),
    ("ge_config.oo_dead_code_elimination", None, [True, False], [None]),
    ("ge_config.export_compile_stat", "2", ["0", "1", "2"], [2]),
    ("ge_config.aicore_num", None, ["24|24"], []),
    ("ge_config.optimization_switch", None, ["a:on"], []),
    ("experimental_config.cc_parallel_enable", "0", [True], [2]),
    ("experimental_config.keep_inference_input_mutations", "1", [False], [2]),
    ("experimental_config.memory_efficiency", "0", [True], [2]),
    ("experimental_config.frozen_parameter", "0", [True], [2]),
    ("experimental_config.static_model_ops_lower_limit", None, [-1, 5], [-2, None]),
    ("experimental_config.jit_compile", "auto", ["auto"], ["off"]),
    ("experimental_config.npu_fx_pass", "0", [True], [2]),
    ("experimental_config.aot_config_enable_joint_graph", "0", [True], [2]),
    ("experimental_config.aot_config_output_loss_index", "0", [1], []),
    ("experimental_config.topology_sorting_strategy", "DFS", ["BFS", "RDFS", "StableRDFS"], ["dfs"]),
    ("experimental_config.enable_ref_data", "0", [True], [2]),
    ("experimental_config.enable_view_optimize", "1", [False], [2]),
    ("experimental_config.remove_noop_ops", "1", [False], [2]),
    ("experimental_config.tiling_schedule_optimize", "0", [True], [2]),
    ("experimental_config.pattern_fusion_pass", "1", [False], [2]),
    ("experimental_config.aclgraph._aclnn_static_shape_kernel", "0", [True], [2]),
    ("debug.run_eagerly", "0", [True], [2]),
    ("debug.deadlock_check", "0", [True], [2]),
    ("debug.fx_summary.skip_compile", "1", [False], [2]),
    ("debug.aclgraph.disable_reinplace_inplaceable_ops_pass", "0", [True], [2]),
    ("debug.aclgraph.disable_reinplace_input_mutated_ops_pass", "0", [True], [2]),
    ("debug.aclgraph.disable_mempool_reuse_in_same_fx", "0", [True], [2]),
    ("debug.aclgraph.enable_output_clone", "0", [True], [2]),
    ("debug.aclgraph.static_capture_size_limit", "64", [1, 2**63 - 1], [0, 2**63, "1"]),
    ("debug.aclgraph.clone_input", "1", [False], [2]),
    ("debug.aclgraph.remove_cat_ops", "1", [False], [2]),
]


@each_row("name, default, good, bad", OTHERS)
def test_options_without_effect_exist_with_their_defaults_and_checks(
    name: str, default: str | None, good: list[Any], bad: list[Any]
) -> None:
    config = CompilerConfig()
    *groups, option = name.split(".")
    group = config
    for part in groups:
        group = getattr(group, part)
    assert getattr(group, option).value == default
    for value in bad:
        with pytest.raises((ValueError, FileNotFoundError)):
            setattr(group, option, value)
    for value in good:
        setattr(group, option, value)
        assert getattr(group, option).value == {True: "1", False: "0", None: None}.get(value, str(value))


def test_reading_gives_the_option_and_not_its_value(places: Path) -> None:
    config = CompilerConfig()
    config.dump_config.enable_dump = 1.0
    assert config.dump_config.enable_dump
    assert config.dump_config.enable_dump != 1.0
    assert config.dump_config.enable_dump.value == "1.0"
    config.dump_config.dump_path = places / "d"
    assert config.dump_config.dump_path.value == str(places / "d")

    def change(graph: object) -> None: ...

    config.post_grad_custom_pre_pass = change
    assert config.post_grad_custom_pre_pass.value is change
    config.debug.data_dump.filter = change
    assert config.debug.data_dump.filter is change
    config.aclgraph_config.use_custom_pool = (1, 2)
    assert config.aclgraph_config.use_custom_pool == (1, 2)


def test_configs_are_equal_when_their_options_are(places: Path) -> None:
    one, other = CompilerConfig(), CompilerConfig()
    assert one == other
    other.debug.data_dump._path = "test"
    assert one != other
    one.debug.data_dump._path = "test"
    assert one == other
    one.dump_config.dump_layer = "Add"
    assert one != other
    assert one != "a config"
    assert copy.deepcopy(one) == one
    assert pickle.loads(pickle.dumps(one)) == one
    copied = copy.deepcopy(one)
    copied.dump_config.dump_layer = "Mul"
    assert one.dump_config.dump_layer.value == "Add"


def test_what_was_changed_without_effect_is_listed(places: Path) -> None:
    config = CompilerConfig()
    assert config.unsupported_options() == []
    config.dump_config.enable_dump = True
    config.dump_config.dump_step = "1"
    config.debug.data_dump.type = "npy"
    config.debug.data_dump.filter = print
    config.mode = "max-autotune"
    config.experimental_config.remove_noop_ops = False
    config.ge_config.oo_level = "O3"
    assert config.unsupported_options() == []
    config.ge_config.oo_level = "O1"
    config.export.export_name = "x"
    config.dump_config.data_dump_stage = "original"
    config.experimental_config.enable_view_optimize = False
    assert sorted(config.unsupported_options()) == [
        "config.dump_config.data_dump_stage:original",
        "config.experimental_config.enable_view_optimize:False",
        "config.export.export_name:x",
        "config.ge_config.oo_level:O1",
    ]
    config.mode = "npugraph_ex"
    listed = config.unsupported_options()
    assert "config.dump_config.dump_step:1" in listed
    assert not any("data_dump_stage" in name for name in listed)


def test_a_client_of_the_real_system_writes_its_options(places: Path) -> None:
    # What msprobe's set_ge_dump_config and set_fx_dump_config do to a config.
    config = CompilerConfig()
    config.debug.graph_dump.type = "txt"
    assert hasattr(config.debug.graph_dump, "_path")
    config.debug.graph_dump._path = str(places / "later")
    assert config.debug.graph_dump.path == str(places / "later")
    name = config.debug.graph_dump.full_path("dynamo_original_graph_1")
    assert re.fullmatch(rf"{places}/later/dynamo_original_graph_1_rank_0_pid_{os.getpid()}_ts_\d{{20}}\.txt", name)
    config.fusion_config.fusion_switch_file = "f.json"
    config.dump_config.dump_step = "|".join(["0", "1"])
    config.dump_config.dump_layer = " ".join(["Add", "Mul_1"])
    assert hasattr(config.debug.data_dump, "path")
    config.debug.data_dump.path = str(places)
    config.debug.data_dump.filter = lambda node: node
    assert not hasattr(config.debug.fx_summary, "path")


def test_the_folder_is_that_of_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:  # T8
    from tensortap.torchair import _environment

    def job(size: int, initialized: bool = True) -> SimpleNamespace:
        answers = {"is_available": True, "is_initialized": initialized, "get_world_size": size, "get_rank": size - 1}
        return SimpleNamespace(distributed=SimpleNamespace(**{name: lambda value=value: value for name, value in answers.items()}))

    for torch, folder in [
        (None, "worldsize1_global_rank0"),
        (job(4), "worldsize4_global_rank3"),
        (job(4, initialized=False), "worldsize1_global_rank0"),
        (job(1), "worldsize1_global_rank0"),
    ]:
        monkeypatch.setitem(sys.modules, "torch", torch)
        assert _environment.world_folder("p/q") == f"p/q/{folder}"
    assert not Path("p").exists()


LOGGING = """
import contextlib, io, logging, sys
{before}
from tensortap.torchair import logger
from tensortap.torchair.core.utils import logger as same
assert same is logger is logging.getLogger("torchair")
assert logging.getLoggerClass() is logging.Logger and type(logging.getLogger("other")) is logging.Logger
"""


def logged(program: str, before: str = "", **environment: str) -> list[str]:
    """Run a program that logs, and give its lines on standard output."""
    done = subprocess.run(
        [sys.executable, "-c", LOGGING.format(before=before) + program],
        env={**os.environ, "PYTHONPATH": str(PACKAGE), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert not done.stderr
    return done.stdout.splitlines()


LINE = r"\[{level}\] TORCHAIR\(\d+,python[\w.]*\):\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{{3}}\.\d{{3}} \[<string>:\d+\]\d+ {text}"


def test_the_logger_writes_the_lines_of_the_real_system() -> None:  # T9
    said = (
        'logger.warning("no"); logger.error("an %s", "error")\nlogger.setLevel(logging.INFO)\nlogger.event("an event"); logger.info("seen")'
    )
    lines = logged(said)
    forms = [LINE.format(level=level, text=text) for level, text in (("ERROR", "an error"), ("EVENT", "an event"), ("INFO", "seen"))]
    assert len(lines) == 3
    for form, line in zip(forms, lines, strict=True):
        assert re.fullmatch(form, line), line


def test_a_warning_is_said_once() -> None:
    lines = logged('logger.setLevel("WARNING")\nfor n in (1, 2, 1): logger.warning_once("again"); logger.warning_once("number %d", n)')
    assert [line.rsplit("]", 1)[1].split(" ", 1)[1] for line in lines] == ["again", "number 1", "number 2"]
    assert all(re.fullmatch(LINE.format(level="WARNING", text=".*"), line) for line in lines)


def test_the_logger_keeps_what_the_program_has_set() -> None:
    assert logged('logger.info("seen")', before='logging.getLogger("torchair").setLevel(logging.INFO)')[0].endswith("seen")
    assert logged('logger.debug("seen")', TORCH_COMPILE_DEBUG="1")[0].endswith("seen")
    own = (
        "class Own(logging.Logger): pass\n"
        "logging.setLoggerClass(Own); logging.getLogger('torchair'); logging.setLoggerClass(logging.Logger)"
    )
    assert logged('logger.setLevel(1); logger.event("seen"); assert isinstance(logger, Own)', before=own)[0].endswith("seen")
    redirected = "with contextlib.redirect_stdout(io.StringIO()) as text: logger.error('x')\nassert 'x' in text.getvalue()"
    assert logged(redirected) == []
    streamed = "text = io.StringIO(); logger.handlers[0].setStream(text); logger.error('x')\nassert 'x' in text.getvalue()"
    assert logged(streamed) == []


def test_options_need_no_torch() -> None:
    program = "import sys\nimport tensortap.torchair as t\nt.CompilerConfig().as_dict()\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(PACKAGE)}, check=True, timeout=60)


def test_a_line_is_written_once_beside_the_real_package() -> None:
    before = 'logging.getLogger("torchair").addHandler(logging.StreamHandler(sys.stdout))'
    assert logged('logger.error("one")', before=before) == ["one"]
