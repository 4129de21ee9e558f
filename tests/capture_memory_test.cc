// Engines that report the memory of their tensors, the inputs of an op before it runs, and the ops that the program asks for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tensortap/capture.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "query/record_json.h"
#include "read/repair_dump.h"
#include "toy_memory.h"

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using toy::MemoryEngine;
using toy::Tensor;

constexpr float kInf = std::numeric_limits<float>::infinity();

class CaptureMemory : public testing::Test {
 protected:
  ~CaptureMemory() override { tensortap_session_close(session_); }

  // A session on a separate folder, and an engine on the session.
  MemoryEngine open(nlohmann::json config) {
    tensortap_session_close(session_);
    path_ = folder_ / ("d" + std::to_string(++dumps_));
    const toy::Opened opened = toy::open_session(std::move(config), path_);
    EXPECT_EQ(opened.status, TENSORTAP_OK) << opened.message;
    session_ = opened.session;
    return MemoryEngine(session_);
  }
  std::unique_ptr<DumpIndex> close() {
    report_ = toy::report_of(session_);
    EXPECT_EQ(tensortap_session_close(session_), TENSORTAP_OK);
    session_ = nullptr;
    return toy::read_dump(path_);
  }
  std::vector<std::string> names(const DumpIndex& dump) const {
    std::vector<std::string> all;
    for (const RecordRow& row : dump.rows()) all.push_back(record_name(row, op_of(dump, row).name));
    return all;
  }

  toy::TempFolder folder_;
  int dumps_ = 0;
  std::string path_;
  tensortap_session* session_ = nullptr;
  nlohmann::json report_;
};

