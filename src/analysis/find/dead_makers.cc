#include "find/dead_makers.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>

#include "find/op_semantics.h"
#include "find/record_roles.h"

namespace tensortap {
namespace {

// Which outputs are read, by their number among those of their op. Only ops with an output that is read are in it.
class ReadOutputs {
 public:
  ReadOutputs(const DumpIndex& dump, const RecordLookup& lookup) {
    for (const OpInfo& op : dump.ops()) {
      for (const OpInput& input : op.inputs) {
        if (const auto made = lookup.producer_of(op, input)) add(made->first, made->second);
      }
    }
    if (!lookup.knows_memory()) return;
    std::unordered_set<RecordLookup::Content, RecordLookup::Hash> read;
    for (const RecordRow& row : dump.rows()) {
      if (is_input(row) && row.storage != 0) read.insert({row.storage, row.version});
    }
    for (const RecordRow& row : dump.rows()) {
      if (!is_input(row) && read.contains({row.storage, row.version})) add(row.op, row.slot_index);
    }
  }

  [[nodiscard]] bool only_others(const RecordRow& row) const {
    return ops_.contains(row.op) && !slots_.contains(key_of(row.op, row.slot_index));
  }

 private:
  static uint64_t key_of(OpId op, uint32_t slot) { return uint64_t{op} << 32 | slot; }
  void add(OpId op, uint32_t slot) {
    ops_.insert(op);
    slots_.insert(key_of(op, slot));
  }

  std::unordered_set<OpId> ops_;
  std::unordered_set<uint64_t> slots_;
};

enum class Content : uint8_t { kUnknown, kZeros, kEqual, kVaried };

Content content_of(const RecordRow& row) {
  constexpr uint32_t kExtremes = kStatMin | kStatMax;
  if ((row.stats.valid & kExtremes) != kExtremes || row.numel == 0) return Content::kUnknown;
  if (row.stats.min == 0 && row.stats.max == 0) return Content::kZeros;
  return row.stats.min == row.stats.max ? Content::kEqual : Content::kVaried;
}

bool is_left_out(const DumpIndex& dump, const RecordRow& row) {
  const auto phase = static_cast<Phase>(row.phase);
  const std::string& type = op_of(dump, row).type;
  return phase == Phase::kUpdate || phase == Phase::kLoad || row.numel < 2 || !is_floating(static_cast<DType>(row.dtype)) ||
         only_moves(type) || makes_constants(type);
}

// Whether something that varies went in, or anything into an activation function, and nothing that was all zeros. Nothing where that is not
// known.
std::optional<bool> reads_live_values(const DumpIndex& dump, const RecordLookup& lookup, size_t row, bool is_activation) {
  bool known = false;
  bool varied = false;
  for (const RecordLookup::Read& read : lookup.reads_of(row)) {
    if (!read.row) continue;
    const RecordRow& input = dump.rows()[*read.row];
    if (!is_floating(static_cast<DType>(input.dtype))) continue;
    const Content content = content_of(input);
    if (content == Content::kZeros && input.numel > 1) return false;
    known = known || content != Content::kUnknown;
    varied = varied || content == Content::kVaried || (is_activation && content == Content::kEqual);
  }
  return known ? std::optional(varied) : std::nullopt;
}

}  // namespace

std::vector<DeadOutput> find_dead_makers(const DumpIndex& dump, const RecordLookup& lookup) {
  std::vector<DeadOutput> dead = find_dead_outputs(dump);
  if (dead.empty()) return dead;
  const ReadOutputs reads(dump, lookup);
  const RecordRoles roles(dump);
  std::erase_if(dead, [&](const DeadOutput& one) {
    const RecordRow& row = dump.rows()[one.row];
    return is_left_out(dump, row) || reads.only_others(row) ||
           !reads_live_values(dump, lookup, one.row, roles.is_activation(row)).value_or(true);
  });
  return dead;
}

}  // namespace tensortap
