"""``python -m tensortap._replay``: what ``tensortap replay`` starts for a dump of PyTorch."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tensortap._replay.report import Summary, end_output, lines_of, print_json, print_minimal, print_text, printable, say

if TYPE_CHECKING:
    from tensortap._dump import Dump
    from tensortap._replay.calls import Call

FINE, FOUND, USAGE, FAILED = 0, 1, 2, 3
_CHOICES = ("ops", "types", "modules", "steps", "last")
_SELECTION = re.compile(r"(?P<op>.+?)(?:@(?P<step>\d+))?(?:#(?P<call>\d+))?")


class _EndedError(Exception):
    """A sentence for stderr, and the exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _EndedError(f"{message}; see --help", USAGE)


def _parser() -> _Parser:
    parser = _Parser(
        prog="tensortap replay",
        description="Run operators of a PyTorch dump again on their recorded inputs, and compare the bits with the recorded outputs.",
        epilog="Exit code: 0 all bits equal, 1 some differ, 2 wrong usage, 3 nothing could be replayed.",
    )
    parser.add_argument("dump", help="folder of the dump")
    parser.add_argument("op", nargs="?", default="", help="the op: OP, OP@STEP, OP#CALL or OP@STEP#CALL (all ops)")
    for name in _CHOICES:
        parser.add_argument(f"--{name}", default="", help="only calls of which an output is chosen, as in tensortap ls")
    parser.add_argument("--all", action="store_true", help="show every output, not only those that differ")
    parser.add_argument("--json", action="store_true", help="one JSON object for each output, and a summary last")
    parser.add_argument("--threads", type=int, help="threads of torch for one operator (those of the recorded run)")
    parser.add_argument("--emit", metavar="FILE.py", help="write a program that makes this one call, and its tensors beside it")
    parser.add_argument("--minimize", action="store_true", help="cut the call down to the smallest part that still gives other bits")
    return parser


def _modules() -> None:
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise _EndedError(f"the Python {sys.executable} has no torch: {error}. --runtime names one that has it", FAILED) from error


def _selected(calls: Iterable[Call], wanted: str, known: set[str]) -> Iterator[Call]:
    if not wanted:
        yield from calls
        return
    match = None if wanted in known else _SELECTION.fullmatch(wanted)
    name = wanted if match is None else match["op"]
    if name not in known:
        near = difflib.get_close_matches(name, known, 3)
        hint = f"; near it: {', '.join(near)}" if near else ""
        raise _EndedError(f"no op of the dump is called {name!r}{hint}", USAGE)
    step, call = (None, None) if match is None else (match["step"], match["call"])
    for one in calls:
        if one.op.name == name and (step is None or one.step == int(step)) and (call is None or one.call == int(call)):
            yield one


def _chosen(calls: Iterable[Call], dump: Dump, arguments: argparse.Namespace) -> Iterator[Call]:
    """Give the calls of which an output is among the records that the options choose."""
    asked = {name: getattr(arguments, name) for name in _CHOICES if getattr(arguments, name)}
    if not asked:
        yield from calls
        return
    if "last" in asked:
        asked["last"] = int(asked["last"])
    rows = {int(row) for row in dump.select(**asked)}
    found = False
    for call in calls:
        if any(row in rows for elements in call.outputs.values() for row in elements.values()):
            found = True
            yield call
    if not found:
        raise _EndedError("no output of an op is among the records that are chosen", USAGE)


def _note(text: str) -> None:
    print(printable(f"note: {text}"), file=sys.stderr)


def _recorded_threads(manifest: dict[str, Any], asked: int | None) -> int:
    runtime = manifest.get("runtime")
    recorded = runtime.get("threads") if isinstance(runtime, dict) else None
    import torch

    if asked is not None:
        return asked
    if isinstance(recorded, int) and 0 < recorded <= 4096:
        return recorded
    _note(f"the dump does not say how many threads torch had: {torch.get_num_threads()} are used")
    return int(torch.get_num_threads())


def _check_release(manifest: dict[str, Any]) -> tuple[str, str]:
    import torch

    here = f"pytorch {torch.__version__}"
    recorded = str(manifest.get("source") or "a runtime that it does not name")
    if not recorded.startswith("pytorch"):
        raise _EndedError(f"the dump was made by {recorded}, not by PyTorch", FAILED)
    if recorded.split("+")[0] != here.split("+")[0]:
        _note(f"the dump was made by {recorded}, this is {here}: kernels may differ")
    runtime = manifest.get("runtime")
    capability = runtime.get("cpu_capability") if isinstance(runtime, dict) else None
    own = getattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)()
    if capability and own != capability:
        _note(f"the dump was made with the kernels {capability}, here torch uses {own}")
    return recorded, here


