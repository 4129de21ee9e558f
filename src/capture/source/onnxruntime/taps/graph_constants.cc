#include "source/onnxruntime/taps/graph_constants.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "format/onnx_graph/onnx_fields.h"
#include "source/onnxruntime/model/name_scope.h"

namespace tensortap::onnxruntime {
namespace {

constexpr std::string_view kConstantType = "Constant";
// What they make depends on no element of what they read.
constexpr std::array<std::string_view, 2> kShapeTypes = {"Shape", "Size"};
// ONNX's numbers of int32, int64, string, bool, uint32 and uint64.
constexpr std::array<int32_t, 6> kPlainTypes = {6, 7, 8, 9, 12, 13};

enum class Kind : uint8_t { kUnknown, kConstant, kWeight };

// A value of the author's graph.
struct AuthorValue {
  Kind kind = Kind::kUnknown;
  const Node* maker = nullptr;  // the node of type Constant that makes it, if it is one
  bool given = false;           // an initializer of the author's
};

Kind kind_of(const Initializer& initializer) {
  try {
    protozero::pbf_reader reader(onnx_field::view(initializer.bytes));
    if (!reader.next(onnx_field::tensor::kDataType)) return Kind::kWeight;
    return std::ranges::find(kPlainTypes, reader.get_int32()) != kPlainTypes.end() ? Kind::kConstant : Kind::kWeight;
  } catch (const protozero::exception&) {
    return Kind::kWeight;
  }
}

// The values of all graphs of the author's model. A value that the runtime never computes in advance, as a random one is, may count as
// constant: no initializer holds it.
class AuthorValues {
 public:
  using Scope = NameScope<AuthorValue>;

  explicit AuthorValues(const Model& author) : main_(add(author.graph, nullptr)) {}

  [[nodiscard]] const Scope* main() const { return main_; }
  // Null for a node without nested graphs of this name.
  [[nodiscard]] const Scope* nested(const Node& node, std::string_view attribute) const {
    const auto body = std::ranges::find(node.subgraphs, attribute, &Subgraph::attribute);
    return body == node.subgraphs.end() ? nullptr : scopes_.at(body->graph.get()).get();
  }
  [[nodiscard]] AuthorValue input(const Node& node, size_t slot) const {
    return slot < node.inputs.size() ? scope_of_.at(&node)->find(node.inputs[slot], {}) : AuthorValue{};
  }

 private:
  const Scope* add(const Graph& graph, const Scope* outer) {
    auto& scope = scopes_.emplace(&graph, std::make_unique<Scope>(outer)).first->second;
    for (const ValueInfo& input : graph.inputs) scope->set(input.name, {});
    for (const Initializer& initializer : graph.initializers) scope->set(initializer.name, {kind_of(initializer), nullptr, true});
    for (const Node& node : graph.nodes) {
      scope_of_.emplace(&node, scope.get());
      const AuthorValue made = value_of(node, *scope);
      for (const std::string_view output : node.outputs) scope->set(output, made);
    }
    const Scope* const own = scope.get();
    for (const Node& node : graph.nodes) {
      for (const Subgraph& body : node.subgraphs) add(*body.graph, own);
    }
    return own;
  }

  static AuthorValue value_of(const Node& node, const Scope& scope) {
    const bool of_onnx = node.domain.empty();
    if (of_onnx && node.type == kConstantType) return {Kind::kConstant, &node};
    if (of_onnx && std::ranges::find(kShapeTypes, node.type) != kShapeTypes.end()) return {Kind::kConstant};
    if (!node.subgraphs.empty()) return {};
    AuthorValue made{Kind::kConstant};
    for (const std::string_view input : node.inputs) {
      if (input.empty()) continue;
      const Kind kind = scope.find(input, {}).kind;
      if (kind == Kind::kUnknown) return {};
      if (kind == Kind::kWeight) made.kind = kind;
    }
    return made;
  }

  std::unordered_map<const Graph*, std::unique_ptr<Scope>> scopes_;
  std::unordered_map<const Node*, const Scope*> scope_of_;
  const Scope* main_;
};

class Marker {
 public:
  Marker(const Model& author, const std::vector<NodeOrigin>& origins, OpTable& table)
      : values_(author), origins_(origins), table_(table), readers_(table.entries.size()) {
    for (const OpEntry& entry : table_.entries) {
      for (size_t slot = 0; slot < entry.producers.size(); ++slot) {
        if (entry.producers[slot] < readers_.size()) readers_[entry.producers[slot]].push_back({&entry, slot});
      }
    }
  }

  void mark() {
    for (size_t i = 0; i < table_.entries.size(); ++i) {
      OpEntry& entry = table_.entries[i];
      if (entry.role != OpRole::kInitializer) continue;
      AuthorValue value = named(entry);
      if (value.kind == Kind::kUnknown) value = read_by(readers_[i]);
      if (value.kind != Kind::kConstant || value.given) continue;
      entry.constant = true;
      if (value.maker == nullptr) continue;
      entry.originals.emplace_back(value.maker->name.empty() ? value.maker->outputs.front() : value.maker->name);
      entry.original_types.emplace_back(value.maker->type);
    }
  }

 private:
  struct Reader {
    const OpEntry* entry;
    size_t slot;
  };

  // The author's graph that an entry's graph is made of; null where that is unknown.
  [[nodiscard]] const AuthorValues::Scope* graph_of(const OpEntry& entry) const {
    if (entry.parent == kNoEntry) return values_.main();
    const OpEntry& container = table_.entries[entry.parent];
    const Node* const author = origins_[container.node->index].last;
    const size_t slash = entry.graph.rfind('/');
    return author == nullptr ? nullptr : values_.nested(*author, std::string_view(entry.graph).substr(slash + 1));
  }

  [[nodiscard]] AuthorValue named(const OpEntry& entry) const {
    const AuthorValues::Scope* graph = graph_of(entry);
    return graph == nullptr ? AuthorValue{} : graph->own(entry.value, {});
  }

  // What all readers whose node is the author's read there.
  [[nodiscard]] AuthorValue read_by(const std::vector<Reader>& readers) const {
    AuthorValue common;
    bool first = true;
    for (const auto& [reader, slot] : readers) {
      const NodeOrigin& origin = origins_[reader->node->index];
      if (origin.nodes.size() != 1 || origin.nodes.front()->type != reader->type) continue;
      const AuthorValue read = values_.input(*origin.nodes.front(), slot);
      if (read.kind != Kind::kConstant || read.given) return {};
      if (!first && read.maker != common.maker) common.maker = nullptr;
      if (first) common = read;
      first = false;
    }
    return common;
  }

  const AuthorValues values_;
  const std::vector<NodeOrigin>& origins_;
  OpTable& table_;
  std::vector<std::vector<Reader>> readers_;  // by entry
};

}  // namespace

void mark_constants(const Model& author, const std::vector<NodeOrigin>& origins, OpTable& table) { Marker(author, origins, table).mark(); }

}  // namespace tensortap::onnxruntime
