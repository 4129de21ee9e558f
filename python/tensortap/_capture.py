"""Capturing from inside a PyTorch program."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, cast, overload

from tensortap import _core, _html
from tensortap._dump import Dump
from tensortap._error import Error
from tensortap._module_capture import ModuleCapture, end_step
from tensortap._module_choice import is_module, read_slots, selection_beside
from tensortap._run import _CODES, RunOptions, _selection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

_LIBRARY = "libtensortap_pytorch.so"
_SIDE = "_tensortap_torch"
_ONNXRUNTIME_SIDE = "_tensortap_onnxruntime"


class CaptureOptions(TypedDict, total=False):
    """What to capture, as in `RunOptions`.

    Attributes
    ----------
    step_at : str
        A regular expression: a step begins with each call of a module whose path or class matches.
    """

    payload: Literal["stats", "tensors", "full", "describe"]
    ops: str | Sequence[str]
    types: str | Sequence[str]
    steps: str | int | Sequence[int]
    step_at: str
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


class Capture:
    """What `capture` gives, unless it is about a model.

    Attributes
    ----------
    report : dict
        What was captured, where and what not, once the capture has ended; empty before.
    """

    def __init__(self) -> None:
        self.report: dict[str, Any] = {}
        self._running = True

    def __repr__(self) -> str:
        return f"<tensortap.Capture {self._words()}>"

    def _repr_html_(self) -> str:
        return _html.paragraph(f"tensortap.Capture {self._words()}") + (self.dump._repr_html_() if "dump" in self.report else "")

    def _words(self) -> str:
        if "dump" in self.report:
            return f"ended: {self.dump!r}"
        return "running: the dump can be read after the block" if self._running else "ended: the dump is that of tensortap exec"

    @property
    def dump(self) -> Dump:
        """The dump; once the capture has ended."""
        if "dump" not in self.report:
            raise Error("the capture has not ended: leave the with block before the dump is read", "invalid_argument")
        return Dump(self.report["dump"])


class ModuleOptions(TypedDict, total=False):
    """What to capture of a model, in memory.

    Attributes
    ----------
    modules : str, class of modules, module, or sequence of these
        Which modules: paths such as ``layers.*.attn``, where ``*`` is within a part and ``**`` any number of parts; all otherwise.
    slots : str or sequence of str
        Which tensors: ``out,grad`` otherwise; also ``in``, or single ones such as ``out0``.
    full : bool
        Keep values; statistics only otherwise.
    memory : str or number
        Most bytes to use, such as ``"2GB"``, which is the default. Tensors beyond it are counted and not kept.
    """

    modules: Any
    slots: str | Sequence[str]
    full: bool
    memory: str | float


class _Model(Protocol):
    """A module of torch."""

    def named_modules(self) -> Any: ...


@overload
def capture(model: _Model, /, *, out: str | os.PathLike[str] | None = None, **options: Unpack[ModuleOptions]) -> ModuleCapture: ...


@overload
def capture(
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    **options: Unpack[CaptureOptions],
) -> contextlib.AbstractContextManager[Capture]: ...


def capture(
    config: Any = None, *, out: str | os.PathLike[str] | None = None, **options: Any
) -> ModuleCapture | contextlib.AbstractContextManager[Capture]:
    """Capture what the operators of PyTorch do inside a ``with`` block, on all threads; or what the modules of a model give, in memory.

    Under ``tensortap exec`` the block changes nothing: the whole program is captured, as the command says. A capture in memory works there.

    Parameters
    ----------
    config : str, path or mapping, optional
        A dump config in any dialect: the path of a file, or what it holds. Statistics of every operator otherwise.
        Or a ``torch.nn.Module``: then its modules are captured in memory, and can be read inside of the block.
    out : str or path, optional
        Folder of the dump; that of the config, or ``tensortap_dump/TIME``, otherwise. Of a model, no folder is written without it.
    **options
        `CaptureOptions`; they win over the config. Of a model `ModuleOptions`.

    Returns
    -------
    context manager
        Of a `Capture`, whose report and dump can be read after the block; of a model a `ModuleCapture`.

    Raises
    ------
    Error
        When an argument is wrong, torch is not imported or no adapter for its release was built.
    """
    about_model = is_module(config)
    for name in options:
        if name not in (ModuleOptions if about_model else CaptureOptions).__annotations__:
            raise TypeError(_no_option(name, about_model))
    return _of_model(config, out, options) if about_model else _in_folder(config, out, options)


def _no_option(name: str, about_model: bool) -> str:
    if name in ModuleOptions.__annotations__ and name not in CaptureOptions.__annotations__:
        return f"capture() takes {name!r} for a model only: tensortap.capture(model, {name}=...)"
    if about_model and name in CaptureOptions.__annotations__:
        return f"capture() of a model has no option {name!r}; it has {', '.join(ModuleOptions.__annotations__)} and out"
    return f"capture() has no option {name!r}"


def _of_model(model: Any, out: str | os.PathLike[str] | None, options: Any) -> ModuleCapture:
    modules, slots, full = options.get("modules"), options.get("slots", "out,grad"), bool(options.get("full", False))
    beside = None
    if out is not None:
        chosen = selection_beside(model, modules)
        payload = "full" if full else "stats"
        there = [slot for slot in sorted(read_slots(slots)) if not slot.startswith("grad")] or ["out"]
        beside = _in_folder({"levels": ["module"]}, out, {"ops": chosen, "payload": payload, "slots": there})
    return ModuleCapture(model, modules, slots, options.get("memory", "2GB"), full, beside)


@contextlib.contextmanager
def _in_folder(config: Any, out: str | os.PathLike[str] | None, options: Any) -> Iterator[Capture]:
    """Capture operators into a folder."""
    request = cast("RunOptions", dict(options))
    if config is not None:
        request["config"] = config
    folder = "" if out is None else os.fspath(out)
    if folder:
        request["out"] = folder
    selection = _selection(request)
    if "step_at" in options:
        selection["step_at"] = options["step_at"]
    text = _core.capture_config(selection)
    result = Capture()
    if os.environ.get("TENSORTAP_EXEC"):
        try:
            yield result
        finally:
            result._running = False
        return
    library, functions = _installed_side()
    _open(library, functions, text, "config", folder)
    try:
        yield result
    except BaseException as error:
        importlib.import_module(f"{_SIDE}.endings").tell(functions, error)
        raise
    finally:
        result._running = False
        result.report = _close(library, functions)


def set_dump(target: Any, enabled: bool = True) -> None:
    """Switch the capture of a module, a class of modules or an operator on or off, backward included, or that of ops of an ONNX model.

    Counts for a capture whose config leaves the choice to the program (``dump_mode`` 2 of a MindSpore config). Without a capture nothing
    happens, so that it may stay in the program.

    Parameters
    ----------
    target : torch.nn.Module, class of modules, operator, str, onnxruntime.InferenceSession or tuple
        A module with all that it holds; every module of a class; ``torch.ops.aten.add``, ``"aten::add"`` or ``"softmax"``; every op of a
        session; a tuple of a session and a name or a list of names: of an op, of a node of the model or of a value, of a scope with all
        that is below it, or of a type of ops.
    enabled : bool
        On or off.

    Raises
    ------
    ValueError
        When the target is none of these, when the model has nothing of a name, or when `enabled` is no bool.
    """
    session, names = _session_target(target)
    if session is None:
        _side().set_dump(target, enabled)
        return
    if not isinstance(enabled, bool):
        raise ValueError('The "enabled" parameter must be bool.')
    side = sys.modules.get(_ONNXRUNTIME_SIDE)
    if side is None:
        return
    for name in names:
        side.set_dump(session, name, enabled)


def step() -> None:
    """End the current step, in a program whose steps are neither those of an optimizer nor calls of a model.

    The first call makes all steps of the process the program's own. Without a capture nothing happens.
    """
    end_step()
    side = sys.modules.get(_SIDE)
    if side is not None and side.functions is not None:
        side.functions.step()


@contextlib.contextmanager
def round(*, phase: Literal["prefill", "decode", "train"]) -> Iterator[None]:
    """Say what the models do that are called inside of the ``with`` block, where their arguments do not show it.

    Speculative decoding brings several new tokens, and a prefill in chunks may bring one. Records have the phase in ``model_phase``, and
    dumps that count rounds (``tensortap llm dump``, the layout msit) count it as such; without a capture nothing happens.

    Parameters
    ----------
    phase : str
        The phase of every call of a model on this thread.

    Raises
    ------
    ValueError
        When the phase is unknown.
    """
    phases = ("prefill", "decode", "train")
    if phase not in phases:
        raise ValueError(f"phase {phase!r} is unknown; valid: {', '.join(phases)}")
    side = sys.modules.get(_SIDE)
    if side is None:
        yield
        return
    rounds = importlib.import_module(f"{_SIDE}.rounds")
    with rounds.said(1 + phases.index(phase)):
        yield


def _session_target(target: Any) -> tuple[Any, list[str]]:
    """Give the session of ONNX Runtime that a target of ``set_dump`` is about, None for other targets, and names in it ("" = all)."""
    runtime = sys.modules.get("onnxruntime")
    session, names = target if isinstance(target, tuple) and len(target) == 2 else (target, "")
    if runtime is None or not isinstance(session, getattr(runtime, "InferenceSession", ())):
        return None, []
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        raise ValueError(f"Beside a session there must be a name or a list of names, but got an instance of {type(names)}.")
    if isinstance(target, tuple) and "" in listed:
        raise ValueError("A name beside a session is empty; give the session alone for all of its ops.")
    return session, list(listed)


def _side() -> ModuleType:
    """Load what runs beside torch; the library of ``tensortap exec`` may have done that already."""
    loaded = sys.modules.get(_SIDE)
    if loaded is not None:
        return loaded
    folder = Path(__file__).parent / "_torch"
    spec = importlib.util.spec_from_file_location(_SIDE, folder / "__init__.py", submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None:
        raise Error(f"{folder} cannot be imported. Install the package again: pip install --force-reinstall tensortap", "not_found")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_SIDE] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[_SIDE]
        raise
    return module


def _library_path() -> Path:
    """Find the library: the one that the process has, else that of the package, else that of the build folder."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
            mapped = line.split(maxsplit=5)[-1]
            if mapped.endswith("/" + _LIBRARY):
                return Path(mapped)
    package = Path(__file__).parent.resolve()
    for folder in (package / "lib", package.parent.parent):
        if (folder / _LIBRARY).exists():
            return folder / _LIBRARY
    raise Error(f"{package / 'lib' / _LIBRARY} does not exist: this build of tensortap has no part for PyTorch", "not_found")


