// The skeleton that `./dev new tree NAME` writes passes the conformance suite of layouts, and its fuzz target runs.

#include <gtest/gtest.h>

#include "every_layout.h"
#include "system/demo/demo_system.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tensortap {
namespace {

INSTANTIATE_TEST_SUITE_P(NewTree, EveryLayout, testing::ValuesIn(demo::kLayouts),
                         [](const auto& layout) { return std::string(layout.param.name); });

TEST(NewTree, ItsFuzzTargetTakesAnyBytes) {
  constexpr char kInput[] = "\x08\0out1.npy\x04\0\x93NUM\xff\xff";
  const std::string input(kInput, sizeof(kInput) - 1);
  EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size()), 0);
  EXPECT_EQ(LLVMFuzzerTestOneInput(nullptr, 0), 0);
}

TEST(NewTree, KeepsNoRecordWithoutItsValues) {
  const TemporaryFolder folder;
  DumpInfo info;
  info.folder = folder.path();
  auto writer = demo::create_tree(info, {});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->add_op(0, op_called("a")).ok());
  RecordRow row = row_of(0, DType::kFloat32, {1});
  EXPECT_EQ((*writer)->add_record(row, nullptr, nullptr).code(), StatusCode::kUnsupported);
  EXPECT_EQ(row.committed, 0);
}

}  // namespace
}  // namespace tensortap
