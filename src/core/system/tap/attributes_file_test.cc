// attributes.bin: what the writer keeps of it and what the reader gives.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "system/tap/tap_files.h"

namespace tensortap::tap {
namespace {

std::unique_ptr<LayoutWriter> writer_in(const std::string& folder, uint64_t most = 0) {
  DumpInfo info;
  info.folder = folder;
  CaptureSpec spec;
  spec.limits.max_bytes = most;
  auto writer = create_dump(info, spec);
  EXPECT_TRUE(writer.ok()) << writer.status().message();
  return *std::move(writer);
}

TEST(AttributesFile, ComesBackAsItWas) {
  const TemporaryFolder folder;
  const std::string bytes("any\0bytes\xff", 11);
  const auto writer = writer_in(folder.path());
  ASSERT_TRUE(writer->parts().documents->add_attributes(bytes).ok());
  ASSERT_TRUE(writer->finish("{}").ok());
  const auto dump = open_dump_folder(folder.path());
  ASSERT_TRUE(dump.ok());
  EXPECT_EQ((*dump)->attribute_bytes(), bytes);
}

TEST(AttributesFile, IsEmptyInDumpsWithoutOne) {
  const TemporaryFolder folder;
  ASSERT_TRUE(writer_in(folder.path())->finish("{}").ok());
  const auto dump = open_dump_folder(folder.path());
  ASSERT_TRUE(dump.ok());
  EXPECT_EQ((*dump)->attribute_bytes(), "");
}

TEST(AttributesFile, CountsAsPartOfTheDump) {
  const TemporaryFolder folder;
  const auto writer = writer_in(folder.path(), 65536);
  EXPECT_EQ(writer->parts().documents->add_attributes(std::string(65536, 'a')).code(), StatusCode::kExhausted);
  EXPECT_FALSE(path_exists(join_path(folder.path(), kAttributesFile)));
  EXPECT_TRUE(writer->parts().documents->add_attributes(std::string(4096, 'a')).ok());
}

TEST(AttributesFile, ThatCannotBeReadIsEmpty) {
  const TemporaryFolder folder;
  ASSERT_TRUE(writer_in(folder.path())->finish("{}").ok());
  std::filesystem::create_directory(join_path(folder.path(), kAttributesFile));
  const auto dump = open_dump_folder(folder.path());
  ASSERT_TRUE(dump.ok());
  EXPECT_EQ((*dump)->attribute_bytes(), "");
}

}  // namespace
}  // namespace tensortap::tap
