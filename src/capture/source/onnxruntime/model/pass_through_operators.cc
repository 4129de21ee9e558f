#include "source/onnxruntime/model/pass_through_operators.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tensortap::onnxruntime {
namespace {

constexpr std::array<std::string_view, 28> kMoving = {
    "Abs",     "And",      "Concat",       "DepthToSpace", "Equal",   "Expand",    "Flatten",   "Gather", "GatherElements", "GatherND",
    "Greater", "Identity", "Less",         "Max",          "Min",     "Neg",       "Not",       "Or",     "Relu",           "Reshape",
    "Shape",   "Slice",    "SpaceToDepth", "Split",        "Squeeze", "Transpose", "Unsqueeze", "Where"};
// The runtime's own operators, for images whose channels are in blocks.
constexpr std::array<std::string_view, 2> kReordering = {"ReorderInput", "ReorderOutput"};

}  // namespace

bool makes_no_values(const Node& node) {
  if (!node.subgraphs.empty()) return false;
  if (node.domain == "com.microsoft.nchwc") return std::ranges::find(kReordering, node.type) != kReordering.end();
  if (!node.domain.empty() && node.domain != "ai.onnx") return false;
  // Before opset 11 the bounds are attributes, which may be anything.
  if (node.type == "Clip") return node.inputs.size() > 1;
  return std::ranges::find(kMoving, node.type) != kMoving.end();
}

}  // namespace tensortap::onnxruntime
