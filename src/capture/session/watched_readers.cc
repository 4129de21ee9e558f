#include "session/watched_readers.h"

#include <algorithm>

#include "base/json.h"

namespace tensortap {
namespace {

constexpr int kMostNested = 64;

}  // namespace

WatchedReaders::WatchedReaders(const OpTable& ops) : ops_(ops) {
  for (OpId id = 0; id < ops.size(); ++id) {
    const OpEntry& entry = *ops.find(id);
    if (entry.is_look) continue;
    for (const OpInput& input : entry.info.inputs) {
      if (input.producer != kNoOp) readers_[{input.producer, input.producer_slot}].push_back(id);
    }
  }
}

bool WatchedReaders::is_graph_output(const OpEntry& op, uint32_t slot) {
  if (op.info.attributes.find(kGraphOutputs) == std::string::npos) return false;
  const Result<Json> attributes = parse_json(op.info.attributes, "attributes");
  if (!attributes.ok() || !attributes->is_object()) return false;
  const auto slots = attributes->find(kGraphOutputs);
  if (slots == attributes->end() || !slots->is_array()) return false;
  return std::any_of(slots->begin(), slots->end(), [&](const Json& one) { return one == slot; });
}

// An op of a nested graph runs while the op that holds the graph does: that op, where the watched one is outside.
OpId WatchedReaders::in_graph(OpId op, const OpEntry& watched) const {
  for (int depth = 0; depth < kMostNested; ++depth) {
    const OpEntry& entry = *ops_.find(op);
    if (entry.info.graph == watched.info.graph || ops_.find(entry.info.parent) == nullptr) return op;
    op = entry.info.parent;
  }
  return op;
}

std::optional<bool> WatchedReaders::read_after(OpId watched, uint32_t slot, OpId writer) const {
  const OpEntry& made = *ops_.find(watched);
  const OpId writing = in_graph(writer, made);
  const auto readers = readers_.find({watched, slot});
  const bool any = readers != readers_.end();
  bool under_way = false;
  for (const OpId reader : any ? readers->second : std::vector<OpId>()) {
    const OpId reading = in_graph(reader, made);
    if (reading != writing) {
      if (ops_.find(reading)->place > ops_.find(writing)->place) return true;
    } else if (reader != reading) {
      return true;  // in the nested graph that is running, whose next trip reads it again
    } else {
      under_way |= reader != writer;
    }
  }
  if (under_way) return std::nullopt;
  if (is_graph_output(made, slot)) return true;
  return any ? std::optional(false) : std::nullopt;
}

}  // namespace tensortap
