#include "tree/input_rows.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"

namespace tensortap {
namespace {

// What a layout would write, in order: "out C" for a record, "in C.0=P@7" for input 0 of C with the value that P made as record number 7.
class InputRowsTest : public testing::Test {
 protected:
  OpId add(const std::string& name, const std::string& type, std::vector<OpInput> inputs, const std::string& graph = "") {
    OpInfo op;
    op.name = name;
    op.type = type;
    op.graph = graph;
    op.inputs = std::move(inputs);
    op.outputs = {name};
    const auto id = static_cast<OpId>(names_.size());
    names_.push_back(name);
    rows_.add_op(id, op);
    return id;
  }
  void decide_all(const std::set<OpId>& inputs_only = {}) {
    for (OpId id = 0; id < names_.size(); ++id) {
      OpDecision decision;
      decision.wanted = decision.inputs = true;
      decision.outputs = !inputs_only.contains(id);
      rows_.decide(id, decision);
    }
  }
  void note(const InputRows<int>::Input& input) {
    seen_ += concat("in ", names_[input.op], ".", input.slot, "=", names_[input.source->row.op], "@", input.source->place, " ");
  }
  void record(OpId op, uint32_t call = 0, int64_t step = 0, uint64_t run = 0, Phase phase = Phase::kInference, uint16_t slot = 0) {
    RecordRow row;
    row.op = op;
    row.call = call;
    row.step = step;
    row.run = run;
    row.phase = static_cast<uint8_t>(phase);
    row.slot_index = slot;
    row.flags = flags_;
    rows_.before(row, [this](const auto& input) { note(input); });
    seen_ += concat("out ", names_[op], " ");
    ++number_;
    if (auto* source = rows_.remember(row)) source->place = number_;
  }
  void end(int64_t step = 0, uint64_t run = 0) {
    rows_.end_step(step, run, [this](const auto& input) { note(input); });
    rows_.forget(run, [](auto&) {});
    seen_ += "end ";
  }
  std::string seen() { return std::exchange(seen_, ""); }

