#include "session/session_report.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "session/fake_layout.h"

namespace tensortap {
namespace {

TEST(SessionReport, CountsOpsByWhatBecameOfThem) {
  CaptureSpec spec = FakeParts::spec();
  spec.exclude.push_back({});
  spec.exclude.back().text = "left out";
  FakeParts parts(spec);
  const OpId captured = parts.add("captured");
  parts.add("silent");
  parts.add("left out");
  const OpId failed = parts.add("failed");
  const FakeEvent event(captured, {1});
  TakenEvent taken = parts.taken(event.event);
  parts.look.take_all(taken);
  parts.ops.not_captured(failed, "in a box");
  FailedOps failures;
  failures.add(event.event, taken.row, parts.ops.find(failed)->info, "boom", ExceptionDetail::kBrief);
  parts.ops.decide_rest();
  parts.sink.flush();
  const SessionReport::Origin origin{.program = "p", .source = "", .folder = "/d", .started = "now"};
  const PlanChanges changes{CaptureSpec()};
  const StepModules modules("", false);
  const SessionReport report({origin, parts.ops, parts.admission, parts.sink, parts.look, parts.last_ops, parts.contents, parts.pool,
                              failures, parts.problems, changes, nullptr, nullptr, modules});
  const Json json = report.to_json(true);
  EXPECT_EQ(json["ops"]["registered"], 4);
  EXPECT_EQ(json["ops"]["expected"], 3);
  EXPECT_EQ(json["ops"]["captured"], 1);
  EXPECT_EQ(json["ops"]["not_wanted"], 1);
  ASSERT_EQ(json["ops"]["not_captured"].size(), 2U);
  EXPECT_EQ(json["failed_op"]["error"], "boom");
  EXPECT_EQ(json["failed_ops"], 1);
  EXPECT_EQ(json["records"], 1);
  EXPECT_EQ(json["program"], "p");
  EXPECT_EQ(json["source"], nullptr);
  EXPECT_EQ(json["trigger"], nullptr);
  EXPECT_EQ(json["complete"], true);
}

TEST(SessionReport, AnOpThatIsNotDecidedYetCountsAsWanted) {
  FakeParts parts(FakeParts::spec());
  parts.add("op");
  const FailedOps none;
  const SessionReport::Origin origin;
  const PlanChanges changes{CaptureSpec()};
  const StepModules modules("", false);
  const SessionReport report({origin, parts.ops, parts.admission, parts.sink, parts.look, parts.last_ops, parts.contents, parts.pool, none,
                              parts.problems, changes, nullptr, nullptr, modules});
  const Json json = report.to_json(false);
  EXPECT_EQ(json["ops"]["expected"], 1);
  EXPECT_EQ(json["failed_op"], nullptr);
  EXPECT_EQ(json["ended"], nullptr);
}

}  // namespace
}  // namespace tensortap
