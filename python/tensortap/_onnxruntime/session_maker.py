"""Makes one session of the program with taps in it, with the program's own options, providers and subclass."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ._library import Library, LoadModel, MakeGraph, MakePlain, Maker, TakeModel

PROGRAM_LEVEL = -1
LEVELS = {0: "ORT_DISABLE_ALL", 1: "ORT_ENABLE_BASIC", 2: "ORT_ENABLE_EXTENDED", 99: "ORT_ENABLE_ALL"}
QUIET = 4
"""The severity of log lines that end a program: nothing less is said."""
WEIGHTS_ENTRY = "session.optimized_model_external_initializers_file_name"
LARGE_WEIGHT_ENTRY = "session.optimized_model_external_initializers_min_size_in_bytes"
LARGE_WEIGHT = "16384"
WANTED_BY_A_PASS = {"session.save_model_format": "ONNX", WEIGHTS_ENTRY: ""}
WANTED_BY_TAPS = {
    "session.load_model_format": "ONNX",
    "session.use_ort_model_bytes_directly": "0",
    "session.use_ort_model_bytes_for_initializers": "0",
}
"""Required values of configuration entries that the program has set; an entry that it has not set means the same."""
QUANTISED_ENTRY = "session.disable_quant_qdq"
FOLDER_ENTRY = "session.model_external_initializers_file_folder_path"
DEFAULTS = {QUANTISED_ENTRY: "0", FOLDER_ENTRY: "", WEIGHTS_ENTRY: "", LARGE_WEIGHT_ENTRY: "1024"}
"""The meaning of an entry that is not set."""
OF_WRITTEN_MODELS = (WEIGHTS_ENTRY, LARGE_WEIGHT_ENTRY)
"""Entries without effect on a session that writes no optimised model."""
EXCEPTIONS_OF_THE_USER = (KeyboardInterrupt, SystemExit)


class SessionMaker:
    """What the library calls to make a session.

    Parameters
    ----------
    library : Library
        Ours.
    module : module
        ``onnxruntime.capi.onnxruntime_inference_collection``.
    session : InferenceSession
        The program's object, not yet initialised.
    create : callable
        The plain method that initialises it, with the arguments of the program except for the object.
    known : KnownOptions
        What was done to the program's options before.
    """

    def __init__(self, library: Library, module: Any, session: Any, create: Callable[[Any], None], known: KnownOptions) -> None:
        self._library = library
        self._module = module
        self._session = session
        self._create = create
        self._known = known
        given = session._sess_options
        self._has_own_options = given is None
        self._options = given if given is not None else module.C.SessionOptions()
        self._refused: Exception | None = None
        self.interrupted: BaseException | None = None
        self._twin: Any = None
        path, data = session._model_path, session._model_bytes
        # The structure keeps the functions alive, the functions keep this object.
        self.structure = Maker(
            size=ctypes.sizeof(Maker),
            path=os.fsencode(path) if path else None,
            model=data if isinstance(data, bytes) else bytes(data) if data is not None else None,
            model_size=len(data) if data is not None else 0,
            version=module.C.get_version_string().encode() if hasattr(module.C, "get_version_string") else b"",
            optimise=MakeGraph(lambda _, level, path, weights: self._answer(lambda: self._optimise(level, path, weights))),
            load=LoadModel(lambda _, model, size, folder: self._answer(lambda: self._load(ctypes.string_at(model, size), folder))),
            load_twin=LoadModel(
                lambda _, model, size, folder: self._answer(lambda: self._make_twin(ctypes.string_at(model, size), folder))
            ),
            reorder=TakeModel(lambda _, model, size: self._answer(lambda: self._reorder(ctypes.string_at(model, size)))),
            make_plain=MakePlain(lambda _: self._answer(self._make_plain)),
        )

    def _answer(self, work: Callable[[], bytes]) -> int:
        """Do the work and give the library what came of it: no exception may go through it."""
        try:
            answer, failed = work(), 0
        except BaseException as error:
            if isinstance(error, EXCEPTIONS_OF_THE_USER):
                self.interrupted = error
            answer, failed = str(error).encode(errors="replace"), 1
        self._library.answer(answer, len(answer))
        return failed

    def _optimise(self, level: int, path: bytes, weights: bytes) -> bytes:
        if self._known.replaces_weights(self._options):
            raise ValueError("the program replaces weights of the model (add_initializer)")
        if self._refused is not None:
            raise self._refused
        if self._has_own_options:
            self._options = self._module.C.SessionOptions()
        # The session that wrote the program's own file of the optimised model has said its lines.
        speaks = level == PROGRAM_LEVEL and not self._options.optimized_model_filepath and self._known.knows(self._options, self._library)
        changes: dict[str, Any] = {"optimized_model_filepath": os.fsdecode(path), "enable_profiling": False}
        if not speaks:
            changes["log_severity_level"] = QUIET
        if level != PROGRAM_LEVEL:
            changes["graph_optimization_level"] = getattr(self._module.C.GraphOptimizationLevel, LEVELS[level])
        # On another object: attributes of the program's would keep this session alive.
        scout = object.__new__(type(self._session))
        scout.__dict__.update(self._session.__dict__, _sess_options=self._options)
        entries = {WEIGHTS_ENTRY: weights.decode(), LARGE_WEIGHT_ENTRY: LARGE_WEIGHT} if weights else {}
        with without_warnings(self._module), self._known.changed(self._options, changes, entries, WANTED_BY_A_PASS):
            try:
                self._known.take_lines(self._options)
                self._create(scout)
            except (TypeError, ValueError) as error:  # of the program's arguments, which no other weights make right
                self._refused = error
                raise
        return b""

    def _load(self, model: bytes, folder: bytes) -> bytes:
        self._create_of(self._session, model, folder)
        self._show_programs_options()
        return b""

    def _make_twin(self, model: bytes, folder: bytes) -> bytes:
        """Make the session that runs what is not captured."""
        if self._options.enable_profiling:
            raise ValueError("the program has the runtime write a profile, which is of one session")
        twin = object.__new__(type(self._session))
        twin.__dict__.update(self._session.__dict__)
        with without_warnings(self._module):
            self._create_of(twin, model, folder, again=True)
        self._twin = twin
        return b""

    def _make_plain(self) -> bytes:
        """Make a session as the program asked for it, for the lines that it logs."""
        options = self._options
        if self._has_own_options:
            options = self._module.C.SessionOptions()
            self._known.knows(options, self._library)
        scout = object.__new__(type(self._session))
        scout.__dict__.update(self._session.__dict__, _sess_options=options)
        with without_warnings(self._module), self._known.changed(options, {"enable_profiling": False}, {}, {}):
            self._known.take_lines(options)
            self._create(scout)
        return b""

    def take_twin(self) -> Any:
        """Give away the session that runs what is not captured, None without one."""
        twin, self._twin = self._twin, None
        return twin

    def _create_of(self, session: Any, model: bytes, folder: bytes, again: bool = False) -> None:
        """Initialise a session with the graph that is optimised already; `again`: a second one of the same options."""
        options = self._options
        entries = {}
        if b"DequantizeLinear" in model:
            # Even with everything off, each consumer of such a node, taps included, would get a separate copy.
            entries[QUANTISED_ENTRY] = "1"
        if folder:  # a model in memory has no folder
            entries[FOLDER_ENTRY] = os.fsdecode(folder)
        self._known.give_taps(options, self._library)
        changes = {
            "optimized_model_filepath": "",
            "graph_optimization_level": self._module.C.GraphOptimizationLevel.ORT_DISABLE_ALL,
            "execution_mode": self._module.C.ExecutionMode.ORT_SEQUENTIAL,  # runs are distinguished by their threads
        }
        kept = session._sess_options, session._model_path, session._model_bytes
        session._sess_options, session._model_path, session._model_bytes = options, None, model
        try:
            with self._known.changed(options, changes, entries, WANTED_BY_TAPS, again):
                self._known.take_lines(options)
                self._create(session)
        except BaseException:
            session._sess_options = kept[0]
            raise
        finally:
            session._model_path, session._model_bytes = kept[1:]

    def _show_programs_options(self) -> None:
        """Let what the program may ask of its session be what it has set."""
        shown = self._session._sess_options
        if shown is self._options or shown is None:
            return
        for name in ("graph_optimization_level", "execution_mode", "optimized_model_filepath"):
            setattr(shown, name, getattr(self._options, name))

    def _reorder(self, model: bytes) -> bytes:
        import numpy as np

        c = self._module.C
        options = c.SessionOptions()
        options.graph_optimization_level = c.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        session = c.InferenceSession(options, model, False, False)
        session.initialize_session([], [], set())
        (reordered,) = session.run(["y"], {"x": np.arange(256, dtype=np.float32).reshape(1, 128, 1, 2)}, None)
        numbers: bytes = np.ascontiguousarray(reordered, dtype=np.float32).tobytes()
        return numbers


class _QuietWarnings:
    """The module ``warnings`` for the other threads: the warnings of this one are dropped."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain
        self._quiet = threading.get_ident()

    def __getattr__(self, name: str) -> Any:
        if name == "warn" and threading.get_ident() == self._quiet:
            return lambda *_arguments, **_named: None
        return getattr(self._plain, name)


