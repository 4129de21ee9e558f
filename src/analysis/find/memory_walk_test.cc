// The way back through blocks of memory, in dumps whose records name the memory of their tensors and whose ops name no producers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "find/find_report.h"
#include "find/memory_dump.h"
#include "find/nonfinite_origins.h"
#include "stats/stats.h"
#include "trace/vector_dump_index.h"

namespace tensortap {
namespace {

using ::testing::ElementsAre;

TEST(MemoryWalk, FollowsStoragesThroughViewsAndWritesInPlaceAcrossSteps) {
  MemoryDump dump;
  const OpId pow = dump.op("pow");
  const OpId view = dump.op("view");
  const OpId add = dump.op("add_");
  const OpId item = dump.op("item", R"({"sees_value": true})");
  const size_t made = dump.run(pow, {{{1, 1}, kFine}}, {2, 2}, kInfinite);
  const size_t viewed = dump.run(view, {{{2, 2}, kInfinite}}, {2, 2}, kInfinite);
  dump.step = 1;
  const size_t written = dump.run(add, {{{3, 3}, kFine}, {{2, 2}, kInfinite}}, {3, 4}, kNan);
  const size_t seen = dump.record(item, SlotKind::kInput, 0, {3, 4}, kNan);
  const auto origin = find_nonfinite(dump).seen;
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->kind, OriginKind::kOp);
  EXPECT_TRUE(origin->certain);
  EXPECT_THAT(chain_rows(*origin), ElementsAre(seen, written, made)) << "the view made nothing, row " << viewed;
  EXPECT_EQ(origin->chain[2].inputs.size(), 1U);
}

// torch_capture: an overflow that does no harm comes first in time.
TEST(MemoryWalk, WhatTheProgramSawCountsNotWhatIsFirstInTime) {
  MemoryDump dump;
  const OpId square = dump.op("square");
  const OpId rsqrt = dump.op("rsqrt");
  const OpId div = dump.op("div");
  const OpId isfinite = dump.op("isfinite", R"({"sees_value": true})");
  dump.run(square, {{{1, 1}, kFine}}, {2, 1}, kInfinite);
  dump.run(rsqrt, {{{2, 1}, kInfinite}}, {3, 1}, kFine);
  dump.step = 5;
  dump.run(div, {{{3, 1}, kFine}}, {4, 1}, kNan);
  dump.record(isfinite, SlotKind::kInput, 0, {4, 1}, kNan);
  const Json report = find_report(dump, 10);
  EXPECT_EQ(report["first_nonfinite"]["op"], "div");
  EXPECT_EQ(report["first_in_time"]["op"], "square");
  EXPECT_EQ(report["seen"]["chain"].front()["record"], "isfinite:in0@5#3");
  EXPECT_EQ(report["seen"]["chain"].back()["source"], "/programs/div.py:7");
  EXPECT_EQ(report["origins"].size(), 2U);
}

TEST(MemoryWalk, AParameterIsSeenWhereNothingElseIs) {
  MemoryDump dump;
  const OpId mul = dump.op("mul");
  const OpId step = dump.op("addcdiv_");
  dump.phase = Phase::kBackward;
  const size_t made = dump.run(mul, {{{1, 1}, kFine}}, {2, 1}, kNan);
  EXPECT_EQ(find_nonfinite(dump).seen->reached, "result") << "a gradient that no optimizer takes";
  dump.phase = Phase::kUpdate;
  dump.run(step, {{{9, 1}, kFine}, {{2, 1}, kNan}}, {9, 2}, kNan);
  const auto origin = find_nonfinite(dump).seen;
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->reached, "parameter");
  EXPECT_EQ(origin->chain.back().row, made);
}

