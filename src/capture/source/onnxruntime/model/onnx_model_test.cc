#include "source/onnxruntime/model/onnx_model.h"
#include "source/onnxruntime/model/pass_through_operators.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/json.h"
#include "base/text.h"
#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"
#include "source/onnxruntime/model/node_attributes.h"
#include "source/onnxruntime/model/tapped_model.h"
#include "source/onnxruntime/run/runtime_check.h"

namespace tensortap::onnxruntime {
namespace {

// Reads and edits whatever the bytes are; what counts is that it ends.
void read_and_edit(std::string_view bytes) {
  const auto model = read_model(bytes, "model");
  if (!model.ok()) return;
  const TypeRemedies none;
  const auto tapped = add_taps(*model, none, {});
  EXPECT_TRUE(!tapped.ok() || !tapped->bytes.empty());
}

TEST(OnnxModel, ReadsNodesNestedGraphsAndInterface) {
  const std::string bytes = self_test_model();
  const auto model = read_model(bytes, "model");
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ(model->graph.nodes.size(), 3u);
  EXPECT_EQ(model->node_count, 5u);
  EXPECT_EQ(model->graph.nodes[1].type, "If");
  ASSERT_EQ(model->graph.nodes[1].subgraphs.size(), 2u);
  EXPECT_EQ(model->graph.nodes[1].subgraphs[0].attribute, "then_branch");
  EXPECT_EQ(model->graph.nodes[1].subgraphs[1].graph->nodes[0].type, "Sub");
  EXPECT_EQ(model->graph.nodes[2].index, 4u);
  ASSERT_EQ(model->graph.inputs.size(), 2u);
  EXPECT_EQ(model->graph.inputs[0].element_type, 1);
  ASSERT_EQ(model->graph.inputs[0].dims.size(), 2u);
  EXPECT_EQ(model->graph.inputs[0].dims[1].size, 4);
  EXPECT_TRUE(model->graph.inputs[1].has_shape);
  EXPECT_TRUE(model->graph.inputs[1].dims.empty());
}

TEST(OnnxModel, CutAtEveryByteIsAnErrorOrASmallerModelButNoCrash) {
  const std::string bytes = self_test_model();
  for (size_t size = 0; size < bytes.size(); ++size) read_and_edit(std::string_view(bytes).substr(0, size));
  EXPECT_EQ(read_model("", "empty.onnx").status().code(), StatusCode::kCorrupt);
  EXPECT_NE(read_model(bytes.substr(0, bytes.size() / 2), "half.onnx").status().message().find("half.onnx"), std::string::npos);
}

RC_GTEST_PROP(OnnxModel, FlippedBytesDoNotCrash, ()) {
  std::string bytes = self_test_model();
  const auto flips = *rc::gen::container<std::vector<std::pair<uint16_t, uint8_t>>>(rc::gen::arbitrary<std::pair<uint16_t, uint8_t>>());
  for (const auto& [at, value] : flips) bytes[at % bytes.size()] = static_cast<char>(value);
  read_and_edit(bytes);
}

TEST(OnnxModel, TextIsNoModel) {
  const auto model = read_model("#!/bin/sh\necho this is not a model\n", "script.sh");
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), StatusCode::kCorrupt);
}

TEST(OnnxModel, GraphsNestedWithoutEndAreRefused) {
  std::string graph;
  for (int depth = 0; depth < 200; ++depth) {
    graph = as_field(onnx_field::graph::kNode, node_bytes({"If", "n", {"c"}, {"y"}, {graph_attribute("then_branch", graph)}}));
  }
  const std::string bytes = std::string("\x08\x08", 2) + as_field(onnx_field::model::kGraph, graph);
  EXPECT_EQ(read_model(bytes, "deep").status().code(), StatusCode::kCorrupt);
}

TEST(OnnxTensor, TypedFieldsBecomePlainMemory) {
  std::string tensor;
  protozero::pbf_writer writer(tensor);
  writer.add_int64(onnx_field::tensor::kDims, 3);
  const std::vector<int32_t> halves = {0x3c00, 0xbc00, 0};
  writer.add_packed_int32(onnx_field::tensor::kInt32Data, halves.begin(), halves.end());
  writer.add_int32(onnx_field::tensor::kDataType, 10);  // float16, stated behind the data
  std::string storage;
  const auto data = read_tensor_proto(tensor, storage);
  ASSERT_TRUE(data.ok()) << data.status().message();
  const uint16_t expected[] = {0x3c00, 0xbc00, 0};
  ASSERT_EQ(data->raw.size(), sizeof(expected));
  EXPECT_EQ(std::memcmp(data->raw.data(), expected, sizeof(expected)), 0);
}

