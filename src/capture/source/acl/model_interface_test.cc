#include "source/acl/model_interface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "source/acl/tensor_desc.h"

namespace tensortap::acl_source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json described(const std::vector<Json>& inputs, const std::vector<Json>& outputs) { return {{"inputs", inputs}, {"outputs", outputs}}; }
Json tensor(const char* name, const char* dtype, Json shape) {
  return {{"name", name}, {"kind", "tensor"}, {"dtype", dtype}, {"shape", std::move(shape)}};
}

ModelInterface interface_with(const Json& description, std::string_view options = "") {
  auto parsed = parse_atc_commands(options);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  auto interface = ModelInterface::create(description, parsed->empty() ? ShapeOptions() : parsed->front());
  EXPECT_TRUE(interface.ok()) << interface.status().message();
  return *std::move(interface);
}

// Why a model does not take the options.
std::string refused(const Json& description, std::string_view options) {
  const auto parsed = parse_atc_commands(options);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  const auto interface = ModelInterface::create(description, parsed->front());
  return interface.ok() ? "" : interface.status().message();
}

Json batch_model() { return described({tensor("image", "float32", {"n", 3, 4, 4})}, {tensor("scores", "float32", {"other name", 10})}); }
Json image_model() { return described({tensor("image", "uint8", {1, 3, "h", "w"})}, {tensor("mask", "uint8", {1, 1, "h", "w"})}); }
Json text_model() {
  return described({tensor("ids", "int64", {"n", "s"}), tensor("mask", "int64", {"n", "s"})}, {tensor("y", "float32", {"n", "s", 8})});
}

Shapes resolved(const ModelInterface& interface, const DynamicSizes& sizes, const std::vector<GivenInput>& given) {
  auto shapes = interface.input_shapes(sizes, given);
  EXPECT_TRUE(shapes.ok()) << shapes.status().message();
  return shapes.ok() ? *shapes : Shapes();
}

std::string refusal(const ModelInterface& interface, const DynamicSizes& sizes, const std::vector<GivenInput>& given) {
  const auto shapes = interface.input_shapes(sizes, given);
  return shapes.ok() ? "" : shapes.status().message();
}

TEST(AclModelInterface, FixedModelsHaveTheirSizes) {
  const ModelInterface model = interface_with(described({tensor("a", "float32", {2, 3})}, {tensor("b", "int8", {2, 3})}));
  EXPECT_FALSE(model.is_dynamic());
  EXPECT_EQ(model.input_bytes(0, false), 24U);
  EXPECT_EQ(model.output_bytes(0, true), 6U);
  EXPECT_EQ(model.inputs()[0].format, ACL_FORMAT_ND);
  DynamicSizes sizes;
  sizes.batch = 2;
  EXPECT_EQ(model.check_sizes(sizes), ACL_ERROR_MODEL_NOT_DYNAMIC);
  EXPECT_THAT(refusal(model, {}, {{23, nullptr}}), HasSubstr("takes 24 bytes; its buffer has 23"));
}

TEST(AclModelInterface, AnOpenBatchIsOneOrTheLargest) {
  const ModelInterface model = interface_with(batch_model());
  EXPECT_TRUE(model.only_batch_is_open());
  EXPECT_EQ(model.inputs()[0].format, ACL_FORMAT_NCHW);
  EXPECT_EQ(model.input_bytes(0, false), 192U);
  EXPECT_EQ(model.output_bytes(0, false), 40U);
  EXPECT_EQ(model.input_bytes(0, true), 32U * 192U);
  EXPECT_EQ(model.output_bytes(0, true), 32U * 40U);
}

TEST(AclModelInterface, ABatchIsSetOrFollowsFromTheBuffer) {
  const ModelInterface model = interface_with(batch_model());
  DynamicSizes sizes;
  sizes.batch = 4;
  EXPECT_EQ(model.check_sizes(sizes), ACL_SUCCESS);
  EXPECT_THAT(resolved(model, sizes, {{32 * 192, nullptr}}), ElementsAre(ElementsAre(4, 3, 4, 4)));
  EXPECT_THAT(model.output_shapes({{4, 3, 4, 4}}), ElementsAre(ElementsAre(4, 10)));
  EXPECT_THAT(resolved(model, {}, {{3 * 192, nullptr}}), ElementsAre(ElementsAre(3, 3, 4, 4)));
  EXPECT_THAT(refusal(model, {}, {{200, nullptr}}), HasSubstr("no whole number of 192"));
  EXPECT_THAT(refusal(model, sizes, {{3 * 192, nullptr}}), HasSubstr("takes 768 bytes; its buffer has 576"));
}