TEST(MemoryWalk, WhatIsTakenByAnOpThatMakesItFiniteIsHarmless) {
  MemoryDump dump;
  const OpId exp = dump.op("exp");
  const OpId reciprocal = dump.op("reciprocal");
  const OpId item = dump.op("item", R"({"sees_value": true})");
  dump.run(exp, {{{1, 1}, kFine}}, {2, 1}, kInfinite);
  dump.run(reciprocal, {{{2, 1}, kInfinite}}, {3, 1}, kFine);
  dump.record(item, SlotKind::kInput, 0, {3, 1}, kFine);
  const NonFiniteFindings found = find_nonfinite(dump);
  EXPECT_FALSE(found.seen);
  ASSERT_EQ(found.origins.size(), 1U);
  EXPECT_TRUE(found.origins[0].harmless);
  const Json report = find_report(dump, 10);
  EXPECT_EQ(report["first_nonfinite"], nullptr);
  EXPECT_EQ(report["harmless"], 1);
}

TEST(MemoryWalk, AHarmlessExecutionDoesNotHideOneThatIsNot) {
  MemoryDump dump;
  const OpId exp = dump.op("exp");
  const OpId reciprocal = dump.op("reciprocal");
  const OpId item = dump.op("item", R"({"sees_value": true})");
  dump.run(exp, {{{1, 1}, kFine}}, {2, 1}, kInfinite);
  dump.run(reciprocal, {{{2, 1}, kInfinite}}, {3, 1}, kFine);
  const size_t made = dump.run(exp, {{{1, 1}, kFine}}, {4, 1}, kInfinite);
  dump.record(item, SlotKind::kInput, 0, {4, 1}, kInfinite);
  const NonFiniteFindings found = find_nonfinite(dump);
  ASSERT_EQ(found.origins.size(), 1U);
  EXPECT_FALSE(found.origins[0].harmless);
  EXPECT_EQ(found.origins[0].chain.back().row, made);
}

TEST(MemoryWalk, WhatAnOpIsAboutToWriteOverIsNoValue) {
  MemoryDump dump;
  const OpId mm = dump.op("mm", R"({"overwrites": [1]})");
  const OpId item = dump.op("item", R"({"sees_value": true})");
  dump.run(mm, {{{1, 1}, kFine}, {{2, 1}, kNan}}, {2, 2}, kFine);
  Json report = find_report(dump, 10);
  EXPECT_EQ(report["first_nonfinite"], nullptr);
  EXPECT_TRUE(report["origins"].empty());
  EXPECT_FALSE(report.contains("first_in_time"));
  const size_t made = dump.run(mm, {{{1, 1}, kFine}, {{3, 1}, kNan}}, {3, 2}, kNan);
  dump.record(item, SlotKind::kInput, 0, {3, 2}, kNan);
  const auto seen = find_nonfinite(dump).seen;
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->chain.back().row, made);
  EXPECT_EQ(seen->kind, OriginKind::kOp);
}

TEST(MemoryWalk, ALossOfABackwardPassIsSeenWithoutTheProgramReadingIt) {
  MemoryDump dump;
  const OpId log = dump.op("log");
  const OpId ones = dump.op("ones_like", R"({"sees_loss": true})");
  const size_t made = dump.run(log, {{{1, 1}, kFine}}, {2, 1}, kInfinite);
  dump.run(ones, {{{2, 1}, kInfinite}}, {3, 1}, kFine);
  EXPECT_FALSE(find_nonfinite(dump).seen) << "four elements are no loss";
  dump.all_rows[made + 1].numel = 1;
  const auto seen = find_nonfinite(dump).seen;
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->reached, "loss");
  EXPECT_EQ(seen->chain.back().row, made);
}