def _replay(arguments: argparse.Namespace) -> int:
    import torch

    from tensortap._dump import open as open_dump
    from tensortap._replay.calls import calls_of, other_devices, read_arguments
    from tensortap._replay.emit import emit
    from tensortap._replay.measure import replay
    from tensortap._replay.rebuild import Tensors

    dump = open_dump(arguments.dump)
    recorded, here = _check_release(dump.manifest)
    told = read_arguments(dump)
    if told.unreadable:
        _note(
            f"{told.unreadable} lines of calls.jsonl cannot be read: those calls are replayed with the arguments of their op's first call"
        )
    if told.unknown:
        _note(
            "the dump is converted or of an earlier version: calls are made with the arguments of their op's first, and may differ by that"
        )
    if told.missing_from is not None:
        _note(f"from step {told.missing_from} on the dump lacks arguments that changed: later steps are left out")
    threads = _recorded_threads(dump.manifest, arguments.threads)
    torch.set_num_threads(threads)
    calls = _chosen(_selected(calls_of(dump, told), arguments.op, {op.name for op in dump.ops}), dump, arguments)
    if told.missing_from is not None:
        calls = (call for call in calls if call.step < told.missing_from)
    tensors = Tensors(dump)
    if arguments.minimize:
        facts: dict[str, Any] = {"runtime": here, "recorded": recorded, "dump": dump.completeness}
        return _minimize(calls, tensors, arguments, threads, facts)
    if arguments.emit:
        return _emit(list(calls), tensors, arguments, threads, emit)
    summary = Summary(arguments.all or bool(arguments.op))
    for call in calls:
        outcome = replay(call, tensors)
        for line in lines_of(outcome) if arguments.json else ():
            print_json(line)
        summary.add(outcome)
    if other_devices:
        named = ", ".join(sorted(other_devices))
        _note(f"the program ran on {named}, and its calls are replayed on the cpu: kernels differ, and so may last bits")
    if summary.calls == 0:
        raise _EndedError("the dump has no record of such a call", FAILED)
    if arguments.json:
        facts = {"runtime": here, "recorded": recorded, "threads": threads, "dump": dump.completeness}
        print_json({"summary": {**summary.to_json(), **facts}})
    else:
        print_text(summary, recorded, here)
    if summary.outputs == 0:
        return FAILED
    return FOUND if summary.differing else FINE


def _minimize(calls: Iterator[Call], tensors: Any, arguments: argparse.Namespace, threads: int, facts: dict[str, Any]) -> int:
    from tensortap._error import Error
    from tensortap._replay.emit import check_target, emit
    from tensortap._replay.minimal import minimal_part
    from tensortap._replay.rebuild import SkippedError

    target = Path(arguments.emit) if arguments.emit else None
    if target is not None:
        check_target(target)
    refused, any_equal = "the dump has no record of such a call", False
    for call in calls:
        try:
            part = minimal_part(call, tensors)
        except (SkippedError, Error) as error:
            refused = f"{call.name}: {error}"
            continue
        any_equal = True
        if part is None:
            continue
        files = [] if target is None else emit(part.call, part.tensors, target, threads)
        told = {**part.to_json(), **facts, "files": files}
        (print_json if arguments.json else print_minimal)(told)
        return FOUND
    if not any_equal:
        raise _EndedError(refused, FAILED)
    if arguments.json:
        print_json({"op": arguments.op, "runtime": facts["runtime"], "differing": 0, "files": [], "dump": facts["dump"]})
    else:
        say(printable(f"{arguments.op}: every bit comes out equal on {facts['runtime']}; there is no difference to keep"))
    return FINE


def _emit(calls: list[Call], tensors: Any, arguments: argparse.Namespace, threads: int, emit: Any) -> int:
    if not calls:
        raise _EndedError("the dump has no record of such a call", FAILED)
    if len({call.number for call in calls}) > 1 or not arguments.op:
        raise _EndedError("--emit takes one op: name it, with @STEP and #CALL if it ran more than once", USAGE)
    files: list[str] = emit(calls[0], tensors, Path(arguments.emit), threads)
    if arguments.json:
        print_json({"op": calls[0].name, "files": files})
    else:
        say("\n".join(files))
    return FINE


def main() -> int:
    """Run; give the exit code."""
    try:
        arguments = _parser().parse_args()
        if arguments.threads is not None and not 1 <= arguments.threads <= 4096:
            raise _EndedError(f"--threads {arguments.threads}: from 1 to 4096", USAGE)
        if arguments.minimize and not arguments.op:
            raise _EndedError("--minimize takes one op: name it", USAGE)
        _modules()
        from tensortap._error import Error

        try:
            return _replay(arguments)
        except Error as error:
            raise _EndedError(str(error), USAGE if error.code == "invalid_argument" else FAILED) from error
    except _EndedError as ended:
        print(printable(f"tensortap: {ended}"), file=sys.stderr)
        return ended.code
    finally:
        end_output()


if __name__ == "__main__":
    sys.exit(main())
