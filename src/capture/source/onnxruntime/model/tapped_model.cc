#include "source/onnxruntime/model/tapped_model.h"

#include <tensortap/capture.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"
#include "source/onnxruntime/model/pass_through_operators.h"
#include "source/onnxruntime/model/shown_values.h"
#include "source/onnxruntime/runtime/element_types.h"

namespace tensortap::onnxruntime {
namespace {

using protozero::pbf_reader;

constexpr int32_t kInt64 = 7;

std::string node_field(const NodeText& node) { return as_field(onnx_field::graph::kNode, node_bytes(node)); }

// Rewrites graphs by copying: every field as it is, except nodes that hold nested graphs.
class Editor {
 public:
  Editor(const TypeRemedies& remedies, const TapOptions& options, const ShownReads& shown, TappedModel& result)
      : remedies_(remedies), options_(options), shown_(shown), result_(result) {}

  std::string graph(const Graph& graph, int depth) {
    std::string bytes;
    std::vector<std::string> taps;  // one entry per node, inputs before them
    if (depth == 0 && options_.inputs) taps = input_taps(graph);
    std::unordered_set<std::string_view> outputs;
    for (const ValueInfo& output : graph.outputs) outputs.insert(output.name);
    for (const Node& node : graph.nodes) {
      const bool alias = options_.style == TapStyle::kAlias && can_alias(node, outputs);
      bytes += as_field(onnx_field::graph::kNode, copy_of(node, alias, depth));
      if (alias) {
        bytes += alias_tap(node, depth);
      } else {
        taps.push_back(side_taps(node, depth));
      }
    }
    // The last listed tap is served first: docs/onnxruntime.md, "Why the taps are in reverse order".
    for (auto tap = taps.rbegin(); tap != taps.rend(); ++tap) bytes += *tap;
    copy_rest(graph, bytes);
    return bytes;
  }

 private:
  static bool can_alias(const Node& node, const std::unordered_set<std::string_view>& graph_outputs) {
    return node.outputs.size() == 1 && !node.outputs[0].empty() && node.output_kinds[0] == ValueKind::kTensor &&
           !graph_outputs.contains(node.outputs[0]);
  }

  static void copy_rest(const Graph& graph, std::string& bytes) {
    pbf_reader reader(onnx_field::view(graph.bytes));
    onnx_field::RawField raw;
    while (onnx_field::next_raw(reader, raw)) {
      if (raw.tag != onnx_field::graph::kNode) bytes += raw.whole;
    }
  }

  static std::string raw_name(std::string_view value) { return concat(kTapPrefix, "raw/", value); }

  // The node's bytes with taps in its nested graphs and, before an alias tap, another name for its output.
  std::string copy_of(const Node& node, bool alias, int depth) {
    if (node.subgraphs.empty() && !alias) return std::string(node.bytes);
    std::string bytes;
    size_t next_subgraph = 0;
    pbf_reader reader(onnx_field::view(node.bytes));
    onnx_field::RawField raw;
    while (onnx_field::next_raw(reader, raw)) {
      if (raw.tag == onnx_field::node::kAttribute) {
        bytes += as_field(raw.tag, attribute(raw.value, node, depth, next_subgraph));
      } else if (raw.tag == onnx_field::node::kOutput && alias) {
        bytes += as_field(raw.tag, raw_name(raw.value));
      } else {
        bytes += raw.whole;
      }
    }
    return bytes;
  }

  std::string attribute(std::string_view attribute_bytes, const Node& node, int depth, size_t& next_subgraph) {
    std::string bytes;
    pbf_reader reader(onnx_field::view(attribute_bytes));
    onnx_field::RawField raw;
    while (onnx_field::next_raw(reader, raw)) {
      const bool is_graph = raw.tag == onnx_field::attribute::kGraph || raw.tag == onnx_field::attribute::kGraphs;
      if (is_graph && next_subgraph < node.subgraphs.size()) {
        bytes += as_field(raw.tag, graph(*node.subgraphs[next_subgraph++].graph, depth + 1));
      } else {
        bytes += raw.whole;
      }
    }
    return bytes;
  }