TEST(AclModelInterface, HeightAndWidthAreSet) {
  const ModelInterface model = interface_with(image_model());
  EXPECT_TRUE(model.only_image_is_open());
  DynamicSizes sizes;
  sizes.height = 5;
  sizes.width = 7;
  EXPECT_THAT(resolved(model, sizes, {{1000, nullptr}}), ElementsAre(ElementsAre(1, 3, 5, 7)));
  EXPECT_THAT(model.output_shapes({{1, 3, 5, 7}}), ElementsAre(ElementsAre(1, 1, 5, 7)));
  EXPECT_THAT(refusal(model, {}, {{105, nullptr}}), HasSubstr("set its open dimensions"));
}

TEST(AclModelInterface, AllDimensionsOrTheOpenOnesAreSet) {
  const ModelInterface model = interface_with(text_model());
  DynamicSizes sizes;
  sizes.dims = {2, 6, 2, 6};
  EXPECT_EQ(model.check_sizes(sizes), ACL_SUCCESS);
  EXPECT_THAT(resolved(model, sizes, {{96, nullptr}, {96, nullptr}}), ElementsAre(ElementsAre(2, 6), ElementsAre(2, 6)));
  sizes.dims = {2, 6, 2};
  EXPECT_EQ(model.check_sizes(sizes), ACL_ERROR_INVALID_PARAM);
  const ModelInterface image = interface_with(image_model());
  sizes.dims = {5, 7};
  EXPECT_THAT(resolved(image, sizes, {{105, nullptr}}), ElementsAre(ElementsAre(1, 3, 5, 7)));
  sizes.dims = {1, 4, 5, 7};
  EXPECT_EQ(image.check_sizes(sizes), ACL_ERROR_INVALID_PARAM);
}

TEST(AclModelInterface, DescriptionsTellShapesAndEqualSymbolsAreEqual) {
  const ModelInterface model = interface_with(text_model());
  const int64_t dims[] = {2, 6};
  const auto desc = describe_tensor(ACL_INT64, dims, ACL_FORMAT_ND);
  EXPECT_THAT(resolved(model, {}, {{96, desc.get()}, {96, nullptr}}), ElementsAre(ElementsAre(2, 6), ElementsAre(2, 6)));
  const auto wrong_type = describe_tensor(ACL_FLOAT, dims, ACL_FORMAT_ND);
  EXPECT_THAT(refusal(model, {}, {{96, wrong_type.get()}, {96, nullptr}}), HasSubstr("is int64; its description says float32"));
  const int64_t three[] = {2, 6, 1};
  const auto wrong_rank = describe_tensor(ACL_INT64, three, ACL_FORMAT_ND);
  EXPECT_THAT(refusal(model, {}, {{96, wrong_rank.get()}, {96, nullptr}}), HasSubstr("its description says [2, 6, 1]"));
}

TEST(AclModelInterface, GearsAreWhatAtcWasTold) {
  const ModelInterface model = interface_with(batch_model(), "--dynamic_batch_size=\"1,2,8\"");
  EXPECT_TRUE(model.has_gears());
  EXPECT_EQ(model.input_bytes(0, false), 8U * 192U);
  DynamicSizes sizes;
  sizes.batch = 2;
  EXPECT_EQ(model.check_sizes(sizes), ACL_SUCCESS);
  sizes.batch = 3;
  EXPECT_EQ(model.check_sizes(sizes), ACL_ERROR_INVALID_PARAM);
  const ModelInterface image = interface_with(image_model(), "--dynamic_image_size=4,4;6,2");
  EXPECT_THAT(image.gears(), ElementsAre(ElementsAre(4, 4), ElementsAre(6, 2)));
  EXPECT_EQ(image.input_bytes(0, false), 48U);
}

TEST(AclModelInterface, ShapesMayBeFixedFromOutside) {
  const ModelInterface model = interface_with(batch_model(), "--input_shape=image:5,3,4,4");
  EXPECT_FALSE(model.is_dynamic());
  EXPECT_EQ(model.input_bytes(0, false), 5U * 192U);
  EXPECT_THAT(refused(batch_model(), "--input_shape=image:5,3"), HasSubstr("has 4 dimensions, not 2"));
  EXPECT_THAT(refused(batch_model(), "--input_shape=imag:5,3,4,4"), HasSubstr("has no input \"imag\". Did you mean \"image\"?"));
}

// Sizes that do not belong to the open dimensions would be applied to them all the same.
TEST(AclModelInterface, GearsMustFitWhatIsOpen) {
  EXPECT_THAT(refused(text_model(), "--dynamic_batch_size=1,2"), HasSubstr("fix the others with --input_shape"));
  EXPECT_THAT(refused(text_model(), "--dynamic_image_size=1,2"), HasSubstr("fix the others with --input_shape"));
  EXPECT_THAT(refused(text_model(), "--dynamic_dims=1,2"), HasSubstr("a gear has 2 sizes, the model's inputs have 4"));
  const ModelInterface model = interface_with(text_model(), "--input_shape='ids:-1,6;mask:-1,6' --dynamic_batch_size=1,2");
  EXPECT_THAT(model.gears(), ElementsAre(ElementsAre(1, 1), ElementsAre(2, 2)));
}

