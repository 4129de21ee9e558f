"""All options of a backend."""

from __future__ import annotations

import os
from typing import Any

from tensortap.torchair.configs._option_base import CallableOption, Group, Option, choice, leaves
from tensortap.torchair.configs.debug_config import _DebugConfig
from tensortap.torchair.configs.dump_config import _DataDumpConfig
from tensortap.torchair.configs.other_configs import (
    _AclGraphConfig,
    _AoeConfig,
    _ExperimentalConfig,
    _ExportConfig,
    _FusionConfig,
    _GEConfig,
    _InferenceConfig,
    _NpuGraphExConfig,
)

__all__ = ["ACLGRAPH_MODES", "CompilerConfig"]

ACLGRAPH_MODES = ("reduce-overhead", "npugraph_ex")
"""The modes in which a device would capture graphs: they save the outputs of nodes."""

# Options that have an effect here, in every mode; ``debug.data_dump.`` means all options of that group.
_EFFECTIVE = (
    "mode",
    "post_grad_custom_",
    "experimental_config.remove_noop_ops",
    "debug.graph_dump.",
    "debug.data_dump.",
    "debug.fx_summary.",
    "debug.run_eagerly",
    "dump_config.enable_dump",
    "dump_config.dump_path",
    "dump_config.dump_config_path",
)
# Those that choose what is dumped of a compiled graph, and the one for graphs that a device would capture.
_EFFECTIVE_IN_COMPILED_GRAPHS = ("dump_config.dump_", "dump_config.quant_dumpable")
_EFFECTIVE_IN_CAPTURED_GRAPHS = ("dump_config.data_dump_stage",)


class CompilerConfig(Group):
    """The options of a backend; give it to `tensortap.torchair.get_npu_backend`.

    Attributes
    ----------
    dump_config : group
        The data dump of compiled graphs.
    debug : group
        Texts, data and summaries of graphs.
    mode : option
        ``"max-autotune"``, or ``"reduce-overhead"`` and ``"npugraph_ex"``, which dump the output of every node into a file of its own.
    """

    def __init__(self) -> None:
        super().__init__(
            debug=_DebugConfig(),
            aoe_config=_AoeConfig(),
            export=_ExportConfig(),
            dump_config=_DataDumpConfig(),
            fusion_config=_FusionConfig(),
            experimental_config=_ExperimentalConfig(),
            inference_config=_InferenceConfig(),
            ge_config=_GEConfig(),
            aclgraph_config=_AclGraphConfig(),
            npugraphex_config=_NpuGraphExConfig(),
            mode=choice("max-autotune", "max-autotune", *ACLGRAPH_MODES),
            post_grad_custom_pre_pass=CallableOption(),
            post_grad_custom_post_pass=CallableOption(),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CompilerConfig) and _values(self) == _values(other)

    # A config can change, and equal configs have equal values.
    __hash__ = None  # type: ignore[assignment]

    def as_dict(self, mode: str | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Give what the options mean to the engine; see `Group.as_dict`. The mode is the config's own."""
        return super().as_dict(mode or self.mode.value)

    def used_from(self) -> str:
        """Give the current folder of the first call: what relative paths begin at, wherever the program goes later.

        Returns
        -------
        str
            Its absolute path; "" when the current folder does not exist.
        """
        if "_folder" not in vars(self):
            try:
                vars(self)["_folder"] = os.getcwd()
            except OSError:
                return ""
        return str(vars(self)["_folder"])

    def located(self, path: str) -> str:
        """Give the absolute path of one that the program wrote, see `used_from`."""
        return os.path.join(self.used_from(), path.removeprefix("./"))

    def unsupported_options(self) -> list[str]:
        """List the options that were changed from their default and have no effect here, in this mode.

        Returns
        -------
        list of str
            Such as ``config.ge_config.oo_level:O1``.
        """
        compiled = self.mode.value == "max-autotune"
        effective = _EFFECTIVE + (_EFFECTIVE_IN_COMPILED_GRAPHS if compiled else _EFFECTIVE_IN_CAPTURED_GRAPHS)
        return [
            f"config.{name}:{value}"
            for name, member in leaves(self)
            if not name.startswith(effective)
            for value, changed in [(member._value, member.changed) if isinstance(member, Option) else (member, member is not None)]
            if changed
        ]


def _values(config: CompilerConfig) -> dict[str, Any]:
    return {name: member.value if isinstance(member, Option) else member for name, member in leaves(config)}
