"""Captures calls of modules of a PyTorch model in memory.

The values of a record are copied when the call returns, in the thread that made it, and can be read from then on: no writer works behind,
and no file could stay behind, whatever ends the program. They are copied into host memory, up to a bound that the caller sets. A
dump in a folder has another purpose (all operators, more than memory holds, other processes that read it); `out` makes one beside.

Calls are followed where ``tensortap.capture`` follows them, in the C function that calls ``Module._call_impl``, and not by hooks of torch:
a model with hooks takes other paths (the fast path of ``TransformerEncoderLayer`` among them), pickles them and compiles them. What is
recorded is what the program passes and what it gets, after all hooks of its own. Gradients are seen by a function before the node of
autograd that made the output; it stays in that graph, and does nothing once the block has ended.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tensortap import _html
from tensortap._error import Error
from tensortap._memory_dump import MemoryDump, Place, bytes_text
from tensortap._module_choice import ChosenModule, chosen_modules, read_bytes, read_slots, why_missing
from tensortap._module_records import ModuleRecords, counted, some

if TYPE_CHECKING:
    from types import ModuleType

    import pandas

_DEEPEST = 8  # containers inside of each other that are opened
_running: tuple[ModuleCapture, ...] = ()
_followed: frozenset[int] = frozenset()
"""The addresses of their modules, which they keep."""
_changes = threading.Lock()


class ModuleCapture:
    """A capture of modules in memory: what ``capture(model, ...)`` gives. It is begun and ended by ``with``, once.

    It is read inside of the block and after it, from any thread, by the names of records: ``capture["layers.3.attn:out0@2"]``.

    Attributes
    ----------
    dump : MemoryDump
        What was kept so far.
    report : dict
        With `out`, what the folder holds and what not, once the capture has ended; empty before.
    """

    def __init__(self, model: Any, modules: Any, slots: Any, memory: str | float, full: bool, beside: Any) -> None:
        self._chosen, self._aliases = chosen_modules(model, modules)
        self._phases: dict[str, str] = {}  # of the last call of each module that was called
        self._slots = read_slots(slots)
        self.dump = MemoryDump(read_bytes(memory), full, self._aliases)
        self.dump.why_missing = functools.partial(why_missing, model, self._chosen, self._phases)
        self.report: dict[str, Any] = {}
        self._model = model
        self._watched = {id(one.module): one for one in self._chosen}
        self._repeated = 0
        self._beside = beside
        self._state = "not begun"
        self._lock = threading.Lock()
        self._threads = threading.local()
        self._step = _Step(0)
        self._steps = 0  # up to the last one with a call
        self._steps_are_own = False
        self._leaves: list[tuple[Any, Any]] = []  # nodes of leaves, which nothing else keeps, and the handles of our functions in them

    def __enter__(self) -> ModuleCapture:
        if self._state != "not begun":
            raise Error(f"this capture is {self._state}: call tensortap.capture() for another one", "invalid_argument")
        if self._beside is not None:
            self._beside_capture = self._beside.__enter__()
        self._state = "running"
        try:
            with _changes:
                _follow(self)
        except BaseException:
            self._state = "ended"
            if self._beside is not None:
                self._beside.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *raised: Any) -> None:
        self._state = "ended"
        with _changes:
            _unfollow(self)
        for _, handle in self._leaves:
            handle.remove()
        self._leaves.clear()
        if self._beside is not None:
            try:
                self._beside.__exit__(*raised)
            finally:
                self.report = self._beside_capture.report

    def __repr__(self) -> str:
        dump = self.dump
        parts = [
            counted(len(self._chosen), "module"),
            counted(self._steps, "step") if self._phases else "no calls",
            counted(len(dump), "record"),
            f"{bytes_text(dump.used)} of at most {bytes_text(dump.bound)}",
        ]
        return f"<tensortap.ModuleCapture {self._state}: {', '.join(parts)}{dump.losses()}{self._silence()}>"

    def _repr_html_(self) -> str:
        return _html.paragraph(*repr(self)[1:-1].split("; ")) + self.dump.table_html()

    def _silence(self) -> str:
        """Say which modules were not called, once it is certain."""
        silent = self._never_called()
        if not silent or self._state != "ended":
            return ""
        compiled = " (code that torch.compile makes calls no modules)" if "torch._dynamo" in sys.modules else ""
        return f"; {counted(len(silent), 'module')} {'was' if len(silent) == 1 else 'were'} never called: {some(silent)}{compiled}"

    def _never_called(self) -> list[str]:
        return [one.path for one in self._chosen if one.path not in self._phases]

    @property
    def summary(self) -> dict[str, Any]:
        """What was captured so far and what not.

        ``state``; ``modules``, how many are followed, and ``never_called``, the names of those that no call was seen of; ``steps``;
        ``records``; ``bytes`` in use and ``bound``; ``not_kept``, for each ``reason`` how many ``records`` and the ``first``; ``repeated``,
        calls that a backward pass made again (checkpoints) and that count as one with the first.
        """
        return {
            "state": self._state,
            "modules": len(self._chosen),
            "never_called": self._never_called(),
            "steps": self._steps,
            "records": len(self.dump),
            "bytes": self.dump.used,
            "bound": self.dump.bound,
            "not_kept": self.dump.not_kept(),
            "repeated": self._repeated,
        }

    def __len__(self) -> int:
        return len(self.dump)

    def __iter__(self) -> Iterator[str]:
        """Give the names of the records."""
        return iter(self.dump)

    def __contains__(self, record: object) -> bool:
        return record in self.dump

    def __getitem__(self, record: str | int) -> Any:
        """Give the values of a record as a tensor of torch, in host memory and without a copy.

        The name is ``MODULE:SLOT``, with ``@STEP`` and ``#CALL`` when not the first; ``MODULE`` alone is its ``out0``.
        """
        return self.dump.tensor(record)

    def names(self) -> list[str]:
        """Give the names of all records so far."""
        return self.dump.names()

    def module(self, name: str) -> ModuleRecords:
        """Give the records of a module and of all modules below it."""
        return self.dump.module(name)

    def by_module(self) -> dict[str, ModuleRecords]:
        """Group the records by module."""
        return self.dump.by_module()

    def to_pandas(self) -> pandas.DataFrame:
        """Make a pandas table of the records, with statistics."""
        return self.dump.to_pandas()

    def _begin(self, module: Any, values: tuple[Any, ...]) -> _Call | None:
        chosen, is_root = self._watched.get(id(module)), module is self._model
        if chosen is None and not is_root:
            return None
        if sys.modules["torch"]._C._current_graph_task_id() != -1:
            if chosen is not None:
                self._repeat(chosen)
            return None
        begins_step = is_root and self._step_here() is None
        call = _Call(chosen, self._begin_step() if begins_step else self._step_here() or self._step, begins_step)
        self._steps = max(self._steps, call.step.number + 1)
        if chosen is not None:
            with self._lock:
                call.number = call.step.calls[chosen.path]
                call.step.calls[chosen.path] += 1
            call.phase = self._phases[chosen.path] = "forward" if sys.modules["torch"].is_grad_enabled() else "inference"
            with _aside():
                self._record(call, "in", values)
        if begins_step:
            self._threads.step = call.step
        return call

    def _repeat(self, chosen: ChosenModule) -> None:
        """Count a call that a backward pass makes again, such as that of a checkpoint."""
        self._repeated += 1
        wanted = any(slot.startswith("grad") for slot in self._slots)
        if wanted and sys.modules["torch"].is_grad_enabled() and self._phases.get(chosen.path) == "inference":
            place = Place(chosen.path, chosen.type, "grad0", -1, self._step.number, 0, "backward")
            self.dump.lose(place, "a reentrant checkpoint has gradients in its second run only; use_reentrant=False shows them")

    def _step_here(self) -> _Step | None:
        """Give the step of the call of the model that runs on this thread."""
        return getattr(self._threads, "step", None)

    def _begin_step(self) -> _Step:
        with self._lock:
            if self._step.begun and not self._steps_are_own:
                self._step = _Step(self._step.number + 1)
            self._step.begun = True
            return self._step

    def end_step(self) -> None:
        """End a step that is the program's own; from now on all are."""
        with self._lock:
            self._steps_are_own = True
            self._step = _Step(self._step.number + 1)

    def _end(self, call: _Call, returned: bool, result: Any) -> None:
        if call.begins_step:
            self._threads.step = None
        if returned and call.chosen is not None and self._state == "running":
            with _aside():
                self._record(call, "out", result)
                self._record(call, "grad", result)

    def _record(self, call: _Call, kind: str, given: Any) -> None:
        """Keep what is asked for of one kind: of `given`, the arguments or what the call gave."""
        assert call.chosen is not None
        place = Place(call.chosen.path, call.chosen.type, f"{kind}0", -1, call.step.number, call.number, call.phase)
        try:
            values = tuple(given.values()) if isinstance(given, Mapping) else given if isinstance(given, tuple | list) else (given,)
            for number, value in enumerate(values):
                place = dataclasses.replace(place, slot=f"{kind}{number}", element=-1)
                if kind in self._slots or place.slot in self._slots:
                    self._record_slot(place, value)
        except Exception as error:
            self._lose(place, error)

    def _record_slot(self, place: Place, value: Any) -> None:
        for element, tensor in enumerate(_side("nested_tensors").tensors_in(value, _DEEPEST)):
            place = dataclasses.replace(place, element=-1 if tensor is value else element)
            if not place.slot.startswith("grad"):
                self._keep(place, tensor)
            elif tensor.requires_grad:
                self._follow_gradient(dataclasses.replace(place, phase="backward"), tensor)

    def _keep(self, place: Place, tensor: Any) -> None:
        try:
            reason = _unkeepable(tensor)
            if reason:
                self.dump.lose(place, reason)
            else:
                self.dump.add(place, tensor, _copied)
        except Exception as error:
            self._lose(place, error)

    def _lose(self, place: Place, error: Exception) -> None:
        self.dump.lose(place, (f"{type(error).__name__}: {error}".splitlines() or [""])[0][:200])

    def _follow_gradient(self, place: Place, tensor: Any) -> None:
        torch = sys.modules["torch"]
        try:
            node, output, is_leaf = tensor.grad_fn, tensor.output_nr, tensor.grad_fn is None
            if is_leaf:
                with torch.enable_grad():
                    node, output = torch.autograd.graph.get_gradient_edge(tensor)[:2]
            arrived = functools.partial(_quiet()[2], weakref.ref(self), place, output)
            handle = node.register_prehook(_side().functions.untraced(arrived))
            if is_leaf:
                self._leaves.append((node, handle))
        except Exception as error:
            self._lose(place, error)


