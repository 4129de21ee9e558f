#include "graph/graph_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph_dumps.h"

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::string place(const GraphModel& model, OpId op) { return std::string(model.groups()[model.group_of(op)].path); }

std::vector<std::string> paths(const GraphModel& model) {
  std::vector<std::string> paths;
  for (const GraphModel::Group& group : model.groups()) paths.emplace_back(group.path);
  return paths;
}

TEST(GraphModelTest, GroupsAreScopesAndModules) {
  GraphDump names;
  names.op("/encoder/layer.0/attention/MatMul");
  names.op("/encoder/layer.0/Add", {0});
  names.op("/Softmax", {1});
  const GraphModel by_name(names);
  EXPECT_THAT(paths(by_name), UnorderedElementsAre("", "/encoder/layer.0", "/encoder/layer.0/attention"));
  EXPECT_EQ(place(by_name, 2), "");  // its author put it there
  EXPECT_EQ(by_name.name(0), "MatMul");
  EXPECT_EQ(by_name.groups()[by_name.group_of(1)].ops, 2U);

  GraphDump modules;
  modules.module_op("Net.layers.0", "mm");
  modules.module_op("Net.layers.1", "mm", {0});
  modules.op("mse_loss", {1});
  modules.op("Adam.step/add_", {2});
  const GraphModel by_module(modules);
  EXPECT_THAT(paths(by_module), UnorderedElementsAre("", "Net.layers", "Net.layers.0", "Net.layers.1", "Adam.step"));
  EXPECT_EQ(by_module.groups()[by_module.group_of(0)].name, "0");
  EXPECT_EQ(by_module.name(0), "mm");
  EXPECT_EQ(place(by_module, 2), "");  // outside of every module
}

TEST(GraphModelTest, ABackwardPassIsInAGroupOfItsOwn) {
  GraphDump dump;
  dump.module_op("Net.fc", "addmm");
  dump.module_op("Net.fc", "AddmmBackward0/mm", {0});
  dump.module_op("Net.fc", "AddmmBackward0/t", {0});
  dump.row(0, SlotKind::kOutput, 0, 0).phase = static_cast<uint8_t>(Phase::kForward);
  dump.row(1, SlotKind::kOutput, 0, 0).phase = static_cast<uint8_t>(Phase::kBackward);
  dump.all_ops[2].attributes = R"({"forward": "Net.fc/addmm"})";  // has no record
  const GraphModel model(dump);
  EXPECT_EQ(place(model, 0), "Net.fc");
  EXPECT_EQ(place(model, 1), "backward pass/Net.fc");
  EXPECT_EQ(place(model, 2), "backward pass/Net.fc");
  EXPECT_EQ(model.name(1), "AddmmBackward0/mm");
}

TEST(GraphModelTest, NestedGraphsAreGroupsWithTheirOp) {
  GraphDump dump;
  const OpId branch = dump.op("/decoder/If_0", {}, "If");
  const OpId inside = dump.nested_op("/decoder/If_0/then_branch", "/decoder/Add", branch);
  const OpId other = dump.nested_op("/decoder/If_0/else_branch", "Sub", branch);
  const GraphModel model(dump);
  EXPECT_EQ(place(model, branch), "/decoder/If_0");
  EXPECT_EQ(model.groups()[model.group_of(branch)].type, "If");
  EXPECT_EQ(place(model, inside), "/decoder/If_0/then_branch//decoder");
  EXPECT_EQ(place(model, other), "/decoder/If_0/else_branch");

  GraphDump apart;  // whose names do not begin with their graph
  apart.op("loop", {}, "Loop");
  apart.op("scope/Add");
  apart.all_ops[1].graph = "loop/body";
  apart.all_ops[1].parent = 0;
  EXPECT_EQ(place(GraphModel(apart), 1), "loop/body/scope");
}

