// The conformance suite that every layout has to pass. A test program instantiates it for its layouts.

#ifndef TENSORTAP_TESTS_EVERY_LAYOUT_H_
#define TENSORTAP_TESTS_EVERY_LAYOUT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <set>
#include <thread>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "registry/registry.h"

namespace tensortap {

class EveryLayout : public testing::TestWithParam<Layout> {
 protected:
  std::unique_ptr<LayoutWriter> create() {
    DumpInfo info;
    info.folder = folder_.path();
    CaptureSpec spec;
    spec.payload = Payload::kFull;
    auto writer = GetParam().create(info, spec);
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return *std::move(writer);
  }
  std::unique_ptr<DumpIndex> open() {
    auto dump = GetParam().open(folder_.path());
    EXPECT_TRUE(dump.ok()) << dump.status().message();
    return *std::move(dump);
  }
  static void add_op(LayoutWriter& writer, OpId id, const OpInfo& op) {
    ASSERT_TRUE(writer.add_op(id, op).ok());
    OpDecision decision;
    decision.wanted = decision.outputs = true;
    if (FollowsDecisions* decisions = writer.parts().decisions; decisions != nullptr) decisions->op_decided(id, decision);
  }
  static void finish(LayoutWriter& writer) {
    if (FollowsSteps* steps = writer.parts().steps; steps != nullptr) {
      ASSERT_TRUE(steps->end_step(0, 0).ok());
    }
    ASSERT_TRUE(writer.finish("{}").ok());
  }
  // The data of a dump of numbers, one in each record.
  static std::multiset<uint32_t> numbers_in(const DumpIndex& dump) {
    std::multiset<uint32_t> numbers;
    for (size_t i = 0; i < dump.rows().size(); ++i) {
      const auto data = dump.data(i);
      uint32_t number = 0;
      EXPECT_TRUE(data.ok()) << data.status().message();
      if (data.ok()) std::memcpy(&number, data->view.data, sizeof(number));
      numbers.insert(number);
    }
    return numbers;
  }
  static std::multiset<uint32_t> numbers_below(uint32_t end) {
    std::multiset<uint32_t> numbers;
    for (uint32_t number = 0; number < end; ++number) numbers.insert(number);
    return numbers;
  }
  TemporaryFolder folder_;
};

inline OpInfo op_called(std::string name) {
  OpInfo op;
  op.name = std::move(name);
  op.type = "Conv";
  return op;
}

inline RecordRow row_of(OpId op, DType dtype, const Shape& shape) {
  RecordRow row;
  row.op = op;
  row.set_desc({dtype, shape});
  return row;
}

// A tree reports types and shapes that it cannot store when they are written.
TEST_P(EveryLayout, BringsBackEveryDtypeThatItKeepsBitForBit) {
  const Keeps& keeps = GetParam().keeps;
  const std::vector<Shape> shapes = {Shape(), {0}, {5}, {2, 3, 4}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3}};
  std::vector<uint8_t> values(24 * 16);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 151);
  std::vector<TensorDesc> kept;
  {
    const auto writer = create();
    OpId op = 0;
    for (int number = 1; number < kDTypeCount; ++number) {
      const auto dtype = static_cast<DType>(number);
      if (dtype == DType::kString) continue;
      for (const Shape& shape : shapes) {
        add_op(*writer, op, op_called(concat("op", op)));
        RecordRow row = row_of(op++, dtype, shape);
        const TensorView view{row.desc(), values.data(), nullptr};
        const Status status = writer->add_record(row, &view, nullptr);
        const bool is_kept =
            (keeps.dtype == nullptr || keeps.dtype(dtype)) && (keeps.empty_tensors || row.numel > 0) && (keeps.scalars || shape.rank() > 0);
        if (is_kept) kept.push_back(row.desc());
        EXPECT_EQ(status.code(), is_kept || status.ok() ? StatusCode::kOk : StatusCode::kUnsupported)
            << dtype_name(dtype) << shape.to_text();
      }
    }
    finish(*writer);
  }
  const auto dump = open();
  const auto brings_back = [&](size_t i, const TensorDesc& desc) {
    const TensorDesc found = dump->rows()[i].desc();
    if (found.dtype != desc.dtype || found.shape != desc.shape) return false;
    const auto data = dump->data(i);
    EXPECT_TRUE(data.ok()) << data.status().message();
    const uint64_t size = *packed_bytes(desc.dtype, *desc.shape.numel());
    return data.ok() && data->view.desc.shape == desc.shape && (size == 0 || std::memcmp(data->view.data, values.data(), size) == 0);
  };
  std::vector<size_t> rows(dump->rows().size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  for (const TensorDesc& desc : kept) {
    EXPECT_TRUE(std::ranges::any_of(rows, [&](size_t i) { return brings_back(i, desc); }))
        << dtype_name(desc.dtype) << desc.shape.to_text();
  }
}