class _Step:
    """A step, and how many calls of which module it had."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.begun = False  # by a call of the model
        self.calls: Counter[str] = Counter()


class _Call:
    """A call that has begun."""

    def __init__(self, chosen: ChosenModule | None, step: _Step, begins_step: bool) -> None:
        self.chosen = chosen  # None = only the step counts
        self.step = step
        self.begins_step = begins_step
        self.number = 0
        self.phase = ""


def end_step() -> None:
    """End the current step of all captures in memory."""
    for capture in _running:
        capture.end_step()


def _gradient_arrived(reference: Any, place: Place, output: int, gradients: tuple[Any, ...]) -> None:
    capture = reference()
    if capture is not None and capture._state == "running" and gradients[output] is not None:
        with _aside():
            capture._keep(place, gradients[output])


@functools.cache
def _quiet() -> tuple[Any, Any, Any]:
    """Give what is called beside the program, so that nothing of it sees the calls."""
    frames = _side("dynamo_frames")
    frames.leave_alone(_begins)
    return tuple(map(frames.undisturbed, (_begin_all, _end_all, _gradient_arrived)))


def _begins(module: Any, values: tuple[Any, ...], _: Any) -> Any:
    """See each call of a module of the process; most modules are not followed."""
    return _quiet()[0](module, values) if id(module) in _followed else None


def _begin_all(module: Any, values: tuple[Any, ...]) -> list[tuple[ModuleCapture, _Call]] | None:
    begun = [(capture, call) for capture in _running if (call := capture._begin(module, values)) is not None]
    return begun or None


def _end_all(begun: list[tuple[ModuleCapture, _Call]], returned: bool, result: Any) -> None:
    for capture, call in reversed(begun):
        capture._end(call, returned, result)


def _side(name: str = "") -> ModuleType:
    """Give a module of what runs beside torch."""
    return sys.modules[f"_tensortap_torch.{name}" if name else "_tensortap_torch"]


def _follow(capture: ModuleCapture) -> None:
    from tensortap._capture import _installed_side

    _, functions = _installed_side()
    _set_running((*_running, capture), functions)


def _unfollow(capture: ModuleCapture) -> None:
    _set_running(tuple(one for one in _running if one is not capture), _side().functions)


def _set_running(captures: tuple[ModuleCapture, ...], functions: Any) -> None:
    global _running, _followed
    _running = captures
    _followed = frozenset(number for one in captures for number in (*one._watched, id(one._model)))
    functions.watch_calls(*((_begins, _quiet()[1]) if captures else (None, None)))


@contextlib.contextmanager
def _aside() -> Iterator[None]:
    """Compute with the program's tensors unseen: no autograd, no profiler, no capture of operators; copies are no inference tensors."""
    torch = sys.modules["torch"]
    torch.autograd._enable_record_function(False)
    try:
        with torch.inference_mode(False), torch.no_grad():
            yield
    finally:
        torch.autograd._enable_record_function(True)


def _copied(tensor: Any) -> Any:
    """Copy a tensor into host memory, whatever it shares memory with."""
    copied = tensor.detach().to("cpu", copy=True)
    return copied.resolve_conj().resolve_neg()


def _unkeepable(tensor: Any) -> str:
    """Say why a tensor has no values that could be kept; "" where it has."""
    torch = sys.modules["torch"]
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return "tensor inside of torch.func"
    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return f"tensor of the class {type(tensor).__name__}"
    if tensor.is_nested or tensor.is_quantized or tensor.is_meta:
        return "nested tensor" if tensor.is_nested else "meta tensor" if tensor.is_meta else "quantized tensor"
    if tensor.layout is not torch.strided:
        return f"{str(tensor.layout).removeprefix('torch.').strip('_')} tensor"
    if tensor.is_cuda and torch.cuda.is_current_stream_capturing():
        return "inside of a CUDA graph, whose runs call no Python"
    return ""
