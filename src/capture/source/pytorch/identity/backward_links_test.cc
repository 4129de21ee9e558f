#include "source/pytorch/identity/backward_links.h"

#include <gtest/gtest.h>

#include "source/pytorch/identity/op_identity.h"

namespace tensortap::pytorch {
namespace {

TEST(BackwardLinks, TheLastOpOfANumberCounts) {
  BackwardLinks links;
  const OpIdentity composite;
  const OpIdentity op;
  links.note(1, 7, &composite);
  links.note(1, 7, &op);
  EXPECT_EQ(links.find(1, 7), &op);
}

TEST(BackwardLinks, NumbersAreThoseOfAThread) {
  BackwardLinks links;
  const OpIdentity first;
  const OpIdentity second;
  links.note(1, 7, &first);
  links.note(2, 8, &second);
  EXPECT_EQ(links.find(2, 7), nullptr);
  EXPECT_EQ(links.find(2, 8), &second);
  EXPECT_EQ(links.find(1, 7), &first);
}

TEST(BackwardLinks, AnOldNumberIsUnknownNotWrong) {
  BackwardLinks links;
  const OpIdentity op;
  links.note(1, 5, &op);
  for (int64_t number = 6; number < 6 + (1 << 17); ++number) links.note(1, number, nullptr);
  EXPECT_EQ(links.find(1, 5), nullptr);
}

TEST(BackwardLinks, NodesWithoutANumberHaveNone) {
  BackwardLinks links;
  const OpIdentity op;
  links.note(1, -1, &op);
  EXPECT_EQ(links.find(1, -1), nullptr);
}

}  // namespace
}  // namespace tensortap::pytorch
