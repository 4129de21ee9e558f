"""Settings of llama.cpp (xllamacpp) for programs of tests: one thread, on the processor, nothing that depends on the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xllamacpp


def parameters_of(path: str, words: Sequence[str] = ()) -> Any:
    """Give the settings for a model.

    no-mmap: its file is read and not mapped. no-flash: attention is computed in several ops.
    """
    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.n_ctx = 256
    parameters.n_parallel = 1
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.fit_params = False
    if "no-mmap" in words:
        parameters.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
    if "no-flash" in words:
        parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return parameters
