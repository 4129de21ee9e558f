#include "system/msit/tree/times.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/temporary_folder.h"

namespace tensortap::msit {
namespace {

constexpr std::string_view kHead = "opname,execute_kernelExecuteTime,execute_launchTime,execute_totalTime,setup_totalTime\n";

class OperationTimes : public testing::Test {
 protected:
  OperationTimes() {
    options_.root = *Folder::hold(folder_.path());
    options_.dump = "msit_dump_T";
    options_.times = true;
  }
  void ran(OpId id, TimedOp op, int64_t microseconds, int64_t round = 0, uint8_t flags = 0) {
    RecordRow event;
    event.op = id;
    event.step = round;
    event.duration_ns = microseconds < 0 ? -1 : microseconds * 1000;
    event.flags = flags;
    op.process = "0_7";
    ASSERT_TRUE(times_.see(id, op, event).ok());
  }
  std::string table(int round) {
    const auto text = read_file(folder_.path() + "/msit_dump_T/cpu_profiling/7/operation_statistic_" + std::to_string(round) + ".csv");
    return text.ok() ? text->substr(std::min(text->size(), kHead.size())) : text.status().message();
  }

  TemporaryFolder folder_;
  WriterOptions options_;
  Times times_{options_};
};

TEST_F(OperationTimes, TellOperatorsFromWhatIsAroundThem) {  // L18
  ran(2, {.process = "", .name = "MmOperation_1_0_0", .parent = 1, .is_operator = true}, 30);
  ran(3, {.process = "", .name = "AddOperation_1_0_1", .parent = 1, .is_operator = true}, 10);
  ran(1, {.process = "", .name = "Linear_1_0", .parent = 0}, 55);
  ran(4, {.process = "", .name = "AddOperation_1_1", .parent = 0, .is_operator = true}, 20);
  ran(5, {.process = "", .name = "Identity_1_2", .parent = 0}, 3);
  ran(0, {.process = "", .name = "Layer_1"}, 100);
  ran(1, {.process = "", .name = "Linear_1_0", .parent = 0}, 7, 1);
  ASSERT_TRUE(times_.finish().ok());
  EXPECT_EQ(table(0),
            "MmOperation_1_0_0,30,0,30,0\nAddOperation_1_0_1,10,0,10,0\nLinear_1_0,40,15,55,0\nAddOperation_1_1,20,0,20,0\n"
            "Identity_1_2,0,3,3,0\nLayer_1,60,40,100,0\n");
  EXPECT_EQ(table(1), "Linear_1_0,0,7,7,0\n") << "what ran in another round does not count";
}

TEST_F(OperationTimes, OfAnOperationThatRanTwiceTheLastCounts) {
  ran(1, {.process = "", .name = "LinearOperation_0", .is_operator = true}, 5);
  ran(2, {.process = "", .name = "AddOperation_1", .is_operator = true}, 6);
  ran(1, {.process = "", .name = "LinearOperation_0", .is_operator = true}, 8);
  ASSERT_TRUE(times_.finish().ok());
  EXPECT_EQ(table(0), "LinearOperation_0,8,0,8,0\nAddOperation_1,6,0,6,0\n");
}

TEST_F(OperationTimes, AreLeftOpenWhereNobodyMeasured) {
  ran(1, {.process = "", .name = "LinearOperation_0", .is_operator = true}, -1);
  ran(2, {.process = "", .name = "AddOperation_1", .is_operator = true}, 3, 0, kRecordFailedOp);
  ASSERT_TRUE(times_.finish().ok());
  EXPECT_EQ(table(0), "LinearOperation_0,,,,0\n") << "what failed took no time that could be compared";
}

TEST_F(OperationTimes, OfPhasesWithOneRoundShareATable) {
  RecordRow event;
  for (const uint64_t phase : {1U, 2U, 2U}) {
    event.run = phase;
    event.duration_ns = 1000;
    ASSERT_TRUE(times_.see(static_cast<OpId>(phase), {"0_7", phase == 1 ? "Prefill_layer_0" : "Decoder_layer_1", kNoOp, true}, event).ok());
    event.step += phase == 2 ? 1 : 0;
  }
  ASSERT_TRUE(times_.finish().ok());
  EXPECT_EQ(table(0), "Prefill_layer_0,1,0,1,0\nDecoder_layer_1,1,0,1,0\n");
  EXPECT_EQ(table(1), "Decoder_layer_1,1,0,1,0\n");
}

TEST_F(OperationTimes, ThatCanNotBeWrittenAreWrittenLater) {
  const std::string blocker = folder_.path() + "/msit_dump_T";
  ASSERT_TRUE(write_file_atomically(blocker, "in the way").ok());
  ran(1, {.process = "", .name = "LinearOperation_0", .is_operator = true}, 5);
  EXPECT_FALSE(times_.finish().ok());
  ASSERT_EQ(::remove(blocker.c_str()), 0);
  ran(1, {.process = "", .name = "LinearOperation_0", .is_operator = true}, 6, 1);
  ASSERT_TRUE(times_.finish().ok());
  EXPECT_EQ(table(0), "LinearOperation_0,5,0,5,0\n");
  EXPECT_EQ(table(1), "LinearOperation_0,6,0,6,0\n");
}

}  // namespace
}  // namespace tensortap::msit
