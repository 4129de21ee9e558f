#include "tree/named_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary_folder.h"
#include "base/text.h"
#include "tree/spool.h"

namespace tensortap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr FolderRules kAtOnceRules{.read_only = true, .visible = FolderRules::Visible::kAtOnce, .long_name = FolderRules::LongName::kDrawn};
constexpr FolderRules kWholeRules{};

FilePart part(std::string_view text) { return {std::as_bytes(std::span(text)), nullptr}; }

// Each test runs under both sets of rules.
class NamedFolderTest : public testing::TestWithParam<FolderRules> {
 protected:
  std::shared_ptr<NamedFolder> folder(const std::string& below = "a/b") { return *NamedFolder::create(root_.path(), below, GetParam()); }
  std::string text(const std::string& name, const std::string& below = "a/b") const {
    return *read_file(join_path(join_path(root_.path(), below), name));
  }
  std::vector<std::string> names(const std::string& below = "a/b") const { return *list_directory(join_path(root_.path(), below)); }
  mode_t mode_of(const std::string& name) const {
    struct stat info {};
    EXPECT_EQ(::stat(concat(root_.path(), "/a/b/", name).c_str(), &info), 0);
    return info.st_mode & 07777;
  }
  [[nodiscard]] bool read_only() const { return GetParam().read_only; }

  TemporaryFolder root_;
  std::string stored_;
};

TEST_P(NamedFolderTest, AFileHasItsPartsAndItsModeAndIsNeverReplaced) {
  const std::vector<FilePart> parts = {part("head"), part(""), part("tail")};
  ASSERT_TRUE(folder()->write("x.npy", parts, stored_).ok());
  EXPECT_EQ(stored_, "x.npy");
  EXPECT_EQ(text("x.npy"), "headtail");
  EXPECT_EQ(mode_of("x.npy"), read_only() ? 0400U : 0600U);
  const Status again = folder()->write("x.npy", std::vector<FilePart>{part("other")}, stored_);
  EXPECT_EQ(again.code(), StatusCode::kUnsupported);
  EXPECT_THAT(again.message(), HasSubstr("a/b/x.npy"));
  EXPECT_EQ(text("x.npy"), "headtail");
  EXPECT_THAT(names(), ElementsAre("x.npy"));
}