// Statistics come back rounded to the digits that a tree has; those that it declares lost are unknown.
TEST_P(EveryLayout, BringsBackTheStatisticsThatItKeepsAndNoOthers) {
  const Keeps& keeps = GetParam().keeps;
  const double values[] = {-7.123456789, 1.987654321};
  {
    const auto writer = create();
    add_op(*writer, 0, op_called("a"));
    RecordRow row = row_of(0, DType::kFloat64, {2});
    row.stats.min = values[0];
    row.stats.max = values[1];
    row.stats.mean = -2.567901234;
    row.stats.std = 4.555555555;
    row.stats.l2 = 7.395580259;
    row.stats.absmax = 7.123456789;
    row.stats.positive = row.stats.negative = 1;
    row.stats.count = 2;
    row.stats.mean_abs = 4.567901234;
    row.stats.valid = kStatAll | kStatHistogram;
    const TensorView view{row.desc(), values, nullptr};
    ExponentHistogram histogram;
    add_to_histogram(view, histogram);
    TensorSketch sketch;
    sketch.block = 16;
    KeepsSketches* sketches = writer->parts().sketches;
    ASSERT_EQ(sketches != nullptr, keeps.sketches);
    if (sketches != nullptr) {
      ASSERT_TRUE(sketches->add_sketch(row, sketch).ok());
    }
    row.sketch = static_cast<uint8_t>(SketchState::kThere);
    ASSERT_TRUE(writer->add_record(row, &view, &histogram).ok());
    finish(*writer);
  }
  const auto dump = open();
  ASSERT_EQ(dump->rows().size(), 1U);
  const TensorStats& stats = dump->rows()[0].stats;
  EXPECT_EQ(stats.valid & kStatAll, keeps.stats);
  const auto expect_number = [&](uint32_t bit, double found, double written) {
    if ((keeps.stats & bit) == 0) return;
    EXPECT_EQ(found == written, keeps.digits == 0) << bit;
    EXPECT_NEAR(found, written, keeps.digits == 0 ? 0 : std::abs(written) * std::pow(10, 1 - keeps.digits)) << bit;
  };
  expect_number(kStatMin, stats.min, values[0]);
  expect_number(kStatMax, stats.max, values[1]);
  expect_number(kStatMean, stats.mean, -2.567901234);
  expect_number(kStatStd, stats.std, 4.555555555);
  expect_number(kStatL2, stats.l2, 7.395580259);
  expect_number(kStatAbsMax, stats.absmax, 7.123456789);
  EXPECT_EQ(stats.nan + stats.pos_inf + stats.neg_inf + stats.zero + stats.neg_zero, 0U);
  EXPECT_EQ(stats.positive, (keeps.stats & kStatPositive) != 0 ? 1U : 0U);
  EXPECT_EQ(stats.negative, (keeps.stats & kStatNegative) != 0 ? 1U : 0U);
  EXPECT_EQ(!dump->histogram(0).empty(), keeps.histogram);
  EXPECT_EQ(dump->sketch(0).ok(), keeps.sketches);
}

TEST_P(EveryLayout, HostileNamesComeBackAndStayInsideTheFolder) {
  std::vector<std::string> names = {"/",
                                    "a/b",
                                    "/a/b",
                                    "a//b",
                                    "../../up",
                                    "..",
                                    ".",
                                    "a\\b",
                                    "x:out0",
                                    "CON",
                                    "*?<>|\"",
                                    " ",
                                    "%41",
                                    "~2",
                                    "\xff\xfe bytes",
                                    "größe",
                                    "tensors.npz",
                                    "a\nb",
                                    std::string(300, 'n'),
                                    std::string(5000, 'm')};
  for (char c = 1; c < 32; ++c) names.push_back(concat("control", c));
  const std::string outside = parent_path(folder_.path());
  {
    const auto writer = create();
    for (OpId op = 0; op < names.size(); ++op) {
      add_op(*writer, op, op_called(names[op]));
      RecordRow row = row_of(op, DType::kUInt32, {1});
      const TensorView view{row.desc(), &op, nullptr};
      ASSERT_TRUE(writer->add_record(row, &view, nullptr).ok()) << names[op];
    }
    finish(*writer);
  }
  EXPECT_FALSE(path_exists(join_path(outside, "up")));
  const auto dump = open();
  ASSERT_EQ(dump->rows().size(), names.size());
  EXPECT_EQ(numbers_in(*dump), numbers_below(static_cast<uint32_t>(names.size())));
  for (OpId op = 0; op < names.size() && GetParam().keeps.names; ++op) {
    const RecordRow& row = dump->rows()[op];
    EXPECT_EQ(op_of(*dump, row).name, names[row.op]);
    const auto data = dump->data(op);
    ASSERT_TRUE(data.ok()) << data.status().message();
    EXPECT_EQ(std::memcmp(data->view.data, &row.op, 4), 0);
    RecordKey key;
    ASSERT_TRUE(parse_record_name(record_name(row, op_of(*dump, row).name), key));
    EXPECT_EQ(*find_record(*dump, key), op);
  }
}

