#include "graph/graph_model.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/text.h"
#include "graph/scope_tree.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

constexpr uint32_t kNowhere = 0xffffffffU;
constexpr std::string_view kIdPrefix = "g:";

// Where the edges of each op begin in a list sorted by `end`.
std::vector<uint32_t> first_by(const std::vector<ModelEdge>& edges, size_t ops, OpId ModelEdge::*end) {
  std::vector<uint32_t> first(ops + 1);
  for (const ModelEdge& edge : edges) ++first[edge.*end + size_t{1}];
  std::partial_sum(first.begin(), first.end(), first.begin());
  return first;
}

std::span<const ModelEdge> edges_of(const std::vector<ModelEdge>& edges, const std::vector<uint32_t>& first, OpId op) {
  return {edges.data() + first[op], size_t{first[op + size_t{1}]} - first[op]};
}

}  // namespace

GraphModel::GraphModel(const DumpIndex& dump)
    : dump_(dump), scopes_(dump), reasons_(dump.manifest()), edges_(model_edges(dump)), by_reader_(edges_) {
  std::ranges::sort(by_reader_, {}, [](const ModelEdge& edge) { return std::tuple(edge.to, edge.from); });
  first_edge_ = first_by(edges_, ops().size(), &ModelEdge::from);
  first_maker_ = first_by(by_reader_, ops().size(), &ModelEdge::to);
  make_groups();
  place_others();
  count_ops();
  graphs_.emplace(tree_, group_of_, edges_);
}

void GraphModel::make_groups() {
  ScopeTree scopes(scopes_.dots());
  std::vector<uint32_t> node_of(ops().size(), kNowhere);
  for (OpId op = 0; op < node_of.size(); ++op) {
    const OpScope& scope = scopes_.scopes()[op];
    if (scope.known) node_of[op] = scopes.add(scope.scope);
  }
  const std::vector<ScopeTree::Node>& nodes = scopes.nodes();
  std::vector<uint32_t> first(nodes.size() + 1);
  for (size_t node = 1; node < nodes.size(); ++node) ++first[nodes[node].parent + size_t{1}];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<uint32_t> children(nodes.size() - 1);
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  for (uint32_t node = 1; node < nodes.size(); ++node) children[next[nodes[node].parent]++] = node;

  std::vector<uint32_t> group_of_node(nodes.size(), kNowhere);
  std::vector<uint32_t> waiting = {0};
  groups_.resize(1);
  group_of_node[0] = 0;
  for (size_t at = 0; at < waiting.size(); ++at) {
    const uint32_t node = waiting[at];
    for (uint32_t child = first[node]; child < first[node + size_t{1}]; ++child) {
      const ScopeTree::Node& inside = nodes[children[child]];
      group_of_node[children[child]] = tree_.add(group_of_node[node]);
      groups_.push_back({inside.path, inside.path.substr(inside.label), {}, 0, 0, kNoOp});
      by_path_.emplace(inside.path, tree_.size() - 1);
      waiting.push_back(children[child]);
    }
  }
  group_of_.assign(ops().size(), kNowhere);
  for (OpId op = 0; op < node_of.size(); ++op) {
    if (node_of[op] != kNowhere) group_of_[op] = group_of_node[node_of[op]];
  }
}

uint32_t GraphModel::common_neighbours(OpId op, bool readers_only) const {
  uint32_t common = kNowhere;
  const auto join = [&](OpId neighbour) {
    const uint32_t group = group_of_[neighbour];
    if (group == kNowhere || neighbour == op || ops()[neighbour].type == kInputType) return;
    common = common == kNowhere ? group : tree_.common(common, group);
  };
  for (const ModelEdge& edge : readers(op)) join(edge.to);
  if (readers_only) return common;
  for (const ModelEdge& edge : makers(op)) join(edge.from);
  return common;
}

// Forwards, then backwards: what stands between ops without a scope takes that of the nearest op with one.
void GraphModel::place_others() {
  const auto count = static_cast<OpId>(ops().size());
  const auto place = [&](OpId op, bool weights) {
    const bool is_weight = ops()[op].type == kInitializerType;
    if (group_of_[op] == kNowhere && is_weight == weights) group_of_[op] = common_neighbours(op, weights);
  };
  for (OpId op = 0; op < count; ++op) place(op, false);
  for (OpId op = count; op-- > 0;) place(op, false);
  for (OpId op = 0; op < count; ++op) place(op, true);
  std::ranges::replace(group_of_, kNowhere, 0U);
}

void GraphModel::count_ops() {
  for (OpId op = 0; op < ops().size(); ++op) {
    Group& group = groups_[group_of_[op]];
    ++group.ops;
    group.first_op = std::min(group.first_op, op);
    if (captured(op)) ++group.captured;
    if (group.path == ops()[op].name) group.type = ops()[op].type;
  }
  for (uint32_t group = tree_.size(); group-- > 1;) {
    Group& around = groups_[tree_.parent(group)];
    around.ops += groups_[group].ops;
    around.captured += groups_[group].captured;
    around.first_op = std::min(around.first_op, groups_[group].first_op);
  }
}

std::string_view GraphModel::reason(OpId op) const { return captured(op) ? std::string_view() : reasons_.reason(ops()[op]); }

std::string GraphModel::group_id(uint32_t group) const { return concat(kIdPrefix, groups_[group].path); }

std::optional<uint32_t> GraphModel::find_group(std::string_view id) const {
  if (!id.starts_with(kIdPrefix)) return std::nullopt;
  const auto found = by_path_.find(id.substr(kIdPrefix.size()));
  return found == by_path_.end() ? std::nullopt : std::optional(found->second);
}

std::span<const ModelEdge> GraphModel::readers(OpId op) const { return edges_of(edges_, first_edge_, op); }
std::span<const ModelEdge> GraphModel::makers(OpId op) const { return edges_of(by_reader_, first_maker_, op); }

std::vector<OpId> GraphModel::way(OpId from, OpId to) const {
  if (from >= ops().size() || to >= ops().size()) return {};
  std::vector<OpId> came_from(ops().size(), kNoOp);
  std::vector<OpId> reached = {from};
  came_from[from] = from;
  for (size_t at = 0; at < reached.size() && came_from[to] == kNoOp; ++at) {
    for (const ModelEdge& edge : readers(reached[at])) {
      if (came_from[edge.to] != kNoOp) continue;
      came_from[edge.to] = reached[at];
      reached.push_back(edge.to);
    }
  }
  if (came_from[to] == kNoOp) return {};
  std::vector<OpId> way = {to};
  while (way.back() != from) way.push_back(came_from[way.back()]);
  std::ranges::reverse(way);
  return way;
}

}  // namespace tensortap
