#include "system/ascend/tree/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <regex>
#include <set>

#include "base/clock.h"
#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "format/dump_data/dump_data_file.h"
#include "stats/stats.h"
#include "system/ascend/tree/file_names.h"
#include "system/ascend/tree/reader.h"
#include "tree/spool.h"

namespace tensortap::ascend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr const char* kTime = "20260102030405";

OpInfo ge_op(std::string name, std::string type, std::vector<OpInput> inputs = {}, size_t outputs = 1) {
  OpInfo op;
  op.name = std::move(name);
  op.type = std::move(type);
  op.inputs = std::move(inputs);
  for (size_t i = 0; i < outputs; ++i) op.outputs.push_back(concat(op.name, ":", i));
  return op;
}

// A file taken apart, its payloads as floats.
struct Content {
  DumpDataFile file;
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<float>> outputs;
};

std::vector<float> floats(std::span<const std::byte> bytes, const DumpDataTensor& tensor) {
  std::vector<float> values(tensor.size / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data() + tensor.payload_at, tensor.size);
  return values;
}

Content content_of(const std::string& path) {
  Content content;
  const auto map = MappedFile::open(path);
  EXPECT_TRUE(map.ok()) << map.status().message();
  auto file = parse_dump_data(map->bytes(), map->bytes().size());
  EXPECT_TRUE(file.ok()) << path << file.status().message();
  content.file = *std::move(file);
  for (const DumpDataTensor& tensor : content.file.inputs) content.inputs.push_back(floats(map->bytes(), tensor));
  for (const DumpDataTensor& tensor : content.file.outputs) content.outputs.push_back(floats(map->bytes(), tensor));
  return content;
}

class AscendTreeWriter : public testing::Test {
 protected:
  AscendTreeWriter() {
    spec_.payload = Payload::kTensor;
    spec_.inputs = spec_.outputs = true;
    info_.folder = folder_.path();
    info_.timestamp = kTime;
    info_.model = "net.v1";
    info_.model_id = 3;
    info_.device = 2;
  }

  void create() {
    auto writer = create_tree(info_, spec_);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    writer_ = *std::move(writer);
  }
  void add_op(const OpInfo& op, bool inputs = true, bool outputs = true) {
    ASSERT_TRUE(writer_->add_op(next_op_, op).ok());
    OpDecision decision;
    decision.wanted = true;
    decision.inputs = inputs;
    decision.outputs = outputs;
    writer_->parts().decisions->op_decided(next_op_++, decision);
  }
  RecordRow row_of(OpId op, const std::vector<float>& values, SlotKind kind = SlotKind::kOutput, uint16_t slot = 0) {
    RecordRow row;
    row.op = op;
    row.slot_kind = static_cast<uint8_t>(kind);
    row.slot_index = slot;
    row.set_desc({DType::kFloat32, Shape({static_cast<int64_t>(values.size())})});
    row.stats = compute_stats({row.desc(), values.data(), nullptr}, {});
    row.committed = 0;
    return row;
  }
  Status add(RecordRow& row, const std::vector<float>& values) {
    const TensorView view{row.desc(), values.data(), nullptr};
    return writer_->add_record(row, spec_.payload == Payload::kStatistics ? nullptr : &view, nullptr);
  }
  void add(OpId op, const std::vector<float>& values, SlotKind kind = SlotKind::kOutput, uint16_t slot = 0) {
    RecordRow row = row_of(op, values, kind, slot);
    const Status status = add(row, values);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(row.committed, 1);
  }
  void finish() {
    const Status status = writer_->finish("{}");
    ASSERT_TRUE(status.ok()) << status.message();
    writer_.reset();
  }

  // Paths of the dump's files below its folder, without ours.
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      const std::string path = entry.path().string().substr(folder_.path().size() + 1);
      if (entry.is_regular_file() && path.find(".tensortap/") == std::string::npos) found.push_back(path);
    }
    std::ranges::sort(found);
    return found;
  }
  std::string only_file(const std::string& part) const {
    std::string path;
    for (const std::string& file : files()) {
      if (file.find(part) == std::string::npos) continue;
      EXPECT_EQ(path, "") << "two files with " << part;
      path = file;
    }
    EXPECT_NE(path, "") << "no file with " << part;
    return join_path(folder_.path(), path);
  }

  TemporaryFolder folder_;
  DumpInfo info_;
  CaptureSpec spec_;
  std::unique_ptr<LayoutWriter> writer_;
  OpId next_op_ = 0;
};

