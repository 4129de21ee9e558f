#include "source/onnxruntime/model/fusion_rules.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "source/onnxruntime/model/node_attributes.h"

namespace tensortap::onnxruntime {
namespace {

constexpr std::string_view kToken = "_token_";
constexpr std::string_view kBlockedSuffix = "_nchwc";
constexpr std::string_view kGemmSuffix = "/MatMulAddFusion";
constexpr std::array<std::string_view, 2> kConversions = {"InsertedPrecisionFreeCast_", "FusedBack_"};
constexpr std::array<std::string_view, 20> kAnyType = {
    "Concat", "DepthToSpace", "Expand",  "Flatten",      "Gather", "GatherElements", "GatherND", "Identity", "Max",       "MaxPool",
    "Min",    "Pad",          "Reshape", "SpaceToDepth", "Slice",  "Split",          "Squeeze",  "Tile",     "Transpose", "Unsqueeze"};
// Attributes that the runtime adds with their default values.
constexpr std::array<std::string_view, 5> kAddedAttributes = {"axis", "block_size", "output_dtype", "precision", "saturate"};
constexpr std::array<std::string_view, 3> kConversionTypes = {"Cast", "DequantizeLinear", "QuantizeLinear"};

template <class List, class Value>
bool contains(const List& list, const Value& value) {
  return std::ranges::find(list, value) != list.end();
}

// The node whose output names a later node with blocked channels.
const Node* blocked_core(const Node& later, const GraphView& earlier) {
  if (later.domain != kBlockedDomain) return nullptr;
  for (const std::string_view name : {later.name, without_token(later.name)}) {
    if (!name.ends_with(kBlockedSuffix)) continue;
    const Node* core = earlier.producer(name.substr(0, name.size() - kBlockedSuffix.size()));
    if (core != nullptr && (core->type == later.type || (later.type == "Conv" && core->type == "FusedConv"))) return core;
  }
  return nullptr;
}

const Node* gemm_core(const Node& later, const GraphView& earlier) {
  if (later.type != "Gemm") return nullptr;
  for (const std::string_view name : {later.name, without_token(later.name)}) {
    if (!name.ends_with(kGemmSuffix)) continue;
    const Node* core = earlier.named(name.substr(0, name.size() - kGemmSuffix.size()), "MatMul");
    if (core != nullptr) return core;
  }
  return nullptr;
}

// The only node that reads a value, if it has one of the types; null otherwise.
const Node* only_reader(const GraphView& graph, std::string_view value, const std::string& type, const std::string& other) {
  const auto readers = graph.readers(value);
  if (readers.size() != 1 || readers[0].node->outputs.empty()) return nullptr;
  return readers[0].node->type == type || readers[0].node->type == other ? readers[0].node : nullptr;
}

bool has_input(const Node& node, size_t slot) { return node.inputs.size() > slot && !node.inputs[slot].empty(); }

std::string activation_of(const Node& node) {
  const Json attributes = attributes_of(node);
  const auto found = attributes.find("activation");
  return found != attributes.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<std::string_view> blocked_result(const Node& later, const Node& core, const GraphView& earlier) {
  if (core.outputs.empty()) return std::nullopt;
  std::string_view value = core.outputs[0];
  if (later.type != "Conv") return value;
  if (has_input(later, 3) && !has_input(core, 3)) {
    const Node* sum = only_reader(earlier, value, "Add", "Sum");
    if (sum == nullptr) return std::nullopt;
    value = sum->outputs[0];
  }
  const std::string activation = activation_of(later);
  const std::string had = activation_of(core);
  if (activation == had) return value;
  const Node* follower = had.empty() ? only_reader(earlier, value, activation, activation) : nullptr;
  return follower == nullptr ? std::nullopt : std::optional(follower->outputs[0]);
}

}  // namespace

std::string_view without_token(std::string_view name) {
  const size_t at = name.rfind(kToken);
  if (at == std::string_view::npos || at == 0) return name;
  return is_digits(name.substr(at + kToken.size())) ? name.substr(0, at) : name;
}

std::string_view without_conversion(std::string_view name) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view prefix : kConversions) {
      if (!name.starts_with(prefix)) continue;
      name.remove_prefix(prefix.size());
      again = true;
    }
  }
  return name;
}

const Node* core_of(const Node& later, const GraphView& earlier) {
  if (const Node* same = earlier.named(later.name, later.type); same != nullptr) return same;
  if (const Node* gemm = gemm_core(later, earlier); gemm != nullptr) return gemm;
  if (const Node* blocked = blocked_core(later, earlier); blocked != nullptr) return blocked;
  const std::string_view name = without_token(later.name);
  return name == later.name ? nullptr : earlier.named(name, later.type);
}

bool all_inputs_stay(const Node& later, const Node& core) {
  return later.domain != kBlockedDomain && core.type == later.type && core.inputs.size() == later.inputs.size();
}

std::optional<std::string_view> fused_result(const Node& later, const GraphView& earlier) {
  if (const Node* core = gemm_core(later, earlier); core != nullptr && !core->outputs.empty()) {
    const Node* sum = only_reader(earlier, core->outputs[0], "Add", "Add");
    if (sum != nullptr) return sum->outputs[0];
  }
  const Node* core = blocked_core(later, earlier);
  return core == nullptr ? std::nullopt : blocked_result(later, *core, earlier);
}

bool works_on_any_type(const Node& node) { return contains(kAnyType, node.type); }

bool same_attributes(const Node& later, const Node& earlier) {
  const Json now = attributes_of(later);
  const Json before = attributes_of(earlier);
  const auto shown = [](const Json& value) { return !value.is_string() || !value.get_ref<const std::string&>().starts_with("["); };
  for (const auto& [name, value] : before.items()) {
    const auto same = now.find(name);
    if (same == now.end() || *same != value || !shown(value)) return false;
  }
  const bool defaults = contains(kConversionTypes, later.type);
  return std::ranges::all_of(now.items(), [&](const auto& item) {
    return before.contains(item.key()) || (defaults && contains(kAddedAttributes, std::string_view(item.key())));
  });
}

}  // namespace tensortap::onnxruntime