  [[nodiscard]] int64_t channels_of(const Node& node) const {
    return options_.blocks == nullptr || node.index >= options_.blocks->nodes.size() ? kNotBlocked
                                                                                     : options_.blocks->nodes[node.index].outputs;
  }

  uint32_t new_tap(const Node& node, TapKind kind, int depth) {
    result_.taps.push_back({node.index, kind, static_cast<uint8_t>(depth), !node.subgraphs.empty(), false, {}, {}, false});
    return static_cast<uint32_t>(result_.taps.size() - 1);
  }

  static std::string tap_name(uint32_t id, std::string_view part) { return concat(kTapPrefix, id, "/", part); }

  [[nodiscard]] std::vector<std::string> attributes(uint32_t id) const {
    std::vector<std::string> all = {int_attribute("id", id)};
    if (options_.graph != 0) all.push_back(int_attribute("graph", options_.graph));
    return all;
  }

  [[nodiscard]] std::string tap_node(uint32_t id, std::vector<std::string> inputs) const {
    return node_field({kSideTap, tap_name(id, "tap"), std::move(inputs), {}, attributes(id), kTapDomain});
  }

  // A run's own tensors are never overwritten by the runtime, so reading them costs no memory.
  std::vector<std::string> input_taps(const Graph& graph) {
    std::vector<std::string> taps;
    std::unordered_set<std::string_view> weights;
    for (const Initializer& initializer : graph.initializers) weights.insert(initializer.name);
    for (uint32_t i = 0; i < graph.inputs.size(); ++i) {
      const ValueInfo& input = graph.inputs[i];
      if (input.kind != ValueKind::kTensor || weights.contains(input.name)) continue;
      const auto id = static_cast<uint32_t>(result_.taps.size());
      TapSlot slot;
      slot.shown_again = shown_.always(input.name);
      std::string cast;
      std::string value(input.name);
      if (const auto remedy = remedies_.find(input.name); remedy != remedies_.end()) {
        if (remedy->second.cast_to == 0) continue;
        slot.element_type = remedy->second.element_type;
        cast = cast_node(value, id, i, remedy->second.cast_to);
        value = cast_name(id, i);
      }
      result_.taps.push_back({i, TapKind::kOutputs, 0, false, true, {slot}, {}, false});
      taps.push_back(cast + tap_node(id, {std::move(value)}));
    }
    return taps;
  }

  static std::string cast_name(uint32_t id, uint32_t output) { return tap_name(id, concat("cast", output)); }

  static std::string cast_node(std::string_view value, uint32_t id, uint32_t output, int32_t to) {
    return node_field({"Cast", cast_name(id, output), {std::string(value)}, {cast_name(id, output)}, {int_attribute("to", to)}});
  }

  std::string alias_tap(const Node& node, int depth) {
    const uint32_t id = new_tap(node, TapKind::kOutputs, depth);
    result_.taps[id].slots = {{0, 0, channels_of(node), false}};
    const std::string output(node.outputs[0]);
    return node_field({kAliasTap, tap_name(id, "tap"), {raw_name(output)}, {output}, attributes(id), kTapDomain});
  }

  std::string side_taps(const Node& node, int depth) {
    std::string bytes = tensor_tap(node, depth);
    for (uint32_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty() || node.output_kinds[i] == ValueKind::kTensor) continue;
      if (node.output_kinds[i] == ValueKind::kSequence) {
        bytes += sequence_tap(node, i, depth);
      } else if (node.output_kinds[i] == ValueKind::kOptionalTensor) {
        bytes += optional_tap(node, i, depth);
      } else {
        result_.untapped.push_back({node.index, concat(to_text(node.output_kinds[i]), " output")});
      }
    }
    return bytes;
  }

