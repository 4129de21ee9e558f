#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "every_layout.h"
#include "registry/registry.h"

namespace tensortap {
namespace {

TEST(EveryLayoutOfAnySystem, ThatKeepsNoStatisticsRefusesThem) {
  Layout layout = *find_layout("msit");
  CaptureSpec spec;
  EXPECT_TRUE(check_payload(layout, spec).ok());
  layout.keeps.stats = 0;
  EXPECT_THAT(check_payload(layout, spec).message(), testing::HasSubstr("the layout \"msit\" keeps no statistics"));
  spec.payload = Payload::kTensor;
  EXPECT_TRUE(check_payload(layout, spec).ok());
}

TEST(EveryLayoutOfAnySystem, IsFoundByItsName) {
  for (const Layout& layout : layouts()) EXPECT_EQ(find_layout(layout.name)->description, layout.description);
}

TEST(EveryLayoutOfAnySystem, HasADocument) {
  for (const Layout& layout : layouts())
    EXPECT_TRUE(path_exists(concat(TENSORTAP_TESTDATA, "/../docs/layouts/", layout.name, ".md"))) << layout.name;
}

std::vector<Layout> layouts_with_a_writer() {
  std::vector<Layout> with_one;
  for (const std::string& name : written_layouts()) with_one.push_back(*find_layout(name));
  return with_one;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryLayout, testing::ValuesIn(layouts_with_a_writer()),
                         [](const auto& layout) { return std::string(layout.param.name); });

}  // namespace
}  // namespace tensortap