TEST_F(AscendTreeWriter, PortableNamesAreTakenByTheVendorsTools) {
  spec_.layout_options["portable_names"] = "true";
  info_.model = "my+net:1";
  create();
  add_op(ge_op("layer.0/conv@1", "aten::conv2d"), false);
  add_op(ge_op("layer.0/conv#1", "aten::conv2d"), false);
  for (OpId op = 0; op < 2; ++op) {
    RecordRow row = row_of(op, {1, 2});
    ASSERT_TRUE(add(row, {1, 2}).ok());
  }
  ASSERT_TRUE(writer_->finish("{}").ok());
  // The forms that msaccucmp accepts: the path's characters and the file's name.
  const std::regex path_form("[A-Za-z0-9_./:()=-]+");
  const std::regex name_form(R"(^[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.[0-9]+(\.[0-9]+)?\.[0-9]{1,255}$)");
  std::map<std::string, std::string> op_of;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(join_path(info_.folder, concat(kTime, "/2")))) {
    EXPECT_TRUE(std::regex_match(entry.path().string(), path_form)) << entry.path();
    if (!entry.is_regular_file()) continue;
    std::smatch parts;
    const std::string name = entry.path().filename().string();
    ASSERT_TRUE(std::regex_match(name, parts, name_form)) << name;
    op_of[parts[1]] = content_of(entry.path().string()).file.op_name;
  }
  EXPECT_THAT(op_of, UnorderedElementsAre(Pair("layer_0_conv_1", "layer.0/conv@1"), Pair("layer_0_conv_1_2", "layer.0/conv#1")));
}

TEST_F(AscendTreeWriter, AnOptionIsTrueOrFalse) {
  spec_.layout_options["portable_names"] = "yes";
  const auto writer = create_tree(info_, spec_);
  EXPECT_THAT(writer.status().message(), HasSubstr("layout_options.portable_names: \"yes\" is neither true nor false"));
}

TEST_F(AscendTreeWriter, AnOpIsOneFileWithWhatItReadAndWrote) {
  create();
  add_op(ge_op("x", "Input"));
  add_op(ge_op("block.0/add one", "Add", {{"x", 0, 0}, {"x", 0, 0}}));
  add_op(ge_op("relu", "Relu", {{"", 1, 0}}));
  add(0, {1, 2});
  add(1, {3, 4});
  add(2, {5, 6});
  ASSERT_TRUE(writer_->parts().steps->end_step(0, 0).ok());
  finish();
  EXPECT_THAT(files(), ElementsAre(MatchesRegex("20260102030405/2/net_v1/3/0/Add\\.block_0_add_one\\.0\\.0\\.[0-9]{16}"),
                                   MatchesRegex("20260102030405/2/net_v1/3/0/Data\\.x\\.0\\.0\\.[0-9]{16}"),
                                   MatchesRegex("20260102030405/2/net_v1/3/0/Relu\\.relu\\.1\\.0\\.[0-9]{16}")));
  const std::string path = only_file("Add.");
  const Content content = content_of(path);
  EXPECT_EQ(content.file.op_name, "block.0/add one");
  EXPECT_EQ(content.file.version, "2.0");
  EXPECT_TRUE(path.ends_with(concat(".", content.file.time_us)));
  EXPECT_THAT(content.inputs, ElementsAre(ElementsAre(1, 2), ElementsAre(1, 2)));
  EXPECT_THAT(content.outputs, ElementsAre(ElementsAre(3, 4)));
  EXPECT_THAT(content_of(only_file("Relu.")).inputs, ElementsAre(ElementsAre(3, 4)));
}

