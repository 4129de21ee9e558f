#include "source/pytorch/python/program_text.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/temporary_folder.h"

namespace tensortap::pytorch {
namespace {

TEST(ProgramText, IsTheLineWithoutBlanksAroundIt) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/net.py";
  const std::string umlauts = "\xc3\xa4";
  std::string wide;
  while (wide.size() < 300) wide += umlauts;
  ASSERT_TRUE(write_file_atomically(path, "import torch\n\n    y = 1 / x  \n'" + wide + "'\nlast").ok());
  EXPECT_EQ(program_line("net.py:3"), "") << "not noted";
  note_program_file("net.py", path);
  EXPECT_EQ(program_line("net.py:1"), "import torch");
  EXPECT_EQ(program_line("net.py:2"), "");
  EXPECT_EQ(program_line("net.py:3"), "y = 1 / x");
  EXPECT_EQ(program_line("net.py:4").size(), 199U) << "cut before the character that does not fit";
  EXPECT_EQ(program_line("net.py:5"), "last");
  for (const char* none : {"net.py:6", "net.py:0", "net.py", "net.py:x", "other.py:1", ""}) EXPECT_EQ(program_line(none), "") << none;
}

TEST(ProgramText, WhatIsNoFileHasNone) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path() + "/pipe.py";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  note_program_file("pipe.py", pipe);
  note_program_file("gone.py", folder.path() + "/gone.py");
  note_program_file("<stdin>", "<stdin>");
  for (const char* none : {"pipe.py:1", "gone.py:1", "<stdin>:1"}) EXPECT_EQ(program_line(none), "") << none;
}

}  // namespace
}  // namespace tensortap::pytorch
