#include "compare/alignment.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "compare/made_dump.h"

namespace tensortap {
namespace {

using Rows = std::vector<std::pair<uint32_t, uint32_t>>;

struct DumpOf : MadeDump {
  DumpOf(std::initializer_list<Execution> executions) {
    op("x", "P");
    for (const Execution& execution : executions) gives(0, {1}, {1}, execution);
  }
};

Rows rows_of(const MadeDump& a, const MadeDump& b, const std::vector<StepPair>& steps = {}) {
  const ValueTable table_a(a);
  const ValueTable table_b(b);
  const Alignment alignment(table_a, table_b, choose_steps(a, b, steps));
  Rows rows = alignment.rows(table_a.at(0), table_b.at(0));
  const auto first = alignment.first_rows(table_a.at(0), table_b.at(0));
  EXPECT_EQ(first, rows.empty() ? std::nullopt : std::optional(rows.front()));
  return rows;
}

TEST(Alignment, PutsEqualStepsAndCallsBesideEachOther) {
  const DumpOf a{{0, 0}, {0, 1}, {1, 0}, {2, 0}};
  const DumpOf b{{1, 0}, {2, 0}, {2, 1}, {0, 1}};
  EXPECT_EQ(rows_of(a, b), (Rows{{1, 3}, {2, 0}, {3, 1}}));
}

TEST(Alignment, TakesStepsInTheirOrderWhereNoneIsInBoth) {
  const DumpOf a{{0, 0}, {1, 0}, {2, 0}};
  const DumpOf b{{7, 0}, {9, 0}};
  EXPECT_EQ(rows_of(a, b), (Rows{{0, 0}, {1, 1}}));
  const ValueTable table_a(a);
  const ValueTable table_b(b);
  const ChosenSteps steps = choose_steps(a, b, {});
  EXPECT_TRUE(steps.by_order);
  EXPECT_EQ(steps.alone_a, 1U);
  const Alignment alignment(table_a, table_b, steps);
  EXPECT_EQ(alignment.steps(), 2U);
}

TEST(Alignment, TakesTheStepsThatAPersonPairs) {
  const DumpOf a{{0, 0}, {1, 0}, {2, 0}};
  EXPECT_EQ(rows_of(a, a, {{0, 2}, {2, 0}}), (Rows{{0, 2}, {2, 0}}));
  EXPECT_EQ(rows_of(a, a, {{0, 12}}), Rows());
}

TEST(Alignment, CountsRanksOnlyWhereThereAreSeveral) {
  DumpOf a{{0, 0}};
  DumpOf b{{0, 0}};
  a.all_rows[0].rank = 3;
  EXPECT_EQ(rows_of(a, b), (Rows{{0, 0}}));
  DumpOf c{{0, 0}, {0, 0}};
  c.all_rows[1].rank = 1;
  DumpOf d{{0, 0}, {0, 0}};
  d.all_rows[0].rank = 1;
  EXPECT_EQ(rows_of(c, d), (Rows{{0, 1}, {1, 0}}));
}

}  // namespace
}  // namespace tensortap
