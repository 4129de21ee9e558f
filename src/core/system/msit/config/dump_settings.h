// The values of a config of msit, before they become a CaptureSpec.

#ifndef TENSORTAP_SYSTEM_MSIT_CONFIG_DUMP_SETTINGS_H_
#define TENSORTAP_SYSTEM_MSIT_CONFIG_DUMP_SETTINGS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plan/capture_spec.h"
#include "plan/spec_reader.h"

namespace tensortap::msit {

// The words of `type`, in the order in which the command line offers them.
enum class DumpType : uint8_t { kModel, kLayer, kOp, kKernel, kTensor, kCpuProfiling, kOnnx, kStats };
inline constexpr std::array<std::string_view, 8> kDumpTypes = {"model",  "layer",         "op",   "kernel",
                                                               "tensor", "cpu_profiling", "onnx", "stats"};

struct Settings {
  bool enabled = false;
  std::vector<OpSelector> ids;
  std::vector<OpSelector> types;  // of `opname`
  bool children = true;
  StepSet rounds;
  std::vector<uint64_t> devices;
  size_t time = 3;   // 0 before, 1 after, 2 both, 3 inputs before and outputs after
  size_t slots = 2;  // 0 inputs, 1 outputs, 2 both
  bool description = false;
  bool links = false;
  bool tiling = false;
  uint32_t dump_types = 0;  // bit n: kDumpTypes[n]
  std::string out;
  std::vector<std::string> notes;

  void add(DumpType type) { dump_types |= 1U << static_cast<unsigned>(type); }
  [[nodiscard]] bool has(DumpType type) const { return (dump_types >> static_cast<unsigned>(type) & 1U) != 0; }
  // Whether anything that is made of tensors is written.
  [[nodiscard]] bool writes_tensors() const {
    return tiling || has(DumpType::kTensor) || has(DumpType::kModel) || has(DumpType::kLayer) || has(DumpType::kOp) ||
           has(DumpType::kKernel);
  }
  // Whether anything of these types is written.
  [[nodiscard]] bool writes() const { return writes_tensors() || has(DumpType::kCpuProfiling); }
};

// Reads every key of the config. Errors: kInvalidArgument with the place of the first wrong value.
Status read_settings(const SpecValue& config, Settings& settings);

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_CONFIG_DUMP_SETTINGS_H_
