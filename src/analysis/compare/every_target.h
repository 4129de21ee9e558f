// For tests: the same with every instruction set.

#ifndef TENSORTAP_COMPARE_EVERY_TARGET_H_
#define TENSORTAP_COMPARE_EVERY_TARGET_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "stats/stats.h"
#include "stats/stats_target.h"

namespace tensortap {

// Runs `test` with every target of this machine, and sets the first one again.
template <class Test>
void with_every_target(const Test& test) {
  for (const std::string_view target : stats_targets()) {
    SCOPED_TRACE(std::string(target));
    ASSERT_TRUE(set_stats_target(target));
    test();
  }
  set_stats_target(stats_targets().front());
}

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_EVERY_TARGET_H_