  // One tap for all tensors of a node, with a Cast before those whose type a tap cannot take.
  std::string tensor_tap(const Node& node, int depth) {
    std::vector<TapSlot> slots;
    std::vector<std::string> inputs;
    std::string casts;
    const auto id = static_cast<uint32_t>(result_.taps.size());
    for (uint32_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty() || node.output_kinds[i] != ValueKind::kTensor) continue;
      const auto remedy = remedies_.find(node.outputs[i]);
      if (remedy == remedies_.end()) {
        slots.push_back({i, 0, channels_of(node), shown_.always(node.outputs[i])});
        inputs.emplace_back(node.outputs[i]);
      } else if (remedy->second.cast_to == 0) {
        result_.untapped.push_back({node.index, concat(element_type(remedy->second.element_type).name, " output")});
      } else {
        slots.push_back({i, remedy->second.element_type, channels_of(node), shown_.always(node.outputs[i])});
        inputs.push_back(cast_name(id, i));
        casts += cast_node(node.outputs[i], id, i, remedy->second.cast_to);
      }
    }
    if (slots.empty()) return {};
    new_tap(node, TapKind::kOutputs, depth);
    result_.taps[id].no_news = depth == 0 && makes_no_values(node) && std::ranges::all_of(slots, &TapSlot::shown_again);
    result_.taps[id].slots = std::move(slots);
    for (const uint32_t input : shown_.of(node)) {
      result_.taps[id].reads.push_back({input, options_.blocks == nullptr ? kNotBlocked : channels_read(*options_.blocks, node, input)});
      inputs.emplace_back(node.inputs[input]);
    }
    return casts + tap_node(id, std::move(inputs));
  }

  // Loop over the elements with a tap inside. A Loop must carry or collect something, so the element number comes out stacked.
  std::string sequence_tap(const Node& node, uint32_t output, int depth) {
    const uint32_t id = new_tap(node, TapKind::kSequence, depth);
    result_.taps[id].slots = {{output, 0}};
    const std::string sequence(node.outputs[output]);
    auto name = [id](std::string_view part) { return tap_name(id, part); };
    std::string body = node_field({"SequenceAt", name("at"), {sequence, name("i")}, {name("element")}});
    body += node_field({"Identity", name("keep"), {name("condition")}, {name("condition_out")}});
    body += node_field({"Identity", name("count"), {name("i")}, {name("i_out")}});
    body += tap_node(id, {name("element"), name("i")});
    body += as_field(onnx_field::graph::kName, name("body"));
    body += as_field(onnx_field::graph::kInput, tensor_value_info(name("i"), kInt64, {}));
    body += as_field(onnx_field::graph::kInput, tensor_value_info(name("condition"), onnx_type::kBool, {}));
    body += as_field(onnx_field::graph::kOutput, tensor_value_info(name("condition_out"), onnx_type::kBool, {}));
    body += as_field(onnx_field::graph::kOutput, tensor_value_info(name("i_out"), kInt64, {}));
    return node_field({"SequenceLength", name("length"), {sequence}, {name("n")}}) +
           node_field({"Loop", name("loop"), {name("n"), ""}, {name("numbers")}, {graph_attribute("body", body)}});
  }

  std::string optional_tap(const Node& node, uint32_t output, int depth) {
    const uint32_t id = new_tap(node, TapKind::kOptional, depth);
    result_.taps[id].slots = {{output, 0}};
    const std::string optional(node.outputs[output]);
    auto name = [id](std::string_view part) { return tap_name(id, part); };
    std::string present = node_field({"OptionalGetElement", name("get"), {optional}, {name("element")}});
    present += tap_node(id, {name("element")});
    present += node_field({"Identity", name("yes"), {name("has")}, {name("then_out")}});
    present += as_field(onnx_field::graph::kName, name("then"));
    present += as_field(onnx_field::graph::kOutput, tensor_value_info(name("then_out"), onnx_type::kBool, {}));
    std::string absent = node_field({"Identity", name("no"), {name("has")}, {name("else_out")}});
    absent += as_field(onnx_field::graph::kName, name("else"));
    absent += as_field(onnx_field::graph::kOutput, tensor_value_info(name("else_out"), onnx_type::kBool, {}));
    return node_field({"OptionalHasElement", name("has_element"), {optional}, {name("has")}}) +
           node_field({"If",
                       name("if"),
                       {name("has")},
                       {name("out")},
                       {graph_attribute("then_branch", present), graph_attribute("else_branch", absent)}});
  }

  const TypeRemedies& remedies_;
  const TapOptions& options_;
  const ShownReads& shown_;
  TappedModel& result_;
};

bool uses_our_names(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.domain == kTapDomain) return true;
    for (const std::string_view output : node.outputs) {
      if (output.starts_with(kTapPrefix)) return true;
    }
    for (const Subgraph& subgraph : node.subgraphs) {
      if (uses_our_names(*subgraph.graph)) return true;
    }
  }
  return false;
}

