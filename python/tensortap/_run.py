"""Running an ONNX model under capture."""

from __future__ import annotations

import contextlib
import difflib
import functools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensortap import _core
from tensortap._dump import Dump
from tensortap._error import Error
from tensortap._selection import joined
from tensortap._tensors import from_array, to_array

if TYPE_CHECKING:
    from typing_extensions import Unpack

Inputs = Mapping[str, ArrayLike]
_MOST_CONFIG_BYTES = 1 << 26
_CODES = ("ok", "invalid_argument", "not_found", "unsupported", "corrupt", "io", "exhausted", "internal")


@dataclass
class RunResult:
    """What `run` gives.

    Attributes
    ----------
    summary : dict
        What ``tensortap run --json`` prints; docs/command_line.md explains it.
    outputs : list of dict
        The model's outputs by name, one dict for each step.
    """

    summary: dict[str, Any]
    outputs: list[dict[str, NDArray[Any]]] = field(repr=False)

    @functools.cached_property
    def dump(self) -> Dump:
        """The dump, opened when first asked for."""
        return Dump(self.summary["dump"])

    @property
    def identical(self) -> bool | None:
        """Whether a plain run gave the same bits; None when that was not asked."""
        return cast("bool | None", self.summary.get("identical"))

    @property
    def overhead(self) -> float | None:
        """How many times as long as the plain run the captured one took; None when that was not asked."""
        return cast("float | None", self.summary.get("overhead"))


def _text(value: str | int | Sequence[object] | None) -> str | None:
    return None if value is None else joined(value)


def _list(value: str | Sequence[str] | None) -> list[str] | None:
    if value is None:
        return None
    return value.split(",") if isinstance(value, str) else list(value)


def _packed_inputs(inputs: Inputs | Sequence[Inputs] | None) -> list[tuple[str, int, int, int, list[int], NDArray[np.uint8] | list[bytes]]]:
    if inputs is None:
        return []
    steps: list[tuple[int, Inputs]] = [(-1, inputs)] if isinstance(inputs, Mapping) else list(enumerate(inputs))
    return [(name, 0, step, *from_array(value)) for step, named in steps for name, value in named.items()]


def _step_count(inputs: Inputs | Sequence[Inputs] | None) -> int:
    return 1 if inputs is None or isinstance(inputs, Mapping) else max(1, len(inputs))


def _collector(outputs: list[dict[str, NDArray[Any]]], numbers: dict[int, int]) -> Any:
    """Give the function that takes an output of a step and files it."""

    def collect(step: int, name: str, element: int, number: int, shape: list[int], data: bytes | list[bytes]) -> None:
        if step not in numbers:
            numbers[step] = len(outputs)
            outputs.append({})
        raw = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
        outputs[numbers[step]][name if element < 0 else f"{name}[{element}]"] = to_array(number, shape, raw)

    return collect


class RunOptions(TypedDict, total=False):
    """The options of `run`: those of ``tensortap run``, which docs/command_line.md explains.

    Attributes
    ----------
    out : str or path
        Folder of the dump; ``tensortap_dump/TIME`` otherwise.
    payload : {"stats", "tensors", "full", "describe"}
        What to keep of each tensor.
    ops, types, steps, slots, where
        Which tensors to keep.
    layout : str
        Directory tree of the dump.
    profile : str
        As which version of another system a config is read and a tree written, such as ``"mindspore-2.7.0/gpu"``.
    profile_strict : bool
        Refuse what that version refuses on that device.
    budget : str or float
        The most that the run may slow down: ``"3%"`` or 0.03.
    max_bytes, keep_free, stop_after
        Limits of the dump.
    mode : {"private", "shared"}
        Who may use the dump: its owner alone, or whom the umask lets.
    strict : bool
        Raise `Error` when something that was asked for was not captured.
    config : str, path or mapping
        A dump config: the path of a file, or what it holds, as text or as a mapping.
    carry : mapping
        ``{output: input}``: an output of one step is that input of the next.
    dims : mapping
        Sizes of dimensions that the model leaves open.
    seed : int
        Seed of the inputs that are not given, 0 otherwise.
    range : tuple
        ``(low, high)`` of all inputs that are not given.
    ranges : mapping
        ``{input: (low, high)}`` of single ones.
    runs : int
        How many steps to run; one, or as many as there are inputs, otherwise.
    threads : int
        Threads of the runtime; its own choice otherwise.
    optimize : {"none", "basic", "extended", "all"}
        How far the runtime optimises the graph.
    as_written : bool
        Capture the author's own ops, before optimisation.
    runtime : str or path
        The libonnxruntime to use.
    custom_ops : sequence
        Libraries with custom operators of the model.
    session_config : mapping
        Configuration entries of the runtime's sessions.
    verify, overhead : bool
        Compare with a plain run bit by bit; measure the cost.
    noise : int
        Capture that many further runs of inputs that are moved by their last bit, which `compare` measures differences by.
    keep_outputs : bool
        Whether to give the model's outputs back; they are otherwise.
    """

    out: str | os.PathLike[str]
    payload: Literal["stats", "tensors", "full", "describe"]
    ops: str | Sequence[str]
    types: str | Sequence[str]
    steps: str | int | Sequence[int]
    slots: str | Sequence[str]
    where: str
    layout: str
    profile: str
    profile_strict: bool
    budget: str | float
    max_bytes: str | int
    keep_free: str | int
    stop_after: int
    mode: Literal["private", "shared"]
    strict: bool
    config: str | os.PathLike[str] | Mapping[str, Any]
    carry: Mapping[str, str]
    dims: Mapping[str, int]
    seed: int
    range: tuple[float, float]
    ranges: Mapping[str, tuple[float, float]]
    runs: int
    threads: int
    optimize: Literal["none", "basic", "extended", "all"]
    as_written: bool
    runtime: str | os.PathLike[str]
    custom_ops: Sequence[str | os.PathLike[str]]
    session_config: Mapping[str, str]
    verify: bool
    overhead: bool
    noise: int
    keep_outputs: bool