// The program reads a boolean.
TEST(MemoryWalk, AQuestionForNanIsSeenWhereItsAnswerIsRead) {
  MemoryDump dump;
  const OpId div = dump.op("div");
  const OpId isnan = dump.op("isnan", R"({"tests_value": true})");
  const OpId any = dump.op("any");
  const OpId item = dump.op("item", R"({"sees_value": true})");
  const OpId where = dump.op("where");
  const auto boolean = [&](size_t row) { dump.all_rows[row].dtype = static_cast<uint8_t>(DType::kBool); };
  dump.run(div, {{{1, 1}, kFine}}, {2, 1}, kNan);
  boolean(dump.run(isnan, {{{2, 1}, kNan}}, {3, 1}, kFine));
  const size_t answer = dump.record(where, SlotKind::kInput, 0, {3, 1}, kFine);
  boolean(answer);
  dump.run(where, {}, {5, 1}, kFine);
  EXPECT_FALSE(find_nonfinite(dump).seen) << "a NaN that is asked for and put right";
  boolean(dump.record(any, SlotKind::kInput, 0, {3, 1}, kFine));
  boolean(dump.run(any, {}, {4, 1}, kFine));
  boolean(dump.record(item, SlotKind::kInput, 0, {4, 1}, kFine));
  const auto seen = find_nonfinite(dump).seen;
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->reached, "host");
  EXPECT_EQ(op_of(dump, dump.all_rows[seen->chain.back().row]).name, "div");
}

// logits -> argmax -> == labels -> mean -> item(), or nothing behind argmax but a view.
TEST(MemoryWalk, WhatIsMadeOfNanAsIfItWereANumberIsSeenWhereItIsReadOrLeftUnread) {
  for (const bool is_read : {false, true}) {
    MemoryDump dump;
    const auto whole = [&](size_t row) { dump.all_rows[row].dtype = static_cast<uint8_t>(DType::kInt64); };
    const size_t made = dump.run(dump.op("div"), {{{1, 1}, kFine}}, {2, 1}, kNan);
    whole(dump.run(dump.op("argmax"), {{{2, 1}, kNan}}, {3, 1}, kFine));
    const size_t viewed = dump.run(dump.op("view"), {{{3, 1}, kFine}}, {3, 1}, kFine);
    whole(viewed);
    whole(viewed - 1);
    if (is_read) {
      const size_t share = dump.run(dump.op("mean"), {{{3, 1}, kFine}}, {4, 1}, kFine);
      whole(share - 1);
      dump.record(dump.op("item", R"({"sees_value": true})"), SlotKind::kInput, 0, {4, 1}, kFine);
    }
    const auto seen = find_nonfinite(dump).seen;
    ASSERT_TRUE(seen) << is_read;
    EXPECT_EQ(seen->reached, is_read ? "host" : "result");
    EXPECT_EQ(seen->chain.back().row, made);
  }
}

TEST(MemoryWalk, WhatIsMadeOfAnAnswerAndOfOtherValuesIsNoAnswer) {
  MemoryDump dump;
  dump.run(dump.op("div"), {{{1, 1}, kFine}}, {2, 1}, kNan);
  const size_t mask = dump.run(dump.op("gt"), {{{2, 1}, kNan}}, {3, 1}, kFine);
  dump.all_rows[mask].dtype = static_cast<uint8_t>(DType::kBool);
  const size_t product = dump.run(dump.op("mul"), {{{3, 1}, kFine}, {{1, 1}, kFine}}, {4, 1}, kFine);
  dump.all_rows[product - 2].dtype = static_cast<uint8_t>(DType::kBool);
  dump.record(dump.op("item", R"({"sees_value": true})"), SlotKind::kInput, 0, {4, 1}, kFine);
  EXPECT_FALSE(find_nonfinite(dump).seen);
}

