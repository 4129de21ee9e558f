#include "tree/tree_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "tree/folder_names.h"

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OneRow : public TreeIndex {
 public:
  OneRow() : TreeIndex("toy", {{RecordRow()}, {OpInfo()}, "{}", {"one problem"}}) {}

 protected:
  Result<RecordData> map(size_t row, const RecordRow& /*record*/) const override { return not_found(concat("row ", row)); }
  std::string path_of(size_t row) const override { return concat("folder/", row); }
};

TEST(TreeIndex, AsksItsLayoutForRowsThatExistOnly) {
  const OneRow index;
  EXPECT_EQ(index.layout(), "toy");
  EXPECT_EQ(index.rows().size(), 1U);
  EXPECT_THAT(index.problems(), ElementsAre("one problem"));
  EXPECT_EQ(index.file(0), "folder/0");
  EXPECT_EQ(index.file(1), "");
  EXPECT_EQ(index.data(0).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(index.data(1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(index.data(1).status().message(), HasSubstr("the dump has 1 records; there is no record 1"));
}

TEST(FolderNames, KnowsFoldersAndFilesAndSortsNumbersAsNumbers) {
  const TemporaryFolder root;
  for (const char* name : {"10", "9", "a", "b"}) ASSERT_TRUE(make_directories(join_path(root.path(), name)).ok());
  ASSERT_TRUE(write_file_atomically(join_path(root.path(), "file"), "").ok());
  ASSERT_EQ(::symlink("a", join_path(root.path(), "c").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", join_path(root.path(), "d").c_str()), 0);
  ASSERT_EQ(::mkfifo(join_path(root.path(), "pipe").c_str(), 0600), 0);
  const auto names = read_folder(root.path());
  ASSERT_TRUE(names.ok());
  EXPECT_THAT(names->folders(), ElementsAre("9", "10", "a", "b", "c"));
  size_t files = 0;
  for (const FolderEntry& entry : names->entries) files += entry.kind == EntryKind::kFile ? 1 : 0;
  EXPECT_EQ(files, 1U);
  EXPECT_EQ(names->entries.size(), 8U);
  EXPECT_EQ(read_folder(root.path(), 3)->entries.size(), 3U);
  EXPECT_EQ(read_folder(join_path(root.path(), "none")).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tensortap
