// What a handler of a signal would see of what runs.

#include "session/running_ops.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

namespace tensortap {
namespace {

tensortap_op_event running_event(OpId op, uint32_t kind, const std::vector<float>& values, tensortap_tensor& tensor,
                                 const std::array<int64_t, 1>& dims) {
  tensor = {};
  tensor.size = sizeof(tensor);
  tensor.dtype = TENSORTAP_FLOAT32;
  tensor.data = values.data();
  tensor.dims = dims.data();
  tensor.rank = 1;
  tensor.slot_kind = kind;
  tensortap_op_event event{};
  event.size = sizeof(event);
  event.op = op;
  event.tensors = &tensor;
  event.tensor_count = 1;
  return event;
}

struct Seen {
  OpId op;
  RunningOps::Place place;
  bool here;
  std::vector<const void*> inputs;
  friend bool operator==(const Seen&, const Seen&) = default;
};

std::vector<Seen> look(const RunningOps& running) {
  std::vector<Seen> seen;
  running.look(static_cast<uint32_t>(syscall(SYS_gettid)), [&seen](const RunningOp& op, RunningOps::Place place, bool here) {
    Seen one{op.op, place, here, {}};
    for (uint32_t i = 0; i < op.count; ++i) one.inputs.push_back(op.tensors[i].c().data);
    seen.push_back(std::move(one));
  });
  return seen;
}

class RunningOpsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(running_.reserve()); }
  void begin(OpId op) {
    tensortap_tensor tensor;
    running_.begin(running_event(op, TENSORTAP_SLOT_INPUT, values_, tensor, dims_), 0);
  }
  void end(OpId op) {
    tensortap_tensor tensor;
    running_.end(running_event(op, TENSORTAP_SLOT_OUTPUT, values_, tensor, dims_), 0);
  }
  const std::array<int64_t, 1> dims_ = {2};
  const std::vector<float> values_ = {1, 2};
  RunningOps running_;
};

TEST_F(RunningOpsTest, OpsInsideOfEachOtherAreSeenFromTheInside) {
  begin(1);
  begin(2);
  const std::vector<const void*> inputs = {values_.data()};
  EXPECT_EQ(look(running_),
            (std::vector<Seen>{{2, RunningOps::Place::kInnermost, true, inputs}, {1, RunningOps::Place::kAround, true, inputs}}));
  end(2);
  EXPECT_EQ(look(running_), (std::vector<Seen>{{1, RunningOps::Place::kInnermost, true, inputs}}));
  end(1);
  EXPECT_TRUE(look(running_).empty());
}

TEST_F(RunningOpsTest, AnOpThatNeverEndedGoesWithTheOneAroundIt) {
  begin(1);
  begin(2);
  end(1);
  EXPECT_TRUE(look(running_).empty());
}

TEST_F(RunningOpsTest, OpsOfOtherThreadsAreTold) {
  begin(1);
  std::vector<Seen> seen;
  std::thread([&] { seen = look(running_); }).join();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].op, 1U);
  EXPECT_FALSE(seen[0].here);
}

TEST_F(RunningOpsTest, AfterTheLastOpComesTheNextOfItsGraphWithWhatItsProducersMade) {
  std::vector<OpInfo> ops(4);
  for (OpInfo& op : ops) op.outputs = {"value"};
  ops[0].type = kInputType;
  ops[2].graph = "body";
  ops[3].inputs = {{"a", 0, 0}, {"b", kNoOp, 0}, {"c", 1, 0}};
  running_.bind(ops);
  const std::vector<float> input = {5, 6};
  tensortap_tensor tensor;
  running_.end(running_event(0, TENSORTAP_SLOT_OUTPUT, input, tensor, dims_), 0);
  end(1);
  const std::vector<Seen> seen = look(running_);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0], (Seen{3, RunningOps::Place::kNext, true, {input.data(), values_.data()}}));
}

TEST_F(RunningOpsTest, AThreadThatServesTwoSessionsForgetsNothing) {
  RunningOps other;
  ASSERT_TRUE(other.reserve());
  begin(1);
  tensortap_tensor tensor;
  other.begin(running_event(7, TENSORTAP_SLOT_INPUT, values_, tensor, dims_), 0);
  other.end(running_event(7, TENSORTAP_SLOT_OUTPUT, values_, tensor, dims_), 0);
  begin(2);
  ASSERT_EQ(look(running_).size(), 2U);
  EXPECT_EQ(look(running_)[1].op, 1U) << "the op around the one of the other session still runs";
}

}  // namespace
}  // namespace tensortap
