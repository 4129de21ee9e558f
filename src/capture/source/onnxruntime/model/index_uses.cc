#include "source/onnxruntime/model/index_uses.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/spans.h"
#include "base/text.h"
#include "format/onnx_tensor/tensor_proto.h"
#include "source/onnxruntime/model/name_scope.h"
#include "source/onnxruntime/model/node_attributes.h"

namespace tensortap::onnxruntime {
namespace {

using Names = std::vector<std::string_view>;
using Dims = std::vector<int64_t>;  // -1 = not known; empty = a scalar, or nothing is known

constexpr std::string_view kContrib = "com.microsoft";
constexpr int64_t kUnknown = -1;
constexpr size_t kMostCarried = 64;  // inputs that one value may hold elements of: the search stays quick whatever the model

// Operators whose outputs hold elements of their first input and nothing else.
constexpr std::array<std::string_view, 19> kPassFirst = {
    "Cast",  "CastLike",       "Compress", "Dropout", "Expand", "Flatten",   "Gather", "GatherND",  "Identity",       "Reshape",
    "Slice", "GatherElements", "Split",    "Squeeze", "Tile",   "Transpose", "Trilu",  "Unsqueeze", "ReverseSequence"};
// Operators whose output has the shape of their first input.
constexpr std::array<std::string_view, 4> kKeepShape = {"Cast", "Identity", "DequantizeLinear", "QuantizeLinear"};

bool is_one_of(std::string_view type, std::span<const std::string_view> types) { return std::ranges::find(types, type) != types.end(); }

// The inputs of a node whose elements its outputs hold.
std::span<const std::string_view> passed_on(const Node& node) {
  const std::span<const std::string_view> inputs = node.inputs;
  if (!node.domain.empty() || inputs.empty()) return {};
  if (node.type == "Concat") return inputs;
  if (node.type == "Where") return after(inputs, 1);
  return is_one_of(node.type, kPassFirst) ? first_of(inputs, 1) : std::span<const std::string_view>();
}

enum class Axes { kOne, kSeveral };

// An input of a node that chooses rows of another input.
struct IndexSlot {
  size_t indices;
  size_t table;
  Axes axes;
  int64_t axis;  // the one; the first of several
};

std::vector<IndexSlot> index_slots(const Node& node) {
  const auto attribute = [&node](const char* name) {
    const Json attributes = attributes_of(node);
    const auto found = attributes.find(name);
    return found != attributes.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
  };
  if (node.domain == kContrib) {
    if (node.type == "EmbedLayerNormalization" || node.type == "QEmbedLayerNormalization")
      return {{0, 2, Axes::kOne, 0}, {1, 4, Axes::kOne, 0}, {8, 3, Axes::kOne, 0}};
    if (node.type == "GatherBlockQuantized") return {{1, 0, Axes::kOne, attribute("gather_axis")}};
    return {};
  }
  if (!node.domain.empty()) return {};
  constexpr std::array<std::string_view, 4> kOneAxis = {"Gather", "GatherElements", "Scatter", "ScatterElements"};
  if (is_one_of(node.type, kOneAxis)) return {{1, 0, Axes::kOne, attribute("axis")}};
  if (node.type == "GatherND") return {{1, 0, Axes::kSeveral, attribute("batch_dims")}};
  if (node.type == "ScatterND") return {{1, 0, Axes::kSeveral, 0}};
  return {};
}

// The fewest rows along the axes that the indices count; kUnknown when one of them is not known.
int64_t height_of(const Dims& table, const Dims& indices, const IndexSlot& slot) {
  const auto rank = static_cast<int64_t>(table.size());
  const int64_t first = slot.axis < 0 ? slot.axis + rank : slot.axis;
  if (first < 0) return kUnknown;
  const int64_t count = slot.axes == Axes::kOne ? 1 : indices.empty() || indices.back() < 0 ? rank - first : indices.back();
  if (count < 1 || count > rank || first > rank - count) return kUnknown;
  return *std::min_element(table.begin() + first, table.begin() + first + count);
}

Dims dims_of(const ValueInfo& info) {
  Dims dims;
  for (const Dimension& dim : info.dims) dims.push_back(dim.size);
  return dims;
}

// The known facts about the values of a graph.
struct Scope {
  explicit Scope(const Scope* outer)
      : carried(outer == nullptr ? nullptr : &outer->carried), shapes(outer == nullptr ? nullptr : &outer->shapes) {}
  NameScope<Names> carried;  // the model's inputs whose elements a value holds
  NameScope<Dims> shapes;
};

// bfloat16 has fewer digits than float16.
void note_narrow(NarrowReads& reads, const std::string& input, DType dtype) {
  const auto is_narrower = [](DType one, DType other) {
    return dtype_info(one).bits < dtype_info(other).bits || (one == DType::kBFloat16 && other == DType::kFloat16);
  };
  const auto [entry, is_new] = reads.try_emplace(input, dtype);
  if (!is_new && is_narrower(dtype, entry->second)) entry->second = dtype;
}

class Finder {
 public:
  void visit(const Graph& graph, const Scope* outer) {
    Scope scope(outer);
    for (const ValueInfo& info : graph.value_infos) scope.shapes.set(info.name, dims_of(info));
    for (const ValueInfo& info : graph.inputs) {
      scope.shapes.set(info.name, dims_of(info));
      if (outer == nullptr) scope.carried.set(info.name, {info.name});
    }
    for (const Initializer& weight : graph.initializers) {
      scope.shapes.set(weight.name, tensor_proto_dims(weight.bytes));
      scope.carried.set(weight.name, {});
    }
    for (const Node& node : graph.nodes) {
      note_indices(node, scope);
      note_cast(node, scope);
      pass_on(node, scope);
      for (const Subgraph& body : node.subgraphs) visit(*body.graph, &scope);
    }
  }