TEST_F(AscendTreeWriter, WeightsHaveFilesOfTheirOwnUnlessTheOptionSaysNone) {
  for (const std::string weights : {"files", "none"}) {
    spec_.layout_options["weights"] = weights;
    info_.timestamp = weights == "none" ? "20260102030406" : kTime;
    next_op_ = 0;
    create();
    add_op(ge_op("w", std::string(kInitializerType)), false);
    add_op(ge_op("scale", "Mul", {{"w", 0, 0}}));
    RecordRow weight = row_of(0, {2, 3});
    weight.phase = static_cast<uint8_t>(Phase::kLoad);
    ASSERT_TRUE(add(weight, {2, 3}).ok());
    add(1, {4, 6});
    finish();
  }
  const auto of_time = [this](const std::string& time) {
    std::vector<std::string> found = files();
    std::erase_if(found, [&](const std::string& file) { return !file.starts_with(time); });
    return found;
  };
  EXPECT_EQ(of_time(kTime).size(), 2U);
  const std::vector<std::string> real = of_time("20260102030406");
  ASSERT_EQ(real.size(), 1U);
  EXPECT_THAT(real[0], HasSubstr("/Mul.scale."));
  EXPECT_THAT(content_of(join_path(folder_.path(), real[0])).inputs, ElementsAre(ElementsAre(2, 3)));
}

TEST_F(AscendTreeWriter, FilesAndFoldersAreForTheirOwner) {
  create();
  add_op(ge_op("a", "Add"));
  add(0, {1});
  finish();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    struct stat info {};
    ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, entry.is_directory() ? 0700U : 0600U) << entry.path();
  }
}

TEST_F(AscendTreeWriter, StepsAreFoldersAndSingleOpsHaveNone) {
  create();
  add_op(ge_op("a", "Add"));
  OpInfo single = ge_op("aclnnMul", "Mul_1_L2");
  single.single = true;
  add_op(single);
  for (int64_t step : {0, 7}) {
    RecordRow row = row_of(0, {1});
    row.step = step;
    ASSERT_TRUE(add(row, {1}).ok());
    ASSERT_TRUE(writer_->parts().steps->end_step(step, 0).ok());
  }
  add(1, {2});
  finish();
  EXPECT_THAT(files(), ElementsAre(MatchesRegex("[0-9]+/2/Mul_1_L2\\.aclnnMul\\.1\\.0\\.[0-9]{16}"), HasSubstr("/2/net_v1/3/0/Add"),
                                   HasSubstr("/2/net_v1/3/7/Add")));
}

