"""Wraps the class ``InferenceSession``: how its sessions are made, and its runs."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
import weakref
from typing import Any

from ._library import Library
from .session_maker import QUIET, KnownOptions, SessionMaker, without_warnings

RUNS = ("run", "run_with_ort_values", "run_with_iobinding", "run_with_ortvaluevector")
"""Methods that run on the calling thread. The library itself distinguishes the runs of other threads."""
BOUND_RUN = "run_with_iobinding"
"""A binding belongs to the session that it was made of."""
WITHOUT_OPTIONS = {"run": 2, "run_with_ort_values": 2, BOUND_RUN: 1}
"""How many arguments methods have before their run options."""
MOST_SHAPES = 256
LARGEST = (1 << 64) - 1
AS_IF_UNFOLLOWED = None
DONE = ()
"""Answers of a hook that runs before a followed method (src/capture/python/followed_method.h)."""


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
        self._create = module.InferenceSession._create_inference_session
        self._known = KnownOptions()
        self._lock = threading.RLock()  # options are changed for a while, and programs share them
        os.register_at_fork(after_in_child=self._forget_lock)

    def _forget_lock(self) -> None:
        self._lock = threading.RLock()

    def wrap(self) -> None:
        """Follow the methods that make sessions and run them."""
        follow, native = self._library.follow, self._module.C.InferenceSession
        self._module.InferenceSession._create_inference_session = follow(self._create, self._create_begins, self._create_ends)
        for name in RUNS:
            if name in vars(native):
                plain = getattr(native, name)
                if name == BOUND_RUN:
                    followed = follow(plain, functools.partial(self._bound_run_begins, plain), self._run_ends)
                else:
                    followed = self._library.follow_runs(plain, functools.partial(self._run_begins, plain), self._run_ends)
                setattr(native, name, followed)
        options = self._module.C.SessionOptions
        if "add_initializer" in vars(options):
            options.add_initializer = follow(options.add_initializer, self._initializer_begins, self._initializer_ends)

    def _create_begins(self, session: Any, *arguments: Any, **named: Any) -> tuple[Any, ...] | None:
        """Try to make the session with taps."""
        options = session._sess_options

        def create(target: Any) -> None:
            self._create(target, *arguments, **named)

        with self._lock:
            try:
                maker = SessionMaker(self._library, self._module, session, create, self._known)
            except Exception:  # ONNX Runtime itself reports arguments that it refuses
                return AS_IF_UNFOLLOWED
            if options is not None and options.optimized_model_filepath:
                self._write_optimised(session, options, create)
            handle = self._library.capture(ctypes.byref(maker.structure))
            if maker.interrupted is not None:
                self._library.release(handle)
                raise maker.interrupted
            if handle is not None:
                _handles.add(session._sess, Handle(self._library, handle, maker.take_twin()))
                return DONE
            if options is not None:
                self._known.settle(options)
            session._sess_options = options
            return maker, None

    def _write_optimised(self, session: Any, options: Any, create: Any) -> None:
        """Give the program the file that its own options ask for."""
        self._known.settle(options)
        scout = object.__new__(type(session))
        scout.__dict__.update(session.__dict__)
        with without_warnings(self._module), contextlib.suppress(Exception):  # it comes again when the session itself is made
            create(scout)

    def _create_ends(self, maker: SessionMaker, error: BaseException | None) -> None:
        if error is None:
            self._library.runs_plain(ctypes.byref(maker.structure))

    def _initializer_begins(self, options: Any, *_arguments: Any, **_named: Any) -> tuple[Any, ...]:
        return options, None

    def _initializer_ends(self, options: Any, error: BaseException | None) -> None:
        if error is None:
            self._known.replace_weights(options)

    def _run_begins(self, plain: Any, native: Any, *arguments: Any, **named: Any) -> tuple[Any, ...] | None:
        handle = _handles.of(native)
        if handle is None:
            return AS_IF_UNFOLLOWED
        if handle.twin is None:
            return (self._library.run_begins(handle.number, 0, None), plain, native, arguments), None
        by_twin = ctypes.c_int()
        kind = handle.kinds.of((*arguments, *named.values()))
        run = self._library.run_begins(handle.number, kind, ctypes.byref(by_twin))
        return (run, plain, native, arguments), handle.twin if by_twin.value else None

    def _bound_run_begins(self, plain: Any, native: Any, *arguments: Any, **_named: Any) -> tuple[Any, ...] | None:
        handle = _handles.of(native)
        if handle is None:
            return AS_IF_UNFOLLOWED
        return (self._library.run_begins(handle.number, 0, None), plain, native, arguments), None

    def _run_ends(self, token: tuple[Any, ...], error: BaseException | None) -> None:
        run, *given = token
        try:
            if error is not None:
                self._run_failed(run, str(error).encode(errors="replace"), *given)
        finally:
            self._library.run_ends(run, None)

    def _run_failed(self, run: Any, message: bytes, plain: Any, native: Any, arguments: tuple[Any, ...]) -> None:
        """Make the run once more where the library asks for that: it shows what the op read that failed."""
        if not self._library.run_failed(run, message, _obstacle(plain, arguments).encode()):
            return
        options = self._module.C.RunOptions()
        options.log_severity_level = QUIET
        try:
            plain(native, *arguments[: WITHOUT_OPTIONS[plain.__name__]], options)
        except Exception as error:
            self._library.ran_again(run, str(error).encode(errors="replace"))
        else:
            self._library.ran_again(run, None)


def _obstacle(plain: Any, arguments: tuple[Any, ...]) -> str:
    """Say why a run cannot be made once more without effects on the program, "" when it can."""
    count = WITHOUT_OPTIONS.get(plain.__name__)
    if count is None or len(arguments) < count:
        return "the program makes its runs by another method, or with arguments by name"
    if any(option is not None for option in arguments[count:]):
        return "the program gives its runs options"
    feeds = arguments[1].values() if count > 1 and isinstance(arguments[1], dict) else ()
    if any(_converts(value) for value in feeds):
        return "the program gives its runs Python objects, which the runtime converts"
    return ""


def _converts(value: Any) -> bool:
    """Tell whether the runtime calls the program's code for an input."""
    kind = type(value)
    if kind.__name__ == "OrtValue":
        return False
    return kind.__module__ != "numpy" or kind.__name__ != "ndarray" or value.dtype.hasobject


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
            Arguments of the method that runs.

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

    def of_call(self, arguments: tuple[Any, ...], named: dict[str, Any] | None) -> int:
        """Give the number of a run that is called with these arguments."""
        return self.of(arguments if not named else (*arguments, *named.values()))

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
    """The library's session and the twin that runs what is not captured, released with the object that has them."""

    def __init__(self, library: Library, number: int, twin: Any) -> None:
        self.number = number
        self.twin = None if twin is None else twin._sess
        self.kinds = Kinds()
        self._kind_of = self.kinds.of_call
        self._library = library

    def note(self, native: Any) -> None:
        """Let the runs of a session go past this module, except for their kind where a budget needs it."""
        self._library.note_session(native, native if self.twin is None else self.twin, self.number, self._kind_of)

    def forget(self, number: int) -> None:
        """Take that back: the object with this ``id()`` is gone."""
        self._library.forget_session(number)

    def set_dump(self, name: str, enabled: bool) -> None:
        """Switch the capture of ops on or off."""
        message = ctypes.create_string_buffer(4096)
        if self._library.request(self.number, name.encode(), enabled, message, len(message)):
            raise ValueError(message.value.decode(errors="replace") or "there is not enough memory")

    def __del__(self) -> None:
        self._library.release(self.number)


