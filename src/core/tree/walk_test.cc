#include "tree/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "layout/layout.h"
#include "tree/mapping.h"

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// The toy's tree: root/MODEL/STEP/*.t; a model's name is in capital letters. Its problems repeat the trouble word for word.
constexpr uint8_t kToyRoot = 1;
constexpr uint8_t kToyModel = 2;
constexpr uint8_t kToyStep = 3;

std::vector<TreePlace> toy_places(const std::string& path) {
  std::vector<TreePlace> all(2);
  all[0].folder.level = kToyRoot;
  all[1].folder.level = kToyStep;
  all[1].folder.model = real_parts(path).back();
  all[1].certain = false;
  return all;
}

FolderRole toy_enter(const TreeFolder& above, std::string_view name, TreeFolder& below) {
  ++below.level;
  if (name == "deep" || above.level == 0 || above.level > kToyStep) return FolderRole::kWalked;
  if (name == "beside") return FolderRole::kCompanion;
  if (name == "maybe") return FolderRole::kUnproven;
  if (above.level == kToyRoot) {
    below.model = name;
    return name >= "A" && name < "a" ? FolderRole::kPart : FolderRole::kForeign;
  }
  return above.level == kToyModel && parse_integer(name, below.step) ? FolderRole::kPart : FolderRole::kForeign;
}

FileRole toy_role(const TreeFolder& folder, std::string_view name, EntryKind kind) {
  if (kind == EntryKind::kOther) return FileRole::kNoFile;
  if (name == kMappingFile) return FileRole::kMapping;
  if (name == "table") return FileRole::kStatistics;
  if (folder.level >= kToyStep && name.ends_with(".t")) return FileRole::kTensors;
  for (const auto& [end, role] :
       {std::pair(".mapped", FileRole::kMapped), std::pair(".number", FileRole::kNumbered), std::pair(".maybe", FileRole::kMaybeMapped),
        std::pair(".note", FileRole::kCompanion), std::pair(".raw", FileRole::kUnread)}) {
    if (name.ends_with(end)) return role;
  }
  return FileRole::kForeign;
}

bool toy_proves(const TreeFolder& folder, const FolderNames& names) {
  for (const FolderEntry& entry : names.entries) {
    if (folder.level == kToyStep && names.name(entry).ends_with(".t")) return true;
  }
  return false;
}

void toy_tell(const TreeTrouble& trouble, TreeProblems& problems) {
  static constexpr const char* kWords[] = {"folder", "deep", "many", "no file", "mapping", "line", "unmapped", "unread", "foreign", "all"};
  problems.add(Skipped::kForeign,
               concat(kWords[static_cast<size_t>(trouble.what)], "|", trouble.path, "|", trouble.text, "|", trouble.count));
}

constexpr TreeGrammar kToy = {
    .places = toy_places, .enter = toy_enter, .role = toy_role, .proves = toy_proves, .tell = toy_tell, .missing = ": no toy"};

class WalkTest : public testing::Test {
 protected:
  std::string path(std::string_view name) const { return name.empty() ? folder_.path() : join_path(folder_.path(), name); }
  void write(const std::string& name, std::string_view text = "x") {
    ASSERT_TRUE(make_directories(parent_path(path(name))).ok());
    std::ofstream(path(name)) << text;
  }
  Tree walk(const TreeGrammar& grammar = kToy, std::string_view below = "") {
    auto tree = walk_tree(grammar, path(below), problems_);
    EXPECT_TRUE(tree.ok()) << tree.status().message();
    return tree.ok() ? *std::move(tree) : Tree();
  }
  // "FOLDER:STORED=NAME" of the files.
  static std::vector<std::string> files(const Tree& tree) {
    std::vector<std::string> all;
    for (const TreeFile& file : tree.files) all.push_back(concat(tree.folders[file.folder].relative, ":", file.stored, "=", file.name));
    return all;
  }
  TemporaryFolder folder_;
  TreeProblems problems_;
};