TEST_F(AscendTreeWriter, OutputsThatComeOneByOneAreOneFileInTheirOrder) {
  create();
  add_op(ge_op("split", "Split", {}, 3));
  add_op(ge_op("next", "Relu"));
  add(0, {3}, SlotKind::kOutput, 2);
  add(0, {1}, SlotKind::kOutput, 0);
  EXPECT_THAT(files(), IsEmpty());
  add(1, {9});
  finish();
  const Content content = content_of(only_file("Split"));
  EXPECT_THAT(content.outputs, ElementsAre(ElementsAre(1), IsEmpty(), ElementsAre(3)));
  EXPECT_EQ(content.file.outputs[1].type, 0);
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(AscendTreeWriter, AnyNumberOfSmallAndLargeTensorsStandInTheirOrder) {
  constexpr uint16_t kOutputs = 150;
  const std::vector<float> large((kLargestInMemory / sizeof(float)) + 1, 7);
  create();
  add_op(ge_op("a", "Add"));
  add_op(ge_op("large", "Add"));
  add_op(ge_op("b", "Add"));
  add_op(ge_op("split", "Split", {{"", 0, 0}, {"", 1, 0}, {"", 2, 0}}, kOutputs));
  add(0, {1, 2});
  add(1, large);
  add(2, {3, 4});
  std::vector<std::vector<float>> outputs;
  for (uint16_t slot = 0; slot < kOutputs; ++slot) {
    outputs.emplace_back(1 + slot % 3, static_cast<float>(slot));
    add(3, outputs.back(), SlotKind::kOutput, slot);
  }
  finish();
  const Content content = content_of(only_file("Split"));
  EXPECT_THAT(content.inputs, ElementsAre(ElementsAre(1, 2), large, ElementsAre(3, 4)));
  EXPECT_EQ(content.outputs, outputs);
}

TEST_F(AscendTreeWriter, WhatAnOpChangedIsAFileOfItsOwn) {
  create();
  add_op(ge_op("add_", "add_"));
  add(0, {1}, SlotKind::kInput);
  add(0, {2}, SlotKind::kInput);
  add(0, {2});
  finish();
  std::vector<std::vector<std::vector<float>>> read;
  for (const std::string& file : files()) read.push_back(content_of(join_path(folder_.path(), file)).inputs);
  EXPECT_THAT(read, UnorderedElementsAre(ElementsAre(ElementsAre(1)), ElementsAre(ElementsAre(2))));
}

TEST_F(AscendTreeWriter, AnOpThatWritesInPlaceHasAFileOfWhatItReadAndOneOfWhatItMade) {
  create();
  add_op(ge_op("mul_", "mul_", {}, 1));
  add_op(ge_op("mul", "mul", {}, 1));
  const auto in_memory = [&](OpId op, SlotKind kind, uint64_t storage, uint64_t version, std::vector<float> values) {
    RecordRow row = row_of(op, values, kind);
    row.storage = storage;
    row.version = version;
    ASSERT_TRUE(add(row, values).ok());
  };
  in_memory(0, SlotKind::kInput, 7, 1, {1, 2});
  in_memory(0, SlotKind::kOutput, 7, 2, {3, 6});
  in_memory(1, SlotKind::kInput, 7, 2, {3, 6});
  in_memory(1, SlotKind::kOutput, 8, 1, {9, 18});
  finish();
  std::vector<std::pair<size_t, size_t>> counts;
  for (const std::string& file : files()) {
    const Content content = content_of(join_path(folder_.path(), file));
    counts.emplace_back(content.inputs.size(), content.outputs.size());
    if (content.inputs.size() + content.outputs.size() > 1) continue;
    EXPECT_THAT(content.inputs.empty() ? content.outputs[0] : content.inputs[0],
                content.inputs.empty() ? ElementsAre(3, 6) : ElementsAre(1, 2));
  }
  EXPECT_THAT(counts,
              UnorderedElementsAre(std::pair<size_t, size_t>{1, 0}, std::pair<size_t, size_t>{0, 1}, std::pair<size_t, size_t>{1, 1}));
}

TEST_F(AscendTreeWriter, LargeTensorsReachTheirReadersThroughFiles) {
  create();
  add_op(ge_op("a", "Add"));
  add_op(ge_op("split", "Split", {{"", 0, 0}}, 2));
  add_op(ge_op("only_read", "Relu", {{"", 0, 0}, {"", 1, 0}, {"", 1, 1}}), true, true);
  std::vector<float> first(500000);
  std::iota(first.begin(), first.end(), 0.0F);
  std::vector<float> second(first.rbegin(), first.rend());
  const std::vector<float> third(400000, 7);
  add(0, first);
  add(1, second, SlotKind::kOutput, 0);
  add(1, third, SlotKind::kOutput, 1);
  add(2, {1});
  finish();
  EXPECT_EQ(content_of(only_file("Split")).inputs[0], first);
  EXPECT_EQ(content_of(only_file("Split")).outputs[1], third);
  const Content last = content_of(only_file("Relu"));
  EXPECT_TRUE(last.inputs[0] == first && last.inputs[1] == second && last.inputs[2] == third);
}

TEST_F(AscendTreeWriter, InputsAloneAreKeptForOpsWhoseOutputsNobodyWants) {
  create();
  add_op(ge_op("x", "Input"), false, false);
  add_op(ge_op("a", "Add", {{"", 0, 0}}), true, false);
  RecordRow row = row_of(0, {1, 2});
  row.flags |= kRecordForReaders;
  ASSERT_TRUE(add(row, {1, 2}).ok());
  ASSERT_TRUE(writer_->parts().steps->end_step(0, 0).ok());
  finish();
  EXPECT_EQ(files().size(), 1U);
  EXPECT_THAT(content_of(only_file("Add.a")).inputs, ElementsAre(ElementsAre(1, 2)));
}

TEST_F(AscendTreeWriter, NamesThatAreTooLongBecomeTheHashOfTheirPath) {
  create();
  const std::string name(300, 'n');
  add_op(ge_op(name, "Add"));
  add(0, {1});
  finish();
  const std::string folder = join_path(folder_.path(), "20260102030405/2/net_v1/3/0");
  const auto mapping = read_file(join_path(folder, "mapping.csv"));
  ASSERT_TRUE(mapping.ok());
  std::smatch match;
  const std::string line = *mapping;
  ASSERT_TRUE(std::regex_match(line, match, std::regex("([0-9]+),(Add\\.n{300}\\.0\\.0\\.[0-9]{16})\n"))) << line;
  EXPECT_EQ(match[1], to_text(std::hash<std::string>()(join_path(folder, match[2].str()))));
  EXPECT_THAT(content_of(join_path(folder, match[1].str())).outputs, ElementsAre(ElementsAre(1)));
  const auto dump = open_tree(folder_.path());
  ASSERT_TRUE(dump.ok());
  EXPECT_EQ((*dump)->ops()[0].name, name);
  EXPECT_THAT((*dump)->problems(), IsEmpty());
}

TEST_F(AscendTreeWriter, NoFileIsWrittenTwice) {
  create();
  add_op(ge_op("a", "Add"));
  for (int i = 0; i < 500; ++i) add(0, {static_cast<float>(i)});
  finish();
  std::set<float> values;
  for (const std::string& file : files()) values.insert(content_of(join_path(folder_.path(), file)).outputs[0][0]);
  EXPECT_EQ(values.size(), 500U);
}

TEST_F(AscendTreeWriter, StatisticsAreATableOfTheSameName) {
  spec_.payload = Payload::kFull;
  create();
  add_op(ge_op("x", "Input"), false, false);
  add_op(ge_op("a", "Add", {{"", 0, 0}}));
  add(0, {6, -9.75F});
  add(1, {1.25F, -9});
  finish();
  const std::string table = only_file(".csv").substr(0);
  EXPECT_TRUE(path_exists(table.substr(0, table.size() - 4)));
  EXPECT_EQ(*read_file(table),
            "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,Negative Inf Count,"
            "Positive Inf Count\nInput,0,8,DT_FLOAT,ND,2,6,-9.75,-1.875,2,0,0,0\nOutput,0,8,DT_FLOAT,ND,2,1.25,-9,-3.875,2,0,0,0\n");
}

TEST_F(AscendTreeWriter, StatisticsAloneLeaveNoTensors) {
  spec_.payload = Payload::kStatistics;
  spec_.layout_options["stats_columns"] = "L2norm,Max";
  create();
  add_op(ge_op("a", "Add"));
  add(0, {3, 4});
  finish();
  EXPECT_THAT(files(), ElementsAre(MatchesRegex(".*/Add\\.a\\.0\\.0\\.[0-9]{16}\\.csv")));
  EXPECT_EQ(*read_file(only_file(".csv")),
            "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,l2norm\nOutput,0,8,DT_FLOAT,ND,2,2,4,5\n");
}

TEST_F(AscendTreeWriter, AnOverflowIsFollowedByItsBlock) {
  spec_.layout_options["scene"] = "overflow";
  create();
  add_op(ge_op("a", "Add"));
  add_op(ge_op("b", "Div"));
  add(0, {1});
  add(1, {INFINITY});
  finish();
  EXPECT_EQ(files().size(), 3U);
  const Content content = content_of(only_file("Opdebug.Node_OpDebug.2.0."));
  EXPECT_EQ(content.file.op_name, "Node_OpDebug");
  ASSERT_EQ(content.file.outputs.size(), 1U);
  EXPECT_EQ(content.file.outputs[0].type, 4);
  EXPECT_THAT(content.file.outputs[0].dims, ElementsAre(2048));
  const std::string bytes = *read_file(only_file("Opdebug."));
  const std::string block = bytes.substr(bytes.size() - 2048);
  std::array<uint64_t, 3> numbers{};
  std::memcpy(numbers.data(), block.data() + 24, sizeof(numbers));
  EXPECT_EQ(block.substr(0, 4), "ZZZZ");
  EXPECT_THAT(numbers, ElementsAre(3, 0, 1));  // model, stream, task
}

TEST_F(AscendTreeWriter, AFailedOpLeavesItsInputsWithADate) {
  for (const bool brief : {false, true}) {
    spec_.trigger = Trigger::kException;
    spec_.exception_detail = brief ? ExceptionDetail::kBrief : ExceptionDetail::kNorm;
    next_op_ = 0;
    create();
    add_op(ge_op("div", "Div"));
    RecordRow row = row_of(0, {1, 2}, SlotKind::kInput);
    row.flags |= kRecordFailedOp;
    ASSERT_TRUE(add(row, {1, 2}).ok());
    finish();
  }
  const Content norm = content_of(only_file("extra-info/data-dump/2/Div.div.0."));
  EXPECT_THAT(only_file("Div.div.0."), MatchesRegex(".*/Div\\.div\\.0\\.[0-9]{17}"));
  EXPECT_EQ(norm.file.inputs[0].type, 1);
  EXPECT_EQ(norm.file.op_name, "div");
  const Content brief = content_of(only_file("extra-info/data-dump/2/exception_info.0.0."));
  EXPECT_EQ(brief.file.inputs[0].type, 0);
  EXPECT_EQ(brief.file.op_name, "");
  EXPECT_THAT(brief.file.inputs[0].dims, IsEmpty());
  EXPECT_THAT(brief.inputs, ElementsAre(ElementsAre(1, 2)));
  const auto dump = open_tree(folder_.path());
  ASSERT_TRUE(dump.ok());
  for (const RecordRow& record : (*dump)->rows()) EXPECT_NE(record.flags & kRecordFailedOp, 0);
  EXPECT_EQ((*dump)->rows().size(), 2U);
}

TEST_F(AscendTreeWriter, AWatchForFailuresThatSawNoneLeavesNothing) {
  spec_.trigger = Trigger::kException;
  create();
  add_op(ge_op("div", "Div"));
  finish();
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

// A14
TEST_F(AscendTreeWriter, WhatWasSeenAfterAnOpHasItsTaskAndStream) {
  create();
  add_op(ge_op("c", "Conv"));
  add_op(ge_op("b", "Add"));
  OpInfo look = ge_op("b_To_c", "Conv");
  look.attributes = R"({"watcher": "b", "watched": "c"})";
  add_op(look);
  add(0, {1, 2});
  add(1, {3});
  add(2, {1, 9});
  finish();
  EXPECT_THAT(only_file("Conv.b_To_c."), HasSubstr("/Conv.b_To_c.1.0."));
  EXPECT_EQ(content_of(only_file("Conv.b_To_c.")).file.op_name, "b_To_c");
}

// A dump that is made after a crash contains its time and its reason.
TEST_F(AscendTreeWriter, ADumpThatIsMadeLaterTellsWhenAndWhy) {
  info_.time_us = 1'700'000'000'123'000;
  info_.failure = "the program got SIGSEGV";
  spec_.trigger = Trigger::kException;
  create();
  writer_->parts().decisions->pass_over_ops(7);
  add_op(ge_op("div", "Div"));
  RecordRow row = row_of(0, {1, 2}, SlotKind::kInput);
  row.flags = kRecordFailedOp;
  ASSERT_TRUE(add(row, {1, 2}).ok());
  finish();
  const std::string file = only_file("Div.div.7.");
  EXPECT_THAT(file, testing::EndsWith(wall_clock_digits(info_.time_us)));
  EXPECT_EQ(content_of(file).file.message, info_.failure);
  EXPECT_EQ(content_of(file).file.time_us, info_.time_us);
}

// Killed while it writes, at ten moments: most of the time goes into the bytes of the tensors.
TEST_F(AscendTreeWriter, AProcessThatDiesLeavesWholeFilesOnly) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const size_t before = files().size();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      create();
      add_op(ge_op("a", "Add"));
      while (true) add(0, std::vector<float>(1 << 20, 2));
    }
    while (files().size() < before + 2) ::usleep(1000);
    ::usleep(attempt * 300);
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }
  for (const std::string& file : files()) {
    const Content content = content_of(join_path(folder_.path(), file));
    ASSERT_EQ(content.outputs.size(), 1U) << file;
    EXPECT_EQ(content.outputs[0].size(), size_t{1} << 20) << file;
  }
}

