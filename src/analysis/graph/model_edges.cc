#include "graph/model_edges.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "query/record_lookup.h"
#include "trace/graph_outputs.h"
#include "trace/scoped_name.h"
#include "trace/value_flow.h"

namespace tensortap {
namespace {

// A value's name is its own within one graph.
struct NamedValue {
  std::string_view graph;
  std::string_view name;
  friend bool operator==(const NamedValue&, const NamedValue&) = default;
};
struct NamedValueHash {
  size_t operator()(const NamedValue& value) const {
    const std::hash<std::string_view> hash;
    return hash(value.graph) * 0x9e3779b97f4a7c15U + hash(value.name);
  }
};

class EdgeFinder {
 public:
  explicit EdgeFinder(const DumpIndex& dump) : dump_(dump), has_maker_(dump.ops().size()), has_reader_(dump.ops().size()) {}

  std::vector<ModelEdge> find() {
    add_named();
    add_flow();
    add_bodies();
    return merged();
  }

 private:
  void add(OpId from, OpId to) {
    if (from >= has_reader_.size() || to >= has_reader_.size()) return;
    edges_.push_back({from, to, 1});
    has_reader_[from] = true;
    has_maker_[to] = true;
  }

  void add_named() {
    const std::span<const OpInfo> ops = dump_.ops();
    std::unordered_map<NamedValue, OpId, NamedValueHash> makers;
    for (OpId id = 0; id < ops.size(); ++id) {
      for (const std::string& output : ops[id].outputs) {
        if (!output.empty()) makers.try_emplace({ops[id].graph, output}, id);
      }
    }
    for (OpId id = 0; id < ops.size(); ++id) {
      for (const OpInput& input : ops[id].inputs) {
        OpId maker = input.producer;
        if (maker >= ops.size() && !makers.empty() && !input.name.empty()) {
          auto found = makers.find({ops[id].graph, input.name});
          if (found == makers.end()) found = makers.find({"", input.name});
          if (found != makers.end()) maker = found->second;
        }
        add(maker, id);
      }
    }
  }

  void add_flow() {
    const std::span<const RecordRow> rows = dump_.rows();
    if (std::ranges::none_of(rows, [](const RecordRow& row) { return row.storage != 0; })) return;
    std::vector<bool> named = has_maker_;
    std::vector<bool> updates(dump_.ops().size());
    ValueFlow flow;
    for (const size_t row : rows_in_time_order(dump_)) {
      if (rows[row].op >= updates.size()) continue;
      flow.see(rows[row]);
      if (rows[row].phase == static_cast<uint8_t>(Phase::kUpdate)) updates[rows[row].op] = true;
    }
    for (OpId id = 0; id < updates.size(); ++id) {
      if (named[id]) continue;
      for (const ValueFlow::Read& read : flow.reads(id)) {
        add(read.maker.op, id);
        for (const ValueMaker& other : read.others) {
          if (other.op < updates.size() && (!updates[other.op] || updates[id])) add(other.op, id);
        }
      }
    }
  }

  void add_bodies() {
    const std::span<const OpInfo> ops = dump_.ops();
    for (OpId id = 0; id < ops.size(); ++id) {
      const OpInfo& op = ops[id];
      if (op.parent >= ops.size() || op.parent == id || op.graph == ops[op.parent].graph || is_pseudo_op(op)) continue;
      if (!has_reader_[id] || attribute_slots(op, kGraphOutputs) != 0) add(id, op.parent);
    }
  }

  std::vector<ModelEdge> merged() {
    const auto ends = [](const ModelEdge& edge) { return uint64_t{edge.from} << 32U | edge.to; };
    if (!std::ranges::is_sorted(edges_, {}, ends)) std::ranges::sort(edges_, {}, ends);
    std::vector<ModelEdge> merged;
    for (const ModelEdge& edge : edges_) {
      if (!merged.empty() && ends(merged.back()) == ends(edge)) {
        ++merged.back().values;
      } else {
        merged.push_back(edge);
      }
    }
    return merged;
  }

  const DumpIndex& dump_;
  std::vector<bool> has_maker_;
  std::vector<bool> has_reader_;
  std::vector<ModelEdge> edges_;
};

}  // namespace

std::vector<ModelEdge> model_edges(const DumpIndex& dump) { return EdgeFinder(dump).find(); }

}  // namespace tensortap
