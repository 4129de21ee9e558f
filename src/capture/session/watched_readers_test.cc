#include "session/watched_readers.h"

#include <gtest/gtest.h>

#include <string>

namespace tensortap {
namespace {

class Readers : public testing::Test {
 protected:
  OpId add(const std::string& name, const std::vector<OpId>& producers, const std::string& graph = "", OpId parent = kNoOp) {
    OpInfo info;
    info.name = name;
    info.type = "Toy";
    info.graph = graph;
    info.parent = parent;
    info.outputs = {name + "_out"};
    for (const OpId producer : producers) info.inputs.push_back({"value", producer, 0});
    return ops_.add(std::move(info));
  }
  OpTable ops_;
};

TEST_F(Readers, AreDoneWhenTheLastHasRun) {
  const OpId made = add("made", {});
  const OpId first = add("first", {made});
  const OpId between = add("between", {first});
  const OpId last = add("last", {made, between});
  const OpId after = add("after", {last});
  const WatchedReaders readers(ops_);
  EXPECT_EQ(readers.read_after(made, 0, first), std::optional(true));
  EXPECT_EQ(readers.read_after(made, 0, between), std::optional(true));
  EXPECT_EQ(readers.read_after(made, 0, last), std::optional(false)) << "it may write into what it read";
  EXPECT_EQ(readers.read_after(made, 0, after), std::optional(false));
  EXPECT_EQ(readers.read_after(after, 0, after), std::nullopt) << "no reader is known";
  EXPECT_EQ(readers.read_after(made, 1, first), std::nullopt) << "another output";
}

TEST_F(Readers, OfANestedGraphReadUntilTheirLoopEnds) {
  const OpId made = add("made", {});
  const OpId loop = add("loop", {});
  const OpId reader = add("loop/body/reader", {made}, "loop/body", loop);
  const OpId writer = add("loop/body/writer", {reader}, "loop/body", loop);
  const OpId after = add("after", {loop});
  const WatchedReaders readers(ops_);
  EXPECT_EQ(readers.read_after(made, 0, writer), std::optional(true)) << "the next trip reads it again";
  EXPECT_EQ(readers.read_after(made, 0, after), std::optional(false));
  EXPECT_EQ(readers.read_after(reader, 0, writer), std::optional(false)) << "both inside";
}

TEST_F(Readers, ThatHoldTheWriterMayHaveReadAlready) {
  const OpId made = add("made", {});
  const OpId loop = add("loop", {made});
  const OpId writer = add("loop/body/writer", {}, "loop/body", loop);
  EXPECT_EQ(WatchedReaders(ops_).read_after(made, 0, writer), std::nullopt);
}

TEST_F(Readers, OfAGraphOutputComeAfterAllOps) {
  OpInfo info;
  info.name = "result";
  info.outputs = {"y", "z"};
  info.attributes = R"({"alpha": 1.5, "graph_outputs": [1]})";
  const OpId result = ops_.add(info);
  info.name = "reader";
  info.attributes = "";
  info.inputs = {{"y", result, 0}, {"z", result, 1}};
  const OpId reader = ops_.add(info);
  const WatchedReaders readers(ops_);
  EXPECT_EQ(readers.read_after(result, 0, reader), std::optional(false));
  EXPECT_EQ(readers.read_after(result, 1, reader), std::optional(true));
}

}  // namespace
}  // namespace tensortap
