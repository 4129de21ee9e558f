#include "trace/overflowed_ops.h"

#include <gtest/gtest.h>

namespace tensortap {
namespace {

TEST(OverflowedOps, AManifestKeepsThemBesideWhatItHas) {
  const std::set<OverflowedOp> ops = {{"a/Exp-op1", 2, 0, 0}, {"a/Exp-op1", 2, 1, 3}};
  const std::string manifest = with_overflowed_ops(R"({"records":2})", ops);
  EXPECT_EQ(overflowed_ops(manifest), ops);
  EXPECT_TRUE(manifest.starts_with(R"({"records":2,)")) << manifest;
  EXPECT_EQ(with_overflowed_ops("{}", {}), "{}");
  EXPECT_EQ(with_overflowed_ops("[1]", ops), "[1]");
}

TEST(OverflowedOps, AnythingElseIsNoList) {
  for (const char* text :
       {"", "3", "[]", "{}", R"({"overflowed_ops":3})", R"({"overflowed_ops":[3,{},{"op":1,"step":0,"call":0,"rank":0}]})",
        R"({"overflowed_ops":[{"op":"a","step":0,"call":-1,"rank":0},{"op":"a","step":0.5,"call":0,"rank":0}]})",
        R"({"overflowed_ops":[{"op":"a","step":0,"call":0,"rank":4294967296}]})"}) {
    EXPECT_TRUE(overflowed_ops(text).empty()) << text;
  }
}

}  // namespace
}  // namespace tensortap
