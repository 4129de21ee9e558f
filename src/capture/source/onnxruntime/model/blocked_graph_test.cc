#include "source/onnxruntime/model/blocked_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"
#include "format/onnx_tensor/onnx_tensor_write.h"
#include "source/onnxruntime/model/fusion_rules.h"
#include "source/onnxruntime/model/weight_reader.h"

namespace tensortap::onnxruntime {
namespace {

constexpr uint32_t kBlock = 8;

std::string filter_proto(std::string_view name, const std::vector<int64_t>& dims, float value = 0) {
  const Shape shape(dims);
  const std::vector<float> elements(shape.numel().value_or(0), value);
  auto bytes = onnx_tensor_bytes(name, {{DType::kFloat32, shape}, elements.data(), nullptr});
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? *bytes : "";
}

std::string model_of(const std::vector<NodeText>& nodes, const std::vector<std::string>& weights) {
  std::string graph;
  for (const NodeText& node : nodes) graph += as_field(onnx_field::graph::kNode, node_bytes(node));
  for (const std::string& tensor : weights) graph += as_field(onnx_field::graph::kInitializer, tensor);
  graph += as_field(onnx_field::graph::kInput, tensor_value_info("x", 1, {1, 3, 8, 8}));
  const OperatorSet sets[] = {{"", 17}, {kBlockedDomain, 1}};
  return model_bytes(graph, sets);
}

NodeText blocked(std::string_view type, std::string name, std::vector<std::string> inputs, std::vector<std::string> outputs,
                 std::vector<std::string> attributes = {}) {
  return {type, std::move(name), std::move(inputs), std::move(outputs), std::move(attributes), kBlockedDomain};
}

NodeText plain(std::string_view type, std::vector<std::string> inputs, std::string output) {
  return {type, output, std::move(inputs), {output}};
}

class BlockedGraphs : public testing::Test {
 protected:
  // `before`: the level below; "" = the runtime does not make it.
  BlockedGraph find(const std::string& executed, const std::string& author, const std::string& before = "") {
    bytes_ = executed;
    author_bytes_ = author;
    auto model = read_model(bytes_, "executed");
    auto author_model = read_model(author_bytes_, "author");
    EXPECT_TRUE(model.ok() && author_model.ok());
    executed_ = *std::move(model);
    author_ = *std::move(author_model);
    LowerLevels levels(-1, [&](int32_t) { return before.empty() ? Result<std::string>(internal_error("none")) : before; });
    return find_blocks(executed_, author_, levels, kBlock);
  }

  static std::vector<int64_t> channels(const BlockedGraph& graph) {
    std::vector<int64_t> counts;
    for (const NodeImages& node : graph.nodes) counts.push_back(node.outputs);
    return counts;
  }

  const BlockedWeight* weight_of(const BlockedGraph& graph, std::string_view name) const {
    const auto initializer = std::ranges::find(executed_.graph.initializers, name, &Initializer::name);
    if (initializer == executed_.graph.initializers.end()) return nullptr;
    const auto found = graph.weights.find(&*initializer);
    return found == graph.weights.end() ? nullptr : &found->second;
  }

