// Any text as a topology of msit: a model or an error. The first byte says how deep operations are taken apart.

#include <string_view>

#include "format/atb_topology/topology_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto model = tensortap::topology_model(text, "fuzz", static_cast<int64_t>(data[0] % 5) - 2, [](std::string_view) {
    return tensortap::OperationTypes{{{tensortap::DType::kFloat32, {1}}}, {{tensortap::DType::kInt8, {}}}};
  });
  if (model.ok() && model->empty()) __builtin_trap();
  return 0;
}
