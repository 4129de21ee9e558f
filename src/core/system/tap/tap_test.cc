// The native layout written and read back; damage and disk faults are in tap_damage_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "format/npy/npy_header.h"
#include "system/tap/ops_file.h"
#include "system/tap/tap_files.h"

namespace tensortap::tap {
namespace {

DumpInfo info_of(const std::string& folder) {
  DumpInfo info;
  info.folder = folder;
  return info;
}

std::unique_ptr<LayoutWriter> create_empty(const std::string& folder) {
  auto writer = create_dump(info_of(folder), CaptureSpec());
  EXPECT_TRUE(writer.ok()) << writer.status().message();
  return *std::move(writer);
}

OpInfo op_called(std::string name) {
  OpInfo op;
  op.name = std::move(name);
  op.type = "Conv";
  return op;
}

TensorView view_of(const RecordRow& row, const void* data) { return {row.desc(), data, nullptr}; }

RecordRow row_of(OpId op, DType dtype, const Shape& shape, int64_t step = 0) {
  RecordRow row;
  row.op = op;
  row.step = step;
  row.set_desc({dtype, shape});
  return row;
}

std::unique_ptr<DumpIndex> open(const std::string& folder) {
  auto dump = open_dump_folder(folder);
  EXPECT_TRUE(dump.ok()) << dump.status().message();
  return *std::move(dump);
}

TEST(Tap, ReadsBackRecordsTensorsHistogramsAndManifest) {
  const TemporaryFolder folder;
  const std::vector<float> values = {1, -2.5F, 3, 4, 5, 6};
  {
    const auto writer = create_empty(folder.path());
    ASSERT_TRUE(writer->add_op(0, op_called("/a/Conv")).ok());
    RecordRow row = row_of(0, DType::kFloat32, {2, 3});
    row.stats.max = 6;
    const TensorView view = view_of(row, values.data());
    ExponentHistogram histogram;
    histogram.bins[3] = 7;
    histogram.inf = 9;
    ASSERT_TRUE(writer->add_record(row, &view, &histogram).ok());
    EXPECT_EQ(row.committed, 1);
    EXPECT_EQ(row.data_offset % 64, 0U);
    RecordRow statistics = row_of(0, DType::kFloat32, {2, 3}, 1);
    ASSERT_TRUE(writer->add_record(statistics, nullptr, nullptr).ok());
    ASSERT_TRUE(writer->finish("{\"program\": \"test\"}").ok());
  }
  const auto dump = open(folder.path());
  EXPECT_THAT(dump->problems(), testing::IsEmpty());
  ASSERT_EQ(dump->rows().size(), 2U);
  EXPECT_EQ(dump->rows()[0].stats.max, 6);
  EXPECT_EQ(op_of(*dump, dump->rows()[0]).name, "/a/Conv");
  const auto data = dump->data(0);
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->view.desc.shape, Shape({2, 3}));
  EXPECT_EQ(std::memcmp(data->view.data, values.data(), 24), 0);
  EXPECT_EQ(dump->data(1).status().code(), StatusCode::kNotFound);
  const std::vector<uint64_t> histogram = dump->histogram(0);
  ASSERT_EQ(histogram.size(), 283U);
  EXPECT_EQ(histogram[3], 7U);
  EXPECT_EQ(histogram[282], 9U);
  EXPECT_TRUE(dump->histogram(1).empty());
  EXPECT_EQ(dump->file(0), "tensors.npz");
  EXPECT_EQ(dump->file(1), "");
  EXPECT_THAT(dump->manifest(), testing::HasSubstr("\"program\":\"test\""));
}

TEST(Tap, HoldsStringsWithAnyBytes) {
  const TemporaryFolder folder;
  const std::string with_zero("a\0b", 3);
  const std::vector<std::string> texts = {"", with_zero, "\xff\xfe", "tensor"};
  std::vector<StringElement> elements;
  for (const std::string& text : texts) elements.push_back({text.data(), text.size()});
  {
    const auto writer = create_empty(folder.path());
    ASSERT_TRUE(writer->add_op(0, op_called("s")).ok());
    RecordRow row = row_of(0, DType::kString, {2, 2});
    const TensorView view = view_of(row, elements.data());
    ASSERT_TRUE(writer->add_record(row, &view, nullptr).ok());
    ASSERT_TRUE(writer->finish("{}").ok());
  }
  const auto dump = open(folder.path());
  const auto data = dump->data(0);
  ASSERT_TRUE(data.ok()) << data.status().message();
  const auto* found = static_cast<const StringElement*>(data->view.data);
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(std::string(found[i].data, found[i].size), texts[i]);
}

TEST(Tap, ReadsADumpThatIsStillGrowing) {
  const TemporaryFolder folder;
  const auto writer = create_empty(folder.path());
  ASSERT_TRUE(writer->add_op(0, op_called("a")).ok());
  for (int step = 0; step < 5000; ++step) {
    RecordRow row = row_of(0, DType::kInt8, {4}, step);
    ASSERT_TRUE(writer->add_record(row, nullptr, nullptr).ok());
  }
  const auto dump = open(folder.path());
  ASSERT_EQ(dump->rows().size(), 5000U);
  EXPECT_EQ(dump->rows()[4999].step, 4999);
  EXPECT_THAT(dump->problems(), testing::ElementsAre(testing::HasSubstr("run.json is missing")));
}

TEST(Tap, TakesStatisticsFromEightThreadsAtOnce) {  // M15
  const TemporaryFolder folder;
  constexpr int kThreads = 8;
  constexpr int kRows = 3000;
  {
    const auto writer = create_empty(folder.path());
    ASSERT_TRUE(writer->add_op(0, op_called("a")).ok());
    std::vector<std::thread> threads;
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&writer, thread] {
        for (int step = 0; step < kRows; ++step) {
          RecordRow row = row_of(0, DType::kInt8, {4}, step);
          row.thread = thread;
          EXPECT_TRUE(writer->add_record(row, nullptr, nullptr).ok());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_TRUE(writer->finish("{}").ok());
  }
  const auto dump = open(folder.path());
  ASSERT_EQ(dump->rows().size(), size_t{kThreads} * kRows);
  std::vector<int64_t> next(kThreads, 0);
  for (const RecordRow& row : dump->rows()) {
    ASSERT_LT(row.thread, uint32_t{kThreads});
    ASSERT_EQ(row.step, next[row.thread]++) << "a thread's rows are lost or out of order";
  }
}

TEST(Tap, RefusesAFolderThatAnotherDumpUses) {
  const TemporaryFolder folder;
  const auto writer = create_empty(folder.path());
  EXPECT_FALSE(create_dump(info_of(folder.path()), CaptureSpec()).ok());
}

TEST(Ops, KeepEveryFieldAndByte) {
  OpInfo op;
  op.name = "a\"b\\c\n\x01\xff\xed\xa0\x80ü€😀";
  op.type = "Conv";
  op.domain = "com.microsoft";
  op.graph = "loop/body";
  op.module = "model.layers.0";
  op.source_location = "train.py:41";
  op.originals = {{"n1", "Conv"}, {"n2", "Relu"}};
  op.inserted_by_runtime = true;
  op.level = Level::kModule;
  op.parent = 3;
  op.inputs = {{"x", 1, 2}, {"", kNoOp, 0}};
  op.outputs = {"y", ""};
  op.attributes = R"({"a": [1, {"b": "}\""}], "c": -1.5e3})";
  const std::string plain = op_line(7, op);
  EXPECT_EQ(plain.find("occurrence"), std::string::npos);
  EXPECT_EQ(plain.find("model_phase"), std::string::npos);
  op.occurrence = 2;
  op.model_phase = ModelPhase::kDecode;
  OpId id = 0;
  OpInfo found;
  const std::string line = op_line(7, op);
  ASSERT_TRUE(parse_op_line(line.substr(0, line.size() - 1), id, found).ok()) << line;
  EXPECT_EQ(id, 7U);
  EXPECT_EQ(found.name, op.name);
  EXPECT_EQ(found.domain, op.domain);
  EXPECT_EQ(found.graph, op.graph);
  EXPECT_EQ(found.module, op.module);
  EXPECT_EQ(found.source_location, op.source_location);
  ASSERT_EQ(found.originals.size(), 2U);
  EXPECT_EQ(found.originals[1].type, "Relu");
  EXPECT_TRUE(found.inserted_by_runtime);
  EXPECT_EQ(found.level, Level::kModule);
  EXPECT_EQ(found.parent, 3U);
  EXPECT_EQ(found.occurrence, 2U);
  EXPECT_EQ(found.model_phase, ModelPhase::kDecode);
  ASSERT_EQ(found.inputs.size(), 2U);
  EXPECT_EQ(found.inputs[0].producer_slot, 2U);
  EXPECT_EQ(found.inputs[1].producer, kNoOp);
  EXPECT_EQ(found.outputs, op.outputs);
  EXPECT_EQ(found.attributes, op.attributes);
}

