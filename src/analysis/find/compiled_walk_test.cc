// Values that ops leave in memory, and what compiled code, whose kernels are no ops, carries from op to op.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/json.h"
#include "find/find_report.h"
#include "find/memory_dump.h"
#include "find/nonfinite_origins.h"

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Every op ran once in the run of the code.
class CompiledDump : public MemoryDump {
 public:
  size_t run_in_code(const char* name, const std::vector<Value>& read, Memory made, Bad bad, uint8_t flags = 0) {
    value_flags = flags | kValueInCompiledCode;
    const size_t row = run(op(name), read, made, bad);
    value_flags = 0;
    call = 0;
    return row;
  }
};

TEST(CompiledWalk, WhatAnOpLeavesInItsBufferIsUninitialisedMemory) {
  MemoryDump dump;
  const OpId attention = dump.op("attention");
  const OpId item = dump.op("item", R"({"sees_value": true})");
  dump.value_flags = kValueLeft;
  const size_t left = dump.run(attention, {{{1, 1}, kFine}}, {2, 2}, kNan);
  dump.value_flags = 0;
  EXPECT_TRUE(find_report(dump, 10)["first_nonfinite"].is_null()) << "nothing read it";
  EXPECT_EQ(find_report(dump, 10)["harmless"], 1);
  const size_t seen = dump.record(item, SlotKind::kInput, 0, {2, 2}, kNan);
  const auto origin = find_nonfinite(dump).seen;
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->kind, OriginKind::kUninitialised);
  EXPECT_THAT(chain_rows(*origin), ElementsAre(seen, left));
}

TEST(CompiledWalk, UninitialisedMemoryThatCompiledCodeCarriesNowhereIsHarmless) {
  CompiledDump dump;
  dump.run_in_code("attention", {{{1, 1}, kFine}}, {2, 1}, kNan, kValueLeft);
  dump.run_in_code("mm", {{{2, 1}, kNan}}, {3, 1}, kNan);
  dump.run_in_code("mm_1", {{{4, 1}, kNan}}, {5, 1}, kNan);  // a fused kernel made block 4
  dump.run(dump.op("rand_like"), {{{5, 1}, kNan}}, {6, 1}, kFine);
  const NonFiniteFindings found = find_nonfinite(dump);
  EXPECT_FALSE(found.seen);
  ASSERT_THAT(found.origins, SizeIs(1)) << "the rest came of it";
  EXPECT_EQ(found.origins[0].kind, OriginKind::kUninitialised);
  EXPECT_TRUE(found.origins[0].harmless);
}

TEST(CompiledWalk, UninitialisedMemoryThatCompiledCodeGivesOutIsSeen) {
  CompiledDump dump;
  const size_t left = dump.run_in_code("attention", {{{1, 1}, kFine}}, {2, 1}, kNan, kValueLeft);
  const size_t result = dump.run_in_code("mm", {{{2, 1}, kNan}}, {3, 1}, kNan);
  const auto given_out = find_nonfinite(dump).seen;
  ASSERT_TRUE(given_out) << "the reader of the last output is unknown";
  EXPECT_THAT(chain_rows(*given_out), ElementsAre(result, left));
  const size_t seen = dump.record(dump.op("item", R"({"sees_value": true})"), SlotKind::kInput, 0, {7, 1}, kNan);
  const auto origin = find_nonfinite(dump).seen;
  ASSERT_TRUE(origin);
  EXPECT_THAT(chain_rows(*origin), ElementsAre(seen, result, left)) << "a fused kernel made block 7";
  EXPECT_EQ(origin->kind, OriginKind::kUninitialised);
  for (const NonFiniteOrigin& one : find_nonfinite(dump).origins) EXPECT_FALSE(one.harmless);
}

TEST(CompiledWalk, WhatAnOpOfCompiledCodeMadeItselfIsSeen) {
  CompiledDump dump;
  const size_t made = dump.run_in_code("log", {{{1, 1}, kFine}}, {2, 1}, kNan);
  dump.run_in_code("mm", {{{4, 1}, kNan}}, {5, 1}, kNan);
  dump.run(dump.op("rand_like"), {{{5, 1}, kNan}}, {6, 1}, kFine);
  const auto origin = find_nonfinite(dump).seen;
  ASSERT_TRUE(origin) << "the output of log may be the result of the code";
  EXPECT_EQ(origin->chain.back().row, made);
}

TEST(CompiledWalk, OneRunOfTheCodeCarriesNothingToAnother) {
  CompiledDump dump;
  dump.run_in_code("attention", {{{1, 1}, kFine}}, {2, 1}, kNan, kValueLeft);
  dump.step = 1;
  const size_t made = dump.run_in_code("mm", {{{4, 1}, kNan}}, {5, 1}, kNan);
  const auto origin = find_nonfinite(dump).seen;
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->kind, OriginKind::kUnknown);
  EXPECT_THAT(chain_rows(*origin), ElementsAre(made, made - 1)) << "its input";
}

TEST(CompiledWalk, TakingNoElementOfUnwrittenMemoryReadsNone) {
  MemoryDump dump;
  const size_t written = dump.record(dump.op("slice"), SlotKind::kInput, 0, {1, 1}, kFine);
  RecordRow row = dump.rows()[written];
  row.op = dump.op("slice_1");
  row.flags = kRecordUnwritten;
  dump.add(row);
  row.slot_kind = static_cast<uint8_t>(SlotKind::kOutput);
  row.set_desc({DType::kFloat32, {0}});
  dump.add(row);
  EXPECT_TRUE(find_report(dump, 10)["unwritten"].empty());
}

}  // namespace
}  // namespace tensortap
