#include "system/mindspore/release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/text.h"
#include "system/mindspore/config/settings.h"
#include "system/mindspore/statistics.h"

namespace tensortap::mindspore {
namespace {

using testing::HasSubstr;

std::string complete(std::string_view text) {
  const Result<Profile> profile = parse_profile(text);
  return profile.ok() ? profile_name(*profile) : profile.status().message();
}

TEST(MindsporeRelease, ProfilesAreCompletedWithTheNewestVersionAndCpu) {
  EXPECT_EQ(complete(""), "mindspore-2.10/cpu");
  EXPECT_EQ(complete("mindspore"), "mindspore-2.10/cpu");
  EXPECT_EQ(complete("mindspore/gpu"), "mindspore-2.10/gpu");
  EXPECT_EQ(complete("mindspore-2.7.0"), "mindspore-2.7.0/cpu");
  for (const char* version : {"2.10", "2.7.0", "2.6", "2.4.10", "2.4", "2.3.2", "2.3.0", "2.2.15", "2.0"}) {
    for (const char* device : {"cpu", "gpu", "ascend"}) {
      const std::string name = concat("mindspore-", version, "/", device);
      EXPECT_EQ(complete(name), name);
    }
  }
}

TEST(MindsporeRelease, AReleaseWithoutARowIsReadAsTheRowThatStandsForIt) {
  const std::pair<const char*, const char*> releases[] = {{"1.3.0", "2.0"},     {"2.0.0", "2.0"},  {"2.2", "2.0"},     {"2.2.14", "2.0"},
                                                          {"2.2.16", "2.2.15"}, {"2.3", "2.3.0"},  {"2.3.1", "2.3.2"}, {"2.4.2", "2.4"},
                                                          {"2.5", "2.4.10"},    {"2.6.1", "2.6"},  {"2.7", "2.7.0"},   {"2.7.1", "2.10"},
                                                          {"2.10.0", "2.10"},   {"2.8.0", "2.10"}, {"3.0", "2.10"}};
  for (const auto& [release, row] : releases) EXPECT_EQ(complete(concat("mindspore-", release, "/gpu")), concat("mindspore-", row, "/gpu"));
}

TEST(MindsporeRelease, OtherProfilesAreRefusedWithTheNearest) {
  EXPECT_THAT(complete("mindspore-2.x"), HasSubstr("there is no profile \"mindspore-2.x\". Did you mean \"mindspore-2."));
  for (const char* wrong : {"mindspore-", "mindspore-1.2", "mindspore-2", "mindspore-2.4.0.0", "mindspore-2.-1", "mindspore2.10",
                            "mindspore-2.10/", "mindspore-2.10/tpu", "mindspore-2.10/cpu/cpu", "acl-8.0", "/cpu", "x"}) {
    EXPECT_THAT(complete(wrong), HasSubstr("Take one of mindspore-2.10, mindspore-2.7.0,")) << wrong;
  }
}

TEST(MindsporeRelease, RowsAreInOrderOfRelease) {
  EXPECT_TRUE(std::ranges::is_sorted(releases(), std::ranges::less(), &Release::since));
  for (const ConfigKey& key : keys()) EXPECT_EQ(std::ranges::count(releases(), key.since, &Release::name), 1) << key.name;
}

TEST(MindsporeRelease, FixedStatisticsAreKnownOnes) {
  std::set<size_t> counts;
  for (const Release& release : releases()) {
    if (release.tree.fixed_categories.empty()) continue;
    const auto items = split(release.tree.fixed_categories, ',');
    counts.insert(items.size());
    for (const std::string_view item : items) EXPECT_NE(find_category(item), nullptr) << item;
  }
  EXPECT_EQ(counts, (std::set<size_t>{10, 11})) << "20 and 21 columns, of which 10 describe the tensor";
}

}  // namespace
}  // namespace tensortap::mindspore