TEST(GraphModelTest, WhatHasNoScopeIsWithItsNeighbours) {
  GraphDump dump;
  const OpId first = dump.op("/a/x/Conv");
  const OpId cast = dump.op("InsertedCast", {first}, "Cast");
  const OpId again = dump.op("Reorder", {cast}, "Reorder");
  const OpId last = dump.op("/a/y/Conv", {again});
  const OpId shared = dump.op("bias", {}, std::string(kInitializerType));
  const OpId own = dump.op("model.a.x.weight", {}, std::string(kInitializerType));
  const OpId fused = dump.op("value_17", {}, "FusedConv");
  dump.all_ops[fused].originals = {{"Identity_3", "Identity"}, {"/b/Conv;/b/Relu", "Conv"}};
  const OpId input = dump.op("image", {}, std::string(kInputType));
  const OpId unread = dump.op("unread", {}, std::string(kInitializerType));
  dump.reads(first, own);
  dump.reads(first, shared);
  dump.reads(last, shared);
  dump.reads(first, input);
  const GraphModel model(dump);
  EXPECT_EQ(place(model, cast), "/a/x");  // between an op of it and one that says nothing
  EXPECT_EQ(place(model, again), "/a");   // between x and y
  EXPECT_EQ(place(model, own), "/a/x");
  EXPECT_EQ(place(model, shared), "/a");
  EXPECT_EQ(place(model, fused), "/b");
  EXPECT_EQ(place(model, input), "");
  EXPECT_EQ(place(model, unread), "");
}

TEST(GraphModelTest, IdsNameGroups) {
  GraphDump dump;
  dump.op("/a/b/x");
  dump.op("/a/y");
  const GraphModel model(dump);
  for (uint32_t group = 1; group < model.groups().size(); ++group) EXPECT_EQ(model.find_group(model.group_id(group)), group);
  EXPECT_EQ(model.group_id(model.group_of(0)), "g:/a/b");
  for (const char* unknown : {"", "g:", "g:/a/", "g:a", "/a", "g:/a/b/x"}) EXPECT_EQ(model.find_group(unknown), std::nullopt) << unknown;
}

TEST(GraphModelTest, NeighboursAndWays) {
  GraphDump dump;
  dump.op("a");
  dump.op("b", {0});
  dump.op("c", {1});
  dump.op("d", {2, 0});
  dump.op("alone");
  dump.reads(1, 3);  // a cycle
  const GraphModel model(dump);
  EXPECT_THAT(model.readers(0), ElementsAre(ModelEdge{0, 1, 1}, ModelEdge{0, 3, 1}));
  EXPECT_THAT(model.makers(3), ElementsAre(ModelEdge{0, 3, 1}, ModelEdge{2, 3, 1}));
  EXPECT_THAT(model.makers(4), IsEmpty());
  EXPECT_THAT(model.way(0, 2), ElementsAre(0, 1, 2));
  EXPECT_THAT(model.way(0, 3), ElementsAre(0, 3));
  EXPECT_THAT(model.way(2, 2), ElementsAre(2));
  EXPECT_THAT(model.way(0, 4), IsEmpty());
  EXPECT_THAT(model.way(2, 0), IsEmpty());
  EXPECT_THAT(model.way(0, 99), IsEmpty());
}

TEST(GraphModelTest, ReasonsComeFromTheManifest) {
  struct Dump : GraphDump {
    [[nodiscard]] std::string manifest() const override { return text; }
    std::string text = "{}";
  } dump;
  dump.op("a");
  dump.op("b");
  dump.op("w", {}, std::string(kInitializerType));
  dump.op("x", {}, std::string(kInputType));
  const auto reasons = [&] {
    const GraphModel model(dump);
    std::vector<std::string> texts;
    for (OpId op = 0; op < 4; ++op) texts.emplace_back(model.reason(op));
    return texts;
  };
  EXPECT_THAT(reasons(), ElementsAre("not captured", "not captured", "not captured", "not captured"));
  dump.text = R"({"ops": {"not_wanted": 3, "not_captured": [{"reason": "never ran", "examples": ["b", 7]}, {"reason": 5}, 8]},
                  "weights": {"not_wanted": 1, "not_captured": []}, "graph_inputs": "?"})";
  EXPECT_THAT(reasons(), ElementsAre("never ran, or not asked for", "never ran", "not asked for", "not captured"));
  dump.text = "[damaged";
  EXPECT_THAT(reasons(), ElementsAre("not captured", "not captured", "not captured", "not captured"));
}

}  // namespace
}  // namespace tensortap
