"""The web view, started from Python: in a notebook, a link to it."""

from __future__ import annotations

import atexit
import html
import json
import os
import subprocess
from collections.abc import Iterable
from types import TracebackType

from tensortap._command_places import places
from tensortap._dump import Dump
from tensortap._error import Error

_PATIENCE = 60

# Ends the server when the other end of standard input is closed: also when this process is killed. Interrupts of a cell do not reach it.
_KEEPER = """
exec 3<&0
"$@" &
server=$!
{ cat <&3; kill "$server"; } >/dev/null 2>&1 &
exec >/dev/null
wait "$server"
"""


class Server:
    """A running ``tensortap serve``. It ends with ``stop()``, at the end of a ``with`` block, or with this process.

    Attributes
    ----------
    address : str
        The address of the page, with the token: who knows it sees the dump.
    """

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self._process = process
        self.address = address
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the server. Its page then reports that the server does not answer."""
        atexit.unregister(self.stop)
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.wait(_PATIENCE)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Server:
        """Return the server itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the server."""
        self.stop()

    def __repr__(self) -> str:
        """Show the address."""
        return f"Server({self.address!r})"

    def _repr_html_(self) -> str:
        """Show a link: the page allows no other page to contain it."""
        address = html.escape(self.address)
        return f'<a href="{address}" target="_blank" rel="noopener">tensortap: {address.partition("?")[0]}</a>'


def serve(
    dump: Dump | str | os.PathLike[str],
    reference: Dump | str | os.PathLike[str] | None = None,
    *,
    port: int = 0,
    allow_hosts: Iterable[str] = (),
    source_roots: Iterable[str | os.PathLike[str]] = (),
) -> Server:
    """Start the web view of a dump, or of two with their differences, and go on. In a notebook the answer is shown as a link.

    Parameters
    ----------
    dump : Dump, str or path
        The dump, or the folder of a job; of two dumps, the one that is judged.
    reference : Dump, str or path, optional
        The dump that it is judged by.
    port : int
        Listen on this port of 127.0.0.1; 0 = one that is free.
    allow_hosts : iterable of str
        Other names under which the page may be asked for, such as that of a proxy.
    source_roots : iterable of str or path
        Lines of source files are read below these folders and below the current one, and nowhere else.

    Returns
    -------
    Server
        The running server.

    Raises
    ------
    Error
        When a dump cannot be read, the port is taken, or the command is not beside this package.
    """
    command = next((folder / "tensortap" for folder in places() if (folder / "tensortap").is_file()), None)
    if command is None:
        raise Error("the command tensortap is not beside this package; install it again")
    words: list[str | os.PathLike[str]] = [command, "serve", "--json", "--no-open", "--port", str(port)]
    for name in allow_hosts:
        words += ["--allow-host", name]
    for root in source_roots:
        words += ["--source-root", root]
    words += ["--", *(one.path if isinstance(one, Dump) else one for one in (dump, reference) if one is not None)]
    pipe = subprocess.PIPE
    keeper = ["/bin/sh", "-c", _KEEPER, "sh", *words]
    process = subprocess.Popen(keeper, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    line = process.stdout.readline() if process.stdout is not None else ""
    try:
        return Server(process, json.loads(line)["address"])
    except (ValueError, KeyError):
        _, said = process.communicate()
        raise Error(said.strip().removeprefix("tensortap: ") or "the server did not start") from None
