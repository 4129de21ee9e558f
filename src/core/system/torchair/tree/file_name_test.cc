// Names as the real writer gives them; tests/torchair_fx_dump_test.py reads the recorded tree.

#include "system/torchair/tree/file_name.h"

#include <gtest/gtest.h>

namespace tensortap::torchair {
namespace {

TEST(FxFileNames, AreTakenApart) {
  const auto name = parse_file_name("sum_1-aten.sum.dim_IntList.INPUT.1.20261120212300744195.npy");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->node, "sum_1");
  EXPECT_EQ(name->target, "aten.sum.dim_IntList");
  EXPECT_TRUE(name->is_input);
  EXPECT_EQ(name->slot, 1);
  EXPECT_EQ(name->element, -1);
  EXPECT_EQ(name->time_us, 1795209780744195);  // date -u -d '2026-11-20 21:23:00' +%s
}

TEST(FxFileNames, HaveTheElementOfAList) {
  const auto name = parse_file_name("cat-aten.cat.default.INPUT.0.7.20261120212300744195.npy");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->slot, 0);
  EXPECT_EQ(name->element, 7);
  const auto output = parse_file_name("split-aten.split.Tensor.OUTPUT.3.20261120212300744195.npy");
  ASSERT_TRUE(output.has_value());
  EXPECT_FALSE(output->is_input);
  EXPECT_EQ(output->slot, 3);
}

TEST(FxFileNames, OfOtherFilesAreNone) {
  for (const char* name :
       {"", ".npy", "-.INPUT.0.20261120212300744195.npy", "a-b.INPUT.20261120212300744195.npy", "a-b.INPUT.0.2026112021230074419.npy",
        "a-b.INPUT.0.20261320212300744195.npy", "a-b.input.0.20261120212300744195.npy", "a-b.INPUT.65536.20261120212300744195.npy",
        "a-b.INPUT.0.1.2.20261120212300744195.npy", "ab.INPUT.0.20261120212300744195.npy", "a-.INPUT.0.20261120212300744195.npy",
        "a-b.INPUT.-1.20261120212300744195.npy", "a-b.INPUT.0.20261120212300744195.npy.part", "INPUT.0.20261120212300744195.npy"}) {
    EXPECT_FALSE(parse_file_name(name).has_value()) << name;
  }
}

TEST(FxTargets, AreLibraryNameAndOverload) {
  const Target sum = parse_target("aten.sum.dim_IntList");
  EXPECT_EQ(sum.library, "aten");
  EXPECT_EQ(sum.name, "sum");
  EXPECT_EQ(sum.overload, "dim_IntList");
  EXPECT_EQ(parse_target("getitem").name, "getitem");
  EXPECT_EQ(parse_target("aten.add").overload, "");
}

}  // namespace
}  // namespace tensortap::torchair
