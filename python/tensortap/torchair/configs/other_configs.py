"""Groups whose options steer a device's compiler. They are checked, so that programs run; most of them have no effect here."""

from __future__ import annotations

from typing import Any

from tensortap.torchair.configs._option_base import Group, Option, choice, existing_file, existing_folder, flag, integer


class _AoeConfig(Group):
    def __init__(self) -> None:
        super().__init__(aoe_mode=choice(None, "2"), work_path=existing_folder("./"), aoe_config_file=existing_file())


class _ExportExperimentalConfig(Group):
    def __init__(self) -> None:
        super().__init__(enable_record_nn_module_stack=flag(), auto_atc_config_generated=flag(), enable_lite_export=flag())


class _ExportConfig(Group):
    def __init__(self) -> None:
        super().__init__(
            export_mode=choice(False, False, True),
            export_path_dir=existing_folder("./"),
            export_name=None,
            weight_name=None,
            inputs_name=None,
            experimental=_ExportExperimentalConfig(),
        )


class _FusionConfig(Group):
    def __init__(self) -> None:
        super().__init__(fusion_switch_file=existing_file())


class _InferenceConfig(Group):
    def __init__(self) -> None:
        super().__init__(dynamic_gears_merge_policy=choice("zip", "zip", "product"))


class _GEConfig(Group):
    def __init__(self) -> None:
        super().__init__(
            enable_single_stream=flag(),
            oo_level=choice("O3", "O1", "O3"),
            oo_constant_folding=flag(None),
            oo_dead_code_elimination=flag(None),
            export_compile_stat=choice("2", "0", "1", "2"),
            aicore_num=Option(None),
            optimization_switch=Option(None),
        )


class _AclGraphConfig(Group):
    def __init__(self) -> None:
        super().__init__(use_custom_pool=None)


class _NpuGraphExConfig(Group):
    """A group without options: torch.compile's own ``options`` set those of the backend npugraph_ex."""


class _AclGraphExperimentalConfig(Group):
    def __init__(self) -> None:
        super().__init__(
            _aclnn_static_shape_kernel=flag(),
            _aclnn_static_shape_kernel_build_dir=Option(None, _text_or_none),
            _aclnn_static_shape_kernel_sym_value_range=Option(None, _integers_or_none),
            _aclnn_static_shape_kernel_sym_index=integer(0, 0),
        )


class _ExperimentalConfig(Group):
    def __init__(self) -> None:
        super().__init__(
            cc_parallel_enable=choice(False, False, True),
            keep_inference_input_mutations=flag(True),
            memory_efficiency=flag(),
            frozen_parameter=flag(),
            static_model_ops_lower_limit=integer(None, -1),
            jit_compile=choice("auto", "auto"),
            npu_fx_pass=flag(),
            aot_config_enable_joint_graph=flag(),
            aot_config_output_loss_index=Option(0),
            topology_sorting_strategy=choice("DFS", "BFS", "DFS", "RDFS", "StableRDFS"),
            enable_ref_data=flag(),
            enable_view_optimize=flag(True),
            remove_noop_ops=flag(True),
            tiling_schedule_optimize=flag(),
            pattern_fusion_pass=flag(True),
            aclgraph=_AclGraphExperimentalConfig(),
        )


def _text_or_none(value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"Please set string type, but got {type(value)}")


def _integers_or_none(value: Any) -> None:
    if value is not None and not (isinstance(value, list) and all(isinstance(item, int) for item in value)):
        raise ValueError(f"Please set a list of integers, but got {value!r}")
