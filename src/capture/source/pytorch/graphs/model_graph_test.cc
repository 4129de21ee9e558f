#include "source/pytorch/graphs/model_graph.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>

#include "fake_session.h"
#include "source/pytorch/attach/fake_torch.h"
#include "source/pytorch/graphs/graph_capture.h"
#include "source/pytorch/session/torch_session.h"

namespace tensortap::pytorch {
namespace {

class ModelGraphs : public testing::Test {
 protected:
  ModelGraphs() {
    tensortap_torch_adapter& adapter = torch_runtime().adapter;
    set_endless_storages(adapter);
    adapter.find_op = [](const char*, const char*) { return int64_t{-1}; };
    adapter.define_operators = [] { return 0; };
    adapter.torch_version = "0.0.0";
  }
  uint32_t open() {
    fake_capture::next_session() = &told_;
    std::string problem;
    const uint32_t number = model_events().open({"{}", "config", "graph_1", "program", "", 0}, problem);
    EXPECT_NE(number, 0U) << problem;
    return number;
  }
  static ModelOp op_of(const std::string& name, const std::string& type) {
    ModelOp op;
    op.name = name;
    op.type = type;
    op.node.op = "aten::" + type;
    return op;
  }
  static int64_t site_of(uint32_t node) {
    return graph_events().add_site({node, TENSORTAP_PHASE_INFERENCE, 0}, {{0, TENSORTAP_SLOT_OUTPUT, 0, -1, 0}});
  }
  static void dump(int64_t site) {
    const std::array<float, 2> values = {1, 2};
    const tensortap_torch_tensor tensor = tensor_of(values);
    dump_graph_node(site, &tensor, 1);
  }

  fake_capture::Session told_;
  fake_capture::Session other_;
};

TEST_F(ModelGraphs, RegistersOpsUnderTheNamesThatAreGiven) {
  const uint32_t graph = open();
  ModelOp given = op_of("x", "Input");
  given.node.op.clear();
  const uint32_t input = model_events().add_op(graph, given);
  ModelOp op = op_of("RealDiv_1", "RealDiv");
  op.original = "div_2";
  op.node.inputs = {"x"};
  op.producers = {input};
  op.producer_slots = {0};
  EXPECT_NE(model_events().add_op(graph, op), 0U);
  EXPECT_EQ(model_events().bind(graph), "");
  ASSERT_EQ(told_.ops.size(), 2U);
  EXPECT_EQ(told_.ops[1].name, "RealDiv_1");
  EXPECT_EQ(told_.ops[1].type, "RealDiv");
  EXPECT_EQ(told_.ops[1].originals, std::vector<std::string>{"div_2"});
  EXPECT_EQ(told_.ops[1].producers, std::vector<tensortap_op_id>{0});
  model_events().close(graph);
}

TEST_F(ModelGraphs, TakesADumpInTheStepOfTheCall) {
  told_.unwanted_steps = {1};
  const uint32_t graph = open();
  const int64_t site = site_of(model_events().add_op(graph, op_of("Add", "add")));
  for (int64_t step = 0; step < 3; ++step) {
    const bool wanted = model_events().step_begins(graph, step);
    EXPECT_EQ(wanted, step != 1);
    if (!wanted) continue;
    dump(site);
    model_events().step_ends(graph, step);
  }
  ASSERT_EQ(told_.events.size(), 2U);
  EXPECT_EQ(told_.events[0].step, 0);
  EXPECT_EQ(told_.events[1].step, 2);
  EXPECT_EQ(told_.begun, told_.ended) << "every step that began ended";
  model_events().close(graph);
}

TEST_F(ModelGraphs, CallsOfSeveralThreadsAreRunsOfTheirOwn) {
  const uint32_t graph = open();
  const int64_t site = site_of(model_events().add_op(graph, op_of("Add", "add")));
  ASSERT_TRUE(model_events().step_begins(graph, 0));
  dump(site);
  std::thread([&] {
    ASSERT_TRUE(model_events().step_begins(graph, 1));
    dump(site);
    model_events().step_ends(graph, 1);
  }).join();
  ASSERT_EQ(told_.events.size(), 2U);
  EXPECT_NE(told_.events[0].run, told_.events[1].run);
  EXPECT_EQ(told_.ended_runs, std::vector<uint64_t>{told_.events[1].run}) << "the other call goes on";
  model_events().step_ends(graph, 0);
  model_events().close(graph);
}

TEST_F(ModelGraphs, AGraphWithinAnotherHasItsOwnStep) {
  const uint32_t outer = open();
  const int64_t site = site_of(model_events().add_op(outer, op_of("Add", "add")));
  fake_capture::next_session() = &other_;
  std::string problem;
  const uint32_t inner = model_events().open({"{}", "config", "graph_2", "program", "", 0}, problem);
  const int64_t inner_site = site_of(model_events().add_op(inner, op_of("Mul", "mul")));
  ASSERT_TRUE(model_events().step_begins(outer, 5));
  ASSERT_TRUE(model_events().step_begins(inner, 8));
  dump(inner_site);
  dump(site);
  model_events().step_ends(inner, 8);
  dump(site);
  model_events().step_ends(outer, 5);
  ASSERT_EQ(other_.events.size(), 1U);
  EXPECT_EQ(other_.events[0].step, 8);
  ASSERT_EQ(told_.events.size(), 2U);
  EXPECT_EQ(told_.events[0].step, 5);
  model_events().close(inner);
  model_events().close(outer);
}

TEST_F(ModelGraphs, TakesNothingOnceItIsClosed) {
  const uint32_t graph = open();
  model_events().close(graph);
  EXPECT_FALSE(model_events().step_begins(graph, 0));
  EXPECT_EQ(model_events().close(graph), "");
}

TEST_F(ModelGraphs, NeedAnAdapterWithDumpNodes) {
  torch_runtime().adapter.define_operators = nullptr;
  std::string problem;
  EXPECT_EQ(model_events().open({}, problem), 0U);
  EXPECT_NE(problem.find("tensortap build-adapter"), std::string::npos);
}

TEST_F(ModelGraphs, UnknownNumbersAreNobodys) {
  for (const uint32_t number : {0U, 4000U, 5000U, UINT32_MAX}) {
    EXPECT_EQ(model_events().add_op(number, op_of("Add", "add")), 0U);
    EXPECT_NE(model_events().bind(number), "");
    EXPECT_FALSE(model_events().step_begins(number, 0));
    model_events().step_ends(number, 0);
    EXPECT_EQ(model_events().close(number), "");
  }
}

}  // namespace
}  // namespace tensortap::pytorch
