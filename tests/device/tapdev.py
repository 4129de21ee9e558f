"""The test device as `torch.tapdev`: importing this makes it known to torch. Its extension is compiled once for each torch.

TAPDEV_BUILD names the folder for what is compiled; without it there has to be a `tapdev_c` on the path.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
import types
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
CAPTURE = HERE.parents[1] / "src/capture"


def build(folder: Path) -> None:
    """Compile the extension for this torch and Python, unless the folder has it.

    Parameters
    ----------
    folder : Path
        Where it goes; made if it is not there.
    """
    sources = sorted([*HERE.glob("*.cc"), *HERE.glob("*.h"), *CAPTURE.glob("source/pytorch/device/kernel_code.h")])
    words = f"{torch.__version__} {sys.version} ".encode() + b"".join(source.read_bytes() for source in sources)
    folder = folder / hashlib.sha256(words).hexdigest()[:16]
    sys.path.insert(0, str(folder))
    library = folder / "tapdev_c.so"
    if library.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    there = Path(torch.__file__).parent
    includes = [there / "include", there / "include/torch/csrc/api/include", sysconfig.get_path("include"), CAPTURE]
    made = folder / f"tapdev_c.{os.getpid()}.so"
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O0", "-fPIC", "-shared", "-DNDEBUG", "-DTORCH_EXTENSION_NAME=tapdev_c"]
    command += [f"-I{include}" for include in includes] + [str(HERE / "tapdev.cc"), "-o", str(made), f"-L{there / 'lib'}"]
    command += ["-ltorch", "-ltorch_cpu", "-ltorch_python", "-lc10", f"-Wl,-rpath,{there / 'lib'}"]
    subprocess.run(command, check=True)
    made.rename(library)


def make_known() -> None:
    """Give the device its name and its module."""
    import tapdev_c

    torch.utils.rename_privateuse1_backend("tapdev")
    module = types.ModuleType("torch.tapdev")
    module.is_available = lambda: True
    module.device_count = tapdev_c.device_count
    module.current_device = tapdev_c.current_device
    module.set_device = tapdev_c.set_device
    module.synchronize = tapdev_c.synchronize
    module._is_in_bad_fork = lambda: False
    module.manual_seed_all = lambda seed: None
    module.get_amp_supported_dtype = lambda: [torch.float16, torch.bfloat16]
    torch._register_device_module("tapdev", module)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)


if "TAPDEV_BUILD" in os.environ:
    build(Path(os.environ["TAPDEV_BUILD"]))
make_known()
