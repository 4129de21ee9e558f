// The conformance suite that every row of the table of layouts has to pass.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <thread>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

class EveryLayout : public testing::TestWithParam<Layout> {
 protected:
  std::unique_ptr<LayoutWriter> create() {
    DumpInfo info;
    info.folder = folder_.path();
    auto writer = GetParam().create(info, CaptureSpec());
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return *std::move(writer);
  }
  std::unique_ptr<DumpIndex> open() {
    auto dump = GetParam().open(folder_.path());
    EXPECT_TRUE(dump.ok()) << dump.status().message();
    return *std::move(dump);
  }
  TemporaryFolder folder_;
};

OpInfo op_called(std::string name) {
  OpInfo op;
  op.name = std::move(name);
  op.type = "Conv";
  return op;
}

RecordRow row_of(OpId op, DType dtype, const Shape& shape) {
  RecordRow row;
  row.op = op;
  row.set_desc({dtype, shape});
  return row;
}

TEST_P(EveryLayout, BringsBackEveryDtypeBitForBit) {
  const std::vector<Shape> shapes = {Shape(), {0}, {5}, {2, 3, 4}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3}};
  std::vector<uint8_t> values(24 * 16);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 151);
  {
    const auto writer = create();
    OpId op = 0;
    for (int number = 1; number < kDTypeCount; ++number) {
      if (static_cast<DType>(number) == DType::kString) continue;
      for (const Shape& shape : shapes) {
        ASSERT_TRUE(writer->add_op(op, op_called(concat("op", op))).ok());
        RecordRow row = row_of(op++, static_cast<DType>(number), shape);
        const TensorView view{row.desc(), values.data(), nullptr};
        ASSERT_TRUE(writer->add_record(row, &view, nullptr).ok());
      }
    }
    ASSERT_TRUE(writer->finish("{}").ok());
  }
  const auto dump = open();
  ASSERT_EQ(dump->rows().size(), (kDTypeCount - 2) * shapes.size());
  for (size_t i = 0; i < dump->rows().size(); ++i) {
    const auto data = dump->data(i);
    ASSERT_TRUE(data.ok()) << data.status().message();
    const TensorDesc desc = dump->rows()[i].desc();
    EXPECT_EQ(static_cast<size_t>(desc.dtype), 1 + i / shapes.size());
    EXPECT_EQ(desc.shape, shapes[i % shapes.size()]);
    EXPECT_EQ(data->view.desc.shape, desc.shape);
    const uint64_t size = *packed_bytes(desc.dtype, *desc.shape.numel());
    EXPECT_TRUE(size == 0 || std::memcmp(data->view.data, values.data(), size) == 0);
  }
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
      ASSERT_TRUE(writer->add_op(op, op_called(names[op])).ok());
      RecordRow row = row_of(op, DType::kUInt32, {1});
      const TensorView view{row.desc(), &op, nullptr};
      ASSERT_TRUE(writer->add_record(row, &view, nullptr).ok()) << names[op];
    }
    ASSERT_TRUE(writer->finish("{}").ok());
  }
  EXPECT_FALSE(path_exists(join_path(outside, "up")));
  const auto dump = open();
  ASSERT_EQ(dump->rows().size(), names.size());
  for (OpId op = 0; op < names.size(); ++op) {
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
    ASSERT_TRUE(writer->add_op(0, op_called("a")).ok());
    for (uint32_t value = 0; value < 5; ++value) {
      RecordRow row = row_of(0, DType::kUInt32, {1});
      const TensorView view{row.desc(), &value, nullptr};
      ASSERT_TRUE(writer->add_record(row, &view, nullptr).ok());
    }
    ASSERT_TRUE(writer->finish("{}").ok());
  }
  const auto dump = open();
  ASSERT_EQ(dump->rows().size(), 5U);
  for (uint32_t value = 0; value < 5; ++value) {
    const auto data = dump->data(value);
    ASSERT_TRUE(data.ok());
    EXPECT_EQ(std::memcmp(data->view.data, &value, 4), 0);
  }
}

TEST_P(EveryLayout, StatisticsFromEightThreadsWhileOneWritesTensors) {
  constexpr uint32_t kThreads = 8;
  constexpr uint32_t kRows = 500;
  {
    const auto writer = create();
    ASSERT_TRUE(writer->add_op(0, op_called("a")).ok());
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
    ASSERT_TRUE(writer->finish("{}").ok());
  }
  const auto dump = open();
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (size_t i = 0; i < dump->rows().size(); ++i) {
    const RecordRow& row = dump->rows()[i];
    EXPECT_TRUE(seen.emplace(row.thread, row.call).second);
    if (row.thread != 0) continue;
    const auto data = dump->data(i);
    ASSERT_TRUE(data.ok());
    EXPECT_EQ(std::memcmp(data->view.data, &row.call, 4), 0);
  }
  EXPECT_EQ(seen.size(), dump->rows().size());
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
  EXPECT_EQ(find_layout(GetParam().name)->name, GetParam().name);
}

TEST(EveryLayoutOfAnySystem, HasADocument) {
  for (const Layout& layout : layouts())
    EXPECT_TRUE(path_exists(concat(TENSORTAP_TESTDATA, "/../docs/layouts/", layout.name, ".md"))) << layout.name;
}

// Other systems' trees, which share folders, bring back what those systems keep; their own tests say what that is.
std::vector<Layout> own_layouts() {
  std::vector<Layout> own;
  std::ranges::copy_if(layouts(), std::back_inserter(own), [](const Layout& layout) { return !layout.shares_folder; });
  return own;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryLayout, testing::ValuesIn(own_layouts()),
                         [](const auto& layout) { return std::string(layout.param.name); });

}  // namespace
}  // namespace tensortap
