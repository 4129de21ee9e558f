#include "graph/graph_drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <thread>

#include "graph/drawing_checks.h"
#include "graph/graph_dumps.h"

namespace tensortap {
namespace {

using Open = GraphRequest::Open;
using testing::IsEmpty;

GraphRequest all() { return {Open::kAll, {}, {}}; }
GraphRequest listed(std::vector<std::string> groups) { return {Open::kListed, std::move(groups), {}}; }

const DrawnNode* find_node(const GraphDrawing& drawing, std::string_view path, bool is_group) {
  const auto found =
      std::ranges::find_if(drawing.nodes, [&](const DrawnNode& node) { return node.path == path && node.is_group == is_group; });
  return found == drawing.nodes.end() ? nullptr : &*found;
}

// Ops with random scopes, any of which may read any other.
std::unique_ptr<GraphDump> random_dump(bool cycles) {
  const auto ops = *rc::gen::inRange<uint32_t>(0, 40);
  auto dump = std::make_unique<GraphDump>();
  for (OpId id = 0; id < ops; ++id) {
    std::string name;
    const auto scopes = *rc::gen::inRange(0, 4);
    for (int scope = 0; scope < scopes; ++scope) name += concat("/", *rc::gen::element("a", "b", "attention"));
    dump->op(concat(name, "/op", id), {}, *rc::gen::element<std::string>("Add", "QuantizeLinear", std::string(kInitializerType)));
  }
  const auto edges = ops == 0 ? 0 : *rc::gen::inRange<uint32_t>(0, 2 * ops);
  for (uint32_t edge = 0; edge < edges; ++edge) {
    const auto from = *rc::gen::inRange<OpId>(0, ops);
    const auto to = *rc::gen::inRange<OpId>(0, ops);
    if (cycles || from < to) dump->reads(to, from);
  }
  return dump;
}

GraphRequest random_request(const GraphModel& model) {
  GraphRequest request;
  request.open = *rc::gen::element(Open::kAuto, Open::kAll, Open::kListed);
  for (uint32_t group = 1; group < model.groups().size(); ++group) {
    if (*rc::gen::arbitrary<bool>()) request.groups.push_back(model.group_id(group));
  }
  if (!model.ops().empty() && *rc::gen::arbitrary<bool>()) request.ops.push_back(*rc::gen::inRange<OpId>(0, std::size(model.ops())));
  return request;
}

RC_GTEST_PROP(GraphDrawingTest, AnyGraphIsDrawnSoundly, ()) {
  const std::unique_ptr<GraphDump> dump = random_dump(*rc::gen::arbitrary<bool>());
  const GraphModel model(*dump);
  const GraphDrawing drawing = draw(model, random_request(model));
  RC_ASSERT(problem_with(model, drawing) == "");
  RC_ASSERT(problem_with_ways(drawing) == "");
}

RC_GTEST_PROP(GraphDrawingTest, WithoutCyclesEveryLineBetweenOpsLeadsDown, ()) {
  const std::unique_ptr<GraphDump> dump = random_dump(false);
  for (OpInfo& op : dump->all_ops) std::ranges::replace(op.name, '/', '_');
  const GraphModel model(*dump);
  RC_ASSERT(std::ranges::none_of(draw(model, all()).edges, &DrawnEdge::back));
}

RC_GTEST_PROP(GraphDrawingTest, WhatIsOpenedStaysWhereItWas, ()) {
  const std::unique_ptr<GraphDump> dump = random_dump(*rc::gen::arbitrary<bool>());
  const GraphModel model(*dump);
  GraphRequest request = random_request(model);
  if (request.open == Open::kAll) request.open = Open::kListed;
  if (request.open == Open::kAuto) request = listed({});
  const GraphDrawing before = draw(model, request);
  std::vector<const DrawnNode*> closed;
  for (const DrawnNode& node : before.nodes) {
    if (node.is_group && !node.is_open) closed.push_back(&node);
  }
  if (closed.empty()) return;
  const DrawnNode& chosen = *closed[*rc::gen::inRange<size_t>(0, closed.size())];
  GraphRequest more = listed({model.group_id(chosen.group)});
  for (const uint32_t group : before.open) more.groups.push_back(model.group_id(group));
  const GraphDrawing after = draw(model, more);
  const auto left = [](const DrawnNode& node) { return node.x - node.width / 2; };
  const auto top = [](const DrawnNode& node) { return node.y - node.height / 2; };
  for (const DrawnNode& was : before.nodes) {
    const DrawnNode* is = find_node(after, was.path, was.is_group);
    RC_ASSERT(is != nullptr);
    const bool is_right = left(was) > left(chosen) && top(was) < top(chosen) + chosen.height;
    const bool is_below = top(was) > top(chosen);
    // Nothing moves to the left or up; nodes neither to the right of the opened node nor below it do not move at all.
    RC_ASSERT(left(*is) >= left(was));
    RC_ASSERT(top(*is) >= top(was));
    if (!is_right && !is_below) RC_ASSERT(left(*is) == left(was));
    if (!is_below) RC_ASSERT(top(*is) == top(was));
  }
}

TEST(GraphDrawingTest, TheSameRequestGivesTheSameDrawing) {
  GraphDump dump;
  for (OpId id = 0; id < 500; ++id) dump.op(concat("/layer", id % 7, "/part", id % 3, "/op", id));
  for (OpId id = 1; id < 500; ++id) dump.reads(id, id * 7919 % id);
  const GraphModel model(dump);
  const GraphModel again(dump);
  std::vector<GraphDrawing> drawings(4);
  std::vector<std::thread> threads;  // one model serves them all
  for (size_t i = 0; i < 3; ++i) threads.emplace_back([&, i] { drawings[i] = draw(model, all()); });
  for (std::thread& thread : threads) thread.join();
  drawings[3] = draw(again, all());
  for (const GraphDrawing& drawing : drawings) {
    EXPECT_EQ(problem_with(model, drawing), "");
    EXPECT_EQ(drawing.points, drawings[0].points);
    EXPECT_EQ(drawing.width, drawings[0].width);
  }
}

TEST(GraphDrawingTest, GroupsOpenAndClose) {
  GraphDump dump;
  dump.op("/a/x");
  dump.op("/a/in/y", {0});
  dump.op("/a/in/z", {1});
  dump.op("/b/end", {2, 2});
  const GraphModel model(dump);

  const GraphDrawing closed = draw(model, listed({}));
  ASSERT_EQ(closed.nodes.size(), 2U);
  EXPECT_EQ(closed.nodes[0].path, "/a");
  EXPECT_EQ(closed.nodes[0].name, "a");
  EXPECT_EQ(closed.nodes[0].ops, 3U);
  ASSERT_EQ(closed.edges.size(), 1U);
  EXPECT_EQ(closed.edges[0].values, 2U);
  EXPECT_THAT(closed.open, IsEmpty());

  const GraphDrawing one = draw(model, listed({"g:/a", "g:/b/end", "g:no such group"}));
  EXPECT_EQ(one.nodes.size(), 4U);  // a with x and in, b
  EXPECT_NE(find_node(one, "/a/x", false), nullptr);
  EXPECT_EQ(find_node(one, "/a/in/y", false), nullptr);
  ASSERT_EQ(one.open.size(), 1U);
  EXPECT_EQ(model.group_id(one.open[0]), "g:/a");

  // What is inside of a closed group does nothing; an op opens all that hides it.
  EXPECT_EQ(draw(model, listed({"g:/a/in"})).nodes.size(), 2U);
  const GraphDrawing shown = draw(model, {Open::kListed, {}, {2, 99}});
  EXPECT_NE(find_node(shown, "/a/in/z", false), nullptr);
  EXPECT_EQ(shown.open.size(), 2U);
  EXPECT_EQ(draw(model, all()).nodes.size(), 7U);

  const std::vector<uint32_t> nodes = nodes_of_ops(model, one);
  EXPECT_EQ(one.nodes[nodes[0]].path, "/a/x");
  EXPECT_EQ(one.nodes[nodes[1]].path, "/a/in");
  EXPECT_EQ(one.nodes[nodes[2]].path, "/a/in");
  EXPECT_EQ(one.nodes[nodes[3]].path, "/b");
}

TEST(GraphDrawingTest, GroupsAreOpenedUntilThereAreEnoughNodes) {
  GraphDump dump;
  for (int layer = 0; layer < 100; ++layer) {
    for (int op = 0; op < 50; ++op) dump.op(concat("/net/layer", layer, "/op", op));
  }
  dump.op("/net/head");
  const GraphModel model(dump);
  const GraphDrawing drawing = draw(model, GraphRequest());
  EXPECT_LE(drawing.nodes.size(), kAutoNodes);
  EXPECT_GT(drawing.nodes.size(), kAutoNodes - 50);  // one more would be too many
  EXPECT_EQ(problem_with(model, drawing), "");
}

TEST(GraphDrawingTest, CyclesAndOpsThatReadThemselves) {
  GraphDump dump;
  for (OpId id = 0; id < 3; ++id) dump.op(concat("op", id));
  dump.reads(1, 0);
  dump.reads(2, 1);
  dump.reads(0, 2);
  dump.reads(1, 1);
  const GraphModel model(dump);
  const GraphDrawing drawing = draw(model, all());
  EXPECT_EQ(problem_with(model, drawing), "");
  ASSERT_EQ(drawing.edges.size(), 4U);
  for (const DrawnEdge& edge : drawing.edges) EXPECT_EQ(edge.back, edge.from >= edge.to) << edge.from << edge.to;
}

TEST(GraphDrawingTest, NodesSayWhatTheyAreAndWhyTheyWereNotCaptured) {
  struct Dump : GraphDump {
    [[nodiscard]] std::string manifest() const override {
      return R"({"ops": {"not_wanted": 0, "not_captured": [{"reason": "never ran", "count": 1, "examples": []}]}})";
    }
  } dump;
  dump.op("/a/x", {}, "Conv");
  dump.op("/a/y", {0}, "Relu");
  dump.op("/b/z", {1}, "Relu");
  dump.row(0, SlotKind::kOutput, 0, 0);
  const GraphModel model(dump);
  const GraphDrawing drawing = draw(model, all());
  EXPECT_EQ(find_node(drawing, "/a/x", false)->type, "Conv");
  EXPECT_EQ(find_node(drawing, "/a/x", false)->name, "x");
  EXPECT_TRUE(find_node(drawing, "/a/x", false)->captured);
  EXPECT_EQ(find_node(drawing, "/a/x", false)->reason, "");
  EXPECT_FALSE(find_node(drawing, "/a/y", false)->captured);
  EXPECT_EQ(find_node(drawing, "/a/y", false)->reason, "never ran");
  EXPECT_TRUE(find_node(drawing, "/a", true)->captured);
  EXPECT_FALSE(find_node(drawing, "/b", true)->captured);
  EXPECT_EQ(find_node(drawing, "/b", true)->reason, "never ran");
}

TEST(GraphDrawingTest, NamesOfAnyKind) {
  const std::string slashes(10'000'000, '/');
  std::string many_scopes;
  for (int i = 0; i < 2'000'000; ++i) many_scopes += "ab/";
  const std::vector<std::string> names = {
      "",  "/",    "//",     "..",        "../..",      "/../x",    ".",           std::string(10'000'000, 'x'),
      "a", "a//b", "a/b///", "\xff/\xfe", "\n/\t",      slashes,    many_scopes,   many_scopes + "z",
      ";", "a;b",  ";/;",    "/.;/../.",  "\xe6\x97/x", "a\0b/c\0", "op:out0@1#2", "g:a"};
  GraphDump dump;
  for (const std::string& name : names) {
    dump.op(name);
    dump.module_op(name, name);
    const OpId nested = dump.nested_op(name, name, 0);
    if (nested > 0) dump.reads(nested, nested - 1);
  }
  const GraphModel model(dump);
  for (const Open open : {Open::kAuto, Open::kAll}) EXPECT_EQ(problem_with(model, draw(model, {open, {}, {}})), "");
  for (uint32_t group = 1; group < model.groups().size(); ++group) EXPECT_EQ(model.find_group(model.group_id(group)), group);
}

TEST(GraphDrawingTest, GroupsWithinTenThousandGroups) {
  GraphDump dump;
  std::string scope;
  for (OpId id = 0; id < 10'000; ++id) {
    scope += "/s";
    dump.op(scope + "/op", id == 0 ? std::vector<OpId>() : std::vector<OpId>{id - 1, 0});
  }
  const GraphModel model(dump);
  EXPECT_EQ(model.tree().depth(model.group_of(9'999)), 10'000U);
  const GraphDrawing drawing = draw(model, all());
  EXPECT_EQ(drawing.nodes.size(), 20'000U);
  EXPECT_EQ(problem_with(model, drawing), "");
  EXPECT_LT(drawing.points.size(), 20'000U * 1'000U);
}

TEST(GraphDrawingTest, AHundredThousandOps) {
  GraphDump dump;
  for (OpId id = 0; id < 100'000; ++id) {
    dump.op(concat("/layer", id / 1000, "/block", id / 100 % 10, "/op", id));
    if (id > 0) dump.reads(id, id - 1);
    if (id > 0) dump.reads(id, 0);  // the longest possible edge
    if (id > 17) dump.reads(id, id - 17);
  }
  const GraphModel model(dump);
  const GraphDrawing open = draw(model, all());
  EXPECT_EQ(problem_with_nodes(model, open), "");
  EXPECT_EQ(problem_with_boxes(open), "");
  EXPECT_EQ(problem_with_lines(open), "");
  for (OpInfo& op : dump.all_ops) std::ranges::replace(op.name, '/', '_');
  const GraphModel flat(dump);
  const GraphDrawing drawing = draw(flat, all());
  EXPECT_EQ(problem_with_boxes(drawing), "");
  EXPECT_LT(drawing.points.size(), 100'000U * 100U);
}

TEST(GraphDrawingTest, NoOpsAtAll) {
  const GraphDump dump;
  const GraphModel model(dump);
  EXPECT_THAT(draw(model, all()).nodes, IsEmpty());
  EXPECT_THAT(draw(model, GraphRequest()).edges, IsEmpty());
  EXPECT_EQ(model.groups().size(), 1U);
}

}  // namespace
}  // namespace tensortap