// The part of `text` between two marks, or "".
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t begin = text.find(before);
  if (begin == std::string_view::npos) return {};
  const size_t end = text.find(after, begin + before.size());
  return end == std::string_view::npos ? std::string_view() : text.substr(begin + before.size(), end - begin - before.size());
}

// Casts that lose nothing, so that the original bits can be made again from them.
int32_t lossless_cast(std::string_view type) {
  constexpr int32_t kUint8 = 2;
  constexpr int32_t kInt8 = 3;
  if (type == "int2" || type == "int4") return kInt8;
  if (type == "uint2" || type == "uint4") return kUint8;
  return type == "float8e8m0" ? onnx_type::kFloat : 0;
}

int32_t element_type_named(std::string_view runtime_name) {
  if (runtime_name == "float8e8m0") return onnx_type_of(TENSORTAP_FLOAT8_E8M0);
  return dtype_info(dtype_from_name(runtime_name).value_or(DType::kUndefined)).onnx;
}

}  // namespace

bool learn_remedy(std::string_view load_error, TypeRemedies& remedies) {
  if (load_error.find(concat(" of operator (", kSideTap, ")")) == std::string_view::npos) return false;
  const std::string_view type = between(load_error, "Type 'tensor(", ")'");
  const std::string_view value = between(load_error, "of input parameter (", concat(") of operator (", kSideTap, ")"));
  if (type.empty() || value.empty()) return false;
  return remedies.try_emplace(std::string(value), TypeRemedy{element_type_named(type), lossless_cast(type)}).second;
}

Result<TappedModel> add_taps(const Model& model, const TypeRemedies& remedies, const TapOptions& options) {
  return onnx_field::guarded("the model", [&]() -> Result<TappedModel> {
    if (uses_our_names(model.graph)) return invalid_argument("the model uses names that begin with \"tensortap/\": it has taps already");
    TappedModel result;
    const bool reads = options.reads && options.style == TapStyle::kSide;
    const ShownReads shown = reads ? ShownReads(model, remedies) : ShownReads();
    for (const ValueInfo& input : model.graph.inputs) {
      if (shown.always(input.name)) result.shown_inputs.emplace(input.name);
    }
    Editor editor(remedies, options, shown, result);
    std::string bytes;
    bytes.reserve(model.bytes.size() + 65536);
    pbf_reader reader(onnx_field::view(model.bytes));
    onnx_field::RawField raw;
    while (onnx_field::next_raw(reader, raw)) {
      if (raw.tag == onnx_field::model::kGraph) {
        bytes += as_field(raw.tag, editor.graph(model.graph, 0));
      } else {
        bytes += raw.whole;
      }
    }
    std::string opset;
    protozero::pbf_writer writer(opset);
    writer.add_string(onnx_field::opset::kDomain, kTapDomain);
    writer.add_int64(onnx_field::opset::kVersion, 1);
    bytes += as_field(onnx_field::model::kOpsetImport, opset);
    result.bytes = std::move(bytes);
    return result;
  });
}

Result<std::string> add_all_outputs(const Model& model, std::vector<std::string>& names) {
  return onnx_field::guarded("the model", [&]() -> Result<std::string> {
    std::unordered_set<std::string_view> outputs;
    for (const ValueInfo& output : model.graph.outputs) outputs.insert(output.name);
    std::string added;
    for (const Node& node : model.graph.nodes) {
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].empty() || node.output_kinds[i] != ValueKind::kTensor || !outputs.insert(node.outputs[i]).second) continue;
        names.emplace_back(node.outputs[i]);
        added += as_field(onnx_field::graph::kOutput, untyped_value_info(node.outputs[i]));
      }
    }
    std::string bytes;
    pbf_reader reader(onnx_field::view(model.bytes));
    onnx_field::RawField raw;
    while (onnx_field::next_raw(reader, raw)) {
      if (raw.tag == onnx_field::model::kGraph) {
        bytes += as_field(raw.tag, concat(raw.value, added));
      } else {
        bytes += raw.whole;
      }
    }
    return bytes;
  });
}

}  // namespace tensortap::onnxruntime
