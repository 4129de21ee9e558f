#include "replay/attribute_protos.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"

namespace tensortap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

OpInfo op_with(std::string attributes) {
  OpInfo op;
  op.name = op.type = "Some";
  op.attributes = std::move(attributes);
  return op;
}

std::string place(uint64_t offset, uint64_t size) {
  return concat("{\"body\": {\"ref\": [", offset, ", ", size, "], \"text\": \"[graph]\"}}");
}

std::string node(std::vector<std::string> inputs, std::vector<std::string> outputs, std::vector<std::string> attributes = {}) {
  return as_field(onnx_field::graph::kNode, node_bytes({"Add", "", std::move(inputs), std::move(outputs), std::move(attributes)}));
}

TEST(NodeAttributes, ArePutBackAsTheyWere) {
  const auto found = node_attributes(
      op_with(R"({"axis": -1, "alpha": 1.0, "mode": "same", "pads": [0, 1], "scales": [1.0, 2.5], "names": ["a", "b"], "channel_block": 16,
                  "graph_outputs": [0]})"),
      "");
  ASSERT_TRUE(found.ok()) << found.status().message();
  const std::vector<int64_t> pads = {0, 1};
  const std::vector<float> scales = {1, 2.5F};
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_THAT(found->protos, testing::UnorderedElementsAre(int_attribute("axis", -1), float_attribute("alpha", 1),
                                                           text_attribute("mode", "same"), ints_attribute("pads", pads),
                                                           floats_attribute("scales", scales), texts_attribute("names", names)));
}

TEST(NodeAttributes, KnowTheBlocksOfImages) {
  EXPECT_EQ(channel_block_of(op_with(R"({"channel_block": 8})")), 8u);
  for (const char* other : {"", "{}", R"({"channel_block": "8"})", R"({"channel_block": 1000})", R"({"channel_block": -1})"}) {
    EXPECT_EQ(channel_block_of(op_with(other)), 0u) << other;
  }
}

TEST(NodeAttributes, FindWhatNestedGraphsReadFromAroundThem) {
  const std::string inner = graph_attribute(
      "then_branch", node({"deep", "made"}, {"inner_out"}) + as_field(onnx_field::graph::kOutput, untyped_value_info("straight")));
  const std::string body = as_field(onnx_field::graph::kInput, untyped_value_info("given")) +
                           as_field(onnx_field::graph::kInitializer, untyped_value_info("")) + node({"given", "outer", ""}, {"made"}) +
                           node({"made", "outer"}, {"result"}, {inner}) +
                           as_field(onnx_field::graph::kOutput, untyped_value_info("result"));
  const std::string bytes = graph_attribute("body", body);
  const auto found = node_attributes(op_with(place(0, bytes.size())), bytes);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_THAT(found->outer_names, ElementsAre("outer", "deep", "straight"));
  EXPECT_THAT(found->protos, ElementsAre(bytes));
}

std::string tensor_in_file(const char* name, const char* place) {
  std::string weight;
  protozero::pbf_writer tensor(weight);
  tensor.add_string(onnx_field::tensor::kName, name);
  if (*place != '\0') tensor.add_message(onnx_field::tensor::kExternalData, std::string(place));
  return as_field(onnx_field::graph::kInitializer, weight);
}

TEST(NodeAttributes, HaveWeightsOfNestedGraphsPutInWhereTheyBelong) {
  const auto with = [](const char* far) {
    const std::string inner = graph_attribute("then_branch", tensor_in_file("far", far) + node({"far", "near"}, {"result"}));
    return graph_attribute("body", tensor_in_file("near", "") + node({"near", "outer"}, {"other"}, {inner}));
  };
  const std::string bytes = with("\x0a\x01x");
  const auto found = node_attributes(op_with(place(0, bytes.size())), bytes);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_THAT(found->outer_names, ElementsAre("outer"));
  EXPECT_THAT(found->weight_names, ElementsAre("far"));
  EXPECT_THAT(found->protos, ElementsAre(bytes));
  std::string whole;
  protozero::pbf_writer(whole).add_string(onnx_field::tensor::kName, "far");
  const auto put_in = with_weights(bytes, [&](std::string_view name) -> Result<std::string> {
    EXPECT_EQ(name, "far");
    return whole;
  });
  ASSERT_TRUE(put_in.ok()) << put_in.status().message();
  EXPECT_EQ(*put_in, with(""));
  const auto lost = with_weights(bytes, [](std::string_view) -> Result<std::string> { return not_found("it is missing"); });
  EXPECT_EQ(lost.status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(with_weights(std::string_view(bytes).substr(0, bytes.size() - 1), [&](std::string_view) { return whole; }).ok());
}

TEST(NodeAttributes, OfHostileFilesAreRefused) {
  const std::string bytes = graph_attribute("body", node({"a"}, {"b"}));
  const uint64_t size = bytes.size();
  for (const auto& [offset, length] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, size + 1}, {size + 1, 0}, {1, size}, {UINT64_MAX, 1}, {1, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}}) {
    const auto found = node_attributes(op_with(place(offset, length)), bytes);
    EXPECT_EQ(found.status().code(), StatusCode::kCorrupt) << offset << " " << length;
  }
  for (const char* other : {R"({"body": {"ref": [0]}})", R"({"body": {"ref": [-1, 2]}})", R"({"body": {"ref": "0"}})", R"({"body": {}})",
                            R"({"body": [1, "a"]})", R"({"body": true})", "[1]", "{"}) {
    EXPECT_FALSE(node_attributes(op_with(other), bytes).ok()) << other;
  }
  EXPECT_FALSE(node_attributes(op_with(place(0, size - 1)), bytes).ok()) << "cut off";
  std::string deep = graph_attribute("body", "");
  for (int i = 0; i < 100; ++i) deep = graph_attribute("body", node({}, {}, {deep}));
  EXPECT_THAT(node_attributes(op_with(place(0, deep.size())), deep).status().message(), HasSubstr("too deeply"));
}

TEST(NodeAttributes, OfDumpsWithoutTheirValuesAreNamed) {
  for (const char* text : {"[tensor]", "[graph]", "[100 values]"}) {
    const auto found = node_attributes(op_with(concat("{\"value\": \"", text, "\"}")), "");
    EXPECT_EQ(found.status().code(), StatusCode::kUnsupported) << text;
    EXPECT_THAT(found.status().message(), HasSubstr("value"));
  }
  const auto empty = node_attributes(op_with(R"({"axes": null})"), "");
  ASSERT_TRUE(empty.ok());
  EXPECT_THAT(empty->protos, IsEmpty());
}

}  // namespace
}  // namespace tensortap