TEST(Ops, DamagedLinesAreSkippedAndSaid) {
  std::vector<std::string> problems;
  const std::string text = op_line(0, op_called("a")) + "{\"id\": \n" + op_line(2, op_called("c")) + "{\"id\": 3, \"na";
  const std::vector<OpInfo> ops = parse_ops(text, problems);
  ASSERT_EQ(ops.size(), 3U);
  EXPECT_EQ(ops[0].name, "a");
  EXPECT_EQ(ops[1].name, "");
  EXPECT_EQ(ops[2].name, "c");
  EXPECT_THAT(problems, testing::ElementsAre(testing::HasSubstr("ops.jsonl:2"), testing::HasSubstr("ops.jsonl:4")));
}

TEST(Ops, IdsFarAwayTakeNoMemory) {
  std::vector<std::string> problems;
  EXPECT_TRUE(parse_ops(op_line(4000000000U, op_called("a")), problems).empty());
  EXPECT_EQ(problems.size(), 1U);
}

TEST(MemberName, IsARelativePathOfValidUtf8) {
  const RecordRow row;
  EXPECT_EQ(member_name(row, "/layer1/conv1/Conv"), "layer1/conv1/Conv:out0.npy");
  EXPECT_EQ(member_name(row, "../../etc/passwd"), "%2E%2E/%2E%2E/etc/passwd:out0.npy");
  EXPECT_EQ(member_name(row, "a//b/./c\\d"), "a/%2Fb/%2E/c%5Cd:out0.npy");
  EXPECT_EQ(member_name(row, "//x"), "%2Fx:out0.npy");
  EXPECT_EQ(member_name(row, "a\x01\x7f\xff%"), "a%01%7F%FF%25:out0.npy");
  EXPECT_EQ(member_name(row, "größe"), "größe:out0.npy");
  const std::string longest = member_name(row, std::string(5000, 'x'));
  EXPECT_LE(longest.size(), kLongestMemberName);
  EXPECT_TRUE(longest.ends_with(":out0.npy"));
}

}  // namespace
}  // namespace tensortap::tap