TEST(AclModelInterface, DynamicDimsAreInTheOrderOfInputShape) {
  const ModelInterface model = interface_with(text_model(), "--input_shape='mask:-1,6;ids:4,-1' --dynamic_dims='1,10;2,20'");
  EXPECT_THAT(model.gears(), ElementsAre(ElementsAre(10, 1), ElementsAre(20, 2)));
}

TEST(AclModelInterface, ABatchBesideSizesThatAreSetIsOne) {
  const ModelInterface model = interface_with(described({tensor("image", "uint8", {"n", 3, "h", "w"})}, {}));
  DynamicSizes sizes;
  sizes.height = 5;
  sizes.width = 7;
  // The buffer is as large as it was guessed to be, which says nothing of the batch.
  EXPECT_THAT(resolved(model, sizes, {{32 * 3 * 512 * 512, nullptr}}), ElementsAre(ElementsAre(1, 3, 5, 7)));
}

TEST(AclShapeOptions, WrongTextsAreRefused) {
  for (const char* text :
       {"dynamic_batch_size=1", "--dynamic_batchsize=1", "--dynamic_batch_size=0", "--dynamic_batch_size=x",
        "--dynamic_batch_size=", "--dynamic_image_size=1,2,3", "--dynamic_image_size=0,4", "--dynamic_dims=1,2;3", "--input_shape=4",
        "--dynamic_batch_size=1 --dynamic_dims=1", "--dynamic_batch_size", "--input_shape='a:1", "--input_shape=a:1~x"}) {
    EXPECT_FALSE(parse_atc_commands(text).ok()) << text;
  }
  EXPECT_TRUE(parse_atc_commands("  ")->empty());
}

TEST(AclShapeOptions, AWholeCommandLineIsTakenAsUsersHaveIt) {
  const auto commands = parse_atc_commands(
      "/usr/local/Ascend/atc/bin/atc --model=./onnx/yolo.v5.onnx --framework=5 --output ./om/yolo_bs --input_format=NCHW \\\n"
      "    --input_shape=\"images:-1,3,640,640; scale:1~4,2;flag:\" \"--dynamic_batch_size=1,2, 4\" \\\n"
      "    --soc_version=Ascend310P3 --insert_op_conf=aipp.cfg --log=error -out_nodes=\"a:0;b:0\" --input_shape_range=x:[1~2] && echo "
      "done\n"
      "atc --model=other.onnx --input_shape 'x:1,2'");
  ASSERT_TRUE(commands.ok()) << commands.status().message();
  ASSERT_EQ(commands->size(), 2U);
  const ShapeOptions& first = commands->front();
  EXPECT_THAT(first.models, ElementsAre("yolo.v5", "yolo_bs"));
  EXPECT_THAT(first.input_order, ElementsAre("images", "scale", "flag"));
  EXPECT_THAT(first.input_shapes.at("images"), ElementsAre(-1, 3, 640, 640));
  EXPECT_THAT(first.input_shapes.at("scale"), ElementsAre(-1, 2));
  EXPECT_TRUE(first.input_shapes.at("flag").empty());
  EXPECT_THAT(first.batches, ElementsAre(1, 2, 4));
  EXPECT_THAT(first.not_followed, ElementsAre("insert_op_conf", "out_nodes"));
  EXPECT_THAT(commands->back().input_shapes.at("x"), ElementsAre(1, 2));
  EXPECT_EQ(options_of_model(*commands, "yolo_bs", {}), &commands->front());
  EXPECT_EQ(options_of_model(*commands, "other", {}), &commands->back());
  EXPECT_EQ(options_of_model(*commands, "third", {"x"}), nullptr);
}

TEST(AclShapeOptions, ASingleCommandLineIsThatOfEveryModelThatItCanBeAbout) {
  const auto commands = parse_atc_commands("atc --model=a.onnx --input_shape=x:1");
  EXPECT_NE(options_of_model(*commands, "renamed", {"x", "y"}), nullptr);
  EXPECT_EQ(options_of_model(*commands, "another", {"z"}), nullptr);
}

TEST(AclModelInterface, OnlyTensorsHaveBuffers) {
  const Json sequence = {{"name", "s"}, {"kind", "sequence"}, {"dtype", "float32"}, {"shape", nullptr}};
  EXPECT_THAT(ModelInterface::create(described({sequence}, {}), {}).status().message(), HasSubstr("only tensors"));
}

}  // namespace
}  // namespace tensortap::acl_source
