#include "base/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace tensortap {
namespace {

constexpr std::array kVariables = {
    EnvironmentVariable{"TENSORTAP_ONNXRUNTIME",
                        "Path of the libonnxruntime to use, or of a folder that holds one; --runtime wins over it."},
    EnvironmentVariable{"TENSORTAP_DISABLE", "Any value: capture sessions open switched off."},
    EnvironmentVariable{"TENSORTAP_SIMD", "Statistics kernels to use: scalar, or the name of one instruction set that `doctor` lists."},
    EnvironmentVariable{"TENSORTAP_EXEC", "Set by `tensortap exec` for the program: the file with what to capture."},
    EnvironmentVariable{"TENSORTAP_PYTORCH_LIBRARY",
                        "Set by `tensortap exec` for the program: the library that its first torch operator loads."},
    EnvironmentVariable{"TENSORTAP_ONNXRUNTIME_LIBRARY",
                        "Set by `tensortap exec` for the program: the library that is loaded when it uses ONNX Runtime."},
    EnvironmentVariable{"TENSORTAP_SEED", "Set by `tensortap llm dump -seed` for the program: what its random numbers begin with."},
    EnvironmentVariable{"RANK", "Number of a process among the ranks of its job, as torchrun sets it."},
    EnvironmentVariable{"WORLD_SIZE", "How many ranks the job has."},
    EnvironmentVariable{"LOCAL_RANK", "Number of a process among those of its job on this machine: the device that a config may name."},
    EnvironmentVariable{"OMPI_COMM_WORLD_LOCAL_RANK", "The same, as Open MPI sets it."},
    EnvironmentVariable{"SLURM_LOCALID", "The same, as Slurm sets it."},
    EnvironmentVariable{"LD_PRELOAD", "What `tensortap exec` finds there stays; its own library goes in front."},
    EnvironmentVariable{"PYTHONPATH", "What `tensortap llm dump -seed` finds there stays; the folder of what seeds goes in front."},
    EnvironmentVariable{"CXX", "The C++ compiler of `tensortap build-adapter`; otherwise g++ or c++."},
    EnvironmentVariable{"XDG_CACHE_HOME",
                        "Where built adapters and the folder of `doctor --acl-home` are kept, in tensortap; otherwise ~/.cache."},
    EnvironmentVariable{"MINDSPORE_DUMP_CONFIG", "A dump config of MindSpore, when the command line names no config."},
    EnvironmentVariable{"MS_DIAGNOSTIC_DATA_PATH", "The folder in whose debug_dump a MindSpore config without a path dumps."},
    EnvironmentVariable{"TENSORTAP_ACL_ATC",
                        "For AscendCL programs: the command line of atc that made the model, for its open dimensions (docs/acl.md)."},
    EnvironmentVariable{"ASCEND_DUMP_SCENE",
                        "An exception dump of AscendCL, such as aic_err_norm_dump, for configs of AscendCL that ask for no other dump."},
    EnvironmentVariable{"ASCEND_DUMP_PATH",
                        "The folder of an exception dump of AscendCL; it goes before ASCEND_WORK_PATH and a config's dump_path."},
    EnvironmentVariable{"ASCEND_WORK_PATH", "The folder of an exception dump of AscendCL; it goes before a config's dump_path."},
    EnvironmentVariable{"NPU_COLLECT_PATH", "An exception dump of AscendCL into this folder, where ASCEND_DUMP_SCENE asks for none."},
    EnvironmentVariable{"VIRTUAL_ENV", "A Python environment to search for the onnxruntime package."},
    EnvironmentVariable{"XDG_RUNTIME_DIR", "Where running captures can be found, in tensortap (docs/live_control.md); otherwise TMPDIR."},
    EnvironmentVariable{"NO_COLOR", "Any value: no colours."},
    EnvironmentVariable{"COLUMNS", "Width of the terminal, when it cannot be asked."},
    EnvironmentVariable{"HOME", "The user's folder, to search for the onnxruntime package and to keep built adapters in."},
    EnvironmentVariable{"TMPDIR", "Where scratch files go while a model runs, and running captures can be found; otherwise /tmp."},
    EnvironmentVariable{
        "PATH", "Where to look for programs: that of `tensortap exec`, compilers, and python3, to ask it for the onnxruntime package."},
};

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return kVariables; }

std::optional<std::string> environment_value(std::string_view name) {
  const auto row = std::ranges::find(kVariables, name, &EnvironmentVariable::name);
  if (row == kVariables.end()) return std::nullopt;
  const char* value = std::getenv(row->name.data());  // NOLINT(concurrency-mt-unsafe): the program's own setenv is its own affair
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

}  // namespace tensortap
