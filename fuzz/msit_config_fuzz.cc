// Any text is a config of msit or an error with a place. The config, translated, reaches a source as JSON and makes a plan, and the plan
// decides for any op.

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "plan/capture_plan.h"
#include "system/msit/config/dialect.h"

namespace tensortap {
namespace {

void check_spec(CaptureSpec spec) {
  spec.notes.clear();  // for people only
  const Result<CaptureSpec> again = spec_from_json(to_json_text(spec_to_json(spec)), "again");
  if (!again.ok() || !(*again == spec)) std::abort();
  if (explain(spec).empty()) std::abort();
  PlanEnvironment environment;
  environment.modules = true;
  const auto plan = CapturePlan::compile(spec, environment);
  if (!plan.ok()) std::abort();
  OpInfo layer;
  layer.name = "model.layers.0";
  layer.type = "LlamaDecoderLayer";
  layer.level = Level::kModule;
  OpInfo op;
  op.name = "model.layers.0/mm";
  op.type = "mm";
  op.parent = 0;
  const std::vector<OpInfo> ops = {layer, op};
  // Ids and types that nothing has are notes.
  if (!(*plan)->bind(ops).ok()) std::abort();
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto spec = tensortap::msit::parse_config(text, "m.json", {});
  static_cast<void>(tensortap::msit::recognise_config(text));
  if (spec.ok()) {
    tensortap::check_spec(*spec);
  } else if (!spec.status().message().starts_with("m.json:")) {
    std::abort();
  }
  return 0;
}
