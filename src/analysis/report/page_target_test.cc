#include "report/page_target.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tensortap {
namespace {

TEST(PageTarget, IsWhatABrowserAsksFor) {
  EXPECT_EQ(page_target("/api/dump", {}), "/api/dump");
  EXPECT_EQ(page_target("/api/records", {{"dump", ""}, {"where", "nan > 0"}, {"op", "a&b/ü"}}),
            "/api/records?where=nan%20%3E%200&op=a%26b%2F%C3%BC");
}

// What defaultAt() and wholeWindow() of web/src/tensor/slice_model.ts give for these shapes.
TEST(PageTarget, ThePartThatIsShownFirst) {
  const struct {
    std::vector<int64_t> shape;
    std::string at, rows, columns;
  } cases[] = {
      {{}, "", "0:1", "0:1"},
      {{7}, ":", "0:1", "0:7"},
      {{3, 5}, ":,:", "0:3", "0:5"},
      {{2, 3, 5}, "0,:,:", "0:3", "0:5"},
      {{8, 4, 1, 1}, ":,:,0,0", "0:8", "0:4"},
      {{1, 6, 1}, "0,:,:", "0:6", "0:1"},
      {{1, 1, 1}, "0,:,:", "0:1", "0:1"},
      {{4, 1, 9, 1}, ":,0,:,0", "0:4", "0:9"},
  };
  for (const auto& one : cases) {
    const ShownPart part = first_shown(one.shape);
    EXPECT_EQ(part.at, one.at);
    EXPECT_EQ(part.rows, one.rows) << one.at;
    EXPECT_EQ(part.columns, one.columns) << one.at;
  }
}

}  // namespace
}  // namespace tensortap
