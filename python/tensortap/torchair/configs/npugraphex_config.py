"""The options that ``torch.compile(backend="npugraph_ex", options=...)`` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensortap.torchair.configs.compiler_config import CompilerConfig

# Option of torch.compile -> option of the config.
_PLACES = {
    "capture_limit": "debug.aclgraph.static_capture_size_limit",
    "clone_input": "debug.aclgraph.clone_input",
    "clone_output": "debug.aclgraph.enable_output_clone",
    "data_dump_dir": "dump_config.dump_path",
    "data_dump_stage": "dump_config.data_dump_stage",
    "deadlock_check": "debug.deadlock_check",
    "dump_tensor_data": "dump_config.enable_dump",
    "force_eager": "debug.run_eagerly",
    "frozen_parameter": "experimental_config.frozen_parameter",
    "graph_dump_path": "debug.graph_dump.path",
    "graph_dump_type": "debug.graph_dump.type",
    "inplace_pass": "debug.aclgraph.disable_reinplace_inplaceable_ops_pass",
    "input_inplace_pass": "debug.aclgraph.disable_reinplace_input_mutated_ops_pass",
    "pattern_fusion_pass": "experimental_config.pattern_fusion_pass",
    "post_grad_custom_post_pass": "post_grad_custom_post_pass",
    "post_grad_custom_pre_pass": "post_grad_custom_pre_pass",
    "remove_cat_ops": "debug.aclgraph.remove_cat_ops",
    "remove_noop_ops": "experimental_config.remove_noop_ops",
    "reuse_graph_pool_in_same_fx": "debug.aclgraph.disable_mempool_reuse_in_same_fx",
    "static_kernel_compile": "experimental_config.aclgraph._aclnn_static_shape_kernel",
    "use_graph_pool": "aclgraph_config.use_custom_pool",
}
# Those that switch something on which the option of the config switches off.
_OPPOSITES = {"inplace_pass", "input_inplace_pass", "reuse_graph_pool_in_same_fx"}


def config_of_options(options: Mapping[str, Any]) -> CompilerConfig:
    """Make a config of the mode ``npugraph_ex``.

    Parameters
    ----------
    options : mapping
        The options of torch.compile.

    Returns
    -------
    CompilerConfig
        The config.

    Raises
    ------
    ValueError
        When an option is unknown. A wrong value raises what the option of the config raises.
    """
    config = CompilerConfig()
    config.mode = "npugraph_ex"
    for name, value in options.items():
        if name not in _PLACES:
            raise ValueError(f"Invalid option '{name}', allowed options: {sorted(_PLACES)}")
        *groups, option = _PLACES[name].split(".")
        group = config
        for part in groups:
            group = getattr(group, part)
        setattr(group, option, not value if name in _OPPOSITES and value in (True, False) else value)
    return config