// Rows by when their events were seen: a row that repeats another's bytes may be written before rows that wait for the writer.
std::vector<size_t> in_order(const DumpIndex& dump) {
  std::vector<size_t> rows(dump.rows().size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  std::ranges::sort(rows, {}, [&dump](size_t row) { return dump.rows()[row].sequence; });
  return rows;
}

TEST_F(CaptureMemory, StorageAndVersionStandInTheRecord) {
  MemoryEngine engine = open({});
  const tensortap_op_id op = toy::add_op(session_, "add");
  const Tensor made = engine.make({1, 2});
  engine.makes(op, {made});
  toy::run_op(session_, op, 1, {1, 2});
  const auto dump = close();
  ASSERT_EQ(dump->rows().size(), 2U);
  EXPECT_EQ(dump->rows()[0].storage, made.block->storage);
  EXPECT_EQ(dump->rows()[0].version, made.block->version);
  EXPECT_EQ(record_json(*dump, 0)["storage"], made.block->storage);
  EXPECT_EQ(dump->rows()[1].storage, 0U);
  EXPECT_FALSE(record_json(*dump, 1).contains("storage")) << "not known";
}

TEST_F(CaptureMemory, UnwrittenMemoryIsDescribedAndCountsAsCaptured) {
  MemoryEngine engine = open({{"payload", "full"}});
  const tensortap_op_id op = toy::add_op(session_, "empty");
  Tensor made = engine.make({NAN, 1e29F});
  made.flags = TENSORTAP_TENSOR_UNWRITTEN;
  engine.makes(op, {made});
  const auto dump = close();
  ASSERT_EQ(dump->rows().size(), 1U);
  EXPECT_EQ(dump->rows()[0].flags, kRecordUnwritten);
  EXPECT_EQ(dump->rows()[0].stats.valid, 0U) << "never looked into";
  EXPECT_EQ(dump->rows()[0].numel, 2U);
  EXPECT_EQ(record_json(*dump, 0)["unwritten"], true);
  EXPECT_EQ(report_["ops"]["captured"], 1);
  EXPECT_THAT(report_["ops"]["partly"], IsEmpty());
  EXPECT_EQ(report_["lost"], 0);
  EXPECT_TRUE(report_["first_nonfinite"].is_null());
}

TEST_F(CaptureMemory, BothEventsOfAnExecutionHaveTheSameCallNumber) {
  MemoryEngine engine = open({{"slots", {"in", "out"}}});
  const tensortap_op_id op = toy::add_op(session_, "f");
  const Tensor x = engine.make({1, 2});
  for (int i = 0; i < 2; ++i) engine.runs(op, {x}, {3, 4});
  // A call inside of a call of the same op, and numbers that the engine gives.
  engine.reads(op, {x});
  engine.runs(op, {x}, {5, 6});
  engine.makes(op, {x});
  engine.step = 1;
  engine.reads(op, {x}, 8);
  std::thread([&] { engine.makes(op, {x}, 8); }).join();
  const auto dump = close();
  EXPECT_THAT(names(*dump), ElementsAre("f:in0", "f:out0", "f:in0#1", "f:out0#1", "f:in0#2", "f:in0#3", "f:out0#3", "f:out0#2", "f:in0@1#7",
                                        "f:out0@1#7"));
  for (const RecordRow& row : dump->rows()) EXPECT_EQ(row.moment, 0);
}

TEST_F(CaptureMemory, TwoEventsAreOneForTheCoverage) {
  const auto reasons = [&](const char* slots, bool makes) {
    MemoryEngine engine = open({{"slots", {slots}}});
    const tensortap_op_id op = toy::add_op(session_, "f");
    const Tensor x = engine.make({1, 2});
    engine.reads(op, {x});
    if (makes) engine.makes(op, {});
    close();
    std::string all = std::to_string(report_["ops"]["captured"].get<int>());
    for (const auto& one : report_["ops"]["not_captured"]) all += " " + one["reason"].get<std::string>();
    return all;
  };
  EXPECT_EQ(reasons("in", true), "1") << "outputs were not asked for";
  EXPECT_EQ(reasons("in", false), "1");
  EXPECT_EQ(reasons("out", true), "0 ran without a tensor that was asked for");
  EXPECT_EQ(reasons("out", false), "0 its outputs were never reported");
}

TEST_F(CaptureMemory, TheMomentBeforeIsWhatAnOpReads) {
  MemoryEngine engine = open({{"slots", {"in", "out"}}, {"moment", "before"}});
  const tensortap_op_id op = toy::add_op(session_, "f");
  const Tensor x = engine.make({1, 2});
  engine.runs(op, {x}, {3, 4});
  engine.runs(op, {x}, {3, 4});
  const auto dump = close();
  EXPECT_THAT(names(*dump), ElementsAre("f:in0", "f:in0#1"));
  for (const RecordRow& row : dump->rows()) EXPECT_EQ(row.moment, static_cast<uint8_t>(Moment::kBefore));
}

TEST_F(CaptureMemory, AnOpThatFailedAfterItsInputsWereToldKeepsItsNumber) {
  MemoryEngine engine = open({{"slots", {"in", "out"}}});
  const tensortap_op_id op = toy::add_op(session_, "f");
  const Tensor x = engine.make({1, 2});
  engine.runs(op, {x}, {3, 4});
  engine.reads(op, {x});
  engine.fails(op, {x});
  engine.runs(op, {x}, {3, 4});
  const auto dump = close();
  EXPECT_THAT(names(*dump), UnorderedElementsAre("f:in0", "f:out0", "f:in0#1", "f:in0#1", "f:in0#2", "f:out0#2"));
  const auto failed = std::ranges::count_if(dump->rows(), [](const RecordRow& row) { return (row.flags & kRecordFailedOp) != 0; });
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(report_["failed_op"]["inputs"][0], "f:in0#1");
}

// The decision of the first event holds: no outputs without inputs, whatever the governor thinks by then.
TEST_F(CaptureMemory, TheGovernorDecidesOncePerExecution) {
  MemoryEngine engine = open({{"slots", {"in", "out"}}, {"budget", 0.0001}});
  const tensortap_op_id op = toy::add_op(session_, "f");
  const Tensor x = engine.make(toy::ramp(100'000, 1));
  uint32_t calls = 0;
  for (int batch = 0; batch < 1000 && toy::report_of(session_)["governor"]["executions_left_out"] == 0; ++batch) {
    for (int i = 0; i < 50; ++i) {
      ++x.block->version;
      ++calls;
      engine.reads(op, {x}, calls);
      engine.makes(op, {x}, calls);
    }
  }
  const auto dump = close();
  std::set<uint32_t> read;
  std::set<uint32_t> made;
  for (const RecordRow& row : dump->rows()) (row.slot_kind == 0 ? made : read).insert(row.call);
  EXPECT_EQ(read, made);
  EXPECT_LT(read.size(), calls) << "the governor left nothing out";
}

// A source that asks first never reports what was left out; the session counts it all the same.
TEST_F(CaptureMemory, WhatTheGovernorLeavesOutIsCountedWhenASourceAsksFirst) {
  MemoryEngine engine = open({{"budget", 0.03}});
  std::vector<tensortap_op_id> ops;
  for (int i = 0; i < 16; ++i) ops.push_back(toy::add_op(session_, "f" + std::to_string(i)));
  const Tensor x = engine.make(toy::ramp(100, 1));
  uint64_t left_out = 0;
  for (int64_t step = 0; step < 1'000'000 && left_out == 0; ++step) {
    engine.step = step;
    const bool captured = tensortap_step_begin(session_, step, 0) != 0;
    for (const tensortap_op_id op : ops) {
      if (!captured) continue;
      ++x.block->version;
      if (tensortap_wants(session_, op, step) != 0) {
        engine.makes(op, {x});
      } else {
        ++left_out;
      }
    }
    tensortap_step_end(session_, step, 0);
  }
  const Json governor = toy::report_of(session_)["governor"];
  close();
  EXPECT_GT(left_out, 0U) << "the governor left nothing out";
  EXPECT_EQ(governor["executions_left_out"], left_out);
  EXPECT_GT(governor["ops_left_out"], 0);
}

TEST_F(CaptureMemory, EqualContentIsMeasuredOnce) {
  MemoryEngine engine = open({{"slots", {"in", "out"}}});
  const tensortap_op_id op = toy::add_op(session_, "f");
  const Tensor x = engine.make(toy::ramp(10'000, 1));
  Tensor flat = x;
  flat.dims = {100, 100};
  const Tensor small = engine.make({1, 2});
  engine.makes(op, {x});
  for (int i = 0; i < 3; ++i) engine.makes(op, {x, flat, small});
  engine.write(x, toy::ramp(10'000, 5));
  engine.makes(op, {x});
  const auto dump = close();
  EXPECT_EQ(report_["repeated"]["statistics"], 6) << "small tensors are measured each time";
  EXPECT_EQ(report_["repeated"]["checked"], 1);
  EXPECT_TRUE(report_["content_mismatch"].is_null());
  EXPECT_EQ(dump->rows()[3].stats.max, 2);
  EXPECT_EQ(dump->rows()[2].stats.max, 10'000);
  EXPECT_EQ(dump->rows()[2].shape[1], 100);
  EXPECT_EQ(dump->rows().back().stats.max, 10'004) << "the version shows that the block was written to";
}

// Two views of one block with the same number of elements are different values.
TEST_F(CaptureMemory, ViewsThatReadOtherElementsAreOtherContents) {
  MemoryEngine engine = open({{"payload", "full"}});
  const tensortap_op_id op = toy::add_op(session_, "f");
  const Tensor x = engine.make(toy::ramp(20'000, 0));
  Tensor first = x;
  first.dims = {10'000};
  Tensor even = first;
  even.strides = {2};
  Tensor turned = first;
  turned.dims = {100, 100};
  turned.strides = {1, 100};
  engine.makes(op, {first, even, turned, first, even, turned});
  const auto dump = close();
  EXPECT_EQ(report_["repeated"]["tensors"], 3);
  const std::vector<size_t> at = in_order(*dump);
  for (const size_t record : {0U, 3U}) EXPECT_EQ(toy::floats_of(*dump, at[record])[9'999], 9'999);
  for (const size_t record : {1U, 4U}) EXPECT_EQ(toy::floats_of(*dump, at[record])[9'999], 19'998);
  for (const size_t record : {2U, 5U}) EXPECT_EQ(toy::floats_of(*dump, at[record])[1], 100);
  EXPECT_EQ(dump->rows()[at[1]].stats.max, dump->rows()[at[4]].stats.max);
}

TEST_F(CaptureMemory, ATransposedViewHasTheStatisticsOfItsBaseAndOtherBytes) {
  MemoryEngine engine = open({{"payload", "full"}});
  const tensortap_op_id op = toy::add_op(session_, "f");
  Tensor matrix = engine.make(toy::ramp(20'000, 1));
  matrix.dims = {100, 200};
  Tensor transposed = matrix;
  transposed.dims = {200, 100};
  transposed.strides = {1, 200};
  engine.makes(op, {matrix, transposed, transposed});
  std::vector<float> broken = toy::ramp(20'000, 1);
  broken[1] = INFINITY;
  engine.write(matrix, broken);
  engine.makes(op, {matrix, transposed});
  const auto dump = close();
  const std::vector<size_t> at = in_order(*dump);
  const auto& first = dump->rows()[at[0]].stats;
  EXPECT_EQ(std::memcmp(&first, &dump->rows()[at[1]].stats, sizeof(first)), 0);
  EXPECT_EQ(toy::floats_of(*dump, at[0])[1], 2);
  for (const size_t record : {1U, 2U}) EXPECT_EQ(toy::floats_of(*dump, at[record])[1], 201);
  EXPECT_EQ(report_["repeated"]["statistics"], 2) << "with an infinity the place of it differs";
  EXPECT_EQ(dump->rows()[at[3]].stats.first_nonfinite, 1);
  EXPECT_EQ(dump->rows()[at[4]].stats.first_nonfinite, 100);
}

TEST_F(CaptureMemory, EqualBytesAreWrittenOnce) {
  MemoryEngine engine = open({{"payload", "tensor"}, {"slots", {"in", "out"}}, {"digest", "xxh3"}});
  const tensortap_op_id op = toy::add_op(session_, "f");
  const Tensor x = engine.make(toy::ramp(50'000, 1));
  Tensor flat = x;
  flat.dims = {5, 10'000};
  for (int i = 0; i < 20; ++i) {
    engine.reads(op, {x, flat});
    engine.makes(op, {x});
    if (i == 9) tensortap_session_flush(session_);  // from now on the place is known at once
  }
  engine.write(x, toy::ramp(50'000, 7));
  engine.makes(op, {x});
  const std::string path = path_;
  const auto dump = close();
  ASSERT_EQ(dump->rows().size(), 61U);
  EXPECT_EQ(report_["repeated"]["tensors"], 59);
  EXPECT_EQ(report_["repeated"]["bytes"], 59 * 200'000);
  EXPECT_EQ(report_["bytes"], 2 * 200'000);
  EXPECT_EQ(report_["lost"], 0);
  std::set<uint64_t> members;
  const size_t last = in_order(*dump).back();
  for (size_t row = 0; row < dump->rows().size(); ++row) {
    members.insert(dump->rows()[row].member);
    EXPECT_EQ(toy::floats_of(*dump, row), toy::ramp(50'000, row == last ? 7 : 1));
    EXPECT_EQ(dump->rows()[row].digest_kind, 1);
  }
  EXPECT_EQ(members.size(), 2U);
  const auto report = repair_dump(path, true);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->healthy) << testing::PrintToString(report->actions);
}

TEST_F(CaptureMemory, AnEngineThatLiesIsFound) {
  for (const char* payload : {"statistics", "tensor", "full"}) {
    MemoryEngine engine = open({{"payload", payload}});
    const tensortap_op_id op = toy::add_op(session_, "batch_norm");
    const Tensor mean = engine.make(toy::ramp(20'000, 0));
    engine.makes(op, {mean});
    engine.write(mean, toy::ramp(20'000, 0.5F), true);
    for (int i = 0; i < 3; ++i) engine.makes(op, {mean});
    const auto dump = close();
    EXPECT_EQ(report_["content_mismatch"]["count"], 1) << payload;
    EXPECT_THAT(report_["content_mismatch"]["what"], HasSubstr("no operator wrote it"));
    EXPECT_EQ(report_["content_mismatch"]["examples"][0], "batch_norm:out0#1");
    if (std::string(payload) == "statistics") {
      EXPECT_EQ(dump->rows()[1].stats.max, 19'999.5);
    } else {
      const std::vector<size_t> at = in_order(*dump);
      EXPECT_EQ(toy::floats_of(*dump, at[1])[0], 0.5F) << "the values in memory count";
      EXPECT_EQ(toy::floats_of(*dump, at[3])[0], 0.5F);
    }
  }
}

TEST_F(CaptureMemory, ATensorWhoseDataWasLostIsKeptAgain) {
  MemoryEngine engine = open({{"payload", "tensor"}, {"limits", {{"max_bytes", 300'000}, {"keep_free", 0}}}});
  const tensortap_op_id op = toy::add_op(session_, "f");
  const Tensor large = engine.make(toy::ramp(100'000, 0));
  const Tensor small = engine.make(toy::ramp(50'000, 0));
  engine.makes(op, {large, large, small, small});
  const auto dump = close();
  EXPECT_EQ(toy::lost_for(report_, "limit: max_bytes"), 2);
  const std::vector<size_t> at = in_order(*dump);
  for (const size_t record : {0U, 1U}) EXPECT_EQ(dump->rows()[at[record]].flags & kRecordHasData, 0);
  for (const size_t record : {2U, 3U}) EXPECT_EQ(toy::floats_of(*dump, at[record]).size(), 50'000U);
}

TEST_F(CaptureMemory, ThreadsShareContents) {
  MemoryEngine engine = open({{"payload", "full"}, {"slots", {"in", "out"}}});
  const tensortap_op_id op = toy::add_op(session_, "f");
  const Tensor shared = engine.make(toy::ramp(20'000, 1));
  std::vector<std::thread> threads;
  for (uint64_t run = 0; run < 4; ++run) {
    threads.emplace_back([this, op, shared, run] {
      MemoryEngine own(session_);
      own.run = run;
      for (int i = 0; i < 100; ++i) own.makes(op, {shared});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto dump = close();
  ASSERT_EQ(dump->rows().size(), 400U);
  for (size_t row = 0; row < 400; row += 37) EXPECT_EQ(toy::floats_of(*dump, row), shared.block->values);
  EXPECT_EQ(report_["lost"], 0);
  EXPECT_GE(report_["repeated"]["tensors"].get<int>(), 390);
}

TEST_F(CaptureMemory, AnEngineCanSayThatContentIsNotKnown) {
  const std::string out = folder_ / "unknown";
  const std::string config = R"({"payload": "tensor", "limits": {"keep_free": 0}, "out": ")" + out + "\"}";
  tensortap_session_options options{};
  options.size = sizeof(options);
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.config = config.c_str();
  options.flags = TENSORTAP_SESSION_CONTENT_UNKNOWN;
  tensortap_session* session = nullptr;
  ASSERT_EQ(tensortap_session_open(&options, &session, nullptr, 0), TENSORTAP_OK);
  MemoryEngine engine(session);
  const tensortap_op_id op = toy::add_op(session, "f");
  const Tensor x = engine.make(toy::ramp(20'000, 1));
  engine.makes(op, {x, x});
  const auto report = toy::report_of(session);
  tensortap_session_close(session);
  EXPECT_TRUE(report["repeated"].is_null());
  EXPECT_EQ(report["bytes"], 160'000);
}

TEST_F(CaptureMemory, OpsAreCapturedWhileTheProgramAsksForThem) {
  MemoryEngine engine = open({{"trigger", "on-request"}});
  const tensortap_op_id asked = toy::add_op(session_, "asked");
  const tensortap_op_id never = toy::add_op(session_, "never");
  const Tensor x = engine.make({1, 2});
  EXPECT_EQ(tensortap_wants_op(session_, asked), 1) << "it may be asked for in some step";
  EXPECT_EQ(tensortap_wants(session_, asked, 0), 0);
  for (engine.step = 0; engine.step < 4; ++engine.step) {
    if (engine.step == 1) tensortap_request_op(session_, asked, 1);
    if (engine.step == 3) tensortap_request_op(session_, asked, 0);
    EXPECT_EQ(tensortap_wants(session_, asked, engine.step), engine.step == 1 || engine.step == 2 ? 1 : 0);
    engine.makes(asked, {x});
    engine.makes(never, {x});
  }
  const auto dump = close();
  EXPECT_THAT(names(*dump), ElementsAre("asked:out0@1", "asked:out0@2"));
  EXPECT_EQ(report_["ops"]["captured"], 1);
  EXPECT_EQ(report_["ops"]["not_captured"][0]["reason"], "never requested");
}

// M12
TEST_F(CaptureMemory, WhatARequestedOpReadsIsWhatItsProducerMadeWhereASourceReportsOutputsOnly) {
  path_ = folder_ / "outputs_only";
  const std::string config =
      nlohmann::json{{"trigger", "on-request"}, {"slots", {"in", "out"}}, {"limits", {{"keep_free", 0}}}, {"out", path_}}.dump();
  tensortap_session_options options{};
  options.size = sizeof(options);
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.config = config.c_str();
  options.flags = TENSORTAP_SESSION_AFTER_ONLY;
  ASSERT_EQ(tensortap_session_open(&options, &session_, nullptr, 0), TENSORTAP_OK);
  MemoryEngine engine(session_);
  const tensortap_op_id split = toy::add_op(session_, "split");
  const uint32_t second = 1;
  const char* value = "value";
  tensortap_op reader{};
  reader.size = sizeof(reader);
  reader.type = "Toy";
  reader.inputs = &value;
  reader.producers = &split;
  reader.producer_slots = &second;
  reader.input_count = 1;
  reader.parent = TENSORTAP_NO_OP;
  std::vector<tensortap_op_id> readers;
  for (const char* name : {"one", "other"}) {
    reader.name = name;
    readers.push_back(tensortap_register_op(session_, &reader));
  }
  ASSERT_EQ(tensortap_bind(session_, nullptr, 0), TENSORTAP_OK);
  for (engine.step = 0; engine.step < 6; ++engine.step) {
    if (engine.step == 1 || engine.step == 5) tensortap_request_op(session_, readers[0], engine.step == 1 ? 1 : 0);
    if (engine.step == 2 || engine.step == 3) tensortap_request_op(session_, readers[1], engine.step == 2 ? 1 : 0);
    if (engine.step == 4) tensortap_request_op(session_, readers[0], 1);  // it is asked for already
    EXPECT_EQ(tensortap_wants(session_, split, engine.step), engine.step >= 1 && engine.step <= 4 ? 1 : 0) << engine.step;
    engine.makes(split, {engine.make({1}), engine.make({2}), engine.make({3})});
    for (const tensortap_op_id op : readers) engine.makes(op, {engine.make({4})});
  }
  const auto dump = close();
  EXPECT_THAT(names(*dump), ElementsAre("split:out1@1", "one:out0@1", "split:out1@2", "one:out0@2", "other:out0@2", "split:out1@3",
                                        "one:out0@3", "split:out1@4", "one:out0@4"));
  for (const RecordRow& row : dump->rows()) EXPECT_EQ((row.flags & kRecordForReaders) != 0, row.op == split);
}

TEST_F(CaptureMemory, ARequestChangesNothingUnderOtherTriggers) {
  MemoryEngine engine = open({});
  const tensortap_op_id op = toy::add_op(session_, "f");
  tensortap_request_op(session_, op, 0);
  tensortap_request_op(session_, 77, 1);
  engine.makes(op, {engine.make({1})});
  EXPECT_EQ(close()->rows().size(), 1U);
}

// The inputs come with the execution: no op table says who made them, and nothing has to be held for its readers.
TEST_F(CaptureMemory, TheOverflowTriggerNeedsNoProducersWhereInputsComeFirst) {
  MemoryEngine engine = open({{"trigger", "overflow"}, {"payload", "full"}});
  const tensortap_op_id log = toy::add_op(session_, "log");
  const tensortap_op_id add = toy::add_op(session_, "add");
  const tensortap_op_id broken = toy::add_op(session_, "broken");
  const Tensor x = engine.make({1, 0});
  const Tensor y = engine.runs(log, {x}, {0, -kInf});
  engine.runs(add, {x, y}, {1, NAN});
  engine.runs(add, {x, x}, {2, 0});
  engine.reads(broken, {y});
  engine.fails(broken, {});
  const Tensor z = engine.make({1e38F, 2});
  engine.reads(add, {z});
  engine.write(z, {kInf, 4});  // in place: its input is kept
  engine.makes(add, {z});
  const auto dump = close();
  EXPECT_THAT(names(*dump), ElementsAre("log:in0", "log:out0", "add:in0#2", "add:out0#2"));
  EXPECT_EQ(report_["trigger"]["fired"], 2);
  EXPECT_EQ(dump->rows()[0].flags & kRecordForReaders, kRecordForReaders) << "only outputs were asked for";
  EXPECT_THAT(toy::floats_of(*dump, 2), ElementsAre(1e38F, 2));
  EXPECT_THAT(toy::floats_of(*dump, 3), ElementsAre(kInf, 4));
}

TEST_F(CaptureMemory, InfinitiesThatAreMeantOrPassedOnAreNoAlarm) {
  MemoryEngine engine = open({{"slots", {"in", "out"}}});
  tensortap_op mask_op{};
  mask_op.size = sizeof(mask_op);
  mask_op.name = "masked_fill";
  mask_op.type = "aten::masked_fill";
  mask_op.attributes = R"({"intended_inf": true})";
  mask_op.parent = TENSORTAP_NO_OP;
  const tensortap_op_id fill = tensortap_register_op(session_, &mask_op);
  const tensortap_op_id add = toy::add_op(session_, "add");
  const tensortap_op_id softmax = toy::add_op(session_, "softmax");
  const tensortap_op_id log = toy::add_op(session_, "log");
  const Tensor x = engine.make({1, 2});
  const Tensor mask = engine.runs(fill, {x}, {0, -kInf});
  const Tensor scores = engine.runs(add, {x, mask}, {1, -kInf});
  EXPECT_TRUE(toy::report_of(session_)["first_nonfinite"].is_null());
  engine.runs(log, {x}, {0, -kInf});
  engine.runs(softmax, {scores}, {NAN, NAN});
  close();
  EXPECT_EQ(report_["first_nonfinite"]["op"], "log");
}

}  // namespace
}  // namespace tensortap