TEST_P(EveryLayout, EqualNamesKeepBothRecords) {
  {
    const auto writer = create();
    add_op(*writer, 0, op_called("a"));
    for (uint32_t value = 0; value < 5; ++value) {
      RecordRow row = row_of(0, DType::kUInt32, {1});
      const TensorView view{row.desc(), &value, nullptr};
      ASSERT_TRUE(writer->add_record(row, &view, nullptr).ok());
    }
    finish(*writer);
  }
  const auto dump = open();
  EXPECT_EQ(numbers_in(*dump), numbers_below(5));
}

TEST_P(EveryLayout, StatisticsFromEightThreadsWhileOneWritesTensors) {
  constexpr uint32_t kThreads = 8;
  constexpr uint32_t kRows = 500;
  {
    const auto writer = create();
    add_op(*writer, 0, op_called("a"));
    std::vector<std::thread> threads;
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      if (thread > 0 && !writer->takes_statistics_on_any_thread()) break;
      threads.emplace_back([&writer, thread] {
        for (uint32_t i = 0; i < kRows; ++i) {
          RecordRow row = row_of(0, DType::kUInt32, {1});
          row.thread = thread;
          row.call = i;
          const TensorView view{row.desc(), &i, nullptr};
          EXPECT_TRUE(writer->add_record(row, thread == 0 ? &view : nullptr, nullptr).ok());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    finish(*writer);
  }
  const auto dump = open();
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (size_t i = 0; i < dump->rows().size(); ++i) {
    const RecordRow& row = dump->rows()[i];
    if (!GetParam().keeps.threads) break;
    EXPECT_TRUE(seen.emplace(row.thread, row.call).second);
    if (row.thread != 0) continue;
    const auto data = dump->data(i);
    ASSERT_TRUE(data.ok());
    EXPECT_EQ(std::memcmp(data->view.data, &row.call, 4), 0);
  }
  EXPECT_EQ(seen.size(), GetParam().keeps.threads ? dump->rows().size() : 0);
  EXPECT_GE(dump->rows().size(), kRows);
}

TEST_P(EveryLayout, AnEmptyDumpIsWhole) {
  ASSERT_TRUE(create()->finish("{}").ok());
  const auto dump = open();
  EXPECT_TRUE(dump->rows().empty());
  EXPECT_TRUE(dump->problems().empty());
}

TEST_P(EveryLayout, RecognisesItsOwnAndNoOtherFolder) {
  EXPECT_EQ(GetParam().recognise(folder_.path()), Confidence::kNo);
  EXPECT_EQ(GetParam().recognise("/nowhere"), Confidence::kNo);
  EXPECT_FALSE(GetParam().open("/nowhere").ok());
  ASSERT_TRUE(create()->finish("{}").ok());
  EXPECT_EQ(GetParam().recognise(folder_.path()), Confidence::kCertain);
}

// A dump without anything that was asked for would be a loss that nothing reports.
TEST_P(EveryLayout, RefusesAPayloadOfStatisticsUnlessItKeepsSome) {
  CaptureSpec spec;
  for (const Payload payload : {Payload::kStatistics, Payload::kFull}) {
    spec.payload = payload;
    EXPECT_EQ(check_payload(GetParam(), spec).ok(), GetParam().keeps.stats != 0);
  }
  spec.payload = Payload::kTensor;
  EXPECT_TRUE(check_payload(GetParam(), spec).ok());
}

}  // namespace tensortap

#endif  // TENSORTAP_TESTS_EVERY_LAYOUT_H_
