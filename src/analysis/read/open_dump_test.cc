#include "read/open_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "read/repair_dump.h"
#include "read/tensor_file.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

using testing::HasSubstr;

void write_dump(const std::string& folder) {
  ASSERT_TRUE(make_directories(folder).ok());
  DumpInfo info;
  info.folder = folder;
  const auto writer = find_layout("tap")->create(info, CaptureSpec());
  ASSERT_TRUE(writer.ok());
  OpInfo op;
  op.name = "/conv/Conv";
  op.type = "Conv";
  op.source_location = "train.py:41";
  ASSERT_TRUE((*writer)->add_op(0, op).ok());
  RecordRow row;
  row.op = 0;
  row.set_desc({DType::kFloat32, {1, 2}});
  row.stats.min = -1.5;
  row.stats.max = std::numeric_limits<double>::infinity();
  row.stats.nan = 0;
  row.stats.pos_inf = 1;
  row.stats.count = 2;
  row.stats.valid = kStatMin | kStatMax | kStatNan | kStatPosInf;
  row.digest_kind = 1;
  row.digest[0] = 0xab;
  const std::vector<float> values = {-1.5F, std::numeric_limits<float>::infinity()};
  const TensorView view{row.desc(), values.data(), nullptr};
  ASSERT_TRUE((*writer)->add_record(row, &view, nullptr).ok());
  RecordRow integers;
  integers.op = 0;
  integers.step = 1;
  integers.element = 2;
  integers.set_desc({DType::kUInt64, {1}});
  integers.stats.max_integer = -1;
  integers.stats.count = 1;
  integers.stats.valid = kStatMax;
  ASSERT_TRUE((*writer)->add_record(integers, nullptr, nullptr).ok());
  ASSERT_TRUE((*writer)->finish("{}").ok());
}

TEST(OpenDump, TakesTheFolderOrTheOnlyDumpBelow) {
  const TemporaryFolder folder;
  write_dump(join_path(folder.path(), "host/rank0"));
  EXPECT_TRUE(open_dump(join_path(folder.path(), "host/rank0")).ok());
  const auto found = locate_dump(folder.path());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->folder, join_path(folder.path(), "host/rank0"));
  EXPECT_EQ(found->layout->name, "tap");
}

TEST(OpenDump, SaysWhatIsThereInstead) {
  const TemporaryFolder folder;
  EXPECT_THAT(open_dump(folder.path()).status().message(), HasSubstr("it is empty"));
  EXPECT_EQ(open_dump(join_path(folder.path(), "none")).status().code(), StatusCode::kNotFound);
  const std::string file = join_path(folder.path(), "model.onnx");
  ASSERT_TRUE(write_file_atomically(file, "x").ok());
  EXPECT_THAT(open_dump(folder.path()).status().message(), HasSubstr("\"model.onnx\""));
  EXPECT_THAT(open_dump(file).status().message(), HasSubstr("a file, not a dump"));
  write_dump(join_path(folder.path(), "a"));
  write_dump(join_path(folder.path(), "b"));
  EXPECT_THAT(open_dump(folder.path()).status().message(), HasSubstr("2 dumps are below"));
}

TEST(RepairDump, FindsTheDumpAsOpenDoes) {
  const TemporaryFolder folder;
  write_dump(join_path(folder.path(), "a"));
  const auto report = repair_dump(folder.path(), true);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->healthy);
  EXPECT_EQ(report->records_kept, 2U);
}

TEST(TensorFile, SavesWhatItReads) {
  const TemporaryFolder folder;
  const std::string path = join_path(folder.path(), "a.npy");
  const std::vector<float> values = {1, 2, 3};
  ASSERT_TRUE(save_npy(path, {{DType::kFloat32, {3}}, values.data(), nullptr}).ok());
  const auto file = read_tensor_file(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->format, "npy");
  EXPECT_EQ(std::memcmp(file->tensors[0].view.data, values.data(), 12), 0);
  EXPECT_EQ(read_tensor_file(join_path(folder.path(), "none.npy")).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(write_file_atomically(path, "hello").ok());
  EXPECT_THAT(read_tensor_file(path).status().message(), HasSubstr(path));
  ASSERT_TRUE(write_file_atomically(join_path(folder.path(), "b.txt"), "hello").ok());
  EXPECT_THAT(read_tensor_file(join_path(folder.path(), "b.txt")).status().message(), HasSubstr("npy, npz, onnx-tensor"));
}

TEST(TensorFile, SavesStringsAndRawBits) {
  const TemporaryFolder folder;
  const std::string path = join_path(folder.path(), "a.npy");
  const std::string long_text = "größer €😀";
  const std::vector<StringElement> strings = {{"a", 1}, {long_text.data(), long_text.size()}};
  ASSERT_TRUE(save_npy(path, {{DType::kString, {2}}, strings.data(), nullptr}).ok());
  const auto file = read_tensor_file(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto* read = static_cast<const StringElement*>(file->tensors[0].view.data);
  EXPECT_EQ(std::string(read[1].data, read[1].size), long_text);
  const std::vector<StringElement> bytes = {{"\xff", 1}};
  EXPECT_EQ(save_npy(path, {{DType::kString, {1}}, bytes.data(), nullptr}).code(), StatusCode::kUnsupported);
  const uint16_t half = 0x3f80;
  ASSERT_TRUE(save_npy(path, {{DType::kBFloat16, {1}}, &half, nullptr}).ok());
  EXPECT_EQ(read_tensor_file(path)->tensors[0].view.desc.dtype, DType::kUInt16);
}

}  // namespace
}  // namespace tensortap
