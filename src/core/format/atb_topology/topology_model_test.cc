// What the models of topologies hold; tests/msit_onnx_test.py has onnx's own checker look at them, and msit's converter for the operations.

#include "format/atb_topology/topology_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "format/onnx_graph/onnx_fields.h"

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Graph {
  std::vector<std::string> nodes;  // "name: inputs -> outputs"
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

std::string part(std::string_view message, uint32_t tag) {
  std::string text;
  protozero::pbf_reader reader(onnx_field::view(message));
  while (reader.next(tag)) text += std::string(text.empty() ? "" : " ") + std::string(onnx_field::text(reader.get_view()));
  return text;
}

Graph graph_of(const std::string& model) {
  Graph graph;
  const std::string bytes = part(model, onnx_field::model::kGraph);
  protozero::pbf_reader reader(bytes);
  while (reader.next()) {
    const uint32_t tag = reader.tag();
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
      reader.skip();
      continue;
    }
    const std::string_view value = onnx_field::text(reader.get_view());
    if (tag == onnx_field::graph::kInput) graph.inputs.push_back(part(value, onnx_field::value_info::kName));
    if (tag == onnx_field::graph::kOutput) graph.outputs.push_back(part(value, onnx_field::value_info::kName));
    if (tag != onnx_field::graph::kNode) continue;
    graph.nodes.push_back(part(value, onnx_field::node::kName) + ": " + part(value, onnx_field::node::kInput) + " -> " +
                          part(value, onnx_field::node::kOutput));
  }
  return graph;
}

OperationTypes nothing(std::string_view /*name*/) { return {}; }

Graph graph_of(std::string_view text, int64_t level) {
  const auto model = topology_model(text, "x.json", level, nothing);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return graph_of(*model);
}

std::string node(const std::string& name, const std::string& in, const std::string& out, const std::string& nodes = "") {
  return R"({"opName":")" + name + R"(","opType":"T","inTensors":[)" + in + R"(],"outTensors":[)" + out + "]" +
         (nodes.empty() ? "" : R"(,"nodes":[)" + nodes + "]") + "}";
}

const std::string kDeep = node("a", R"("x")", R"("y")",
                               node("b", R"("x")", R"("h")", node("c", R"("x","w")", R"("h")") + "," + node("d", R"("h")", R"("h")")) +
                                   "," + node("e", R"("h")", R"("y")"));

TEST(TopologyModel, TakesOperationsApartDownToTheLevel) {
  EXPECT_THAT(graph_of(kDeep, 0).nodes, ElementsAre("a: x -> y"));
  const std::vector<std::string> once = {"b: x -> h", "e: h -> y"};
  for (const int64_t level : {1, -2, -7}) EXPECT_EQ(graph_of(kDeep, level).nodes, once) << level;
  for (const int64_t level : {2, 3, 1000, -1}) EXPECT_EQ(graph_of(kDeep, level).nodes.size(), 3U) << level;
}

TEST(TopologyModel, GivesEachValueOneMakerAndItsReadersTheNewest) {
  const Graph graph = graph_of(kDeep, kAllLevels);
  EXPECT_THAT(graph.nodes, ElementsAre("c: x w -> h", "d: h -> h.1", "e: h.1 -> y"));
  EXPECT_THAT(graph.inputs, ElementsAre("x", "w")) << "what is read and not made";
  EXPECT_THAT(graph.outputs, ElementsAre("y"));
}

TEST(TopologyModel, NamesThatWereNotFreeStayThoseOfTheirValues) {
  const std::string text = node("a", R"("x")", R"("x")", node("b", R"("x","x.1")", R"("x")") + "," + node("c", R"("x","x.1")", R"("y")"));
  const Graph graph = graph_of(text, kAllLevels);
  EXPECT_THAT(graph.nodes, ElementsAre("b: x x.1 -> x.2", "c: x.2 x.1 -> y"));
  EXPECT_THAT(graph.outputs, ElementsAre("x.2"));
}

TEST(TopologyModel, HasNoOutputThatNothingMade) {
  const Graph graph = graph_of(node("a", "", R"("y","z","z")", node("b", "", R"("z","")")), kAllLevels);
  EXPECT_THAT(graph.inputs, IsEmpty());
  EXPECT_THAT(graph.outputs, ElementsAre("z"));
}

TEST(TopologyModel, ReadsNumbersThatJsonDoesNotHave) {
  const std::string text = R"({"opName":"a","opType":"NaN","param":{"x":NaN,"y":-Infinity,"z":"\"NaN"},"inTensors":[],"outTensors":["y"]})";
  const auto model = topology_model(text, "x.json", kAllLevels, nothing);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(*model, HasSubstr("\"NaN")) << "within a text it stays";
}

TEST(TopologyModel, SaysWhereATopologyIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "x.json:1:1"},
      {"[]", "the topology is no object"},
      {"{}", "the topology has no opName"},
      {R"({"opName":"a","opType":7})", "the topology has an opType that is no text"},
      {R"({"opName":"a","opType":"T","inTensors":{}})", "inTensors that are no list"},
      {R"({"opName":"a","opType":"T","outTensors":[1]})", "outTensors with something that is no text"},
      {R"({"opName":"a","opType":"T","param":"x"})", "a param that is no object"},
      {R"({"opName":"a","opType":"T","nodes":{"b":1}})", "nodes that are no list"},
      {node("a", "", "", node("b", "", "", "7")), "nodes[0].nodes[0] is no object"},
      {node("a", "", "", R"({"opName":"b"})"), "nodes[0] has no opType"},
      {std::string(100000, '['), "nest"},
  };
  for (const auto& [text, words] : cases) {
    const auto model = topology_model(text, "x.json", kAllLevels, nothing);
    EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument) << text.substr(0, 100);
    EXPECT_THAT(model.status().message(), HasSubstr(words));
  }
}

}  // namespace
}  // namespace tensortap
