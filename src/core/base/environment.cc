#include "base/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace tensortap {
namespace {

struct EnvironmentVariable {
  std::string_view name;
  std::string_view meaning;  // one sentence
};

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
    EnvironmentVariable{"TENSORTAP_GGML_LIBRARY",
                        "Set by `tensortap exec` for the program: the library that is loaded when it computes with ggml."},
    EnvironmentVariable{"TENSORTAP_SEED", "Set by `tensortap llm dump -seed` for the program: what its random numbers begin with."},
    EnvironmentVariable{"TENSORTAP_NOISE", "Set by `tensortap exec --noise` for the program: the seed of how its numbers move."},
    EnvironmentVariable{"TENSORTAP_NOISE_REPORT", "Set by `tensortap exec --noise` for the program: the file for what was moved."},
    EnvironmentVariable{"TENSORTAP_TEST_DEVICE_DRIVER", "For tests: a library to use in place of a device's driver and of its compiler."},
    EnvironmentVariable{"RANK", "Number of a process among the ranks of its job, as torchrun sets it."},
    EnvironmentVariable{"WORLD_SIZE", "How many ranks the job has."},
    EnvironmentVariable{"LOCAL_RANK", "Number of a process among those of its job on this machine: the device that a config may name."},
    EnvironmentVariable{"OMPI_COMM_WORLD_LOCAL_RANK", "The same, as Open MPI sets it."},
    EnvironmentVariable{"SLURM_LOCALID", "The same, as Slurm sets it."},
    EnvironmentVariable{"GROUP_RANK",
                        "Number of a process's group of processes, of one machine as a rule, as torchrun sets it: for `run.json`."},
    EnvironmentVariable{"LOCAL_WORLD_SIZE", "How many processes that group has: for `run.json`."},
    EnvironmentVariable{"LD_PRELOAD", "What `tensortap exec` finds there stays; its own library goes in front."},
    EnvironmentVariable{
        "PYTHONPATH",
        "What `tensortap llm dump -seed` and `exec --noise` find there stays; the folder of their start-up file goes in front."},
    EnvironmentVariable{"CXX", "The C++ compiler of `tensortap build-adapter`; otherwise g++ or c++."},
    EnvironmentVariable{"XDG_CACHE_HOME",
                        "Where built adapters and the folder of `doctor --acl-home` are kept, in tensortap; otherwise ~/.cache."},
    EnvironmentVariable{"MINDSPORE_DUMP_CONFIG", "A dump config of MindSpore, when the command line names no config."},
    EnvironmentVariable{"MS_DIAGNOSTIC_DATA_PATH", "The folder in whose debug_dump a MindSpore config without a path dumps."},
    EnvironmentVariable{
        "ENABLE_MS_GE_DUMP",
        "1: a MindSpore config for an Ascend without e2e_dump_settings is that of the graph engine, on profiles 2.3.0 to 2.5."},
    EnvironmentVariable{"MS_ACL_DUMP_CFG_PATH", "Set: such a config is AscendCL's, on profiles 2.3.0 to 2.4.9."},
    EnvironmentVariable{"TENSORTAP_ACL_ATC",
                        "For AscendCL programs: the command line of atc that made the model, for its open dimensions (docs/acl.md)."},
    EnvironmentVariable{"ASCEND_DUMP_SCENE",
                        "An exception dump of AscendCL, such as aic_err_norm_dump, for configs of AscendCL that ask for no other dump."},
    EnvironmentVariable{"ASCEND_DUMP_PATH",
                        "The folder of an exception dump of AscendCL; it goes before ASCEND_WORK_PATH and a config's dump_path."},
    EnvironmentVariable{"ASCEND_WORK_PATH", "The folder of an exception dump of AscendCL; it goes before a config's dump_path."},
    EnvironmentVariable{"NPU_COLLECT_PATH", "An exception dump of AscendCL into this folder, where ASCEND_DUMP_SCENE asks for none."},
    EnvironmentVariable{"ATB_DUMP_CONFIG",
                        "A config of msit that programs over ATB follow while they run; msit and `tensortap llm dump -config` set it."},
    EnvironmentVariable{
        "ATB_DUMP_TYPE",
        "What programs over ATB dump, words joined by |, as msit and `tensortap llm dump` set it (docs/atb.md); so the following."},
    EnvironmentVariable{"ATB_SAVE_TENSOR", "1: with elements; otherwise type and shape alone."},
    EnvironmentVariable{"ATB_SAVE_TENSOR_STATISTICS", "1: statistics instead of elements."},
    EnvironmentVariable{"ATB_SAVE_TENSOR_IN_BEFORE_OUT_AFTER", "1: inputs before an operation, outputs after it."},
    EnvironmentVariable{"ATB_SAVE_TENSOR_TIME", "Otherwise: 0 before, 1 after, 2 both."},
    EnvironmentVariable{"ATB_SAVE_TENSOR_PART", "0 inputs, 1 outputs, 2 both."},
    EnvironmentVariable{"ATB_SAVE_TENSOR_IDS", "Ids of operations, joined by commas."},
    EnvironmentVariable{"ATB_SAVE_CHILD", "0: without what is inside these operations."},
    EnvironmentVariable{"ATB_SAVE_TENSOR_RUNNER", "Beginnings of types of operations, joined by commas."},
    EnvironmentVariable{"ATB_SAVE_TENSOR_RANGE", "Rounds in pairs, first and last."},
    EnvironmentVariable{"ATB_DEVICE_ID", "Numbers of devices, joined by commas."},
    EnvironmentVariable{"ATB_SAVE_TILING", "1: tiling data of kernels."},
    EnvironmentVariable{"ATB_SAVE_SYMLINK", "1: links instead of equal files."},
    EnvironmentVariable{"ATB_OUTPUT_DIR", "The folder of the dump; otherwise the present one."},
    EnvironmentVariable{"ATB_TIMESTAMP", "The time in the dump's name."},
    EnvironmentVariable{"ATB_DUMP_SUB_PROC_INFO_SAVE_PATH", "The folder in which msit expects a list of the files of topology."},
    EnvironmentVariable{"ATB_CHECK_TYPE", "1: programs over ATB look for overflows, as `msit llm errcheck` sets it."},
    EnvironmentVariable{"ATB_EXIT", "1: and end at the first one."},
    EnvironmentVariable{"ATB_HOME_PATH", "The installation of ATB whose programs `tensortap llm dump` captures."},
    EnvironmentVariable{"VIRTUAL_ENV", "A Python environment to search for the onnxruntime package."},
    EnvironmentVariable{"DISPLAY", "There is a screen: `tensortap serve` opens the browser."},
    EnvironmentVariable{"WAYLAND_DISPLAY", "The same."},
    EnvironmentVariable{"XDG_RUNTIME_DIR", "Where running captures can be found, in tensortap (docs/live_control.md); otherwise TMPDIR."},
    EnvironmentVariable{"NO_COLOR", "Any value: no colours."},
    EnvironmentVariable{"COLUMNS", "Width of the terminal, when it cannot be asked."},
    EnvironmentVariable{"HOME", "The user's folder, to search for the onnxruntime package and to keep built adapters in."},
    EnvironmentVariable{"TMPDIR", "Where scratch files go while a model runs, and running captures can be found; otherwise /tmp."},
    EnvironmentVariable{
        "PATH", "Where to look for programs: that of `tensortap exec`, compilers, and python3, to ask it for the onnxruntime package."},
};

}  // namespace

std::optional<std::string> environment_value(std::string_view name) {
  const auto row = std::ranges::find(kVariables, name, &EnvironmentVariable::name);
  if (row == kVariables.end()) return std::nullopt;
  const char* value = std::getenv(row->name.data());  // NOLINT(concurrency-mt-unsafe): the program's own setenv is its own affair
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

}  // namespace tensortap