@contextmanager
def without_warnings(module: Any) -> Iterator[None]:
    """Make a session that the program does not know of, without the warnings that it gets when its own is made.

    Parameters
    ----------
    module : module
        ``onnxruntime.capi.onnxruntime_inference_collection``.

    Yields
    ------
    None
        While this thread is quiet. One thread at a time.
    """
    plain = module.warnings
    module.warnings = _QuietWarnings(plain)
    try:
        yield
    finally:
        module.warnings = plain


def _entry(options: Any, key: str) -> str | None:
    try:
        text: str = options.get_session_config_entry(key)
    except Exception:  # the entry does not exist; the class of the exception differs from release to release
        return None
    return text


@dataclass
class _Registered:
    """Options that the library knows by a handle."""

    options: weakref.ref[Any]
    library: Library
    handle: Any
    has_taps: bool = False


class KnownOptions:
    """Remembers changes to the program's session options, which the program may use for several sessions.

    The runtime prints a line about every entry that is set a second time. So entries that a session adds stay, and are taken back when the
    options are used again.
    """

    def __init__(self) -> None:
        self._registered: dict[int, _Registered] = {}
        self._left: dict[int, dict[str, str]] = {}
        self._replacing: dict[int, weakref.ref[Any]] = {}

    def replace_weights(self, options: Any) -> None:
        """Remember that sessions with these options have other weights than their model."""
        number = id(options)
        self._replacing[number] = weakref.ref(options, lambda _: self._replacing.pop(number, None))

    def replaces_weights(self, options: Any) -> bool:
        """Say whether `replace_weights` was called for these options."""
        known = self._replacing.get(id(options))
        return known is not None and known() is options

    def knows(self, options: Any, library: Library) -> bool:
        """Learn what options are for the runtime, once; say whether that is known."""
        number = id(options)
        known = self._registered.get(number)
        if known is None or known.options() is not options:
            options.register_custom_ops_library(library.path)
            known = _Registered(weakref.ref(options, lambda _: self._forget(number)), library, library.registered_options())
            self._registered[number] = known
        return known.handle is not None

    def give_taps(self, options: Any, library: Library) -> None:
        """Give options the operators of taps, once."""
        if not self.knows(options, library):
            return
        known = self._registered[id(options)]
        if not known.has_taps:
            known.has_taps = True
            library.give_taps(known.handle)

    def take_lines(self, options: Any, ours: bool = True) -> None:
        """Have the library print the lines of sessions with these options, or the runtime again."""
        known = self._registered.get(id(options))
        if known is not None and known.options() is options:
            known.library.take_lines(known.handle, ours)

    def _forget(self, number: int) -> None:
        known = self._registered.pop(number, None)
        if known is not None:
            known.library.release_options(known.handle)
        self._left.pop(number, None)

    def settle(self, options: Any, writes_none: bool = False) -> None:
        """Take back what the last session left; `writes_none`: the next one writes no optimised model, or as the last one of ours."""
        self.take_lines(options, ours=False)
        left = self._left.pop(id(options), {})
        for key, text in left.items():
            writes = not writes_none and options.optimized_model_filepath
            if key in OF_WRITTEN_MODELS and not writes and not text.strip(DEFAULTS[key]):
                self._left.setdefault(id(options), {})[key] = text
            else:
                options.add_session_config_entry(key, text)

    @contextmanager
    def changed(
        self, options: Any, attributes: dict[str, Any], entries: dict[str, str], wanted: dict[str, str], again: bool = False
    ) -> Iterator[None]:
        """Change options for a while.

        Parameters
        ----------
        options : SessionOptions
            The program's options.
        attributes, entries : dict
            New values.
        wanted : dict
            Values for those of these entries that the options have.
        again : bool
            The entries of the last change stay; they are the same.

        Yields
        ------
        None
            While they are changed.
        """
        if not again:
            self.settle(options, attributes.get("optimized_model_filepath") == "" or WEIGHTS_ENTRY in entries)
        before = {name: getattr(options, name) for name in attributes}
        texts = {key: _entry(options, key) for key in (*entries, *wanted)}
        for key, text in ({key: text for key, text in wanted.items() if texts[key] is not None} | entries).items():
            if texts[key] != text:
                options.add_session_config_entry(key, text)
                self._left.setdefault(id(options), {}).setdefault(key, texts[key] or DEFAULTS.get(key, ""))
        try:
            for name, value in attributes.items():
                setattr(options, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(options, name, value)
