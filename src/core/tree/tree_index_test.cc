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

class Toy : public TreeIndex {
 public:
  explicit Toy(TreeContent content) : TreeIndex("toy", std::move(content)) {}

 protected:
  Result<RecordData> map(size_t row, const RecordRow& /*record*/) const override { return not_found(path_to_open(row)); }
};

// A row of a file, and one of statistics only.
TreeContent two_rows() {
  TreeContent content{{}, {}, "{}", {"one problem"}};
  TreeFolder folder;
  folder.path = "/root/folder";
  folder.relative = "folder";
  folder.statistics = "table";
  folder.step = 3;
  folder.rank = 1;
  content.tree.folders = {folder};
  content.tree.files = {{0, "stored", "name"}};
  content.rows.ops = {OpInfo()};
  content.rows.add(tree_row(folder, 0, SlotKind::kInput, 2, 5), 0, 0);
  content.rows.add(tree_row(folder, 0, SlotKind::kOutput, 0, UINT64_MAX), 0, kNoFile);
  return content;
}

TEST(TreeRows, SayWhatFoldersAndTimesTell) {
  const TreeRows rows = two_rows().rows;
  const RecordRow& row = rows.rows[0];
  EXPECT_EQ(row.step, 3);
  EXPECT_EQ(row.rank, 1);
  EXPECT_EQ(row.time_ns, 5000);
  EXPECT_EQ(slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index), "in2");
  EXPECT_EQ(row.committed, 1);
  EXPECT_EQ(rows.rows[1].sequence, 1U);
  EXPECT_GT(rows.rows[1].time_ns, INT64_MAX - 1000) << "a time that no record can hold";
}

TEST(TreeIndex, KnowsFilesAndAsksItsLayoutForRowsThatExistOnly) {
  const Toy index(two_rows());
  EXPECT_EQ(index.layout(), "toy");
  EXPECT_EQ(index.rows().size(), 2U);
  EXPECT_THAT(index.problems(), ElementsAre("one problem"));
  EXPECT_EQ(index.file(0), "folder/stored");
  EXPECT_EQ(index.file(1), "folder/table");
  EXPECT_EQ(index.file(2), "");
  EXPECT_EQ(index.data(0).status().message(), "/root/folder/stored");
  EXPECT_EQ(index.data(2).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(index.data(2).status().message(), HasSubstr("the dump has 2 records; there is no record 2"));
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
