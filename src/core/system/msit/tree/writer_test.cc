// What lies in a tree, property by property; whole trees are in tests/msit_trees_test.py, bytes in tests/written_trees.txt.

#include "system/msit/tree/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"

namespace tensortap::msit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kRound = "msit_dump_20251120_200000/tensors/0_7/";

class MsitTrees : public testing::Test {
 protected:
  std::unique_ptr<LayoutWriter> create(Payload payload = Payload::kTensor, MomentChoice moment = MomentChoice::kAfter) {
    DumpInfo info;
    info.folder = folder_.path();
    info.timestamp = "20251120200000";
    info.process = 7;
    CaptureSpec spec;
    spec.payload = payload;
    spec.moment = moment;
    auto writer = create_tree(info, spec);
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return *std::move(writer);
  }
  static void add_op(LayoutWriter& writer, OpId id, const OpInfo& op, bool inputs = true) {
    ASSERT_TRUE(writer.add_op(id, op).ok());
    OpDecision decision;
    decision.wanted = decision.outputs = true;
    decision.inputs = inputs;
    writer.parts().decisions->op_decided(id, decision);
  }
  static OpInfo op_of(std::string type, std::vector<OpInput> inputs = {}, OpId parent = kNoOp) {
    OpInfo op;
    op.name = op.type = std::move(type);
    op.inputs = std::move(inputs);
    op.parent = parent;
    return op;
  }
  static Status add(LayoutWriter& writer, OpId op, float value, SlotKind kind = SlotKind::kOutput, int64_t step = 0) {
    RecordRow row;
    row.op = op;
    row.step = step;
    row.slot_kind = static_cast<uint8_t>(kind);
    row.set_desc({DType::kFloat32, {1}});
    row.stats.max = row.stats.min = row.stats.mean = row.stats.l2 = value;
    row.stats.valid = kStatMinimal;
    row.stats.count = 1;
    const TensorView view{row.desc(), &value, nullptr};
    return writer.add_record(row, &view, nullptr);
  }
  std::vector<std::string> files(std::string_view below = kRound) {
    std::vector<std::string> paths;
    const std::string root = join_path(folder_.path(), below);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.is_regular_file()) paths.push_back(std::filesystem::relative(entry.path(), root).string());
    }
    std::ranges::sort(paths);
    return paths;
  }
  std::string content(std::string_view name) {
    const auto text = read_file(concat(folder_.path(), "/", kRound, name));
    return text.ok() ? *text : text.status().message();
  }
  TemporaryFolder folder_;
};

TEST_F(MsitTrees, HaveChildrenBelowTheirParentsAndNumbersOfTheirOwn) {
  const auto writer = create();
  OpInfo layer = op_of("Decoder_layer");
  layer.level = Level::kModule;
  add_op(*writer, 0, op_of("Initializer"));
  add_op(*writer, 1, op_of("mm"));
  add_op(*writer, 2, layer);
  add_op(*writer, 3, op_of("add", {}, 2));
  add_op(*writer, 4, op_of("relu", {}, 2));
  for (const OpId op : {1U, 2U, 3U, 4U}) ASSERT_TRUE(add(*writer, op, 1, SlotKind::kOutput, 3).ok());
  EXPECT_THAT(files(), ElementsAre("3/0_MmOperation/after/outtensor0.bin", "3/1_Decoder_layer/0_AddOperation/after/outtensor0.bin",
                                   "3/1_Decoder_layer/1_ReluOperation/after/outtensor0.bin", "3/1_Decoder_layer/after/outtensor0.bin"));
}

TEST_F(MsitTrees, HaveTheIdsThatTheSessionGave) {
  const auto writer = create();
  OpInfo op = op_of("mm");
  op.id = "41";
  add_op(*writer, 0, op);
  op = op_of("add", {}, 0);
  op.id = "41_7";
  add_op(*writer, 1, op);
  ASSERT_TRUE(add(*writer, 1, 1).ok());
  EXPECT_THAT(files(), ElementsAre("0/41_MmOperation/7_AddOperation/after/outtensor0.bin"));
}

TEST_F(MsitTrees, OfSeveralSessionsOfAProcessNumberOn) {
  for (int session = 0; session < 2; ++session) {
    const auto writer = create();
    add_op(*writer, 0, op_of("mm"));
    add_op(*writer, 1, op_of("mm"));
    ASSERT_TRUE(add(*writer, 1, 1).ok());
  }
  EXPECT_THAT(files(), ElementsAre("0/1_MmOperation/after/outtensor0.bin", "0/3_MmOperation/after/outtensor0.bin"));
}

