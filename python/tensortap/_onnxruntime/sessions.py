"""Wraps the class ``InferenceSession``: how its sessions are made, and its runs."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Callable
from typing import Any

from ._library import Library
from .session_maker import KnownOptions, SessionMaker

RUNS = ("run", "run_with_ort_values", "run_with_iobinding", "run_with_ortvaluevector")
"""Methods that run on the calling thread. The library itself distinguishes the runs of other threads."""
BOUND_RUN = "run_with_iobinding"
HANDLE = "_tensortap_session"
MOST_SHAPES = 256
LARGEST = (1 << 64) - 1


class Wrapper:
    """One wrapped module.

    Parameters
    ----------
    module : module
        ``onnxruntime.capi.onnxruntime_inference_collection``.
    library : Library
        Ours.
    """

    def __init__(self, module: Any, library: Library) -> None:
        self._module = module
        self._library = library
        self._known = KnownOptions()
        self._lock = threading.RLock()  # options are changed for a while, and programs share them
        os.register_at_fork(after_in_child=self._forget_lock)

    def _forget_lock(self) -> None:
        self._lock = threading.RLock()

    def creating(self, original: Callable[..., None]) -> Callable[..., None]:
        """Wrap the method that makes the session of an object."""

        @functools.wraps(original)
        def create(session: Any, providers: Any, provider_options: Any, disabled_optimizers: Any = None) -> None:
            session.__dict__.pop(HANDLE, None)
            arguments = (providers, provider_options, disabled_optimizers)
            maker = self._captured(session, lambda target: original(target, *arguments))
            if HANDLE in session.__dict__:
                return
            original(session, *arguments)
            if maker is not None:
                self._library.runs_plain(ctypes.byref(maker.structure))

        return create

    def replacing(self, original: Callable[..., None]) -> Callable[..., None]:
        """Wrap the method that gives options a weight in the place of the model's."""

        @functools.wraps(original)
        def add_initializer(options: Any, *arguments: Any, **named: Any) -> None:
            original(options, *arguments, **named)
            self._known.replace_weights(options)

        return add_initializer

    def _captured(self, session: Any, create: Callable[[Any], None]) -> SessionMaker | None:
        """Try to make the session with taps."""
        options = session._sess_options
        with self._lock:
            try:
                maker = SessionMaker(self._library, self._module, session, create, self._known)
            except Exception:  # ONNX Runtime itself reports arguments that it refuses
                return None
            if options is not None and options.optimized_model_filepath:
                self._write_optimised(session, options, create)
            handle = self._library.capture(ctypes.byref(maker.structure))
            if maker.interrupted is not None:
                self._library.release(handle)
                raise maker.interrupted
            if handle is None:
                if options is not None:
                    self._known.settle(options)
                session._sess_options = options
                return maker
            session.__dict__[HANDLE] = Handle(self._library, handle, maker.take_twin())
            return None

    def _write_optimised(self, session: Any, options: Any, create: Callable[[Any], None]) -> None:
        """Give the program the file that its own options ask for."""
        self._known.settle(options)
        scout = object.__new__(type(session))
        scout.__dict__.update(session.__dict__)
        with contextlib.suppress(Exception):  # it comes again when the session itself is made
            create(scout)

    def running(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a method that runs a session."""
        begins, ends = self._library.run_begins, self._library.run_ends
        # A binding belongs to the session that it was made of.
        is_bound = original.__name__ == BOUND_RUN

        @functools.wraps(original)
        def run(session: Any, *arguments: Any, **options: Any) -> Any:
            handle = session.__dict__.get(HANDLE)
            if handle is None:
                return original(session, *arguments, **options)
            runs = session
            if handle.twin is None or is_bound:
                token = begins(handle.number, 0, None)
            else:
                by_twin = ctypes.c_int()
                token = begins(handle.number, handle.kinds.of((*arguments, *options.values())), ctypes.byref(by_twin))
                if by_twin.value:
                    runs = handle.twin
            try:
                result = original(runs, *arguments, **options)
            except BaseException as error:
                ends(token, str(error).encode(errors="replace"))
                raise
            ends(token, None)
            return result

        return run


class Kinds:
    """Numbers for the shapes of runs' inputs.

    Of each dimension the three leading bits count: inputs that grow a little with each run stay of one kind for a while.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], int] = {}

    def of(self, arguments: tuple[Any, ...]) -> int:
        """Give the number of a run, whose inputs are a dict among the method's arguments.

        Parameters
        ----------
        arguments : tuple
            Of the method that runs.

        Returns
        -------
        int
            0 = the shapes are unknown.
        """
        for argument in arguments:
            if isinstance(argument, dict):
                try:
                    shapes = tuple([value.shape for value in argument.values()])
                    return self._known.get(shapes) or self._number(shapes)
                except Exception:  # lists, or what ONNX Runtime itself refuses
                    return 0
        return 0

    def _number(self, shapes: tuple[Any, ...]) -> int:
        sizes = tuple([tuple(shape() if callable(shape) else shape) for shape in shapes])
        number = hash(tuple([tuple([_leading_bits(size) for size in shape]) for shape in sizes])) & LARGEST
        if not any(callable(shape) for shape in shapes):  # a method would keep its value alive
            if len(self._known) >= MOST_SHAPES:
                self._known.clear()
            self._known[shapes] = number
        return number


def _leading_bits(size: int) -> int:
    dropped = max(size.bit_length() - 3, 0)
    return size >> dropped << dropped


class Handle:
    """The library's session and the twin that runs what is not captured, given back with the object that has them."""

    def __init__(self, library: Library, number: int, twin: Any) -> None:
        self.number = number
        self.twin = twin
        self.kinds = Kinds()
        self._library = library

    def set_dump(self, name: str, enabled: bool) -> None:
        """Switch the capture of ops on or off."""
        message = ctypes.create_string_buffer(4096)
        if self._library.request(self.number, name.encode(), enabled, message, len(message)):
            raise ValueError(message.value.decode(errors="replace") or "there is not enough memory")

    def __del__(self) -> None:
        self._library.release(self.number)


def set_dump(session: Any, name: str, enabled: bool) -> None:
    """Switch the capture of ops of a session on or off; of one that is not captured nothing.

    Parameters
    ----------
    session : InferenceSession
        Of the program.
    name : str
        Of an op, of a scope or of a type; "" = every op.
    enabled : bool
        On or off.

    Raises
    ------
    ValueError
        When the model has nothing of this name.
    """
    handle = session.__dict__.get(HANDLE)
    if handle is not None:
        handle.set_dump(name, enabled)


def wrap(module: Any, library: Library) -> None:
    """Wrap the module's sessions.

    Parameters
    ----------
    module : module
        ``onnxruntime.capi.onnxruntime_inference_collection``.
    library : Library
        Ours.
    """
    wrapper = Wrapper(module, library)
    sessions = module.InferenceSession
    sessions._create_inference_session = wrapper.creating(sessions._create_inference_session)
    options = module.C.SessionOptions
    if "add_initializer" in vars(options):
        options.add_initializer = wrapper.replacing(options.add_initializer)
    for name in RUNS:
        for owner in (sessions, module.Session):
            if name in vars(owner):
                setattr(owner, name, wrapper.running(vars(owner)[name]))
                break
