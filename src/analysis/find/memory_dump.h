// A dump for tests: its records name the memory of their tensors, and its ops name no producers.

#ifndef TENSORTAP_FIND_MEMORY_DUMP_H_
#define TENSORTAP_FIND_MEMORY_DUMP_H_

#include <string>
#include <utility>
#include <vector>

#include "find/nonfinite_origins.h"
#include "stats/stats.h"
#include "trace/vector_dump_index.h"

namespace tensortap {

struct Memory {
  uint64_t storage;
  uint64_t version;
};

struct Bad {
  uint64_t nan = 0;
  uint64_t inf = 0;
};
inline constexpr Bad kFine{};
inline constexpr Bad kNan{1, 0};
inline constexpr Bad kInfinite{0, 1};

class MemoryDump : public VectorDumpIndex {
 public:
  OpId op(const std::string& name, const std::string& attributes = "") {
    OpInfo info;
    info.name = name;
    info.type = "aten::" + name;
    info.attributes = attributes;
    info.source_location = "/programs/" + name + ".py:7";
    return add_op(std::move(info));
  }
  // One record of the present execution.
  size_t record(OpId id, SlotKind kind, uint16_t slot, Memory memory, Bad bad) {
    RecordRow row;
    row.op = id;
    row.step = step;
    row.call = call;
    row.phase = static_cast<uint8_t>(phase);
    row.slot_kind = static_cast<uint8_t>(kind);
    row.slot_index = slot;
    row.storage = memory.storage;
    row.version = memory.version;
    row.value_flags = value_flags;
    row.set_desc({DType::kFloat32, {4}});
    row.stats.valid = kStatFull;
    row.stats.count = 4;
    row.stats.nan = bad.nan;
    row.stats.pos_inf = bad.inf;
    row.stats.first_nonfinite = bad.nan + bad.inf > 0 ? 2 : -1;
    return add(row);
  }
  struct Value {
    Memory memory;
    Bad bad;
  };
  // An execution; returns the row of its output.
  size_t run(OpId id, const std::vector<Value>& read, Memory made, Bad bad) {
    for (size_t i = 0; i < read.size(); ++i) record(id, SlotKind::kInput, static_cast<uint16_t>(i), read[i].memory, read[i].bad);
    const size_t row = record(id, SlotKind::kOutput, 0, made, bad);
    ++call;
    return row;
  }

  int64_t step = 0;
  uint32_t call = 0;
  Phase phase = Phase::kForward;
  uint8_t value_flags = 0;  // ValueFlag bits of the records to come
};

inline std::vector<size_t> chain_rows(const NonFiniteOrigin& origin) {
  std::vector<size_t> rows;
  for (const OriginStep& one : origin.chain) rows.push_back(one.row);
  return rows;
}

}  // namespace tensortap

#endif  // TENSORTAP_FIND_MEMORY_DUMP_H_