// The value that ops read is written once, and has a name for each of them.
TEST_F(MsitTrees, GiveReadersANameOfTheFileThatHoldsTheValue) {
  const auto writer = create();
  add_op(*writer, 0, op_of("Initializer"));
  add_op(*writer, 1, op_of("mm", {{"w", 0, 0}}));
  add_op(*writer, 2, op_of("relu", {{"w", 0, 0}, {"m", 1, 0}}));
  ASSERT_TRUE(add(*writer, 0, 5).ok());
  ASSERT_TRUE(add(*writer, 1, 6).ok());
  ASSERT_TRUE(add(*writer, 2, 7).ok());
  ASSERT_TRUE(writer->parts().steps->end_step(0, 0).ok());
  EXPECT_THAT(files(), ElementsAre("0/0_MmOperation/after/outtensor0.bin", "0/0_MmOperation/before/intensor0.bin",
                                   "0/1_ReluOperation/after/outtensor0.bin", "0/1_ReluOperation/before/intensor0.bin",
                                   "0/1_ReluOperation/before/intensor1.bin"));
  const auto same = [&](std::string_view a, std::string_view b) {
    return std::filesystem::equivalent(concat(folder_.path(), "/", kRound, a), concat(folder_.path(), "/", kRound, b));
  };
  EXPECT_TRUE(same("0/0_MmOperation/before/intensor0.bin", "0/1_ReluOperation/before/intensor0.bin"));
  EXPECT_TRUE(same("0/0_MmOperation/after/outtensor0.bin", "0/1_ReluOperation/before/intensor1.bin"));
  EXPECT_THAT(content("0/0_MmOperation/before/intensor0.bin"), testing::EndsWith(std::string("\0\0\xa0\x40", 4)));
}

TEST_F(MsitTrees, KeepStatisticsAndValuesInOneFile) {
  const std::pair<Payload, std::vector<std::string>> cases[] = {
      {Payload::kDescription, {"Count=0", "dims=1\n$End"}},
      {Payload::kStatistics, {"Count=0", "dims=1\nmax=2.500000\nmin=", "\n$End=1\n"}},
      {Payload::kFull, {"Count=1", "l2norm=2.500000\n$Object.data=0,4\n$End=1\n"}}};
  for (const auto& [payload, parts] : cases) {
    std::filesystem::remove_all(join_path(folder_.path(), "msit_dump_20251120_200000"));
    const auto writer = create(payload);
    OpInfo op = op_of("mm");
    op.id = "0";
    add_op(*writer, 0, op);
    ASSERT_TRUE(add(*writer, 0, 2.5).ok());
    const std::vector<std::string> all = files();
    ASSERT_EQ(all.size(), 1U);
    for (const std::string& part : parts) EXPECT_THAT(content(all[0]), HasSubstr(part));
  }
}

TEST_F(MsitTrees, PutInputsWhereTheyWereSeen) {
  const std::pair<MomentChoice, std::string> cases[] = {{MomentChoice::kAfter, "before"}, {MomentChoice::kBoth, "after"}};
  for (const auto& [moment, folder] : cases) {
    std::filesystem::remove_all(join_path(folder_.path(), "msit_dump_20251120_200000"));
    const auto writer = create(Payload::kTensor, moment);
    OpInfo op = op_of("mm");
    add_op(*writer, 0, op);
    ASSERT_TRUE(add(*writer, 0, 2.5, SlotKind::kInput).ok());
    EXPECT_THAT(files()[0], HasSubstr(folder));
  }
}

TEST_F(MsitTrees, WriteParametersAsTheyWereReadAndWithoutOurNotes) {
  const auto writer = create();
  OpInfo op = op_of("LinearOperation");
  op.attributes = R"({"transposeB": true, "hasBias": false})";
  add_op(*writer, 0, op);
  op = op_of("isfinite");
  op.attributes = R"({"sees_value":true,"dim":1})";
  add_op(*writer, 1, op);
  op = op_of("Linear");
  op.level = Level::kModule;
  op.module = "model.layers.0";
  add_op(*writer, 2, op);
  for (const OpId id : {0U, 1U, 2U}) ASSERT_TRUE(add(*writer, id, 1).ok());
  EXPECT_EQ(content("0/0_LinearOperation/op_param.json"), "{\"transposeB\": true, \"hasBias\": false}\n");
  EXPECT_EQ(content("0/1_IsfiniteOperation/op_param.json"), "{\"dim\":1}\n");
  EXPECT_EQ(content("0/2_Linear/op_param.json"), "{\"module\":\"model.layers.0\"}\n");
}

TEST_F(MsitTrees, SayWhatTheyHaveNoPlaceFor) {
  const auto writer = create();
  add_op(*writer, 0, op_of("mm"));
  EXPECT_THAT(add(*writer, 0, 1, SlotKind::kGradient).message(), HasSubstr("inputs and outputs only"));
  RecordRow row;
  row.op = 0;
  row.set_desc({DType::kFloat32, {0, 4}});
  EXPECT_THAT(writer->add_record(row, nullptr, nullptr).message(), HasSubstr("without elements"));
  row.set_desc({DType::kUInt4, {4}});
  EXPECT_THAT(writer->add_record(row, nullptr, nullptr).message(), HasSubstr("uint4"));
}

TEST_F(MsitTrees, TakeTheTimeThatTheyAreGiven) {
  DumpInfo info;
  info.folder = folder_.path();
  CaptureSpec spec;
  spec.layout_options["time"] = "20260102_030405";
  const auto writer = create_tree(info, spec);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->finish("{}").ok());
  EXPECT_TRUE(path_exists(join_path(folder_.path(), "msit_dump_20260102_030405/.tensortap")));
  spec.layout_options["time"] = "../up";
  EXPECT_EQ(create_tree(info, spec).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tensortap::msit