TEST(MemoryWalk, GradientsThatGoToAnOptimizerAreSeenInAParameterOnly) {
  MemoryDump dump;
  const OpId mul = dump.op("mul");
  const OpId linear = dump.op("linear", R"({"parameters": [1]})");
  const OpId step = dump.op("add_");
  dump.run(linear, {{{1, 1}, kFine}, {{9, 1}, kFine}}, {2, 1}, kFine);
  dump.phase = Phase::kBackward;
  dump.run(mul, {{{2, 1}, kFine}}, {3, 1}, kInfinite);
  dump.phase = Phase::kUpdate;
  dump.run(step, {{{8, 1}, kFine}, {{3, 1}, kInfinite}}, {8, 2}, kInfinite);
  EXPECT_FALSE(find_nonfinite(dump).seen) << "block 8 is no parameter";
  dump.run(step, {{{9, 1}, kFine}, {{8, 2}, kInfinite}}, {9, 2}, kInfinite);
  const auto seen = find_nonfinite(dump).seen;
  ASSERT_TRUE(seen);
  EXPECT_EQ(op_of(dump, dump.all_rows[seen->chain.back().row]).name, "mul");
}

TEST(MemoryWalk, ANumberOfTheProgramIsNotWhatTheOpMade) {
  MemoryDump dump;
  const OpId mul = dump.op("mul");
  const OpId item = dump.op("item", R"({"sees_value": true})");
  const size_t made = dump.run(mul, {{{1, 1}, kFine}, {{2, 1}, kInfinite}}, {3, 1}, kNan);
  dump.all_rows[made - 1].dims_count = 0;
  dump.record(item, SlotKind::kInput, 0, {3, 1}, kNan);
  const auto seen = find_nonfinite(dump).seen;
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->chain.back().row, made) << "the NaN of out0, not the Inf of in1";
  EXPECT_EQ(seen->kind, OriginKind::kOp);
}

TEST(MemoryWalk, IntendedInfinitiesAreNoAlarmUnlessNanComesOfThem) {
  MemoryDump dump;
  const OpId fill = dump.op("masked_fill", R"({"intended_inf": true})");
  const OpId add = dump.op("add");
  const OpId softmax = dump.op("softmax");
  dump.run(fill, {{{1, 1}, kFine}}, {2, 1}, kInfinite);
  dump.run(add, {{{2, 1}, kInfinite}}, {3, 1}, kInfinite);
  Json report = find_report(dump, 10);
  EXPECT_EQ(report["first_nonfinite"], nullptr);
  EXPECT_EQ(report["first_in_time"]["op"], "masked_fill");
  EXPECT_EQ(report["origins"][0]["kind"], "intended");
  const OpId item = dump.op("item", R"({"sees_value": true})");
  dump.record(item, SlotKind::kInput, 0, {3, 1}, kInfinite);
  dump.run(softmax, {{{3, 1}, kInfinite}}, {4, 1}, kNan);
  dump.record(item, SlotKind::kInput, 0, {4, 1}, kNan);
  report = find_report(dump, 10);
  EXPECT_EQ(report["first_nonfinite"]["op"], "softmax") << "the first value that was seen is intended, the NaN is not";
}

TEST(MemoryWalk, NanIsFollowedRatherThanAnEarlierInfinity) {
  MemoryDump dump;
  const OpId fill = dump.op("full", R"({"intended_inf": true})");
  const OpId log = dump.op("log");
  const OpId add = dump.op("add");
  dump.run(fill, {}, {1, 1}, kInfinite);
  const size_t made = dump.run(log, {{{5, 1}, kFine}}, {2, 1}, kNan);
  const size_t end = dump.run(add, {{{1, 1}, kInfinite}, {{2, 1}, kNan}}, {3, 1}, kNan);
  EXPECT_THAT(chain_rows(trace_nonfinite(dump, end)), ElementsAre(end, made));
}

// A block of which an op wrote another part since.
TEST(MemoryWalk, ALaterWriterElsewhereInTheBlockIsNotBlamed) {
  MemoryDump dump;
  const OpId log = dump.op("log_");
  const OpId zero = dump.op("zero_");
  const OpId sum = dump.op("sum");
  const size_t made = dump.run(log, {{{1, 1}, kFine}}, {1, 2}, kNan);
  dump.run(zero, {{{1, 2}, kFine}}, {1, 3}, kFine);
  const size_t end = dump.run(sum, {{{1, 3}, kNan}}, {2, 1}, kNan);
  EXPECT_THAT(chain_rows(trace_nonfinite(dump, end)), ElementsAre(end, made));
}