TEST_P(NamedFolderTest, AFailureLeavesNothing) {
  const Status status = folder()->write(
      "x.npy",
      [](int file, const std::string&) {
        EXPECT_EQ(::write(file, "half", 4), 4);
        return io_error("the disk is gone");
      },
      stored_);
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(NamedFolderTest, ALongNameIsANumberThatMappingExplains) {
  const std::string name = concat(std::string(300, 'n'), ".npy");
  const auto files = folder();
  ASSERT_TRUE(files->write(name, std::vector<FilePart>{part("one")}, stored_).ok());
  EXPECT_EQ(text(stored_), "one");
  EXPECT_EQ(text("mapping.csv"), concat(stored_, ",", name, "\n"));
  EXPECT_EQ(mode_of("mapping.csv"), read_only() ? 0400U : 0600U);
  EXPECT_EQ(stored_.ends_with(".npy"), read_only());
  if (!read_only()) {
    EXPECT_EQ(stored_, std::to_string(std::hash<std::string>()(join_path(files->path(), name))));
  }
  EXPECT_EQ(files->take_text_bytes(), stored_.size() + name.size() + 2);
  EXPECT_EQ(files->take_text_bytes(), 0U);
  files->remove(stored_);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(NamedFolderTest, AStagedFileIsNotListed) {
  const std::string name = concat(std::string(300, 'n'), ".npy");
  const auto write = [](int file, const std::string& path) { return write_parts(file, path, std::vector<FilePart>{part("one")}); };
  const auto files = folder();
  ASSERT_TRUE(files->write(name, write, stored_, NamedFolder::Stage::kStaged).ok());
  EXPECT_THAT(names(), ElementsAre(stored_));
}

TEST_P(NamedFolderTest, LinksAndMovesNeverReplace) {
  const auto here = folder();
  const auto there = folder("c");
  uint64_t copied = 1;
  ASSERT_TRUE(here->write("x.npy", std::vector<FilePart>{part("x")}, stored_).ok());
  ASSERT_TRUE(there->link(*here, "x.npy", "y.npy", stored_, copied).ok());
  EXPECT_EQ(copied, 0U);
  EXPECT_EQ(text("y.npy", "c"), "x");
  EXPECT_EQ(there->link(*here, "x.npy", "y.npy", stored_, copied).code(), StatusCode::kUnsupported);
  ASSERT_TRUE(here->write("z.npy", std::vector<FilePart>{part("z")}, stored_).ok());
  EXPECT_EQ(there->move(*here, "z.npy", "y.npy", stored_).code(), StatusCode::kUnsupported);
  ASSERT_TRUE(there->move(*here, "z.npy", "z.npy", stored_).ok());
  EXPECT_EQ(text("z.npy", "c"), "z");
  EXPECT_THAT(names(), ElementsAre("x.npy"));
}

TEST_P(NamedFolderTest, TextIsReplacedAtOnceAndLinesAreAdded) {
  const auto files = folder();
  ASSERT_TRUE(files->replace("run.json", "one").ok());
  ASSERT_TRUE(files->replace("run.json", "two").ok());
  ASSERT_TRUE(files->write_once("run.json", "three").ok());
  EXPECT_EQ(text("run.json"), "two");
  EXPECT_EQ(mode_of("run.json"), read_only() ? 0400U : 0600U);
  ASSERT_TRUE(files->append("order.csv", "0\n").ok());
  ASSERT_TRUE(files->append("order.csv", "1\n").ok());
  EXPECT_EQ(text("order.csv"), "0\n1\n");
  EXPECT_EQ(mode_of("order.csv"), read_only() ? 0400U : 0600U);
}

TEST_P(NamedFolderTest, ATableKeepsItsRowsAndRefusesOtherColumns) {
  ASSERT_TRUE(folder()->append_rows("s.csv", "a,b\n", "1,2\n").ok());
  ASSERT_TRUE(folder()->append_rows("s.csv", "a,b\n", "3,4\n").ok());
  EXPECT_EQ(text("s.csv"), "a,b\n1,2\n3,4\n");
  const Status status = folder()->append_rows("s.csv", "a,c\n", "5,6\n");
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("other columns"));
  EXPECT_EQ(text("s.csv"), "a,b\n1,2\n3,4\n");
}

TEST_P(NamedFolderTest, NoPartOfTheWayIsALink) {
  TemporaryFolder elsewhere;
  ASSERT_EQ(::symlink(elsewhere.path().c_str(), join_path(root_.path(), "a").c_str()), 0);
  EXPECT_EQ(NamedFolder::create(root_.path(), "a/b", GetParam()).status().code(), StatusCode::kIo);
  EXPECT_THAT(*list_directory(elsewhere.path()), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Rules, NamedFolderTest, testing::Values(kAtOnceRules, kWholeRules),
                         [](const auto& one) { return one.param.read_only ? "AtOnce" : "Whole"; });

TEST(SpoolTest, KeepsSmallTensorsInMemoryAndLargeOnesInAFileWithoutAName) {
  TemporaryFolder root;
  Spool spool(*Folder::hold(root.path()));
  const std::vector<std::byte> small(16, std::byte{1});
  const std::vector<std::byte> large(kLargestInMemory + 1, std::byte{2});
  const auto kept_small = *spool.keep(small);
  const auto kept_large = *spool.keep(large);
  EXPECT_EQ(kept_small->spool, nullptr);
  ASSERT_NE(kept_large->spool, nullptr);
  EXPECT_THAT(*list_directory(root.path()), IsEmpty());
  const auto folder = *NamedFolder::create(root.path(), "", kWholeRules);
  std::string stored;
  ASSERT_TRUE(folder->write("f", std::vector<FilePart>{{{}, kept_large}, {{}, kept_small}}, stored).ok());
  const std::string text = *read_file(join_path(root.path(), "f"));
  EXPECT_EQ(text, std::string(large.size(), '\2') + std::string(16, '\1'));
}

}  // namespace
}  // namespace tensortap
