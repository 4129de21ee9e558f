// What the command says of itself: help, usage errors in its own words, the pages of its documentation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "command/command.h"
#include "toy_engine.h"

namespace command {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::vector<std::string> kCommands = {"run",     "exec",          "llm",        "explain",       "ps",     "set",
                                            "ls",      "show",          "find",       "serve",         "report", "watch-diff",
                                            "compare", "ranks",         "replay",     "convert",       "export", "doctor",
                                            "repair",  "build-adapter", "completion", "install-alias", "version"};

std::set<std::string> all_of(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern, std::regex::multiline);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), expression); match != std::sregex_iterator(); ++match)
    found.insert((*match)[1]);
  return found;
}

std::set<std::string> options_of(const std::string& command) {
  return all_of(tensortap({command, "--help"}).out, R"(^  (?:-\w,)?(--[a-z-]+))");
}

size_t width_of(const std::string& line) {
  size_t width = 0;
  for (const char c : line) width += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return width;
}

TEST(Help, HasExamplesAndTheCommonOptions) {
  for (const std::string& command : kCommands) {
    const Done done = tensortap({command, "--help"});
    EXPECT_EQ(done.code, 0) << command;
    ASSERT_NE(done.out.find("Examples:"), std::string::npos) << command;
    EXPECT_THAT(done.out.substr(done.out.find("Examples:")), HasSubstr("tensortap " + command));
    for (const char* option : {"--help", "--json", "--quiet"}) EXPECT_TRUE(options_of(command).contains(option)) << command << option;
  }
}

TEST(Help, KeepsToTheWidthOfTheTerminalAndToWords) {
  for (const std::string& command : kCommands) {
    const std::string text = tensortap({command, "--help"}, {"", {{"COLUMNS", "80"}}}).out;
    EXPECT_EQ(tensortap({"help", command}, {"", {{"COLUMNS", "80"}}}).out, text);
    const std::string told = text.substr(0, text.find("Examples:"));
    for (const std::string& line : lines_of(text)) EXPECT_LE(width_of(line), 80U) << command << ": " << line;
    EXPECT_FALSE(matches(told, "Excludes|REQUIRED|Needs:|INT in|INT:|FLOAT in|POSITIVE|\n\n\n")) << told;
    EXPECT_THAT(told, HasSubstr("\nUsage: tensortap " + command + " [OPTIONS]"));
  }
}

TEST(Help, OfTheProgramAndOfTheOptionsOfLlmDumpFits80Columns) {
  for (const char* words : {"--help", "help", "llm dump --help", "llm --help"}) {
    for (const std::string& line : lines_of(tensortap(words, {"", {{"COLUMNS", "80"}}}).out)) {
      EXPECT_LE(width_of(line), 80U) << words << ": " << line;
    }
  }
}

TEST(Help, ListsTheCommandsOfThisReleaseOnly) {
  std::vector<std::string> listed;
  for (const std::string& line : lines_of(tensortap("--help").out)) {
    for (const std::string& name : all_of(line, "^  ([a-z][a-z-]*)  ")) listed.push_back(name);
  }
  EXPECT_EQ(listed, kCommands);
}

TEST(Help, GroupsTheCommands) {
  const std::string text = tensortap("--help").out;
  size_t place = 0;
  for (const char* heading : {"\nCapture:\n", "\nLook at a dump:\n", "\nCompare:\n", "\nConvert and share:\n", "\nMaintain:\n"}) {
    ASSERT_NE(text.find(heading, place), std::string::npos) << heading << text;
    place = text.find(heading, place);
  }
}

TEST(Help, IsACommandToo) {
  EXPECT_EQ(tensortap("help").out, tensortap("--help").out);
  EXPECT_EQ(tensortap("help compare").out, tensortap("compare --help").out);
  const Done unknown = tensortap("help compere");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("\"compere\" is not a command. Did you mean \"compare\"?"));
}

TEST(Help, IsWhatThePageOfTheCommandSays) {
  const std::set<std::string> common = {"--help", "--json", "--quiet"};
  const std::string page = read(TENSORTAP_TESTDATA "/../docs/command_line.md");
  for (const std::string& command : kCommands) {
    const std::string title = "\n## `" + command + "`\n";
    const size_t begin = page.find(title);
    ASSERT_NE(begin, std::string::npos) << "docs/command_line.md has no section on " << command;
    const std::string section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
    const std::set<std::string> documented = all_of(section, "`(--[a-z-]+)");
    const std::set<std::string> options = options_of(command);
    for (const std::string& option : options) EXPECT_TRUE(common.contains(option) || documented.contains(option)) << command << option;
    for (const std::string& option : documented) {
      EXPECT_TRUE(common.contains(option) || options.contains(option) || option == "--version") << command << option;
    }
  }
}

TEST(Help, WhatACommandLineLacksIsSaidInItsOwnWords) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"run", "tensortap run needs MODEL.onnx"},
      {"convert a", "give what to convert, and where to"},
      {"convert a b --to npy --key l2", "--key: only --to model-explorer has it"},
      {"show", "tensortap show needs DUMP"},
      {"ls dump --limit", "--limit needs a value: --limit N"},
      {"ls dump --limit 0", "--limit: \"0\" is no whole number from 1 to"},
      {"run m.onnx --threads 1.5", "--threads: \"1.5\" is no whole number from 0 to 4096"},
      {"", "a command is required"},
  };
  for (const auto& [words, said] : cases) {
    const Done done = tensortap(words);
    EXPECT_EQ(done.code, 2) << words;
    EXPECT_THAT(done.err, StartsWith("error: " + said));
  }
}

TEST(Help, QuietSilencesTheHintBesideAnError) {
  for (const std::string words : {"nope", "run", "run model.onnx --nope", "exec --nope"}) {
    EXPECT_THAT(tensortap(words).err, HasSubstr("Try `tensortap")) << words;
    const std::string err = tensortap(words + " --quiet").err;
    EXPECT_THAT(err, StartsWith("error: ")) << words;
    EXPECT_THAT(err, Not(HasSubstr("Try"))) << words;
  }
}

TEST(Help, AFileThatIsNoConfigAndNoDumpIsToldSo) {
  const toy::TempFolder folder;
  const std::string file = folder / "model.onnx";
  write(file, small_model());
  const auto mentions = [](const std::string& text) {
    size_t count = 0;
    for (size_t at = text.find("model.onnx"); at != std::string::npos; at = text.find("model.onnx", at + 1)) ++count;
    return count;
  };
  EXPECT_THAT(tensortap({"explain", file}).err, HasSubstr("no config"));
  const Done listed = tensortap({"ls", file});
  EXPECT_EQ(listed.code, 2);
  EXPECT_THAT(listed.err, Not(HasSubstr("give the folder")));
  EXPECT_EQ(mentions(listed.err), 1U) << listed.err;
  EXPECT_EQ(mentions(tensortap({"convert", file, folder / "converted"}).err), 1U);
}

TEST(Help, VersionIsSaidAlikeEverywhere) {
  const std::string plain = tensortap("--version").out;
  EXPECT_EQ(plain, tensortap("version").out);
  EXPECT_EQ(plain, "tensortap " + tensortap("version --json").object()["version"].get<std::string>() + "\n");
}

TEST(Help, TheCompletionOfZshHasEveryCommandAndOption) {
  const std::string script = tensortap("completion zsh").out;
  for (const std::string& command : kCommands) {
    EXPECT_THAT(script, HasSubstr("'" + command + ":"));
    for (const std::string& option : options_of(command)) EXPECT_THAT(script, HasSubstr(option));
  }
}

}  // namespace
}  // namespace command