TEST(MemoryWalk, EndsWhereTheWriterWasNotCaptured) {
  MemoryDump dump;
  const OpId view = dump.op("view");
  const OpId sum = dump.op("sum");
  dump.run(view, {{{1, 7}, kNan}}, {1, 7}, kNan);
  const size_t end = dump.run(sum, {{{1, 7}, kNan}}, {2, 1}, kNan);
  const NonFiniteOrigin origin = trace_nonfinite(dump, end);
  EXPECT_EQ(origin.kind, OriginKind::kUnknown);
  EXPECT_FALSE(origin.certain);
}

TEST(MemoryWalk, WithoutInputsNothingIsCertain) {
  MemoryDump dump;
  const OpId log = dump.op("log");
  const size_t row = dump.run(log, {}, {1, 1}, kNan);
  EXPECT_FALSE(trace_nonfinite(dump, row).certain);
}

TEST(MemoryWalk, UnwrittenMemoryIsNoMissingValue) {
  MemoryDump dump;
  const OpId log = dump.op("log");
  const size_t out = dump.record(log, SlotKind::kInput, 0, {1, 1}, kFine);
  dump.all_rows[out].flags = kRecordUnwritten;
  dump.all_rows[out].stats = {};
  const size_t row = dump.run(log, {{{2, 1}, kFine}}, {1, 2}, kNan);
  EXPECT_TRUE(trace_nonfinite(dump, row).certain);
  EXPECT_EQ(trace_nonfinite(dump, row).kind, OriginKind::kUninitialised);
  const Json report = find_report(dump, 10);
  EXPECT_EQ(report["seen"]["kind"], "uninitialised memory");
  EXPECT_EQ(report["seen"]["chain"][0]["inputs"][0]["unwritten"], true);
}

std::vector<std::string> unwritten_of(const DumpIndex& dump) {
  std::vector<std::string> ops;
  const Json report = find_report(dump, 10);
  for (const Json& one : report["unwritten"]) ops.push_back(one["op"].get<std::string>());
  return ops;
}

// Each op gets memory that nothing was written to. Only some compute with it.
TEST(MemoryWalk, OpsThatComputeWithUnwrittenMemoryAreNamed) {
  struct Case {
    std::string op;
    Memory made;
    std::string attributes;
    bool is_named;
  };
  const std::vector<Case> cases = {{"mm", {2, 1}, "", true},
                                   {"add_", {1, 2}, "", true},
                                   {"view", {1, 1}, "", false},
                                   {"empty_like", {2, 1}, "", false},
                                   {"clone", {2, 1}, "", false},
                                   {"index_put_", {1, 2}, "", false},
                                   {"copy_", {1, 2}, R"({"overwrites": [0]})", false},
                                   {"mm", {1, 2}, R"({"overwrites": [0]})", false}};
  for (const Case& one : cases) {
    MemoryDump dump;
    const OpId id = dump.op(one.op, one.attributes);
    dump.all_ops[id].domain = "aten";
    dump.all_rows[dump.record(id, SlotKind::kInput, 0, {1, 1}, kFine)].flags = kRecordUnwritten;
    dump.record(id, SlotKind::kOutput, 0, one.made, kFine);
    EXPECT_EQ(!unwritten_of(dump).empty(), one.is_named) << one.op << one.attributes;
    EXPECT_EQ(has_finding(find_report(dump, 10)), one.is_named);
  }
}

