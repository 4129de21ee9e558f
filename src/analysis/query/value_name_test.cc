#include "query/value_name.h"

#include <gtest/gtest.h>

#include "query/query_dump.h"

namespace tensortap {
namespace {

RecordRow input_of(OpId op, uint64_t storage, uint8_t flags) {
  RecordRow row = QueryDump::record(op, 0, SlotKind::kInput, 1);
  row.slot_index = 1;
  row.storage = storage;
  row.value_flags = flags;
  return row;
}

TEST(ValueName, IsThatOfTheCallsOwnTensor) {
  VectorDumpIndex dump;
  const OpId loop = dump.add_op(QueryDump::op("Net/add", "add"));
  const OpId other = dump.add_op(QueryDump::op("Net/mul", "mul"));
  dump.all_ops[loop].inputs = {{"self", kNoOp, 0}, {"bias", kNoOp, 0}};
  dump.all_ops[other].inputs = {{"self", kNoOp, 0}, {"mask", kNoOp, 0}};
  const size_t first = dump.add(input_of(loop, 7, kValueOwnName));
  const size_t second = dump.add(input_of(loop, 8, kValueOtherName));
  const size_t unknown = dump.add(input_of(loop, 0, kValueOtherName));
  EXPECT_EQ(value_name(dump, dump.rows()[first]), "bias");
  EXPECT_EQ(value_name(dump, dump.rows()[second]), "");
  EXPECT_EQ(value_name(dump, dump.rows()[unknown]), "");
  dump.add(input_of(other, 8, kValueOwnName));
  EXPECT_EQ(value_name(dump, dump.rows()[second]), "mask");
  RecordRow slot = input_of(loop, 9, 0);
  slot.slot_index = 0;
  EXPECT_EQ(value_name(dump, slot), "self");
  slot.slot_index = 9;
  EXPECT_EQ(value_name(dump, slot), "");
}

}  // namespace
}  // namespace tensortap
