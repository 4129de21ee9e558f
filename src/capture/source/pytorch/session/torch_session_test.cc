#include "source/pytorch/session/torch_session.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "fake_session.h"
#include "source/pytorch/attach/fake_torch.h"
#include "source/pytorch/graphs/graph_capture.h"
#include "source/pytorch/identity/module_table.h"
#include "source/pytorch/identity/traced_nodes.h"

namespace tensortap::pytorch {
namespace {

struct OpenSession : TorchSession {
  OpenSession(fake_capture::Session& told, TorchRuntime& given) : TorchSession(reinterpret_cast<tensortap_session*>(&told), given) {}
};

// Two sessions of one process.
class TorchSessions : public testing::Test {
 protected:
  TorchSessions() {
    set_endless_storages(runtime_.adapter);
    tensortap_torch_op sin{};
    sin.size = sizeof sin;
    sin.name = "aten::sin";
    sin.overload = "";
    sin.return_count = 1;
    sin_ = runtime_.operators.add(sin);
  }
  uint32_t add_node(TorchSession* owner, const std::string& root = "") {
    GraphNode node;
    node.op = "aten::sin";
    node.root = number_of_path(root);
    node.module = root.empty() ? 0 : number_of_path(root + ".block");
    return graph_nodes().add_node(std::move(node), sin_, 0, false, owner);
  }

  std::array<fake_capture::Session, 2> told_;
  std::unique_ptr<TorchRuntime> made_ = std::make_unique<TorchRuntime>();
  TorchRuntime& runtime_ = *made_;
  uint32_t sin_ = 0;
  OpenSession first_{told_[0], runtime_};
  OpenSession second_{told_[1], runtime_};
};

TEST_F(TorchSessions, ANodeIsAnOpInEachOfThem) {
  const KnownNode& node = *graph_nodes().node(add_node(nullptr));
  OpIdentity& in_first = first_.op_of(node, 0);
  OpIdentity& in_second = second_.op_of(node, 0);
  EXPECT_NE(&in_first, &in_second);
  EXPECT_EQ(&first_.op_of(node, 0), &in_first);
  ASSERT_EQ(told_[0].ops.size(), 1U);
  ASSERT_EQ(told_[1].ops.size(), 1U);
  EXPECT_EQ(told_[0].ops[0].name, "sin");
}

TEST_F(TorchSessions, AGraphThatAnotherInstanceRunsHasThatInstancesOps) {
  const KnownNode& node = *graph_nodes().node(add_node(nullptr, "Shared"));
  EXPECT_EQ(first_.op_of(node, node.told.root).name, "Shared.block/sin");
  EXPECT_EQ(first_.op_of(node, number_of_path("Shared#1")).name, "Shared#1.block/sin");
}

TEST_F(TorchSessions, ADumpGoesToTheOwnerOfItsNode) {
  const int64_t site = graph_nodes().add_site({add_node(&second_), TENSORTAP_PHASE_FORWARD, 0}, {{0, TENSORTAP_SLOT_OUTPUT, 0, -1, 0}});
  const std::array<float, 2> values = {1.5F, -2};
  const tensortap_torch_tensor tensor = tensor_of(values);
  dump_graph_node(site, &tensor, 1);
  EXPECT_TRUE(told_[0].events.empty());
  ASSERT_EQ(told_[1].events.size(), 1U);
  EXPECT_EQ(told_[1].events[0].phase, static_cast<uint32_t>(TENSORTAP_PHASE_FORWARD));
  ASSERT_EQ(told_[1].events[0].tensors.size(), 1U);
  EXPECT_EQ(told_[1].events[0].tensors[0].bytes, std::string(reinterpret_cast<const char*>(values.data()), sizeof values));
}

// Its session is that of the capture, and none runs.
TEST_F(TorchSessions, ADumpOfANodeWithoutOwnerIsNobodysHere) {
  const int64_t site = graph_nodes().add_site({add_node(nullptr), TENSORTAP_PHASE_FORWARD, 0}, {{0, TENSORTAP_SLOT_OUTPUT, 0, -1, 0}});
  const std::array<float, 2> values = {};
  const tensortap_torch_tensor tensor = tensor_of(values);
  dump_graph_node(site, &tensor, 1);
  EXPECT_TRUE(told_[0].events.empty());
  EXPECT_TRUE(told_[1].events.empty());
}

TEST_F(TorchSessions, PlacesOfGraphsAreTheirOwn) {
  const ModuleId root = number_of_path("Placed");
  const OpIdentity& place = first_.place_of_graph(root);
  EXPECT_TRUE(place.is_graph);
  EXPECT_EQ(place.name, "Placed");
  EXPECT_EQ(&first_.place_of_graph(root), &place);
  EXPECT_NE(&second_.place_of_graph(root), &place);
}

TEST_F(TorchSessions, WhatCannotBeCapturedIsSaidOnceForAnOp) {
  OpIdentity& identity = first_.op_of(*graph_nodes().node(add_node(nullptr)), 0);
  tensortap_torch_tensor tensor{};
  tensor.kind = TENSORTAP_TORCH_SPARSE;
  tensortap_tensor out{};
  EXPECT_FALSE(first_.describe(identity, tensor, {}, out));
  EXPECT_FALSE(first_.describe(identity, tensor, {}, out));
  EXPECT_EQ(told_[0].not_captured["sparse tensor"], 1);
  tensor = tensor_of(std::array<float, 2>{});
  EXPECT_TRUE(first_.describe(identity, tensor, {7, 3, true}, out));
  EXPECT_EQ(out.storage, 7U);
  EXPECT_EQ(out.version, 3U);
  EXPECT_EQ(out.flags, static_cast<uint32_t>(TENSORTAP_TENSOR_UNWRITTEN));
}

TEST_F(TorchSessions, AnOperatorWithoutSchemaIsDescribedOnce) {
  const uint32_t number = runtime_.operators.without_schema("cond");
  EXPECT_EQ(runtime_.operators.without_schema("cond"), number);
  EXPECT_NE(runtime_.operators.without_schema("while_loop"), number);
  EXPECT_EQ(runtime_.operators[number].type, "cond");
}

TEST(TracedNodesTest, KeepNamesUntilTheNextGraphIsTraced) {
  TracedNodes traced;
  traced.note(1, "Early");
  traced.begin();
  traced.begin();
  traced.note(7, "MulBackward0");
  traced.note(-1, "AccumulateGrad");
  traced.end();
  EXPECT_TRUE(traced.is_tracing());
  traced.end();
  traced.end();
  EXPECT_FALSE(traced.is_tracing());
  EXPECT_EQ(traced.names(), "7 MulBackward0\n");
  traced.begin();
  EXPECT_EQ(traced.names(), "");
}

}  // namespace
}  // namespace tensortap::pytorch
