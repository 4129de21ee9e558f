"""The functions of libtensortap_onnxruntime.so that capture sessions of other bindings (include/tensortap/onnxruntime.h)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

Follow = Callable[[Callable[..., Any], Callable[..., tuple[Any, ...] | None], Callable[[Any, BaseException | None], None]], Any]

MakeGraph = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
LoadModel = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p)
TakeModel = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)
MakePlain = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Maker(ctypes.Structure):
    """struct tensortap_onnxruntime_maker."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("path", ctypes.c_char_p),
        ("model", ctypes.c_char_p),
        ("model_size", ctypes.c_uint64),
        ("version", ctypes.c_char_p),
        ("optimise", MakeGraph),
        ("load", LoadModel),
        ("load_twin", LoadModel),
        ("reorder", TakeModel),
        ("user", ctypes.c_void_p),
        ("make_plain", MakePlain),
    ]


class Library:
    """The loaded library.

    Parameters
    ----------
    path : str
        Where the library is.
    functions : dict
        Built-in functions by their names.

    Attributes
    ----------
    path
        The same.
    follow : callable
        ``follow(function, before, after)``: the same function as a method whose calls are followed without a Python frame
        (src/capture/python/followed_method.h).
    follow_runs, note_session, forget_session : callable
        The same for methods that run sessions, and what tells it of sessions whose runs need no Python code of ours
        (src/capture/source/onnxruntime/program/run_shortcut.h).
    """

    def __init__(self, path: str, functions: dict[str, Any]) -> None:
        self.path = path
        self.follow: Follow = functions["follow"]
        self.follow_runs: Follow = functions["follow_runs"]
        self.note_session: Callable[[Any, Any, int, Callable[..., int]], None] = functions["note_session"]
        self.forget_session: Callable[[int], None] = functions["forget_session"]
        library = ctypes.CDLL(path)
        self.capture = _typed(library.tensortap_onnxruntime_capture, ctypes.c_void_p, ctypes.POINTER(Maker))
        self.answer = _typed(library.tensortap_onnxruntime_answer, None, ctypes.c_char_p, ctypes.c_uint64)
        self.runs_plain = _typed(library.tensortap_onnxruntime_runs_plain, None, ctypes.POINTER(Maker))
        self.release = _typed(library.tensortap_onnxruntime_release, None, ctypes.c_void_p)
        self.registered_options = _typed(library.tensortap_onnxruntime_registered_options, ctypes.c_void_p)
        self.release_options = _typed(library.tensortap_onnxruntime_release_options, None, ctypes.c_void_p)
        self.give_taps = _typed(library.tensortap_onnxruntime_give_taps, None, ctypes.c_void_p)
        self.take_lines = _typed(library.tensortap_onnxruntime_take_lines, ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
        self.request = _typed(
            library.tensortap_onnxruntime_request,
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_size_t,
        )
        self.run_begins = _typed(
            library.tensortap_onnxruntime_run_begins, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(ctypes.c_int)
        )
        self.run_ends = _typed(library.tensortap_onnxruntime_run_ends, None, ctypes.c_void_p, ctypes.c_char_p)
        self.run_failed = _typed(library.tensortap_onnxruntime_run_failed, ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
        self.ran_again = _typed(library.tensortap_onnxruntime_ran_again, None, ctypes.c_void_p, ctypes.c_char_p)


def _typed(function: Any, result: Any, *arguments: Any) -> Any:
    function.restype = result
    function.argtypes = arguments
    return function