TEST(OnnxTensor, DataThatDoesNotFitTheShapeIsCorrupt) {
  for (const int64_t dim : {int64_t{-1}, int64_t{2}, INT64_MAX}) {
    std::string tensor;
    protozero::pbf_writer writer(tensor);
    writer.add_int64(onnx_field::tensor::kDims, dim);
    writer.add_int64(onnx_field::tensor::kDims, 4);
    writer.add_int32(onnx_field::tensor::kDataType, 1);
    writer.add_bytes(onnx_field::tensor::kRawData, "1234");
    std::string storage;
    EXPECT_EQ(read_tensor_proto(tensor, storage).status().code(), StatusCode::kCorrupt) << dim;
  }
}

TEST(TappedModel, LeavesTheModelsOwnNodesAsTheyAre) {
  const std::string bytes = self_test_model();
  const auto model = read_model(bytes, "model");
  const TypeRemedies none;
  const auto tapped = add_taps(*model, none, {});
  ASSERT_TRUE(tapped.ok());
  EXPECT_EQ(tapped->taps.size(), 5u);
  const auto edited = read_model(tapped->bytes, "edited");
  ASSERT_TRUE(edited.ok());
  ASSERT_EQ(edited->graph.nodes.size(), 6u);
  EXPECT_EQ(edited->graph.nodes[0].bytes, model->graph.nodes[0].bytes);
  EXPECT_EQ(edited->graph.nodes[2].bytes, model->graph.nodes[2].bytes);
  // Taps stand behind all nodes, last op first.
  EXPECT_EQ(edited->graph.nodes[3].inputs[0], "y");
  EXPECT_EQ(edited->graph.nodes[5].inputs[0], "sum");
}

TEST(TappedModel, WatchesInputsFirstWhereNobodyHandsThemOver) {
  const std::string bytes = self_test_model();
  const auto model = read_model(bytes, "model");
  const auto tapped = add_taps(*model, {}, {.inputs = true, .graph = 9});
  ASSERT_TRUE(tapped.ok());
  ASSERT_EQ(tapped->taps.size(), 7u);
  EXPECT_TRUE(tapped->taps[0].graph_input);
  EXPECT_TRUE(tapped->taps[1].graph_input);
  EXPECT_EQ(tapped->taps[1].node, 1u);
  EXPECT_FALSE(tapped->taps[2].graph_input);
  const auto edited = read_model(tapped->bytes, "edited");
  ASSERT_TRUE(edited.ok());
  // The last listed is served first.
  const Node& first = edited->graph.nodes.back();
  EXPECT_EQ(first.inputs[0], model->graph.inputs[0].name);
  EXPECT_EQ(attributes_json(first), R"({"id":0,"graph":9})");
}

TEST(TappedModel, ShowsWhatANodeReadBehindWhatItMade) {
  const std::string bytes = self_test_model();
  const auto model = read_model(bytes, "model");
  const auto tapped = add_taps(*model, {}, {.reads = true});
  ASSERT_TRUE(tapped.ok());
  const auto edited = read_model(tapped->bytes, "edited");
  ASSERT_TRUE(edited.ok());
  const Graph& graph = edited->graph;
  ASSERT_EQ(graph.nodes.size(), 6u);
  for (const Tap& tap : tapped->taps) {
    if (tap.depth > 0) continue;
    const Node& watched = *std::ranges::find(model->graph.nodes, tap.node, &Node::index);
    const std::string attributes = concat("{\"id\":", &tap - tapped->taps.data(), "}");
    const auto node = std::ranges::find_if(graph.nodes, [&](const Node& one) { return attributes_json(one) == attributes; });
    ASSERT_NE(node, graph.nodes.end());
    ASSERT_EQ(node->inputs.size(), tap.slots.size() + tap.reads.size());
    for (size_t i = 0; i < tap.reads.size(); ++i) EXPECT_EQ(node->inputs[tap.slots.size() + i], watched.inputs[tap.reads[i].input]);
    for (const TapSlot& slot : tap.slots) EXPECT_TRUE(slot.shown_again) << "every reader has a tap";
    const bool weights_only = std::ranges::none_of(watched.inputs, [&](std::string_view input) {
      return std::ranges::find(model->graph.initializers, input, &Initializer::name) == model->graph.initializers.end();
    });
    EXPECT_EQ(tap.reads.empty(), weights_only);
    EXPECT_EQ(tap.no_news, makes_no_values(watched)) << watched.type;
  }
  for (const ValueInfo& input : model->graph.inputs) EXPECT_TRUE(tapped->shown_inputs.contains(input.name)) << input.name;
}