TEST_F(WalkTest, FindsFilesWithWhatTheNamesAroundThemTell) {
  write("NET/2/a.t");
  write("NET/10/b.t");
  write("NET/10/table");
  write("NET/10/x.note");
  write("ONLY/3/table");
  write("EMPTY/3/x.note");
  const Tree tree = walk();
  EXPECT_THAT(files(tree), ElementsAre("NET/2:a.t=a.t", "NET/10:b.t=b.t"));
  ASSERT_EQ(tree.folders.size(), 3U);
  EXPECT_EQ(tree.folders[2].relative, "ONLY/3");
  const TreeFolder& ten = tree.folders[1];
  EXPECT_EQ(ten.path, path("NET/10"));
  EXPECT_EQ(ten.model, "NET");
  EXPECT_EQ(ten.step, 10);
  EXPECT_EQ(ten.statistics, "table");
  EXPECT_THAT(ten.companions, ElementsAre("x.note"));
  EXPECT_THAT(problems_.take(), IsEmpty());
}

TEST_F(WalkTest, TakesTheFirstPlaceThatIsProven) {
  write("NET/2/a.t");
  EXPECT_EQ(recognise_tree(kToy, path("")), Confidence::kCertain);
  EXPECT_EQ(recognise_tree(kToy, path("NET/2")), Confidence::kMaybe);
  EXPECT_EQ(recognise_tree(kToy, path("NET")), Confidence::kNo);
  EXPECT_EQ(recognise_tree(kToy, path("nowhere")), Confidence::kNo);
  const Tree tree = walk(kToy, "NET/2");
  EXPECT_THAT(files(tree), ElementsAre(":a.t=a.t"));
  EXPECT_EQ(tree.folders[0].model, "2");
}

TEST_F(WalkTest, AFolderWithoutProofIsWalkedOnlyWhereTheGrammarAllowsIt) {
  write("NET/x.raw");
  TreeGrammar grammar = kToy;
  const auto refused = walk_tree(grammar, path("NET"), problems_);
  EXPECT_EQ(refused.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(refused.status().message(), concat(path("NET"), ": no toy"));
  EXPECT_EQ(walk_tree(grammar, path("nowhere"), problems_).status().message(), concat(path("nowhere"), ": no such folder"));
  grammar.missing = "";
  EXPECT_THAT(walk(grammar, "NET").files, IsEmpty());
  EXPECT_THAT(problems_.take(), ElementsAre("unread||\"x.raw\"|1"));
}

TEST_F(WalkTest, MappingSaysWhatFilesAre) {
  write("N/1/mapping.csv", "1.mapped,one\n1.number,two\n1.maybe,three\nno comma\n2.t,four\n1.mapped,later\n");
  for (const char* name : {"1.mapped", "2.mapped", "1.number", "2.number", "1.maybe", "2.maybe", "2.t"}) write(concat("N/1/", name));
  const Tree tree = walk();
  EXPECT_THAT(files(tree),
              UnorderedElementsAre("N/1:1.mapped=later", "N/1:1.number=two", "N/1:1.maybe=three", "N/1:2.number=2.number", "N/1:2.t=2.t"));
  EXPECT_THAT(problems_.take(), UnorderedElementsAre("line|N/1/mapping.csv|no comma|0", "unmapped|N/1/2.mapped||0",
                                                     "unmapped|N/1/2.number||0", "foreign|N/1|\"2.maybe\"|1", "all|N/1/2.maybe||1"));
}

TEST_F(WalkTest, NamesThatAGrammarDoesNotKnowExplainNothing) {
  write("N/1/a.t");
  write("N/1/1.mapped");
  write("N/1/mapping.csv", "1.mapped,wrong\n");
  TreeGrammar grammar = kToy;
  grammar.explains = [](std::string_view name) { return name != "wrong"; };
  EXPECT_THAT(files(walk(grammar)), ElementsAre("N/1:a.t=a.t"));
  EXPECT_THAT(problems_.take(), ElementsAre("line|N/1/mapping.csv|1.mapped,wrong|0", "unmapped|N/1/1.mapped||0"));
}

TEST_F(WalkTest, WhatIsForeignIsToldByFolderAndInAll) {
  write("N/1/a.t");
  for (int i = 0; i < 5; ++i) write(concat("N/1/", i, ".txt"));
  write("other/a.t");
  write("one.txt");
  walk();
  const std::vector<std::string> told = problems_.take();
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[0], concat("foreign|", path(""), "|\"other\", \"one.txt\"|2"));
  EXPECT_THAT(told[1], testing::MatchesRegex(R"(foreign\|N/1\|"..txt", "..txt", "..txt", ...\|5)"));
  EXPECT_EQ(told[2], "all|one.txt||6");
}

