// Any text is a dump config of AscendCL or an error with a place and a number. The config, translated, reaches a source as JSON and makes a
// plan, and the plan decides for any op.

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "plan/capture_plan.h"
#include "system/ascend/config/dialect.h"

namespace tensortap {
namespace {

void check_acl_spec(CaptureSpec spec) {
  spec.notes.clear();  // for people only
  const Result<CaptureSpec> again = spec_from_json(to_json_text(spec_to_json(spec)), "again");
  if (!again.ok() || !(*again == spec)) std::abort();
  if (explain(spec).empty()) std::abort();
  PlanEnvironment environment;
  environment.models = {"m", "ResNet-50"};
  const auto plan = CapturePlan::compile(spec, environment);
  if (!plan.ok()) std::abort();
  OpInfo op;
  op.name = "conv1";
  op.type = "FusedConv";
  op.originals = {{"relu_1", "Relu"}};
  op.inputs = {{"x", 0, 0}};
  OpInfo input;
  input.name = "x";
  input.type = kInputType;
  input.outputs = {"x"};
  OpInfo single = op;
  single.single = true;
  const std::vector<OpInfo> ops = {input, op, single};
  // Names that pick nothing are notes.
  if (!(*plan)->bind(ops).ok()) std::abort();
}

void check_acl(std::string_view text, bool at_start) {
  const Result<CaptureSpec> spec = ascend::parse_config(text, "c.json", {.profile = {}, .strict = false, .at_start = at_start});
  static_cast<void>(ascend::recognise_config(text));
  if (spec.ok()) return check_acl_spec(*spec);
  if (!spec.status().message().starts_with("c.json:") || spec.status().foreign_code() == 0) std::abort();
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool at_start : {false, true}) tensortap::check_acl(text, at_start);
  return 0;
}
