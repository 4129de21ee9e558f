#include "graph/model_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph_dumps.h"

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ModelEdgesTest, ProducersAreMakers) {
  GraphDump dump;
  dump.op("a");
  dump.op("b", {0});
  dump.op("c", {1, 0, 1});
  dump.op("d", {77});  // no op of the dump
  EXPECT_THAT(model_edges(dump), ElementsAre(ModelEdge{0, 1, 1}, ModelEdge{0, 2, 1}, ModelEdge{1, 2, 2}));
}

TEST(ModelEdgesTest, ValuesAreKnownByNameWhereNoProducerIs) {
  GraphDump dump;
  for (const char* name : {"outer", "inner", "reader", "other"}) dump.op(name);
  dump.all_ops[0].outputs = {"x"};
  dump.all_ops[1].outputs = {"y"};
  dump.all_ops[1].graph = dump.all_ops[2].graph = "loop/body";
  dump.all_ops[2].inputs = {{"y", kNoOp, 0}, {"x", kNoOp, 0}, {"", kNoOp, 0}};
  dump.all_ops[3].inputs = {{"y", kNoOp, 0}};  // of another graph: not known here
  EXPECT_THAT(model_edges(dump), ElementsAre(ModelEdge{0, 2, 1}, ModelEdge{1, 2, 1}));
}

TEST(ModelEdgesTest, MemorySaysWhoMadeWhatIsReadWithoutNames) {
  GraphDump dump;
  for (const char* name : {"mm", "relu_", "sum"}) dump.op(name);
  dump.row(0, SlotKind::kOutput, 5, 1);
  dump.row(1, SlotKind::kInput, 5, 1);
  dump.row(1, SlotKind::kOutput, 5, 2);  // written in place
  dump.row(2, SlotKind::kInput, 5, 2);
  dump.row(2, SlotKind::kInput, 9, 1).slot_index = 1;  // from outside
  EXPECT_THAT(model_edges(dump), ElementsAre(ModelEdge{0, 1, 1}, ModelEdge{1, 2, 1}));
}

TEST(ModelEdgesTest, WhatAnUpdateMadeIsReadByTheNextStepOnly) {
  GraphDump dump;
  for (const char* name : {"mm", "sum", "Adam.step/add_"}) dump.op(name);
  uint64_t version = 1;
  for (int64_t step = 0; step < 2; ++step) {
    dump.row(0, SlotKind::kInput, 7, version).step = step;  // the weight
    dump.row(0, SlotKind::kOutput, 20 + static_cast<uint64_t>(step), 1).step = step;
    dump.row(1, SlotKind::kInput, 20 + static_cast<uint64_t>(step), 1).step = step;
    RecordRow& read = dump.row(2, SlotKind::kInput, 7, version);
    read.step = step;
    read.phase = static_cast<uint8_t>(Phase::kUpdate);
    RecordRow& written = dump.row(2, SlotKind::kOutput, 7, ++version);
    written.step = step;
    written.phase = static_cast<uint8_t>(Phase::kUpdate);
  }
  EXPECT_THAT(model_edges(dump), ElementsAre(ModelEdge{0, 1, 1}, ModelEdge{2, 2, 1}));
}

TEST(ModelEdgesTest, WhatAnOpReadsInItsLaterCallsCounts) {
  GraphDump dump;
  dump.op("start");
  dump.op("cell");
  dump.row(0, SlotKind::kOutput, 1, 1);
  for (uint64_t call = 0; call < 3; ++call) {
    dump.row(1, SlotKind::kInput, 1 + call, 1).call = static_cast<uint32_t>(call);
    dump.row(1, SlotKind::kOutput, 2 + call, 1).call = static_cast<uint32_t>(call);
  }
  EXPECT_THAT(model_edges(dump), ElementsAre(ModelEdge{0, 1, 1}, ModelEdge{1, 1, 1}));
}

TEST(ModelEdgesTest, WhatANestedGraphReturnsIsReadByItsOp) {
  GraphDump dump;
  dump.op("cond");
  const OpId branch = dump.op("If_0", {0}, "If");
  const OpId first = dump.nested_op("If_0/then", "Add", branch, {0});
  const OpId both = dump.nested_op("If_0/then", "Mul", branch, {first});  // read inside and handed out
  dump.all_ops[both].attributes = R"({"graph_outputs": [0]})";
  const OpId last = dump.nested_op("If_0/then", "Sub", branch, {both});
  EXPECT_THAT(model_edges(dump), ElementsAre(ModelEdge{0, branch, 1}, ModelEdge{0, first, 1}, ModelEdge{first, both, 1},
                                             ModelEdge{both, branch, 1}, ModelEdge{both, last, 1}, ModelEdge{last, branch, 1}));
}

TEST(ModelEdgesTest, AnythingMayBeWrong) {
  GraphDump dump;
  dump.op("a", {0});
  dump.all_ops[0].parent = 0;
  dump.row(55, SlotKind::kOutput, 1, 1);
  dump.row(0, SlotKind::kInput, 1, 1);
  EXPECT_THAT(model_edges(dump), ElementsAre(ModelEdge{0, 0, 1}));
  EXPECT_THAT(model_edges(GraphDump()), IsEmpty());
}

}  // namespace
}  // namespace tensortap
