// Tables against those of the real library, whose tensors are written once more.

#include "system/msit/tree/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "system/msit/tree/reader.h"
#include "system/msit/tree/writer.h"

namespace tensortap::msit {
namespace {

constexpr std::string_view kDump = "/msit_dump_20251120_200000/";

std::string golden_folder(const TemporaryFolder& folder) {
  const std::string command = concat("tar -xzf '", TENSORTAP_TESTDATA, "/golden/msit/g2_tensor.tar.gz' -C '", folder.path(), "'");
  EXPECT_EQ(std::system(command.c_str()), 0);
  return join_path(folder.path(), "g2_tensor");
}

void copy(const DumpIndex& dump, LayoutWriter& writer) {
  OpDecision decision;
  decision.wanted = decision.outputs = true;
  for (OpId id = 0; id < dump.ops().size(); ++id) {
    ASSERT_TRUE(writer.add_op(id, dump.ops()[id]).ok());
    writer.parts().decisions->op_decided(id, decision);
  }
  for (RecordRow row : dump.rows()) ASSERT_TRUE(writer.add_record(row, nullptr, nullptr).ok());
  ASSERT_TRUE(writer.parts().steps->end_step(0, 0).ok());
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

TEST(MsitTables, AreThoseOfTheRealLibrary) {
  const TemporaryFolder folder;
  const TemporaryFolder target;
  const std::string golden = golden_folder(folder);
  const auto dump = open_tree(golden);
  ASSERT_TRUE(dump.ok()) << dump.status().message();
  DumpInfo info;
  info.folder = target.path();
  info.timestamp = "20251120200000";
  CaptureSpec spec;
  spec.payload = Payload::kDescription;
  spec.layout_options["tables"] = "op,kernel";
  const auto writer = create_tree(info, spec);
  ASSERT_TRUE(writer.ok());
  copy(**dump, **writer);
  ASSERT_TRUE((*writer)->finish("{}").ok());
  for (const char* name : {"operation_io_tensors/22349/operation_tensors_0.csv", "kernel_io_tensors/22349/kernel_tensors_0.csv"}) {
    const auto real = read_file(concat(golden, kDump, name));
    const auto ours = read_file(concat(target.path(), kDump, name));
    ASSERT_TRUE(real.ok() && ours.ok()) << name << ours.status().message();
    EXPECT_EQ(replaced(*ours, target.path(), "/dump/g2_tensor"), *real);
  }
}

TEST(MsitTables, HaveNoFormulasAndNoOtherColumns) {
  const TemporaryFolder target;
  DumpInfo info;
  info.folder = target.path();
  info.timestamp = "20251120200000";
  info.process = 7;
  CaptureSpec spec;
  spec.layout_options["tables"] = "op";
  const auto writer = create_tree(info, spec);
  ASSERT_TRUE(writer.ok());
  OpInfo op;
  op.type = "mm";
  op.attributes = "{\"a\": \"x|y\"}";
  ASSERT_TRUE((*writer)->add_op(0, op).ok());
  OpDecision decision;
  decision.wanted = decision.outputs = true;
  (*writer)->parts().decisions->op_decided(0, decision);
  for (const uint32_t call : {0U, 1U}) {
    RecordRow row;
    row.op = 0;
    row.call = call;
    row.set_desc({DType::kFloat32, {2}});
    ASSERT_TRUE((*writer)->add_record(row, nullptr, nullptr).ok());
  }
  ASSERT_TRUE((*writer)->finish("{}").ok());
  const auto text = read_file(concat(target.path(), kDump, "operation_io_tensors/7/operation_tensors_0.csv"));
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto lines = split(*text, '\n');
  ASSERT_EQ(lines.size(), 4U);  // the columns, two calls, and nothing behind the last line end
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(split(lines[i], '|').size(), 21U) << lines[i];
  EXPECT_THAT(std::string(lines[2]), testing::StartsWith("2|MmOperation_02|MmOperation_0|{\"a\": \"x\\u007cy\"}|0||||1|float|nd|2||"));
}

}  // namespace
}  // namespace tensortap::msit
