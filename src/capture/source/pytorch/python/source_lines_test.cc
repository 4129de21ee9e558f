#include "source/pytorch/python/source_lines.h"

#include <gtest/gtest.h>

namespace tensortap::pytorch {
namespace {

TEST(SourceLines, KnowsTheProgramsOwnFiles) {
  const ForeignCode foreign{{"/usr/lib/python3.11", "/usr/lib/python3.11/site-packages/torch", "/opt/tensortap",
                             "/usr/lib/python3.11/site-packages/typing_extensions.py"},
                            {"/usr/lib/python3.11/site-packages"}};
  EXPECT_TRUE(is_program_file("/home/a/train.py", foreign));
  EXPECT_TRUE(is_program_file("train.py", foreign));
  EXPECT_TRUE(is_program_file("<stdin>", foreign));
  EXPECT_TRUE(is_program_file("<string>", foreign));
  EXPECT_TRUE(is_program_file("/usr/lib/python3.11/site-packages/timm/layers.py", foreign));
  EXPECT_TRUE(is_program_file("/usr/lib/python3.11/site-packages/torchvision/models.py", foreign));
  EXPECT_FALSE(is_program_file("/usr/lib/python3.11/site-packages/torch/nn/functional.py", foreign));
  EXPECT_FALSE(is_program_file("/usr/lib/python3.11/contextlib.py", foreign));
  EXPECT_FALSE(is_program_file("/usr/lib/python3.11/site-packages/typing_extensions.py", foreign));
  EXPECT_TRUE(is_program_file("/usr/lib/python3.11/site-packages/typing_extensions.pyx", foreign));
  EXPECT_FALSE(is_program_file("/opt/tensortap/_torch/naming.py", foreign));
  EXPECT_FALSE(is_program_file("<frozen importlib._bootstrap>", foreign));
  EXPECT_FALSE(is_program_file("<eval_with_key>.3", foreign));
  EXPECT_FALSE(is_program_file("/tmp/torchinductor_a/us/cuske6a.py", foreign));
  EXPECT_FALSE(is_program_file("/home/a/cache/dd/cdd2fbyvqbjdjapbltczu5lb2z25ej3r46h4iyt2tiptjqlbierv.py", foreign));
  EXPECT_TRUE(is_program_file("/home/a/cache/de/cdd2fbyvqbjdjapbltczu5lb2z25ej3r46h4iyt2tiptjqlbierv.py", foreign));
  EXPECT_TRUE(is_program_file("/home/a/us/cuske6a.py", foreign));
  EXPECT_FALSE(is_program_file("/usr/lib/python3.11/site-packages/vllm/_custom_ops.py", foreign));
  EXPECT_TRUE(is_program_file("/home/a/_custom_ops.py", foreign));
  EXPECT_FALSE(is_program_file("", foreign));
  EXPECT_TRUE(is_program_file("/opt/tensortap_user/a.py", foreign));
}

TEST(SourceLines, AFolderIsTheSameHoweverItIsWritten) {
  const ForeignCode foreign{{"/opt/tensortap/", "/venv/lib/../site-packages/torch"}, {"/venv//site-packages"}};
  EXPECT_FALSE(is_program_file("/opt//tensortap/_torch/naming.py", foreign));
  EXPECT_FALSE(is_program_file("/opt/x/../tensortap/_torch/naming.py", foreign));
  EXPECT_FALSE(is_program_file("/venv/./site-packages//torch/nn/functional.py", foreign));
  EXPECT_TRUE(is_program_file("/venv/site-packages//timm/layers.py", foreign));
  EXPECT_EQ(shown_file("/home/a//models/../net.py", "/home/a"), "net.py");
}

TEST(SourceLines, SaysFilesBelowTheCurrentFolderInShort) {
  EXPECT_EQ(shown_file("/home/a/train.py", "/home/a"), "train.py");
  EXPECT_EQ(shown_file("/home/a/models/net.py", "/home/a"), "models/net.py");
  EXPECT_EQ(shown_file("/home/ab/train.py", "/home/a"), "/home/ab/train.py");
  EXPECT_EQ(shown_file("./train.py", "/home/a"), "train.py");
  EXPECT_EQ(shown_file("/home/a/train.py", ""), "/home/a/train.py");
}

TEST(SourceLines, KnowsWhereTorchPrintsTensors) {
  EXPECT_TRUE(is_printer_file("/usr/lib/python3.11/site-packages/torch/_tensor_str.py"));
  EXPECT_FALSE(is_printer_file("/usr/lib/python3.11/site-packages/torch/_tensor.py"));
  EXPECT_FALSE(is_printer_file("/home/a/_tensor_str.py"));
}

TEST(SourceLines, HasNoLineForCodeItNeverSaw) {
  const int code = 0;
  EXPECT_EQ(line_text({}), "");
  EXPECT_EQ(line_text({&code, 4}), "");
  EXPECT_EQ(code_owner(&code), CodeOwner::kUnknown);
}

TEST(SourceLines, AProcessWithoutPythonHasNoPositions) {
  EXPECT_EQ(source_position(true), SourcePosition{});
  EXPECT_EQ(source_text({}), "");
  EXPECT_TRUE(bootstrap_python("/nowhere"));
}

}  // namespace
}  // namespace tensortap::pytorch
