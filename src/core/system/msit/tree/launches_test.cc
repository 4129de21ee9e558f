#include "system/msit/tree/launches.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "stats/stats.h"
#include "stats/stats_target.h"

namespace tensortap::msit {
namespace {

RecordRow row(SlotKind kind, std::initializer_list<int64_t> dims, bool is_contiguous = true) {
  RecordRow made;
  made.slot_kind = static_cast<uint8_t>(kind);
  made.set_desc({DType::kFloat32, dims});
  if (!is_contiguous) made.strided = static_cast<uint8_t>(Strided::kKept);
  return made;
}

TEST(KernelLaunches, TellWhatAKernelWorkedOn) {  // L8
  Launches launches(3);
  launches.see(7, row(SlotKind::kInput, {2, 8}, false));
  launches.see(7, row(SlotKind::kOutput, {2, 3}));
  launches.see(7, row(SlotKind::kOutput, {1}));
  const auto line = parse_json(launches.end(7, "addmm", {}), "line");
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(*line, Json({{"kernel", "addmm"},
                         {"threads", 3},
                         {"isa", std::string(stats_targets().front())},
                         {"numel", 6},
                         {"bytes", 4 * (16 + 6 + 1)},
                         {"contiguous", false}}));
  EXPECT_EQ(launches.end(7, "addmm", {}), "") << "another execution was not looked at";
}

TEST(KernelLaunches, SayNothingOfThreadsThatNobodyTold) {
  Launches launches(0);
  launches.see(1, row(SlotKind::kInput, {4}));
  const std::string line = launches.end(1, "linear", {});
  EXPECT_NE(line.find(R"({"kernel":"linear","isa":)"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("numel":4,)"), std::string::npos) << "of what it read, where nothing else is known";
}

TEST(KernelLaunches, OfDifferentRunsStayApart) {
  Launches launches(0);
  RecordRow other = row(SlotKind::kOutput, {5});
  other.run = 1;
  launches.see(1, other);
  EXPECT_EQ(launches.end(1, "add", {}), "");
  EXPECT_NE(launches.end(1, "add", other), "");
}

}  // namespace
}  // namespace tensortap::msit
