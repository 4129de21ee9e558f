// Which record of one rank belongs to which of another, and how an op's tensors are said to be placed.

#ifndef TENSORTAP_SHARDS_SHARD_ROWS_H_
#define TENSORTAP_SHARDS_SHARD_ROWS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "query/slot_placements.h"
#include "trace/dump_index.h"

namespace tensortap {

// "name|type|module|graph", with zeros between.
std::string op_key(const OpInfo& op);

// Records by op and execution. Borrows the dump; immutable.
class ShardRows {
 public:
  explicit ShardRows(const DumpIndex& dump);
  // The row of an op of this key at the same slot, step, call, phase and moment as a row of another dump; nothing when there is none.
  [[nodiscard]] std::optional<uint32_t> beside(const std::string& key, const RecordRow& row) const;

 private:
  std::unordered_map<std::string, uint32_t> numbers_;  // of ops
  std::unordered_map<std::string, uint32_t> rows_;
};

// How the records of a dump are placed, as its ops say. Borrows the dump; immutable.
class ToldPlacements {
 public:
  explicit ToldPlacements(const DumpIndex& dump);
  // The placement of an input as its op records it, of an output as an op that reads it records it; null if neither is recorded.
  [[nodiscard]] const SlotPlacement* of(uint32_t row) const;

 private:
  using Content = std::pair<uint64_t, uint64_t>;  // block of memory, version
  const SlotPlacement* of_input(const RecordRow& row) const;

  const DumpIndex& dump_;
  std::vector<std::vector<SlotPlacement>> of_ops_;
  std::map<Content, uint32_t> readers_;  // a row that reads it and has a placement
};

}  // namespace tensortap

#endif  // TENSORTAP_SHARDS_SHARD_ROWS_H_