TEST(TappedModel, RefusesAModelThatHasTapsAlready) {
  const std::string bytes = self_test_model();
  const auto model = read_model(bytes, "model");
  const TypeRemedies none;
  const auto once = add_taps(*model, none, {});
  const auto again = read_model(once->bytes, "tapped");
  EXPECT_EQ(add_taps(*again, none, {}).status().code(), StatusCode::kInvalidArgument);
}

TEST(TappedModel, LearnsFromTheLoadErrorWhichTypeToCast) {
  TypeRemedies remedies;
  const char* error = "Type Error: Type 'tensor(int2)' of input parameter (y) of operator (Tap) in node (tensortap/7/tap) is invalid.";
  EXPECT_TRUE(learn_remedy(error, remedies));
  EXPECT_EQ(remedies["y"].cast_to, 3);
  EXPECT_EQ(remedies["y"].element_type, 26);
  EXPECT_FALSE(learn_remedy(error, remedies));  // the same again would go on for ever
  EXPECT_FALSE(learn_remedy("Type 'tensor(int2)' of input parameter (y) of operator (Mul) in node (m) is invalid.", remedies));
}

TEST(NodeAttributes, AreJson) {
  const std::string bytes = node_bytes({"Conv", "c", {}, {}, {int_attribute("group", 2), graph_attribute("body", "")}});
  Node node;
  node.bytes = bytes;
  EXPECT_EQ(attributes_json(node), R"({"group":2,"body":"[graph]"})");
}

TEST(NodeAttributes, GivesAwayWhatJsonDoesNotHoldWhole) {
  const std::vector<int64_t> many(65, 7);
  const std::vector<std::string> protos = {
      int_attribute("axis", -1),       float_attribute("alpha", 1),
      graph_attribute("body", ""),     float_attribute("value", -std::numeric_limits<float>::infinity()),
      text_attribute("bytes", "\xff"), ints_attribute("many", many),
      ints_attribute("none", {}),
  };
  const std::string bytes = node_bytes({"Some", "s", {}, {}, protos});
  Node node;
  node.bytes = bytes;
  AttributeBytes kept;
  const Json json = attributes_of(node, &kept);
  EXPECT_EQ(json["axis"].dump(), "-1");
  EXPECT_EQ(json["alpha"].dump(), "1.0");
  std::string expected;
  for (size_t i = 2; i < protos.size(); ++i) {
    const std::array<const char*, 7> names = {"", "", "body", "value", "bytes", "many", "none"};
    EXPECT_EQ(json[names[i]]["ref"], Json({expected.size(), protos[i].size()})) << names[i];
    expected += protos[i];
  }
  EXPECT_EQ(kept.text, expected);
  EXPECT_EQ(json["many"]["text"], "[65 values]");
  AttributeBytes small;
  small.most = protos[2].size();
  EXPECT_EQ(attributes_of(node, &small)["many"], "[65 values]");
  EXPECT_EQ(small.text, protos[2]);
  EXPECT_EQ(small.left_out, 4u);
}

TEST(Model, KnowsItsOperatorSets) {
  const OperatorSet sets[] = {{"", 17}, {"com.microsoft", 1}};
  const std::string bytes = model_bytes("", sets);
  const auto model = read_model(bytes, "model");
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(model->opsets.size(), 2u);
  EXPECT_EQ(model->opsets[0].version, 17);
  EXPECT_EQ(model->opsets[1].domain, "com.microsoft");
  EXPECT_EQ(model->ir_version, 8);
}

}  // namespace
}  // namespace tensortap::onnxruntime