  std::string bytes_;
  std::string author_bytes_;
  Model executed_;
  Model author_;
};

// Two convolutions, 3 to 20 and 20 to 6 channels, with a Tanh between them.
std::string two_convolutions() {
  return model_of(
      {blocked("Conv", "a_nchwc", {"x", "reorder", "reorder_token_0"}, {"t1"}), plain("Tanh", {"t1"}, "t2"),
       blocked("Conv", "b_nchwc_token_5", {"t2", "reorder_token_1"}, {"t3"}),
       blocked("ReorderOutput", "r", {"t3"}, {"b"}, {int_attribute("channels", 6)})},
      {filter_proto("reorder", {24, 3, 3, 3}), filter_proto("reorder_token_0", {24}), filter_proto("reorder_token_1", {8, 24, 1, 1})});
}

std::string author_of_two(const std::vector<int64_t>& first) {
  return model_of({plain("Conv", {"x", "wa", "ba"}, "a"), plain("Tanh", {"a"}, "h"), plain("Conv", {"h", "wb"}, "b")},
                  {filter_proto("wa", first), filter_proto("ba", {first[0]}), filter_proto("wb", {6, 20, 1, 1})});
}

TEST_F(BlockedGraphs, HaveTheChannelsAndNamesOfTheGraphBefore) {  // M14
  const std::string author = author_of_two({20, 3, 3, 3});
  for (const std::string& before : {author, std::string()}) {
    const BlockedGraph graph = find(two_convolutions(), author, before);
    EXPECT_EQ(channels(graph), (std::vector<int64_t>{20, 20, 6, kNotBlocked}));
    EXPECT_EQ(graph.nodes[2].inputs, (std::vector<int64_t>{20, kNotBlocked}));
    EXPECT_EQ(graph.nodes[3].inputs, (std::vector<int64_t>{6}));
    EXPECT_EQ(graph.unknown, 0U);
    const BlockedWeight* first = weight_of(graph, "reorder");
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->name, "wa");
    EXPECT_EQ(first->order, FilterOrder::kOutputs);
    EXPECT_EQ(first->dims, (std::vector<int64_t>{20, 3, 3, 3}));
    EXPECT_EQ(weight_of(graph, "reorder_token_0")->name, "ba");
    EXPECT_EQ(weight_of(graph, "reorder_token_0")->dims, (std::vector<int64_t>{20}));
    const BlockedWeight* second = weight_of(graph, "reorder_token_1");
    EXPECT_EQ(second->order, FilterOrder::kInputsAndOutputs);
    EXPECT_EQ(second->dims, (std::vector<int64_t>{6, 20, 1, 1}));
  }
}

TEST_F(BlockedGraphs, DoNotBelieveAConvolutionOfAnotherSize) {
  const BlockedGraph graph = find(two_convolutions(), author_of_two({40, 3, 3, 3}));
  EXPECT_EQ(channels(graph), (std::vector<int64_t>{20, 20, 6, kNotBlocked})) << "the second convolution says it";
  EXPECT_EQ(weight_of(graph, "reorder")->name, "");
}

TEST_F(BlockedGraphs, AreUnknownWhereNothingSaysOrTwoThingsContradict) {
  const std::string nothing = model_of({plain("Relu", {"x"}, "y")}, {});
  EXPECT_EQ(channels(find(two_convolutions(), nothing)), (std::vector<int64_t>{kUnknownChannels, kUnknownChannels, 6, kNotBlocked}));
  const std::string contradicts =
      model_of({blocked("MaxPool", "p", {"x"}, {"t1"}), blocked("ReorderOutput", "r", {"t1"}, {"a"}, {int_attribute("channels", 6)}),
                blocked("ReorderOutput", "s", {"t1"}, {"b"}, {int_attribute("channels", 5)})},
               {});
  const BlockedGraph graph = find(contradicts, nothing);
  EXPECT_EQ(graph.nodes[0].outputs, kUnknownChannels);
  EXPECT_EQ(graph.unknown, 1U);
}

TEST_F(BlockedGraphs, AddUpWhereTheyAreConcatenated) {
  const std::string executed =
      model_of({blocked("ReorderInput", "i", {"x"}, {"t1"}), blocked("ReorderInput", "j", {"x"}, {"t2"}),
                plain("Concat", {"t1", "t2"}, "t3"), blocked("ReorderOutput", "r", {"t3"}, {"a"}, {int_attribute("channels", 24)}),
                blocked("ReorderOutput", "s", {"t1"}, {"b"}, {int_attribute("channels", 16)})},
               {});
  EXPECT_EQ(channels(find(executed, executed)), (std::vector<int64_t>{16, 8, 24, kNotBlocked, kNotBlocked}));
}

TEST_F(BlockedGraphs, LeaveAloneWhatTheAuthorHasInBlocks) {
  const BlockedGraph graph = find(two_convolutions(), two_convolutions());
  EXPECT_TRUE(graph.weights.empty());
  EXPECT_EQ(graph.nodes[2].outputs, 6) << "ReorderOutput says it";
}

TEST_F(BlockedGraphs, WeightsInAnotherOrderAreRefused) {
  std::string storage;
  const std::string bytes = filter_proto("w", {8, 3, 1, 1}, 1);
  auto tensor = read_tensor_proto(bytes, storage);
  ASSERT_TRUE(tensor.ok());
  std::string memory;
  EXPECT_TRUE(put_in_order({FilterOrder::kOutputs, {8, 3, 1, 1}, ""}, kBlock, memory, *tensor).ok());
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{6, 3, 1, 1}, {16, 3, 1, 1}, {-8, 3, 1, 1}, {}}) {
    EXPECT_FALSE(put_in_order({FilterOrder::kOutputs, dims, ""}, kBlock, memory, *tensor).ok()) << Shape(dims).to_text();
  }
}

}  // namespace
}  // namespace tensortap::onnxruntime