class Handles:
    """The handle of each captured session, for as long as ONNX Runtime's own object of it lives."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], Handle]] = {}

    def add(self, native: Any, handle: Handle) -> None:
        """Keep the handle of a session.

        Parameters
        ----------
        native, handle : C.InferenceSession, Handle
            The runtime's object, and what belongs to it.
        """
        number = id(native)

        def forget(_: Any) -> None:
            handle.forget(number)
            self._known.pop(number, None)

        self._known[number] = weakref.ref(native, forget), handle
        handle.note(native)

    def of(self, native: Any) -> Handle | None:
        """Give the handle of a session, None when it is not captured."""
        known = self._known.get(id(native))
        return known[1] if known is not None and known[0]() is native else None


_handles = Handles()


def session_handle(session: Any) -> Handle | None:
    """Give the handle of an ``InferenceSession``, None when it is not captured.

    Parameters
    ----------
    session : InferenceSession
        The program's session.
    """
    return _handles.of(session.__dict__.get("_sess"))


def set_dump(session: Any, name: str, enabled: bool) -> None:
    """Switch the capture of ops of a session on or off; of one that is not captured nothing.

    Parameters
    ----------
    session : InferenceSession
        The program's session.
    name : str
        Of an op, of a scope or of a type; "" = every op.
    enabled : bool
        On or off.

    Raises
    ------
    ValueError
        When the model has nothing of this name.
    """
    handle = session_handle(session)
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
    Wrapper(module, library).wrap()