// What else reads such memory may leave the unwritten elements out.
TEST(MemoryWalk, OfMemoryThatWasWrittenInPartOnlySumsOfAllElementsAreNamed) {
  struct Case {
    std::string op;
    uint64_t made;
    bool is_named;
  };
  const std::vector<Case> cases = {{"mean", 1, true},  {"mse_loss", 1, true}, {"sum", 4, false},       {"mm", 1, false},
                                   {"amax", 1, false}, {"clone", 8, false},   {"index_put_", 8, false}};
  for (const Case& one : cases) {
    MemoryDump dump;
    const OpId id = dump.op(one.op);
    dump.all_ops[id].domain = "aten";
    dump.all_rows[dump.record(id, SlotKind::kInput, 0, {1, 1}, kFine)].value_flags = kValuePartlyUnwritten;
    dump.all_rows[dump.record(id, SlotKind::kOutput, 0, {2, 1}, kFine)].numel = one.made;
    const Json report = find_report(dump, 10);
    EXPECT_EQ(!report["unwritten"].empty(), one.is_named) << one.op;
    if (one.is_named) {
      EXPECT_EQ(report["unwritten"][0]["partly"], true);
    }
  }
}

TEST(MemoryWalk, ACopyOfUnwrittenMemoryIsUnwritten) {
  MemoryDump dump;
  const OpId copy = dump.op("_to_copy");
  const OpId mul = dump.op("mul");
  dump.all_rows[dump.record(copy, SlotKind::kInput, 0, {1, 1}, kFine)].flags = kRecordUnwritten;
  dump.record(copy, SlotKind::kOutput, 0, {2, 1}, kFine);
  dump.run(mul, {{{2, 2}, kFine}}, {3, 1}, kFine);
  EXPECT_THAT(unwritten_of(dump), ElementsAre()) << "an op wrote into the copy";
  dump.run(mul, {{{2, 1}, kFine}}, {4, 1}, kFine);
  EXPECT_THAT(unwritten_of(dump), ElementsAre("mul"));
}

// An operator of others may be given memory for its results.
TEST(MemoryWalk, ResultsOfOtherPeoplesOperatorsAreNotReadByThem) {
  MemoryDump dump;
  const OpId fused = dump.op("onednn_mm");
  dump.all_ops[fused].domain = "_C";
  dump.all_rows[dump.record(fused, SlotKind::kInput, 0, {1, 1}, kFine)].flags = kRecordUnwritten;
  const size_t made = dump.record(fused, SlotKind::kOutput, 0, {1, 2}, kFine);
  EXPECT_THAT(unwritten_of(dump), ElementsAre());
  dump.all_rows[made].storage = 2;
  EXPECT_THAT(unwritten_of(dump), ElementsAre("onednn_mm"));
}

TEST(MemoryWalk, AFillOfNanThatNothingReadsIsHarmless) {
  for (const bool is_read : {false, true}) {
    MemoryDump dump;
    const OpId full = dump.op("full", R"({"intended_inf": true})");
    const OpId sum = dump.op("sum");
    const size_t filled = dump.run(full, {}, {1, 1}, kNan);
    dump.run(dump.op("linear", R"({"parameters": [0]})"), {{{1, 2}, kFine}}, {3, 1}, kFine);
    if (is_read) dump.run(sum, {{{1, 1}, kNan}}, {2, 1}, kNan);
    const NonFiniteFindings found = find_nonfinite(dump);
    EXPECT_EQ(found.seen.has_value(), is_read);
    ASSERT_EQ(found.origins.size(), 1U);
    EXPECT_EQ(found.origins[0].chain.back().row, filled);
    EXPECT_EQ(found.origins[0].harmless, !is_read);
  }
}

