#include "serve/graph_answers.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "graph/graph_drawing.h"

namespace tensortap {
namespace {

constexpr uint32_t kGraphMagic = 0x47505454;
constexpr uint32_t kGraphVersion = 1;

std::vector<std::string> ids_of(const GraphModel& model, const std::vector<uint32_t>& groups) {
  std::vector<std::string> ids;
  ids.reserve(groups.size());
  for (const uint32_t group : groups) ids.push_back(model.group_id(group));
  return ids;
}

// `open` is what is open to begin with; `plus` and `minus` open and close groups; `op` makes an op visible.
Result<GraphDrawing> asked_drawing(const AskedDump& asked) {
  const WebRequest& request = asked.request;
  TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump", "open", "plus", "minus", "op"}, {"plus", "minus"}));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string base, request.choice("open", {"auto", "all", "none"}));
  const auto ops = static_cast<int64_t>(asked.dump.index().ops().size());
  TENSORTAP_ASSIGN_OR_RETURN(const int64_t op, request.number("op", -1, 0, std::max<int64_t>(ops - 1, 0)));
  const GraphModel& model = asked.dump.graph();
  GraphRequest wanted;
  wanted.open = base == "auto" ? GraphRequest::Open::kAuto : base == "all" ? GraphRequest::Open::kAll : GraphRequest::Open::kListed;
  if (op >= 0 && ops > 0) wanted.ops.push_back(static_cast<OpId>(op));
  const std::vector<std::string> plus = request.texts("plus");
  const std::vector<std::string> minus = request.texts("minus");
  if (!plus.empty() || !minus.empty()) {
    GraphRequest first = wanted;
    first.ops.clear();
    if (wanted.open != GraphRequest::Open::kListed) wanted.groups = ids_of(model, draw(model, first).open);
    wanted.open = GraphRequest::Open::kListed;
    wanted.groups.insert(wanted.groups.end(), plus.begin(), plus.end());
    std::erase_if(wanted.groups, [&](const std::string& id) { return std::ranges::find(minus, id) != minus.end(); });
  }
  return draw(model, wanted);
}

std::string node_id(const GraphModel& model, const DrawnNode& node) {
  return node.is_group ? model.group_id(node.group) : concat("op:", node.op);
}

Json node_json(const GraphModel& model, const DrawnNode& node) {
  return {{"id", node_id(model, node)},
          {"kind", node.is_group ? "group" : "op"},
          {"op", node.op == kNoOp ? Json(nullptr) : Json(node.op)},
          {"name", node.name},
          {"path", node.path},
          {"type", node.type},
          {"x", node.x},
          {"y", node.y},
          {"w", node.width},
          {"h", node.height},
          {"parent", node.parent},
          {"ops", node.ops},
          {"captured", node.captured},
          {"open", node.is_open},
          {"reason", node.reason}};
}

// Texts one behind the other, and where each is.
class TextTable {
 public:
  void add(std::string_view text) {
    offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
    lengths_.push_back(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  [[nodiscard]] const std::vector<uint32_t>& offsets() const { return offsets_; }
  [[nodiscard]] const std::vector<uint32_t>& lengths() const { return lengths_; }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::vector<uint32_t> offsets_;
  std::vector<uint32_t> lengths_;
  std::string bytes_;
};

template <class T, class Field>
void append_each(std::string& bytes, const std::vector<DrawnNode>& nodes, const Field& field) {
  std::vector<T> numbers;
  numbers.reserve(nodes.size());
  for (const DrawnNode& node : nodes) numbers.push_back(field(node));
  append_bytes<T>(bytes, numbers);
}

uint32_t flags_of(const DrawnNode& node) { return (node.is_group ? 1U : 0U) | (node.captured ? 2U : 0U) | (node.is_open ? 4U : 0U); }

void append_nodes(std::string& bytes, const std::vector<DrawnNode>& nodes) {
  std::vector<float> boxes;
  boxes.reserve(nodes.size() * 4);
  for (const DrawnNode& node : nodes) boxes.insert(boxes.end(), {node.x, node.y, node.width, node.height});
  append_bytes<float>(bytes, boxes);
  append_each<uint32_t>(bytes, nodes, [](const DrawnNode& node) { return node.is_group ? kNoOp : node.op; });
  append_each<int32_t>(bytes, nodes, [](const DrawnNode& node) { return node.parent; });
  append_each<uint32_t>(bytes, nodes, [](const DrawnNode& node) { return node.ops; });
  append_each<uint32_t>(bytes, nodes, flags_of);
}

}  // namespace

Result<Answer> graph_answer(const AskedDump& asked) {
  TENSORTAP_ASSIGN_OR_RETURN(const GraphDrawing drawing, asked_drawing(asked));
  const GraphModel& model = asked.dump.graph();
  Json json = {{"nodes", Json::array()}, {"edges", Json::array()}};
  for (const DrawnNode& node : drawing.nodes) json["nodes"].push_back(node_json(model, node));
  for (const DrawnEdge& edge : drawing.edges) {
    const auto points = std::span(drawing.points).subspan(edge.first_point, edge.floats);
    json["edges"].push_back({{"from", edge.from},
                             {"to", edge.to},
                             {"points", std::vector<float>(points.begin(), points.end())},
                             {"values", edge.values},
                             {"back", edge.back}});
  }
  json["width"] = drawing.width;
  json["height"] = drawing.height;
  json["open"] = ids_of(model, drawing.open);
  json["shown"] = nodes_of_ops(model, drawing);
  return json_answer(json);
}

Result<Answer> binary_graph_answer(const AskedDump& asked) {
  TENSORTAP_ASSIGN_OR_RETURN(const GraphDrawing drawing, asked_drawing(asked));
  const GraphModel& model = asked.dump.graph();
  TextTable texts;
  for (const DrawnNode& node : drawing.nodes) {
    std::string name(node.name);
    if (node.is_group) name += concat(std::string_view("\0", 1), model.group_id(node.group));
    texts.add(name);
  }
  const size_t nodes = drawing.nodes.size();
  for (const DrawnNode& node : drawing.nodes) texts.add(node.type);
  const auto header =
      std::to_array<uint32_t>({kGraphMagic, kGraphVersion, static_cast<uint32_t>(nodes), static_cast<uint32_t>(drawing.edges.size()),
                               static_cast<uint32_t>(drawing.points.size()), static_cast<uint32_t>(texts.bytes().size()), 0, 0});
  std::string bytes;
  append_bytes<uint32_t>(bytes, header);
  append_nodes(bytes, drawing.nodes);
  append_bytes(bytes, std::span(texts.offsets()).first(nodes));
  append_bytes(bytes, std::span(texts.lengths()).first(nodes));
  std::vector<uint32_t> words;
  for (const DrawnEdge& edge : drawing.edges) words.insert(words.end(), {edge.from, edge.to, edge.first_point, edge.floats});
  append_bytes<uint32_t>(bytes, words);
  append_bytes<float>(bytes, drawing.points);
  bytes += texts.bytes();
  words.clear();
  for (size_t i = nodes; i < 2 * nodes; ++i) words.insert(words.end(), {texts.offsets()[i], texts.lengths()[i]});
  const std::vector<uint32_t> shown = nodes_of_ops(model, drawing);
  words.push_back(static_cast<uint32_t>(shown.size()));
  words.insert(words.end(), shown.begin(), shown.end());
  append_bytes<uint32_t>(bytes, words);
  return binary_answer(std::move(bytes));
}

}  // namespace tensortap
