#include "system/ascend/tree/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "system/ascend/tree/file_names.h"
#include "system/ascend/tree/reader.h"
#include "system/ascend/tree/writer.h"
#include "trace/dump_index.h"
#include "tree/named_folder.h"

namespace tensortap::ascend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Values = std::map<std::string, std::vector<float>>;

// A tree of two steps: "a" makes {1, 2}, "split" reads it and makes {3, 4, 5} and {6}.
class GeRepairTest : public testing::Test {
 protected:
  void write(Payload payload = Payload::kTensor, const std::string& split = "split") {
    CaptureSpec spec;
    spec.payload = payload;
    spec.inputs = spec.outputs = true;
    DumpInfo info;
    info.folder = folder_.path();
    info.timestamp = "20260102030405";
    info.model = "net";
    info.model_id = 1;
    auto writer = *create_tree(info, spec);
    add_op(*writer, 0, "a", {}, 1);
    add_op(*writer, 1, split, {{"", 0, 0}}, 2);
    for (int64_t step = 0; step < 2; ++step) {
      add(*writer, 0, 0, step, {1, 2});
      add(*writer, 1, 0, step, {3, 4, 5});
      add(*writer, 1, 1, step, {6});
      ASSERT_TRUE(writer->parts().steps->end_step(step, static_cast<uint64_t>(step)).ok());
    }
    ASSERT_TRUE(writer->finish("{}").ok());
    step_ = join_path(folder_.path(), "20260102030405/0/net/1/0");
  }

  static void add_op(LayoutWriter& writer, OpId id, const std::string& name, std::vector<OpInput> inputs, size_t outputs) {
    OpInfo op;
    op.name = name;
    op.type = "Toy";
    op.inputs = std::move(inputs);
    for (size_t i = 0; i < outputs; ++i) op.outputs.push_back(concat(name, i));
    ASSERT_TRUE(writer.add_op(id, op).ok());
    OpDecision decision;
    decision.wanted = decision.inputs = decision.outputs = true;
    writer.parts().decisions->op_decided(id, decision);
  }

  static void add(LayoutWriter& writer, OpId op, uint16_t slot, int64_t step, const std::vector<float>& values) {
    RecordRow row;
    row.op = op;
    row.step = step;
    row.run = static_cast<uint64_t>(step);
    row.slot_index = slot;
    row.set_desc({DType::kFloat32, Shape({static_cast<int64_t>(values.size())})});
    row.stats.valid = kStatFull;
    const TensorView view{row.desc(), values.data(), nullptr};
    ASSERT_TRUE(writer.add_record(row, &view, nullptr).ok());
  }

  // The only file of the first step whose name begins so and is a table or not.
  [[nodiscard]] std::string file_of(const std::string& begin, bool table = false) const {
    std::string found;
    const std::vector<std::string> names = *list_directory(step_);
    for (const std::string& name : names) {
      if (name.starts_with(begin) && name.ends_with(".csv") == table) found = join_path(step_, name);
    }
    EXPECT_NE(found, "") << begin;
    return found;
  }

  [[nodiscard]] Values values(int64_t step = 0) const {
    Values found;
    const auto dump = *open_tree(folder_.path());
    for (size_t row = 0; row < dump->rows().size(); ++row) {
      if (dump->rows()[row].step != step) continue;
      const auto data = dump->data(row);
      if (!data.ok()) continue;
      const auto* begin = static_cast<const float*>(data->view.data);
      found[record_name(dump->rows()[row], op_of(*dump, dump->rows()[row]).name)].assign(begin, begin + dump->rows()[row].numel);
    }
    return found;
  }
  [[nodiscard]] std::vector<std::string> problems() const {
    const auto dump = *open_tree(folder_.path());
    return {dump->problems().begin(), dump->problems().end()};
  }

  // The report of a repair, which a dry run foretells; a third run finds nothing.
  RepairReport repair() {
    const auto dry = repair_tree(folder_.path(), true);
    EXPECT_TRUE(dry.ok()) << dry.status().message();
    auto done = repair_tree(folder_.path(), false);
    EXPECT_TRUE(done.ok()) << done.status().message();
    EXPECT_EQ(dry->actions, done->actions);
    EXPECT_EQ(dry->tensors_kept, done->tensors_kept);
    EXPECT_EQ(dry->records_kept, done->records_kept);
    EXPECT_EQ(dry->lost, done->lost);
    const auto again = repair_tree(folder_.path(), true);
    EXPECT_TRUE(again.ok() && again->healthy) << join(again->actions, "; ");
    return *std::move(done);
  }

  TemporaryFolder folder_;
  std::string step_;
};

TEST_F(GeRepairTest, AWholeTreeIsNotTouched) {
  write();
  const RepairReport report = repair();
  EXPECT_TRUE(report.healthy);
  EXPECT_EQ(report.records_kept, 8U);
  EXPECT_EQ(report.tensors_kept, 8U);
  EXPECT_THAT(report.lost, IsEmpty());
}

