// Any text, as any version and device, is a MindSpore config or an error with a place. The config, translated, reaches a source as JSON and
// makes a plan or an error, and the plan decides for any op.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "plan/capture_plan.h"
#include "system/mindspore/config/dialect.h"

namespace tensortap {
namespace {

constexpr std::array<std::string_view, 4> kProfiles = {"", "mindspore-2.7.0/gpu", "mindspore-2.0/ascend", "mindspore-2.3.2/ascend"};

void check_spec(CaptureSpec spec) {
  spec.notes.clear();  // for people only
  const Result<CaptureSpec> again = spec_from_json(to_json_text(spec_to_json(spec)), "again");
  if (!again.ok() || !(*again == spec)) std::abort();
  if (explain(spec).empty()) std::abort();
  const auto plan = CapturePlan::compile(spec);
  if (!plan.ok()) return;
  OpInfo op;
  op.name = "/layer1/conv_1";
  op.type = "FusedConv";
  op.originals = {{"relu_1", "Relu"}};
  OpInfo weight;
  weight.name = "conv1.weight";
  weight.type = kInitializerType;
  const std::vector<OpInfo> ops = {weight, op};
  // Entries of `kernels` that pick nothing are notes.
  if (!(*plan)->bind(ops).ok()) std::abort();
}

void check(std::string_view text, const DialectOptions& options) {
  const Result<CaptureSpec> spec = mindspore::parse_config(text, "c.json", options);
  static_cast<void>(mindspore::recognise_config(text));
  if (spec.ok()) return check_spec(*spec);
  if (!spec.status().message().starts_with("c.json:")) std::abort();
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view profile : tensortap::kProfiles) {
    for (const bool strict : {false, true}) tensortap::check(text, {.profile = profile, .strict = strict});
  }
  return 0;
}