  IndexUses take() { return std::move(uses_); }
  NarrowReads take_narrow() { return std::move(narrow_); }

 private:
  void note_indices(const Node& node, const Scope& scope) {
    for (const IndexSlot& slot : index_slots(node)) {
      if (slot.indices >= node.inputs.size() || slot.table >= node.inputs.size()) continue;
      const Names inputs = scope.carried.find(node.inputs[slot.indices], {});
      if (inputs.empty()) continue;
      const int64_t height =
          height_of(scope.shapes.find(node.inputs[slot.table], {}), scope.shapes.find(node.inputs[slot.indices], {}), slot);
      if (height < 1) continue;
      const std::string_view name = !node.name.empty() || node.outputs.empty() ? node.name : node.outputs.front();
      for (const std::string_view input : inputs) note(input, {height, concat(node.type, " ", quote(name))});
    }
  }

  void note_cast(const Node& node, const Scope& scope) {
    if (node.type != "Cast" || !node.domain.empty() || node.inputs.empty()) return;
    const Json attributes = attributes_of(node);
    const auto to = attributes.find("to");
    if (to == attributes.end() || !to->is_number_integer()) return;
    const DType dtype = dtype_from_onnx(to->get<int32_t>());
    if (!is_floating(dtype) || dtype_info(dtype).bits < 16) return;
    for (const std::string_view input : scope.carried.find(node.inputs.front(), {})) note_narrow(narrow_, std::string(input), dtype);
  }

  void note(std::string_view input, IndexUse use) {
    const auto [entry, is_new] = uses_.try_emplace(std::string(input), use);
    if (!is_new && use.height < entry->second.height) entry->second = std::move(use);
  }

  static void pass_on(const Node& node, Scope& scope) {
    Names carried;
    for (const std::string_view input : passed_on(node)) {
      for (const std::string_view name : scope.carried.find(input, {})) {
        if (carried.size() < kMostCarried && std::ranges::find(carried, name) == carried.end()) carried.push_back(name);
      }
    }
    for (const std::string_view output : node.outputs) scope.carried.set(output, carried);
    if (!node.outputs.empty() && !node.inputs.empty() && is_one_of(node.type, kKeepShape)) {
      const Dims shape = scope.shapes.find(node.inputs.front(), {});
      if (!shape.empty()) scope.shapes.set(node.outputs.front(), shape);
    }
  }

  IndexUses uses_;
  NarrowReads narrow_;
};

}  // namespace

IndexUses find_index_uses(const Model& model) {
  Finder finder;
  finder.visit(model.graph, nullptr);
  return finder.take();
}

NarrowReads find_narrow_reads(const Model& model) {
  Finder finder;
  finder.visit(model.graph, nullptr);
  return finder.take_narrow();
}

NarrowReads merged(NarrowReads reads, const NarrowReads& others) {
  for (const auto& [input, dtype] : others) note_narrow(reads, input, dtype);
  return reads;
}

IndexUses merged(IndexUses uses, const IndexUses& others) {
  for (const auto& [input, use] : others) {
    const auto [entry, is_new] = uses.try_emplace(input, use);
    if (!is_new && use.height < entry->second.height) entry->second = use;
  }
  return uses;
}

}  // namespace tensortap::onnxruntime
