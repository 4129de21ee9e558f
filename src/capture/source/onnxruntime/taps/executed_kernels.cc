#include "source/onnxruntime/taps/executed_kernels.h"

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "source/onnxruntime/model/tapped_model.h"

namespace tensortap::onnxruntime {
namespace {

constexpr std::string_view kKernelSuffix = "_kernel_time";

}  // namespace

Result<KernelCounts> read_profile(const std::string& path) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  // Node names of hostile models may hold anything, and the runtime writes them as they are: no parse_json() with its strictness here.
  const Json events = Json::parse(text, nullptr, false);
  if (!events.is_array()) return corrupt(concat(path, " is not a profile"));
  KernelCounts counts;
  for (const Json& event : events) {
    if (!event.is_object() || event.value("cat", "") != "Node") continue;
    const std::string name = event.value("name", "");
    if (!name.ends_with(kKernelSuffix) || name.starts_with(kTapPrefix)) continue;
    const auto arguments = event.find("args");
    if (arguments == event.end() || !arguments->is_object()) continue;
    const std::string type = arguments->value("op_name", "");
    if (type != kSideTap && type != kAliasTap) ++counts[type];
  }
  return counts;
}

std::string difference(const KernelCounts& plain, const KernelCounts& tapped) {
  std::string text;
  int shown = 0;
  KernelCounts all = plain;
  for (const auto& [type, count] : tapped) all.try_emplace(type, 0);
  for (const auto& [type, unused] : all) {
    const auto in_plain = plain.find(type);
    const auto in_tapped = tapped.find(type);
    const int64_t a = in_plain == plain.end() ? 0 : in_plain->second;
    const int64_t b = in_tapped == tapped.end() ? 0 : in_tapped->second;
    if (a == b || ++shown > 5) continue;
    text += concat(text.empty() ? "" : "; ", type, " ran ", a, " times plain and ", b, " times captured");
  }
  return text;
}

}  // namespace tensortap::onnxruntime
