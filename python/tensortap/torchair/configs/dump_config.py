"""Options of the data dump."""

from __future__ import annotations

import re
from typing import Any

from tensortap.torchair import _environment
from tensortap.torchair.configs._option_base import Group, Option, choice, existing_folder, existing_json_file


class _DataDumpConfig(Group):
    """What is dumped and where: ``config.dump_config``."""

    def __init__(self) -> None:
        super().__init__(
            enable_dump=choice(False, False, True),
            dump_path=existing_folder("./"),
            dump_mode=choice("all", "input", "output", "all"),
            quant_dumpable=choice(False, False, True),
            dump_step=Option("", _check_steps),
            dump_layer=Option("", _check_layers),
            dump_data=choice("tensor", "tensor", "stats"),
            dump_config_path=existing_json_file(),
            data_dump_stage=choice("optimized", "original", "optimized"),
        )

    def full_path(self) -> str:
        """Create and name the folder of this rank below the dump path.

        Returns
        -------
        str
            The folder.

        Raises
        ------
        OSError
            When it cannot be created.
        """
        return _environment.make_world_folder(self.dump_path.value)

    def as_dict(self, mode: str = "max-autotune") -> tuple[dict[str, Any], dict[str, Any]]:
        """Give what the options mean to the engine; see `Group.as_dict`. Creates the folder of this rank when the dump is on."""
        options: dict[str, Any] = {}
        if self.dump_config_path.value is not None:
            options["ge_dump_with_acl_config"] = self.dump_config_path.value
        if self.enable_dump:
            options.update(self._engine_options() if mode == "max-autotune" else self._captured_graph_options())
        return {}, options

    def _engine_options(self) -> dict[str, Any]:
        options = {
            "ge.exec.enableDump": "1",
            "ge.exec.dumpPath": self.full_path(),
            "ge.exec.dumpMode": self.dump_mode.value,
            "ge.quant_dumpable": "1" if self.quant_dumpable else "0",
        }
        if self.dump_step.value:
            options["ge.exec.dumpStep"] = self.dump_step.value
        if self.dump_layer.value:
            options["ge.exec.dumpLayer"] = self.dump_layer.value
        options["ge.exec.dumpData"] = self.dump_data.value
        return options

    def _captured_graph_options(self) -> dict[str, Any]:
        return {
            "aclgraph.enableDump": "1",
            "aclgraph.dumpPath": self.full_path(),
            "aclgraph.dumpStage": self.data_dump_stage.value,
        }


def _check_steps(value: Any) -> None:
    if not _are_steps(_text(value)):
        raise _no_match(value, r"^(((\d+)|(\d+-{0,1}\d+))\|{0,1})*$", "0|1|2-5|6")


def _check_layers(value: Any) -> None:
    if not re.fullmatch(r'[0-9a-zA-Z_" /\\.]*\n?', _text(value)):
        raise _no_match(value, r'^[0-9a-zA-Z_" "/\\.]*$', "Mul_1 Add1 Conv2D_1")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected string or bytes-like object, got {type(value).__name__!r}")
    return value


def _no_match(value: str, pattern: str, example: str) -> ValueError:
    return ValueError(f"Please set legal regex value format match {pattern}, {value} is Illegal format, correct example:{example}.")


def _are_steps(text: str) -> bool:
    """Accept numbers and ranges between bars, as the real expression does, in linear time.

    There the bar between two items may be missing: ``10-20-30`` is ``10-2`` and ``0-30``. So each number inside of a chain of hyphens must
    have two digits, one for the range before it and one for the range behind it.
    """
    pieces = text.removesuffix("\n").split("|")
    if pieces[-1] == "":
        pieces.pop()
    for piece in pieces:
        numbers = piece.split("-")
        if not all(number.isascii() and number.isdecimal() for number in numbers):
            return False
        if any(len(number) < 2 for number in numbers[1:-1]):
            return False
    return True
