"""The logger of the package."""

from __future__ import annotations

import logging
import os
import sys
import threading
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    _StreamHandler = logging.StreamHandler[TextIO]
else:
    _StreamHandler = logging.StreamHandler

EVENT_LEVEL = 35


class EventLogger(logging.Logger):
    """A logger with a level between warning and error, and warnings that are said once."""

    def event(self, message: object, *args: object, **options: Any) -> None:
        """Log at the level EVENT, with the arguments of ``logging.Logger.info``."""
        options["stacklevel"] = options.get("stacklevel", 1) + 1
        self.log(EVENT_LEVEL, message, *args, **options)

    def warning_once(self, message: object, *args: object) -> None:
        """Log a warning, unless this logger has logged the same text before."""
        said: set[str] = vars(self).setdefault("_said", set())
        text = str(message) % args if args else str(message)
        if text not in said:
            said.add(text)
            self.warning("%s", text, stacklevel=2)


class _Formatter(logging.Formatter):
    """Lines as the real system writes them: ``[LEVEL] TORCHAIR(pid,python):date time.mmm.uuu [file:line]thread message``."""

    def __init__(self) -> None:
        super().__init__(
            f"[%(levelname)s] TORCHAIR(%(process)d,{os.path.basename(sys.executable)}):%(asctime)s [%(filename)s:%(lineno)d]"
            "%(native_thread)d %(message)s"
        )

    def format(self, record: logging.LogRecord) -> str:
        # A record has the number that Python gives a thread; ps and gdb show this one.
        record.native_thread = threading.get_native_id()
        return super().format(record)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 (a method of logging)
        moment = datetime.fromtimestamp(record.created)
        milliseconds, microseconds = divmod(moment.microsecond, 1000)
        return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds:03d}.{microseconds:03d}"


class _StdoutHandler(_StreamHandler):
    """Writes to what sys.stdout is when a line is logged, so that a program can redirect it, until it is given another stream."""

    def __init__(self) -> None:
        self._chosen: TextIO | None = None
        super().__init__(sys.stdout)

    @property
    def stream(self) -> TextIO:
        return sys.stdout if self._chosen is None else self._chosen

    @stream.setter
    def stream(self, stream: TextIO) -> None:
        self._chosen = None if stream is sys.stdout else stream


def _make_logger() -> EventLogger:
    if logging.getLevelName(EVENT_LEVEL) == f"Level {EVENT_LEVEL}":
        logging.addLevelName(EVENT_LEVEL, "EVENT")
    made = logging.getLogger("torchair")
    # Only this one gets the methods: logging.setLoggerClass would change every logger that the program makes from now on.
    if not isinstance(made, EventLogger):
        kind = type(made)
        made.__class__ = EventLogger if kind is logging.Logger else type("EventLogger", (EventLogger, kind), {})
    if made.level == logging.NOTSET:
        made.setLevel(logging.DEBUG if os.environ.get("TORCH_COMPILE_DEBUG") == "1" else logging.ERROR)
    # The real package may have been imported before and have given it a handler.
    if not any(isinstance(handler, logging.StreamHandler) and handler.stream is sys.stdout for handler in made.handlers):
        handler = _StdoutHandler()
        handler.setFormatter(_Formatter())
        made.addHandler(handler)
    return cast("EventLogger", made)


logger = _make_logger()