TEST_F(WalkTest, PipesAndLinksToNowhereAreNoFiles) {
  write("N/1/a.t");
  ASSERT_EQ(mkfifo(path("N/1/pipe.t").c_str(), 0600), 0);
  ASSERT_EQ(symlink("nowhere", path("N/1/link.t").c_str()), 0);
  ASSERT_EQ(symlink("a.t", path("N/1/good.t").c_str()), 0);
  EXPECT_THAT(files(walk()), UnorderedElementsAre("N/1:a.t=a.t", "N/1:good.t=good.t"));
  EXPECT_THAT(problems_.take(), UnorderedElementsAre("no file|N/1/pipe.t||0", "no file|N/1/link.t||0"));
}

TEST_F(WalkTest, CompanionFoldersAreListedAndUnprovenOnesWalkedWhenProven) {
  write("N/1/a.t");
  write("beside/a.t");
  write("maybe/2/b.t");
  const Tree with = walk();
  EXPECT_THAT(files(with), ElementsAre("N/1:a.t=a.t", "maybe/2:b.t=b.t"));
  EXPECT_THAT(with.companion_folders, ElementsAre(path("beside")));
  std::filesystem::remove(path("maybe/2/b.t"));
  EXPECT_THAT(files(walk()), ElementsAre("N/1:a.t=a.t"));
  EXPECT_THAT(problems_.take(), ElementsAre(concat("foreign|", path(""), "|\"maybe\"|1")));
}

// A link that leads round in a circle ends, too.
TEST_F(WalkTest, NothingBelowTheEighthFolderIsRead) {
  write("N/1/deep/a.t");
  ASSERT_EQ(symlink(".", path("N/1/deep/deep").c_str()), 0);
  write("N/1/b.t");
  EXPECT_EQ(walk().files.size(), 7U);
  EXPECT_THAT(problems_.take(), ElementsAre("deep|N/1/deep/deep/deep/deep/deep/deep/deep||0"));
}

TEST_F(WalkTest, AFolderThatCannotBeReadIsToldOrAnError) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  write("N/1/a.t");
  write("N/2/b.t");
  ASSERT_EQ(chmod(path("N/2").c_str(), 0), 0);
  EXPECT_THAT(files(walk()), ElementsAre("N/1:a.t=a.t"));
  EXPECT_THAT(problems_.take(), ElementsAre(testing::StartsWith("folder|N/2|")));
  TreeGrammar grammar = kToy;
  grammar.missing = "";
  EXPECT_EQ(walk_tree(grammar, path("N/2"), problems_).status().code(), StatusCode::kIo);
  chmod(path("N/2").c_str(), 0700);
}

TEST_F(WalkTest, MappingThatIsTooLargeAndTooManyFilesAreTold) {
  write("N/1/mapping.csv", "1.mapped,one\n");
  for (const char* name : {"a.t", "b.t", "c.t"}) write(concat("N/1/", name));
  TreeGrammar grammar = kToy;
  grammar.largest_mapping = 3;
  grammar.most_files = 2;
  EXPECT_EQ(walk(grammar).files.size(), 2U);
  EXPECT_THAT(problems_.take(), UnorderedElementsAre(testing::StartsWith("mapping|N/1/mapping.csv|"), "many|||2"));
}

TEST_F(WalkTest, LooksIntoSixtyFourFoldersAndAsManyInOneAsTheGrammarSays) {
  for (int i = 0; i < 61; ++i) ASSERT_TRUE(make_directories(path(concat("NET/", i))).ok());
  write("NET/70/a.t");
  EXPECT_EQ(recognise_tree(kToy, path("")), Confidence::kCertain);  // the 64th folder
  ASSERT_TRUE(make_directories(path("NET/61")).ok());
  EXPECT_EQ(recognise_tree(kToy, path("")), Confidence::kNo);
  TreeGrammar grammar = kToy;
  grammar.most_inside = 8;
  write("NET/8/a.t");
  EXPECT_EQ(recognise_tree(grammar, path("")), Confidence::kNo);
  write("NET/7/a.t");
  EXPECT_EQ(recognise_tree(grammar, path("")), Confidence::kCertain);
}

}  // namespace
}  // namespace tensortap