  InputRows<int> rows_;
  std::vector<std::string> names_;
  std::string seen_;
  int number_ = 0;
  uint8_t flags_ = 0;  // of what record() records
};

TEST_F(InputRowsTest, InputsComeRightBeforeTheFirstOutput) {
  const OpId x = add("x", "Input", {});
  const OpId w = add("w", "Initializer", {});
  const OpId a = add("a", "MatMul", {{"x", x, 0}, {"w", w, 0}});
  const OpId b = add("b", "Add", {{"a", a, 0}, {"a1", a, 1}, {"none", kNoOp, 0}, {"x", x, 0}});
  decide_all();
  record(w, 0, 0, 0, Phase::kLoad);
  for (int step = 0; step < 2; ++step) {
    number_ = 10 * step + 1;
    record(x, 0, step);
    record(a, 0, step);
    record(a, 0, step, 0, Phase::kInference, 1);
    record(b, 0, step);
    end(step);
  }
  EXPECT_EQ(seen(),
            "out w out x in a.0=x@2 in a.1=w@1 out a out a in b.0=a@3 in b.1=a@4 in b.3=x@2 out b end "
            "out x in a.0=x@12 in a.1=w@1 out a out a in b.0=a@13 in b.1=a@14 in b.3=x@12 out b end ");
}

TEST_F(InputRowsTest, OpsWithoutRecordsComeBeforeTheNextOneOrAtTheEnd) {
  const OpId x = add("x", "Input", {});
  const OpId a = add("a", "Relu", {{"x", x, 0}});
  const OpId b = add("b", "Relu", {{"x", x, 0}});
  const OpId c = add("c", "Relu", {{"x", x, 0}});
  add("d", "Relu", {{"x", x, 0}});  // its output does not come: it did not run
  decide_all({a, c});
  record(x);
  record(b);
  end();
  EXPECT_EQ(seen(), concat("out x in a.0=x@1 in b.0=x@1 out b in c.0=x@1 end "));
  record(x, 0, 1);
  end(1);
  EXPECT_EQ(seen(), "out x in a.0=x@3 in c.0=x@3 end ");
  EXPECT_EQ(rows_.first_reader(x, 0).op, a);
  EXPECT_EQ(rows_.first_reader(c, 0).op, kNoOp);
}

TEST_F(InputRowsTest, WhatIsKeptForAReaderIsNoExecutionOfItsOpWhereSomeExecutionsAreKept) {
  rows_ = InputRows<int>(true);
  const OpId w = add("w", "Initializer", {});
  const OpId a = add("a", "Relu", {{"w", w, 0}});
  const OpId b = add("b", "Relu", {{"a", a, 0}});
  decide_all();
  record(w, 0, 0, 0, Phase::kLoad);
  flags_ = kRecordForReaders;
  record(a);
  flags_ = 0;
  record(b);
  end();
  EXPECT_EQ(seen(), "out w out a in b.0=a@2 out b end ");
}

TEST_F(InputRowsTest, EveryExecutionOfALoopBodyHasItsInputs) {
  const OpId x = add("x", "Input", {});
  const OpId a = add("a", "Relu", {{"x", x, 0}, {"carried", kNoOp, 0}}, "loop/body");
  const OpId b = add("b", "Relu", {{"a", a, 0}}, "loop/body");
  const OpId c = add("c", "Relu", {{"a", a, 0}}, "loop/body");  // no records
  const OpId loop = add("loop", "Loop", {{"x", x, 0}});
  const OpId other = add("other", "Relu", {{"x", x, 0}}, "if/else");  // never runs
  (void)other;
  decide_all({c});
  record(x);
  for (uint32_t call = 0; call < 3; ++call) {
    record(a, call);
    record(b, call);
  }
  record(loop);
  end();
  EXPECT_EQ(
      seen(),
      "out x in a.0=x@1 out a in b.0=a@2 out b in c.0=a@2 in a.0=x@1 out a in b.0=a@4 out b in c.0=a@4 in a.0=x@1 out a in b.0=a@6 out b "
      "in loop.0=x@1 out loop in c.0=a@6 end ");
  record(x, 0, 1);
  record(a, 0, 1);
  EXPECT_EQ(seen(), "out x in a.0=x@9 out a ");
}

TEST_F(InputRowsTest, RunsAtTheSameTimeDoNotMix) {
  const OpId x = add("x", "Input", {});
  const OpId a = add("a", "Relu", {{"x", x, 0}});
  decide_all();
  record(x, 0, 0, 5);
  record(x, 0, 1, 6);
  record(a, 0, 1, 6);
  record(a, 0, 0, 5);
  end(1, 6);
  record(a, 0, 2, 6);
  EXPECT_EQ(seen(), "out x out x in a.0=x@2 out a in a.0=x@1 out a end out a ");
}

TEST_F(InputRowsTest, NothingAfterAFailedOpAndItsOwnInputsComeFromItself) {
  const OpId x = add("x", "Input", {});
  add("a", "Relu", {{"x", x, 0}});
  const OpId b = add("b", "Relu", {{"x", x, 0}});
  add("c", "Relu", {{"x", x, 0}});
  decide_all();
  record(x);
  RecordRow row;
  row.op = b;
  row.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
  row.flags = kRecordFailedOp;
  rows_.before(row, [this](const auto& input) { note(input); });
  EXPECT_EQ(rows_.remember(row), nullptr);
  rows_.before(row, [this](const auto& input) { note(input); });
  end();
  EXPECT_EQ(seen(), "out x in a.0=x@1 end ");
}

TEST_F(InputRowsTest, AFailureToldAfterTheStepsEndTellsNothingAgain) {
  const OpId w = add("w", "Initializer", {});
  const OpId a = add("a", "Relu", {{"w", w, 0}});
  const OpId b = add("b", "Relu", {{"w", w, 0}});
  decide_all();
  record(w, 0, 0, 0, Phase::kLoad);
  record(a);
  end();
  RecordRow row;
  row.op = b;
  row.slot_kind = static_cast<uint8_t>(SlotKind::kInput);
  row.flags = kRecordFailedOp;
  rows_.before(row, [this](const auto& input) { note(input); });
  EXPECT_EQ(seen(), "out w in a.0=w@1 out a end ");
}

TEST_F(InputRowsTest, LeftOutInputsAndOpsAreNotYielded) {
  const OpId x = add("x", "Input", {});
  const OpId a = add("a", "Add", {{"x", x, 0}, {"x", x, 0}});
  const OpId b = add("b", "Add", {{"x", x, 0}});
  OpDecision decision;
  decision.outputs = true;
  rows_.decide(x, decision);
  rows_.decide(b, decision);
  decision.inputs = true;
  decision.excluded_inputs = {0};
  rows_.decide(a, decision);
  record(x);
  record(a);
  record(b);
  end();
  EXPECT_EQ(seen(), "out x in a.1=x@1 out a out b end ");
}

TEST_F(InputRowsTest, UnderAConditionOnlyOpsWithRecordsHaveInputs) {
  rows_ = InputRows<int>(true);
  const OpId x = add("x", "Input", {});
  add("a", "Relu", {{"x", x, 0}});
  const OpId b = add("b", "Relu", {{"x", x, 0}});
  decide_all();
  record(x);
  record(b);
  record(b, 1);
  end();
  EXPECT_EQ(seen(), "out x in b.0=x@1 out b in b.0=x@1 out b end ");
}

}  // namespace
}  // namespace tensortap