// A gradient scaler looks for gradients that overflowed and leaves out their step.
TEST(MemoryWalk, AGradientThatOverflowedIsNoFindingWhereAScalerLooks) {
  for (const bool has_scaler : {false, true}) {
    MemoryDump dump;
    const OpId scaled = dump.op("_to_copy");
    const OpId check = dump.op("_amp_foreach_non_finite_check_and_unscale_", R"({"tests_value": true})");
    const OpId clip = dump.op("reciprocal");
    dump.phase = Phase::kBackward;
    const size_t made = dump.run(scaled, {{{1, 1}, kFine}}, {2, 1}, kInfinite);
    dump.all_rows[made].dtype = static_cast<uint8_t>(DType::kFloat16);
    dump.phase = Phase::kForward;
    if (has_scaler) dump.run(check, {{{2, 1}, kInfinite}}, {2, 2}, kInfinite);
    dump.run(clip, {{{2, has_scaler ? 2U : 1U}, kInfinite}}, {4, 1}, kFine);
    const auto seen = find_nonfinite(dump).seen;
    EXPECT_EQ(seen.has_value(), !has_scaler);
    if (seen) {
      EXPECT_EQ(seen->reached, "swallowed");
    }
  }
}

TEST(MemoryWalk, ValuesReadAreComputedWhereOnlyTensorsWereKept) {
  MemoryDump dump;
  const OpId log = dump.op("log");
  const size_t row = dump.run(log, {{{2, 1}, kFine}}, {1, 2}, kNan);
  dump.all_rows[row - 1].stats = {};
  dump.all_rows[row].stats = {};
  dump.set_data<float>(row - 1, {-3, 1, 2, 7});
  dump.set_data<float>(row, {NAN, 0, 0.7F, 1.9F});
  const Json read = find_report(dump, 10)["seen"]["chain"][0]["inputs"][0];
  EXPECT_EQ(read["min"], -3);
  EXPECT_EQ(read["max"], 7);
}

TEST(MemoryWalk, ABackwardOpNamesItsForwardOp) {
  MemoryDump dump;
  dump.op("rsqrt");
  const OpId pow = dump.op("pow", R"({"forward": "rsqrt"})");
  dump.all_ops[0].module = "Net.norm";
  dump.phase = Phase::kBackward;
  dump.run(pow, {{{1, 1}, kFine}}, {2, 1}, kInfinite);
  const Json first = find_report(dump, 10)["first_nonfinite"];
  EXPECT_EQ(first["phase"], "backward");
  EXPECT_EQ(first["forward"], Json({{"op", "rsqrt"}, {"module", "Net.norm"}, {"source", "/programs/rsqrt.py:7"}}));
  EXPECT_EQ(first["index"], Json({2}));
}

// Versions that point in circles, one storage for everything, sequences that run backwards.
TEST(MemoryWalk, HostileDumpsEndInLinearTime) {
  MemoryDump dump;
  const OpId add = dump.op("add", R"({"sees_value": true})");
  constexpr uint64_t kCount = 20'000;
  for (uint64_t i = 0; i < kCount; ++i) {
    dump.phase = Phase::kUpdate;
    dump.run(add, {{{1, (i * 7919) % kCount}, kNan}, {{1, (i + 1) % kCount}, kNan}}, {1, i}, kNan);
  }
  for (size_t row = 0; row < dump.all_rows.size(); row += 3) dump.all_rows[row].sequence = dump.all_rows.size() - row;
  EXPECT_FALSE(find_report(dump, 10)["first_nonfinite"].is_null());
}

TEST(FindSource, TakesTheEndOfAPath) {
  MemoryDump dump;
  dump.op("train");
  dump.all_ops[0].source_location = "/path/train.py:41";
  const OpId other = dump.op("other");
  dump.all_ops[other].source_location = "path/train.py:41";
  EXPECT_EQ((*find_source(dump, "train.py:41"))["ops"].size(), 2U);
  EXPECT_EQ((*find_source(dump, "path/train.py:41"))["ops"].size(), 2U);
  EXPECT_FALSE(find_source(dump, "rain.py:41").ok());
  EXPECT_FALSE(find_source(dump, "train.py:4").ok());
  EXPECT_EQ((*find_source(dump, "train"))["ops"][0]["source"], "/path/train.py:41");
}

}  // namespace
}  // namespace tensortap