TEST_F(GeRepairTest, OfAFileThatIsCutTheWholeTensorsStay) {
  write();
  const std::string file = file_of("Toy.split");
  // Payloads are in0 (8 bytes), out0 (12), out1 (4): the last loses one byte.
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("cut short")));
  const RepairReport report = repair();
  EXPECT_THAT(report.actions, ElementsAre(HasSubstr("the 2 tensors that are whole stay")));
  EXPECT_THAT(report.lost, ElementsAre(HasSubstr("out1")));
  EXPECT_EQ(report.records_lost, 1U);
  EXPECT_EQ(report.tensors_kept, 7U);
  EXPECT_EQ(values(), (Values{{"a:out0", {1, 2}}, {"split:in0", {1, 2}}, {"split:out0", {3, 4, 5}}}));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(GeRepairTest, AFileWithoutAWholeTensorIsSetAside) {
  write();
  const std::string file = file_of("Toy.split");
  const std::string name = std::filesystem::path(file).filename().string();
  for (const uint64_t size : {std::filesystem::file_size(file) - 17, uintmax_t{10}, uintmax_t{0}}) {
    std::filesystem::resize_file(file, size);
    const RepairReport report = repair();
    EXPECT_THAT(report.actions, ElementsAre(HasSubstr("set aside")));
    EXPECT_EQ(values(), (Values{{"a:out0", {1, 2}}}));
    EXPECT_THAT(problems(), IsEmpty());
    std::filesystem::rename(join_path(step_, ".cut-" + name), file);
  }
}

TEST_F(GeRepairTest, ACutTableLosesItsLastLine) {
  write(Payload::kFull);
  const std::string table = file_of("Toy.split", true);
  const std::string text = *read_file(table, 1 << 20);
  std::filesystem::resize_file(table, text.size() - 3);
  const RepairReport report = repair();
  EXPECT_THAT(report.actions, ElementsAre(HasSubstr("last line was cut")));
  EXPECT_EQ(*read_file(table, 1 << 20), text.substr(0, text.rfind('\n', text.size() - 2) + 1));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(GeRepairTest, WithATableALostTensorStillHasItsRecord) {
  write(Payload::kFull);
  const std::string file = file_of("Toy.split");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  const RepairReport report = repair();
  EXPECT_EQ(report.records_lost, 0U);
  EXPECT_EQ(report.tensors_lost, 1U);
  EXPECT_EQ(report.records_kept, 8U);
}

TEST_F(GeRepairTest, TemporaryFilesOfTheDeadAreRemovedAndThoseOfTheLivingStay) {
  write();
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  const std::string left = join_path(step_, concat(".tensortap-", dead, "-3"));
  const std::string spool = join_path(folder_.path(), concat(".tensortap-spool-", dead));
  const std::string growing = join_path(step_, concat(".tensortap-", ::getpid(), "-0"));
  for (const std::string& path : {left, spool, growing}) ASSERT_TRUE(write_file_atomically(path, "begun").ok());
  const RepairReport report = repair();
  EXPECT_THAT(report.actions, SizeIs(2));
  EXPECT_FALSE(path_exists(left));
  EXPECT_FALSE(path_exists(spool));
  EXPECT_TRUE(path_exists(growing));
}

TEST_F(GeRepairTest, ACutLineOfTheMappingIsMadeAgain) {
  const std::string op(250, 'n');
  write(Payload::kTensor, op);
  const std::string mapping = join_path(step_, kMappingFile);
  const std::string text = *read_file(mapping, 1 << 20);
  const Values whole = values();
  // Without its line end, the number still shows that the line is whole.
  std::filesystem::resize_file(mapping, text.size() - 1);
  EXPECT_THAT(repair().actions, ElementsAre(HasSubstr("got its end")));
  EXPECT_EQ(*read_file(mapping, 1 << 20), text);
  // With less of it, the other step shows the name of the op, and the file its time.
  std::filesystem::resize_file(mapping, text.size() - 9);
  EXPECT_THAT(repair().actions, ElementsAre(HasSubstr("was cut"), HasSubstr("mapping.csv says again")));
  EXPECT_EQ(*read_file(mapping, 1 << 20), text);
  std::filesystem::remove(mapping);
  EXPECT_THAT(repair().actions, ElementsAre(HasSubstr("mapping.csv says again")));
  EXPECT_EQ(*read_file(mapping, 1 << 20), text);
  EXPECT_EQ(values(), whole);
}

TEST_F(GeRepairTest, AFileThatIsCutStillTellsWhatAnotherIsCalled) {
  write(Payload::kTensor, std::string(250, 'n'));
  const std::string text = *read_file(join_path(step_, kMappingFile), 1 << 20);
  std::filesystem::remove(join_path(step_, kMappingFile));
  const std::string other = join_path(std::filesystem::path(step_).parent_path().string(), "1");
  const std::string mapped = *read_file(join_path(other, kMappingFile), 1 << 20);
  const std::string cut = join_path(other, mapped.substr(0, mapped.find(',')));
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 1);
  EXPECT_THAT(repair().actions, ElementsAre(HasSubstr("cut short"), HasSubstr("mapping.csv says again")));
  EXPECT_EQ(*read_file(join_path(step_, kMappingFile), 1 << 20), text);
}

TEST_F(GeRepairTest, AFolderThatIsNotThereIsNotFound) {
  EXPECT_EQ(repair_tree(join_path(folder_.path(), "none"), false).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tensortap::ascend
