#include "source/onnxruntime/model/value_kinds.h"

#include "format/onnx_graph/onnx_fields.h"
#include "source/onnxruntime/model/name_scope.h"

namespace tensortap::onnxruntime {
namespace {

using KindScope = NameScope<ValueKind>;  // values without an entry are tensors

void set_if_stated(KindScope& scope, const ValueInfo& info) {
  if (info.kind != ValueKind::kNotStated) scope.set(info.name, info.kind);
}

// The kind of the value that an Optional operator makes: from its input or, without one, from its type attribute: Optional(type=sequence).
ValueKind optional_kind(const Node& node, const KindScope& scope) {
  ValueKind inner = ValueKind::kTensor;
  if (!node.inputs.empty()) {
    inner = scope.find(node.inputs[0], ValueKind::kTensor);
  } else {
    protozero::pbf_reader reader(onnx_field::view(node.bytes));
    while (reader.next(onnx_field::node::kAttribute)) {
      auto attribute = reader.get_message();
      while (attribute.next(onnx_field::attribute::kTypeProto)) {
        auto type = attribute.get_message();
        if (type.next() && type.tag() == onnx_field::type::kSequence) inner = ValueKind::kSequence;
      }
    }
  }
  return inner == ValueKind::kSequence ? ValueKind::kOptionalSequence : ValueKind::kOptionalTensor;
}

ValueKind without_optional(ValueKind kind) {
  if (kind == ValueKind::kOptionalTensor) return ValueKind::kTensor;
  return kind == ValueKind::kOptionalSequence ? ValueKind::kSequence : kind;
}

// Kinds of the outputs of each nested graph of a node.
using BodyKinds = std::vector<std::vector<ValueKind>>;

void if_kinds(const BodyKinds& bodies, std::vector<ValueKind>& kinds) {
  for (const auto& body : bodies) {
    for (size_t i = 0; i < kinds.size() && i < body.size(); ++i) {
      if (body[i] != ValueKind::kTensor) kinds[i] = body[i];
    }
  }
}

// A Loop's first outputs are its carried values, whose kinds come from the body or from its inputs; the rest are stacked tensors.
void loop_kinds(const Node& node, const KindScope& scope, const BodyKinds& bodies, std::vector<ValueKind>& kinds) {
  const size_t carried = node.inputs.size() > 2 ? node.inputs.size() - 2 : 0;
  for (size_t i = 0; i < kinds.size() && i < carried; ++i) {
    if (!bodies.empty() && i + 1 < bodies[0].size()) kinds[i] = bodies[0][i + 1];
    if (kinds[i] == ValueKind::kTensor) kinds[i] = scope.find(node.inputs[i + 2], ValueKind::kTensor);
  }
}

void operator_kinds(const Node& node, const KindScope& scope, const BodyKinds& bodies, std::vector<ValueKind>& kinds) {
  const ValueKind first = node.inputs.empty() ? ValueKind::kTensor : scope.find(node.inputs[0], ValueKind::kTensor);
  if (kinds.empty()) return;
  if (node.type == "SequenceConstruct" || node.type == "SequenceEmpty" || node.type == "SplitToSequence") {
    kinds[0] = ValueKind::kSequence;
  } else if (node.type == "SequenceMap") {
    kinds.assign(kinds.size(), ValueKind::kSequence);
  } else if (node.type == "SequenceInsert" || node.type == "SequenceErase" || node.type == "Identity") {
    kinds[0] = first;
  } else if (node.type == "Optional") {
    kinds[0] = optional_kind(node, scope);
  } else if (node.type == "OptionalGetElement") {
    kinds[0] = without_optional(first);
  } else if (node.type == "ZipMap") {
    kinds[0] = ValueKind::kSequenceOfMaps;
  } else if (node.type == "If") {
    if_kinds(bodies, kinds);
  } else if (node.type == "Loop") {
    loop_kinds(node, scope, bodies, kinds);
  }
}

// Kinds of the values that a Loop hands to its body: iteration number, condition, carried values.
std::vector<ValueKind> body_inputs(const Node& node, const KindScope& scope) {
  std::vector<ValueKind> kinds;
  if (node.type != "Loop") return kinds;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    kinds.push_back(i < 2 ? ValueKind::kTensor : scope.find(node.inputs[i], ValueKind::kTensor));
  return kinds;
}

std::vector<ValueKind> track(Graph& graph, const KindScope* outer, const std::vector<ValueKind>& inputs) {
  KindScope scope(outer);
  for (const Initializer& initializer : graph.initializers) scope.set(initializer.name, ValueKind::kTensor);
  for (const ValueInfo& info : graph.value_infos) set_if_stated(scope, info);
  for (const ValueInfo& info : graph.outputs) set_if_stated(scope, info);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    set_if_stated(scope, graph.inputs[i]);
    if (graph.inputs[i].kind == ValueKind::kNotStated && i < inputs.size()) scope.set(graph.inputs[i].name, inputs[i]);
  }
  for (Node& node : graph.nodes) {
    BodyKinds bodies;
    for (Subgraph& subgraph : node.subgraphs) bodies.push_back(track(*subgraph.graph, &scope, body_inputs(node, scope)));
    for (const std::string_view input : node.inputs) node.input_kinds.push_back(scope.find(input, ValueKind::kNotStated));
    node.output_kinds.assign(node.outputs.size(), ValueKind::kTensor);
    operator_kinds(node, scope, bodies, node.output_kinds);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueKind stated = scope.own(node.outputs[i], ValueKind::kNotStated);
      if (stated != ValueKind::kNotStated) node.output_kinds[i] = stated;
      scope.set(node.outputs[i], node.output_kinds[i]);
    }
  }
  std::vector<ValueKind> outputs;
  for (const ValueInfo& info : graph.outputs) outputs.push_back(scope.find(info.name, ValueKind::kTensor));
  return outputs;
}

}  // namespace

void track_value_kinds(Model& model) { track(model.graph, nullptr, {}); }

}  // namespace tensortap::onnxruntime
