#include "replay/runtime_of_dump.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/json.h"

namespace tensortap {
namespace {

constexpr std::array<std::string_view, 3> kOptimizations = {"basic", "extended", "all"};

std::string text_member(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

RuntimeOfDump runtime_of(const DumpIndex& dump) {
  RuntimeOfDump runtime;
  const Json manifest = manifest_json(dump);
  runtime.source = text_member(manifest, "source");
  const auto facts = manifest.find("runtime");
  if (facts == manifest.end() || !facts->is_object()) return runtime;
  runtime.library = text_member(*facts, "library");
  if (const auto threads = facts->find("threads"); threads != facts->end() && threads->is_number_unsigned()) {
    runtime.threads = static_cast<int>(std::min<uint64_t>(threads->get<uint64_t>(), 4096));
  }
  const std::string optimization = text_member(*facts, "optimization");
  if (std::ranges::find(kOptimizations, optimization) != kOptimizations.end()) runtime.optimization = optimization;
  if (const auto opset = facts->find("opset"); opset != facts->end() && opset->is_object()) {
    for (const auto& [domain, version] : opset->items()) {
      if (version.is_number_integer()) runtime.opset.push_back({domain == "ai.onnx" ? "" : domain, version.get<int64_t>()});
    }
  }
  if (const auto libraries = facts->find("custom_ops"); libraries != facts->end() && libraries->is_array()) {
    for (const Json& library : *libraries) {
      if (library.is_string()) runtime.custom_ops.push_back(library.get<std::string>());
    }
  }
  return runtime;
}

}  // namespace tensortap