def _selection(options: RunOptions) -> dict[str, object]:
    """Give the options that make a capture config, as they are typed on the command line."""
    ops, budget, out = options.get("ops"), options.get("budget"), options.get("out")
    selection: dict[str, object | None] = {
        "ops": [ops] if isinstance(ops, str) else _list(ops),
        "types": _list(options.get("types")),
        "steps": _text(options.get("steps")),
        "slots": _text(options.get("slots")),
        "where": options.get("where"),
        "layout": options.get("layout"),
        "profile": options.get("profile"),
        "profile_strict": options.get("profile_strict", False),
        "out": None if out is None else os.fspath(out),
        "budget": f"{budget * 100}%" if isinstance(budget, float) else budget,
        "max_bytes": _text(options.get("max_bytes")),
        "keep_free": _text(options.get("keep_free")),
        "stop_after": _text(options.get("stop_after")),
        "mode": options.get("mode"),
        "strict": options.get("strict", False),
    }
    payload = options.get("payload")
    if payload is not None:
        if payload not in ("stats", "tensors", "full", "describe"):
            raise Error(f"payload is {payload!r}: it must be stats, tensors, full or describe", "invalid_argument")
        selection[payload] = True
    given = {name: value for name, value in selection.items() if value is not None}
    return given | _config_options(options.get("config"))


@contextlib.contextmanager
def _model_path(model: str | os.PathLike[str] | bytes | bytearray | memoryview) -> Iterator[tuple[str, str]]:
    """Give a path under which the model can be opened, and what to call it; bytes get a file in memory for as long."""
    if not isinstance(model, bytes | bytearray | memoryview):
        yield os.fspath(model), os.fspath(model)
        return
    with open(os.memfd_create("tensortap-model"), "wb") as file:
        file.write(model)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}", f"a model of {memoryview(model).nbytes} bytes"


def _request(model: str, program: str, inputs: Inputs | Sequence[Inputs] | None, options: RunOptions) -> dict[str, object]:
    request: dict[str, object] = {
        "model": model,
        "program": program,
        "config": _core.capture_config(_selection(options)),
    }
    request["runs"] = options.get("runs", _step_count(inputs))
    for name in ("seed", "threads", "as_written", "verify", "overhead", "noise", "optimize"):
        if name in options:
            request[name] = options[name]
    if "runtime" in options:
        request["runtime"] = os.fspath(options["runtime"])
    if "custom_ops" in options:
        request["custom_ops"] = [os.fspath(library) for library in options["custom_ops"]]
    if "range" in options:
        request["range"] = list(options["range"])
    for name in ("carry", "dims", "ranges", "session_config"):
        if options.get(name):
            request[name] = dict(options[name])  # type: ignore[literal-required]
    return request


def run(
    model: str | os.PathLike[str] | bytes | bytearray | memoryview,
    inputs: Inputs | Sequence[Inputs] | None = None,
    **options: Unpack[RunOptions],
) -> RunResult:
    """Run an ONNX model and capture what its operators produce.

    Parameters
    ----------
    model : str, path or bytes
        The model: a file, or what one holds. Weights outside of bytes are not found.
    inputs : mapping, or sequence of mappings, optional
        Arrays by input name; a sequence has one mapping for each step. What is not given is made from the option ``seed``.
    **options
        `RunOptions`.

    Returns
    -------
    RunResult
        Summary, outputs, dump.

    Raises
    ------
    Error
        When an argument is wrong or the run failed.
    """
    for name in options:
        if name not in RunOptions.__annotations__:
            near = difflib.get_close_matches(name, RunOptions.__annotations__, 1)
            raise TypeError(f"run() has no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    options = cast("RunOptions", {name: value for name, value in options.items() if value is not None})
    outputs: list[dict[str, NDArray[Any]]] = []
    collect = _collector(outputs, {}) if options.get("keep_outputs", True) else None
    with _model_path(model) as (path, program):
        code, report = _core.run_model(json.dumps(_request(path, program, inputs, options)), _packed_inputs(inputs), collect)
    summary: dict[str, Any] = json.loads(report)
    if code != 0:
        raise Error(summary.get("error", "the run failed"), _CODES[code])
    if options.get("strict") and (summary["ops"]["not_captured"] or summary["lost"]):
        raise Error(f"not everything was captured: {summary['ops']['not_captured']}, lost: {summary['lost']}", "exhausted")
    return RunResult(summary, outputs)


def _config_options(config: str | os.PathLike[str] | Mapping[str, Any] | None) -> dict[str, object]:
    """Give the text of a config, and what to call it in messages."""
    if config is None:
        return {}
    if isinstance(config, str) and config.lstrip().startswith("{"):
        return {"config": config, "config_name": "config"}
    if isinstance(config, Mapping):
        return {"config": json.dumps(config), "config_name": "config"}
    path = os.fspath(config)
    try:
        return {"config": _core.read_file(path, _MOST_CONFIG_BYTES).decode("utf-8"), "config_name": path}
    except UnicodeDecodeError as error:
        raise Error(f"{path}: no UTF-8 text: {error.reason} at byte {error.start}", "invalid_argument") from error
