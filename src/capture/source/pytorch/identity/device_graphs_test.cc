#include "source/pytorch/identity/device_graphs.h"

#include <gtest/gtest.h>

namespace tensortap::pytorch {
namespace {

TEST(DeviceGraphs, CountOperatorsOfARecordingAndReplays) {
  note_operator_in_recording();
  recording_begins();
  note_operator_in_recording();
  note_operator_in_recording();
  EXPECT_EQ(recording_ends(), 2u);
  note_operator_in_recording();
  recording_begins();
  EXPECT_EQ(recording_ends(), 0u);
  note_replay(1, 2);
  note_replay(1, 2);
  note_replay(2, 0);
  const auto graphs = replayed_graphs();
  ASSERT_EQ(graphs.size(), 2u);
  EXPECT_EQ(graphs[0].operators, 2u);
  EXPECT_EQ(graphs[0].replays, 2u);
  EXPECT_EQ(graphs[1].replays, 1u);
}

TEST(DeviceGraphs, AnEndWithoutABeginCountsNothing) {
  EXPECT_EQ(recording_ends(), 0u);
  note_operator_in_recording();
  recording_begins();
  EXPECT_EQ(recording_ends(), 0u);
}

}  // namespace
}  // namespace tensortap::pytorch
