// GraphModel: the ops of a dump in groups within groups, and the edges between them.

#ifndef TENSORTAP_GRAPH_GRAPH_MODEL_H_
#define TENSORTAP_GRAPH_GRAPH_MODEL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/group_graphs.h"
#include "graph/group_tree.h"
#include "graph/missing_reasons.h"
#include "graph/model_edges.h"
#include "graph/op_scopes.h"
#include "trace/dump_index.h"

namespace tensortap {

// Made once for a dump, in time linear in its ops, their inputs and its records. Borrows the dump, which must outlive it. Immutable;
// thread-safe.
//
// Groups are the scopes of modules ("Net.layer1.conv"), of names ("/encoder/layer.0/attention") and of nested graphs ("If_0/then_branch").
// The ops of a backward pass are in a separate group. An op that owns a nested graph is in the group of that graph. Weights, and ops that
// do not record where they belong, are in the innermost group that holds all their readers, or neighbours. A group whose only content is
// another group merges with it.
class GraphModel {
 public:
  explicit GraphModel(const DumpIndex& dump);
  GraphModel(const GraphModel&) = delete;
  GraphModel& operator=(const GraphModel&) = delete;
  ~GraphModel() = default;

  struct Group {
    std::string_view path;  // "Net.layer1"; "" for the root
    std::string_view name;  // the group's own part of the path
    std::string_view type;  // of the op that a nested graph belongs to, "If"
    uint32_t ops = 0;       // in it, at any depth
    uint32_t captured = 0;  // of these, with a record
    OpId first_op = kNoOp;
  };
  // Group 0 is the root, which is no box; parents come before what is in them.
  [[nodiscard]] std::span<const Group> groups() const { return groups_; }
  [[nodiscard]] const GroupTree& tree() const { return tree_; }
  [[nodiscard]] const GroupGraphs& graphs() const { return *graphs_; }
  [[nodiscard]] std::span<const OpInfo> ops() const { return dump_.ops(); }
  // The innermost group that holds the op.
  [[nodiscard]] uint32_t group_of(OpId op) const { return group_of_[op]; }
  [[nodiscard]] std::string_view name(OpId op) const { return scopes_.scopes()[op].name; }  // without the scope
  [[nodiscard]] bool captured(OpId op) const { return scopes_.captured(op); }
  // Why the op has no record, in words; "" when it has.
  [[nodiscard]] std::string_view reason(OpId op) const;

  // "g:" and the path, the same whenever the dump is opened.
  [[nodiscard]] std::string group_id(uint32_t group) const;
  [[nodiscard]] std::optional<uint32_t> find_group(std::string_view id) const;

  // Edges between ops, sorted by `from`, then `to`.
  [[nodiscard]] std::span<const ModelEdge> edges() const { return edges_; }
  [[nodiscard]] std::span<const ModelEdge> readers(OpId op) const;  // edges that begin at the op
  [[nodiscard]] std::span<const ModelEdge> makers(OpId op) const;   // edges that end there
  // The shortest way along edges, both ends included; empty when there is none. Linear in ops and edges.
  [[nodiscard]] std::vector<OpId> way(OpId from, OpId to) const;

 private:
  void make_groups();
  void place_others();
  [[nodiscard]] uint32_t common_neighbours(OpId op, bool readers_only) const;
  void count_ops();

  const DumpIndex& dump_;
  OpScopes scopes_;
  MissingReasons reasons_;
  std::vector<ModelEdge> edges_;
  std::vector<ModelEdge> by_reader_;   // by `to`, then `from`
  std::vector<uint32_t> first_edge_;   // of each op, in edges_
  std::vector<uint32_t> first_maker_;  // in by_reader_
  GroupTree tree_;
  std::vector<Group> groups_;
  std::vector<uint32_t> group_of_;
  std::unordered_map<std::string_view, uint32_t> by_path_;
  std::optional<GroupGraphs> graphs_;
};

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_GRAPH_MODEL_H_