def _installed_side() -> tuple[ctypes.CDLL, Any]:
    """Give the library and its functions, with the modules of the program named from now on."""
    if "torch" not in sys.modules:
        raise Error("torch is not imported: import it before tensortap.capture()", "invalid_argument")
    path = _library_path()
    try:
        library, with_lock = ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))
    except OSError as error:
        raise Error(f"{path}: {error}", "unsupported") from error
    with_lock.tensortap_pytorch_python_functions.restype = ctypes.py_object
    side = _side()
    side.install(with_lock.tensortap_pytorch_python_functions())
    return library, side.functions


def _open(library: ctypes.CDLL, functions: Any, config: str, name: str, out: str) -> None:
    if functions.can_open():
        problem, code = functions.open(config, name, out), "internal"
        _side().opened()
    else:
        try:
            opens = library.tensortap_pytorch_open
        except AttributeError as error:
            raise Error(f"{library._name} cannot capture without tensortap exec: run the program under it", "unsupported") from error
        message = ctypes.create_string_buffer(4096)
        status = opens(config.encode(), out.encode() or None, message, ctypes.c_size_t(len(message)))
        problem = message.value.decode(errors="replace") or "the library gave no reason" if status else ""
        code = _CODES[status] if 0 <= status < len(_CODES) else "internal"
        if not problem:
            _side().opened()
    if problem:
        raise Error(problem, code)


def _close(library: ctypes.CDLL, functions: Any) -> dict[str, Any]:
    """End the capture and give its report, empty when there is none."""
    _side().closes()
    if functions.can_open():
        report = functions.close()
        return dict(json.loads(report)) if report else {}
    library.tensortap_pytorch_close()
    return {}
