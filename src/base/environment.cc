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
    EnvironmentVariable{"MINDSPORE_DUMP_CONFIG", "A dump config of MindSpore, when the command line names no config."},
    EnvironmentVariable{"MS_DIAGNOSTIC_DATA_PATH", "The folder in whose debug_dump a MindSpore config without a path dumps."},
    EnvironmentVariable{"VIRTUAL_ENV", "A Python environment to search for the onnxruntime package."},
    EnvironmentVariable{"NO_COLOR", "Any value: no colours."},
    EnvironmentVariable{"COLUMNS", "Width of the terminal, when it can not be asked."},
    EnvironmentVariable{"HOME", "The user's folder, to search for the onnxruntime package."},
    EnvironmentVariable{"TMPDIR", "Where scratch files go while a model runs; otherwise /tmp."},
    EnvironmentVariable{"PATH", "Where to look for python3, to ask it for the onnxruntime package."},
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
