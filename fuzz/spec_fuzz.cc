// Any text is a config or an error with a place; a config reads back what it writes, makes a plan or an error, and the plan decides for any
// op.

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "plan/capture_plan.h"

namespace tensortap {
namespace {

std::vector<OpInfo> a_graph() {
  std::vector<OpInfo> ops(4);
  ops[0].name = "x";
  ops[0].type = "Input";
  ops[0].outputs = {"x"};
  ops[1].name = "conv_1";
  ops[1].type = "FusedConv";
  ops[1].originals = {{"conv_1", "Conv"}, {"relu_1", "Relu"}};
  ops[1].inputs = {{"x", kNoOp, 0}, {"", kNoOp, 0}};
  ops[1].outputs = {"a", "b"};
  ops[1].module = "model.layer1";
  ops[2].name = "add";
  ops[2].type = "Add";
  ops[2].parent = 1;
  ops[2].inputs = {{"a", 1, 0}, {"b", 77, 9}};
  ops[2].source_location = "train.py:41";
  ops[3].name = "\xff\n\"";
  return ops;
}

void check(std::string_view text) {
  const Result<CaptureSpec> spec = spec_from_json(text, "c.json");
  if (!spec.ok()) {
    if (!spec.status().message().starts_with("c.json:")) std::abort();
    return;
  }
  const Result<CaptureSpec> again = spec_from_json(to_json_text(spec_to_json(*spec)), "again");
  if (!again.ok() || !(*again == *spec)) std::abort();
  if (explain(*spec).empty()) std::abort();
  const std::vector<OpInfo> ops = a_graph();
  auto plan = CapturePlan::compile(*spec);
  if (!plan.ok()) return;
  const auto decisions = (*plan)->bind(ops);
  if (decisions.ok() && explain_match(ops, *decisions).empty()) std::abort();
  auto one_by_one = CapturePlan::compile(*spec);
  for (const OpInfo& op : ops) static_cast<void>((*one_by_one)->decide(op));
  static_cast<void>((*one_by_one)->unmatched());
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensortap::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
