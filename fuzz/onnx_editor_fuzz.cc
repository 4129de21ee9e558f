// Hostile model bytes through everything that reads or edits them. The corpus begins with the models of the tests.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/onnx_tensor/tensor_proto.h"
#include "source/onnxruntime/model/blocked_graph.h"
#include "source/onnxruntime/model/lower_levels.h"
#include "source/onnxruntime/model/node_attributes.h"
#include "source/onnxruntime/model/onnx_model.h"
#include "source/onnxruntime/model/tapped_model.h"
#include "source/onnxruntime/model/weight_reader.h"
#include "source/onnxruntime/origins/origins.h"

namespace {

using namespace tensortap::onnxruntime;  // NOLINT(google-build-using-namespace)

void read_weights(const Graph& graph) {
  std::string storage;
  for (const Initializer& initializer : graph.initializers) {
    const auto tensor = tensortap::read_tensor_proto(initializer.bytes, storage);
    if (tensor.ok() && tensor->raw.size() > (size_t{1} << 40)) __builtin_trap();
  }
}

void put_weights_in_order(const BlockedGraph& blocks) {
  std::string storage;
  for (const auto& [initializer, weight] : blocks.weights) {
    auto tensor = tensortap::read_tensor_proto(initializer->bytes, storage);
    std::string memory;
    if (tensor.ok()) static_cast<void>(put_in_order(weight, blocks.block, memory, *tensor));
  }
}

void check_edited(const Model& model, TapStyle style) {
  TypeRemedies remedies;
  if (!model.graph.nodes.empty() && !model.graph.nodes[0].outputs.empty()) remedies[std::string(model.graph.nodes[0].outputs[0])] = {26, 3};
  LowerLevels none(-1, [](int32_t) { return tensortap::Result<std::string>(tensortap::internal_error("none")); });
  const BlockedGraph blocks = find_blocks(model, model, none, 8);
  put_weights_in_order(blocks);
  const auto tapped = add_taps(model, remedies, {.style = style, .inputs = true, .reads = true, .blocks = &blocks});
  if (!tapped.ok()) return;
  // Every node is still there. (A graph nested as deep as is allowed gets one level deeper by its taps and is then refused.)
  const auto edited = read_model(tapped->bytes, "edited");
  if (edited.ok() && edited->node_count < model.node_count) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto model = read_model(bytes, "fuzz");
  if (!model.ok()) return 0;
  read_weights(model->graph);
  for (const Node& node : model->graph.nodes) attributes_json(node);
  trace_origins(*model, *model, {&*model});
  check_edited(*model, TapStyle::kSide);
  check_edited(*model, TapStyle::kAlias);
  std::vector<std::string> names;
  if (const auto all = add_all_outputs(*model, names); !all.ok()) __builtin_trap();
  return 0;
}