TEST_F(AscendTreeWriter, AFullDiskIsToldAndLeavesNoFile) {
  create();
  add_op(ge_op("a", "Add"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::vector<float> values(1 << 20, 1);
  RecordRow row = row_of(0, values);
  const Status status = add(row, values);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(files(), IsEmpty());
  add(0, {1});
  finish();
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(AscendTreeWriter, WhatHasNoPlaceIsUnsupported) {
  create();
  add_op(ge_op("a", "Add"));
  for (const DType dtype : {DType::kString, DType::kUInt4, DType::kFloat8E5M2FNUZ}) {
    RecordRow row = row_of(0, {1});
    row.dtype = static_cast<uint8_t>(dtype);
    EXPECT_EQ(writer_->add_record(row, nullptr, nullptr).code(), StatusCode::kUnsupported);
  }
  spec_.payload = Payload::kDescription;
  EXPECT_EQ(create_tree(info_, spec_).status().code(), StatusCode::kInvalidArgument);
  spec_.payload = Payload::kStatistics;
  spec_.layout_options["stats_columns"] = "Max,Mean";
  EXPECT_THAT(create_tree(info_, spec_).status().message(), HasSubstr("\"Mean\""));
}

// A file has no lists: their elements are stored one by one, and the slots after them move up. If the number of outputs is unknown, the
// next op ends the file.
TEST_F(AscendTreeWriter, ElementsOfListsAreTensorsOfTheirOwn) {
  create();
  OpInfo cat = ge_op("a", "Cat");
  cat.outputs.clear();
  add_op(cat);
  add_op(ge_op("b", "Add"));
  const auto put = [this](SlotKind kind, uint16_t slot, int64_t element, uint32_t position, float value) {
    RecordRow row = row_of(0, {value}, kind, slot);
    row.element = element;
    row.position = position;
    ASSERT_TRUE(add(row, {value}).ok());
  };
  put(SlotKind::kInput, 0, 0, 0, 1);
  put(SlotKind::kInput, 0, 1, 1, 2);
  put(SlotKind::kInput, 1, -1, 2, 3);
  put(SlotKind::kOutput, 0, 0, 0, 4);
  put(SlotKind::kOutput, 0, 1, 1, 5);
  RecordRow next = row_of(1, {6});
  ASSERT_TRUE(add(next, {6}).ok());
  finish();
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(AscendTreeWriter, MemoryWithoutValuesIsLeftOut) {
  create();
  add_op(ge_op("a", "Empty"));
  RecordRow row = row_of(0, {1});
  row.flags |= kRecordUnwritten;
  EXPECT_TRUE(writer_->add_record(row, nullptr, nullptr).ok());
  EXPECT_EQ(row.committed, 0);
  finish();
  EXPECT_THAT(files(), testing::IsEmpty());
}

TEST_F(AscendTreeWriter, OpsOfTwoThreadsDoNotMix) {
  create();
  add_op(ge_op("a", "Split", {}, 2));
  add_op(ge_op("b", "Split", {}, 2));
  for (uint16_t slot : {0, 1}) {
    for (OpId op : {0U, 1U}) {
      const std::vector<float> values = {static_cast<float>(op * 10 + slot)};
      RecordRow row = row_of(op, values, SlotKind::kOutput, slot);
      row.thread = op;
      ASSERT_TRUE(add(row, values).ok());
    }
  }
  finish();
  EXPECT_EQ(files().size(), 2U);
  EXPECT_THAT(content_of(only_file("Split.b.1.1.")).outputs, ElementsAre(ElementsAre(10), ElementsAre(11)));
}

RC_GTEST_FIXTURE_PROP(AscendTreeWriter, EveryNameComesBackAndStaysInItsFolder, (const std::vector<std::string>& names)) {
  create();
  std::vector<std::string> given;
  for (const std::string& name : names) {
    if (std::ranges::find(given, name) == given.end() && !name.empty()) given.push_back(name);
  }
  for (OpId op = 0; op < given.size(); ++op) {
    RC_ASSERT(writer_->add_op(op, ge_op(given[op], given[op])).ok());
    const std::vector<float> values = {static_cast<float>(op)};
    RecordRow row = row_of(op, values);
    RC_ASSERT(add(row, values).ok());
  }
  RC_ASSERT(writer_->finish("{}").ok());
  const auto dump = open_tree(folder_.path());
  RC_ASSERT(dump.ok());
  RC_ASSERT((*dump)->rows().size() == given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const auto data = (*dump)->data(i);
    RC_ASSERT(data.ok());
    float value = 0;
    std::memcpy(&value, data->view.data, sizeof(value));
    RC_ASSERT(op_of(**dump, (*dump)->rows()[i]).name == given[static_cast<size_t>(value)]);
  }
}

}  // namespace
}  // namespace tensortap::ascend
