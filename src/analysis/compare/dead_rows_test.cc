#include "compare/dead_rows.h"

#include <gtest/gtest.h>

#include "compare/made_dump.h"

namespace tensortap {
namespace {

size_t record(MadeDump& dump, OpId id, SlotKind kind, uint16_t slot, uint64_t storage, uint64_t version) {
  const size_t row = dump.gives(id, numbers(30, static_cast<uint32_t>(8 * storage + version)));
  dump.all_rows[row].slot_kind = static_cast<uint8_t>(kind);
  dump.all_rows[row].slot_index = slot;
  dump.all_rows[row].storage = storage;
  dump.all_rows[row].version = version;
  return row;
}

// A buffer that a model computes when it is made, and again when its weights were loaded.
TEST(DeadRows, AnOpThatWritesOverAllOfAValueDoesNotReadIt) {
  for (const char* type : {"copy_", "add_"}) {
    MadeDump dump;
    const size_t first = record(dump, dump.op("first", "sqrt"), SlotKind::kOutput, 0, 1, 1);
    const size_t again = record(dump, dump.op("again", "sqrt"), SlotKind::kOutput, 0, 2, 1);
    const OpId over = dump.op("over", type);
    record(dump, over, SlotKind::kInput, 0, 1, 1);
    record(dump, over, SlotKind::kInput, 1, 2, 1);
    const size_t written = record(dump, over, SlotKind::kOutput, 0, 1, 2);
    const std::vector<bool> dead = dead_rows(ValueTable(dump));
    EXPECT_EQ(dead[first], std::string(type) == "copy_") << type;
    EXPECT_FALSE(dead[again]) << type;
    EXPECT_FALSE(dead[written]) << type;
  }
}

}  // namespace
}  // namespace tensortap
