"""Running an ONNX model under capture."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensortap import _core
from tensortap._dump import Dump
from tensortap._error import Error
from tensortap._tensors import from_array, to_array

Inputs = Mapping[str, ArrayLike]
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
    if value is None or isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) else ",".join(str(part) for part in value)


def _list(value: str | Sequence[str] | None) -> list[str] | None:
    if value is None:
        return None
    return value.split(",") if isinstance(value, str) else list(value)


def _given(options: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}


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


def run(
    model: str | os.PathLike[str],
    inputs: Inputs | Sequence[Inputs] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    payload: Literal["stats", "tensors", "full", "describe"] | None = None,
    ops: str | Sequence[str] | None = None,
    types: str | Sequence[str] | None = None,
    steps: str | Sequence[int] | None = None,
    slots: str | Sequence[str] | None = None,
    where: str | None = None,
    layout: str | None = None,
    budget: str | float | None = None,
    max_bytes: str | int | None = None,
    keep_free: str | int | None = None,
    stop_after: int | None = None,
    strict: bool = False,
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    carry: Mapping[str, str] | None = None,
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    runs: int | None = None,
    threads: int = 0,
    optimize: Literal["none", "basic", "extended", "all"] | None = None,
    as_written: bool = False,
    runtime: str | os.PathLike[str] | None = None,
    verify: bool = False,
    overhead: bool = False,
    keep_outputs: bool = True,
) -> RunResult:
    """Run an ONNX model and capture what its operators produce.

    The arguments are the options of ``tensortap run``, which docs/command_line.md explains.

    Parameters
    ----------
    model : str or path
        The model.
    inputs : mapping, or sequence of mappings, optional
        Arrays by input name; a sequence has one mapping for each step. What is not given is made from `seed`.
    out : str or path, optional
        Folder of the dump; ``tensortap_dump/TIME`` otherwise.
    payload : {"stats", "tensors", "full", "describe"}, optional
        What to keep of each tensor.
    ops, types, steps, slots, where : optional
        Which tensors to keep.
    layout : str, optional
        Directory tree of the dump.
    budget : str or float, optional
        The most that the run may slow down: ``"3%"`` or 0.03.
    max_bytes, keep_free, stop_after : optional
        Limits of the dump.
    strict : bool
        Raise `Error` when something that was asked for was not captured.
    config : str, path or mapping, optional
        A dump config: the path of a file, or what it holds.
    carry : mapping, optional
        ``{output: input}``: an output of one step is that input of the next.
    dims : mapping, optional
        Sizes of dimensions that the model leaves open.
    seed : int
        What inputs that are not given are made from.
    runs : int, optional
        How many steps to run, one by default or as many as `inputs` has.
    threads : int
        Threads of the runtime, 0 for its own choice.
    optimize : {"none", "basic", "extended", "all"}, optional
        How far the runtime optimises the graph.
    as_written : bool
        Capture the author's own ops, before optimisation.
    runtime : str or path, optional
        The libonnxruntime to use.
    verify, overhead : bool
        Compare with a plain run bit by bit; measure the cost.
    keep_outputs : bool
        Whether to give the model's outputs back.

    Returns
    -------
    RunResult
        Summary, outputs, dump.

    Raises
    ------
    Error
        When an argument is wrong or the run failed.
    """
    options = _given(
        {
            "ops": [ops] if isinstance(ops, str) else _list(ops),
            "types": _list(types),
            "steps": _text(steps),
            "slots": _text(slots),
            "where": where,
            "layout": layout,
            "out": None if out is None else os.fspath(out),
            "budget": f"{budget * 100}%" if isinstance(budget, float) else budget,
            "max_bytes": _text(max_bytes),
            "keep_free": _text(keep_free),
            "stop_after": _text(stop_after),
            "strict": strict,
        }
    )
    if payload is not None:
        if payload not in ("stats", "tensors", "full", "describe"):
            raise Error(f"payload is {payload!r}: it must be stats, tensors, full or describe", "invalid_argument")
        options[payload] = True
    options |= _config_options(config)
    request: dict[str, object] = {
        "model": os.fspath(model),
        "config": _core.capture_config(options),
        "seed": seed,
        "threads": threads,
        "as_written": as_written,
        "verify": verify,
        "overhead": overhead,
        "program": os.fspath(model),
    }
    request["runs"] = runs if runs is not None else _step_count(inputs)
    if optimize is not None:
        request["optimize"] = optimize
    if runtime is not None:
        request["runtime"] = os.fspath(runtime)
    if carry:
        request["carry"] = dict(carry)
    if dims:
        request["dims"] = dict(dims)
    outputs: list[dict[str, NDArray[Any]]] = []
    code, report = _core.run_model(json.dumps(request), _packed_inputs(inputs), _collector(outputs, {}) if keep_outputs else None)
    summary: dict[str, Any] = json.loads(report)
    if code != 0:
        raise Error(summary.get("error", "the run failed"), _CODES[code])
    if strict and (summary["ops"]["not_captured"] or summary["lost"]):
        raise Error(f"not everything was captured: {summary['ops']['not_captured']}, lost: {summary['lost']}", "exhausted")
    return RunResult(summary, outputs)


def _config_options(config: str | os.PathLike[str] | Mapping[str, Any] | None) -> dict[str, object]:
    """Give the text of a config, and what to call it in messages."""
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return {"config": json.dumps(config), "config_name": "config"}
    try:
        return {"config": Path(config).read_text(encoding="utf-8"), "config_name": os.fspath(config)}
    except OSError as error:
        raise Error(f"{os.fspath(config)}: {error.strerror}", "not_found") from error
