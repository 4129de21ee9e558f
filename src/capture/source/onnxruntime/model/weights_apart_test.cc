// Where the weights of models are while they are captured, on real libraries: TENSORTAP_TEST_RUNTIMES names a folder with one folder per
// release.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "base/files.h"
#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"
#include "source/onnxruntime/model/weight_reader.h"
#include "source/onnxruntime/run/run_inputs.h"
#include "source/onnxruntime/taps/captured_model.h"

namespace tensortap::onnxruntime {
namespace {

constexpr int64_t kRows = 101;  // odd sizes: the runtime writes the second weight to an odd place
constexpr int64_t kColumns = 203;

std::vector<std::string> runtime_folders() {
  const char* folder = std::getenv("TENSORTAP_TEST_RUNTIMES");
  const auto names = list_directory(folder != nullptr ? folder : "");
  std::vector<std::string> paths;
  if (names.ok()) {
    for (const std::string& name : *names) paths.push_back(join_path(folder, name));
  }
  return paths;
}

std::string weight(const std::string& name, int32_t element_type, std::string_view raw) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(onnx_field::tensor::kDims, kRows);
  writer.add_int64(onnx_field::tensor::kDims, kColumns);
  writer.add_int32(onnx_field::tensor::kDataType, element_type);
  writer.add_string(onnx_field::tensor::kName, name);
  writer.add_bytes(onnx_field::tensor::kRawData, raw.data(), raw.size());
  return as_field(onnx_field::graph::kInitializer, bytes);
}

std::vector<float> values() {
  std::vector<float> numbers(kRows * kColumns);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  return numbers;
}

// y = x + w, z = two rows of small.
std::string model_bytes() {
  constexpr int32_t kBytes = 2;
  constexpr int32_t kRowNumbers = 7;
  const std::vector<float> numbers = values();
  const std::string small(kRows * kColumns, '\3');
  std::string graph = as_field(onnx_field::graph::kNode, node_bytes({"Gather", "rows", {"small", "numbers"}, {"z"}}));
  graph += as_field(onnx_field::graph::kNode, node_bytes({"Add", "sum", {"x", "w"}, {"y"}}));
  graph += as_field(onnx_field::graph::kName, "g");
  graph += weight("small", kBytes, small);
  graph += weight("w", onnx_type::kFloat, {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
  graph += as_field(onnx_field::graph::kInput, tensor_value_info("x", onnx_type::kFloat, {kRows, kColumns}));
  graph += as_field(onnx_field::graph::kInput, tensor_value_info("numbers", kRowNumbers, {2}));
  graph += as_field(onnx_field::graph::kOutput, tensor_value_info("y", onnx_type::kFloat, {kRows, kColumns}));
  graph += as_field(onnx_field::graph::kOutput, tensor_value_info("z", kBytes, {2, kColumns}));
  std::string opset;
  protozero::pbf_writer(opset).add_int64(onnx_field::opset::kVersion, 17);
  std::string model;
  protozero::pbf_writer(model).add_int64(onnx_field::model::kIrVersion, 8);
  return model + as_field(onnx_field::model::kOpsetImport, opset) + as_field(onnx_field::model::kGraph, graph);
}

class WeightsApart : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto folder = ScratchFolder::create();
    ASSERT_TRUE(folder.ok());
    folder_ = *std::move(folder);
    ASSERT_TRUE(write_file_atomically(join_path(folder_.path(), "model.onnx"), model_bytes()).ok());
    auto library = load_runtime(GetParam());
    ASSERT_TRUE(library.ok()) << library.status().message();
    auto model = PreparedModel::prepare(*library, {join_path(folder_.path(), "model.onnx"), abi::kOptimizeAll, 1, false});
    ASSERT_TRUE(model.ok()) << model.status().message();
    model_ = *std::move(model);
  }

  ScratchFolder folder_;
  std::unique_ptr<PreparedModel> model_;
};

TEST_P(WeightsApart, NoGraphHoldsThem) {
  EXPECT_LT(model_->executed().bytes.size(), size_t{4096});
  EXPECT_LT(model_->author().bytes.size(), size_t{4096});
}

TEST_P(WeightsApart, EachIsWhereTheRuntimesMemoryWouldBe) {
  WeightReader reader(model_->external_folder());
  for (const Initializer& initializer : model_->executed().graph.initializers) {
    const auto tensor = reader.read(initializer);
    ASSERT_TRUE(tensor.ok()) << tensor.status().message();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->raw.data()) % 64, 0U) << initializer.name;
  }
}

TEST_P(WeightsApart, TheyHaveTheirValuesAlsoAfterTheirMemoryWasGivenBack) {
  WeightReader reader(model_->external_folder());
  const std::vector<float> numbers = values();
  for (const Initializer& initializer : model_->executed().graph.initializers) {
    if (initializer.name != "w") continue;
    auto tensor = reader.read(initializer);
    ASSERT_TRUE(tensor.ok());
    reader.release_memory(*tensor);
    EXPECT_EQ(tensor->raw, std::string_view(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)));
  }
}

TEST_P(WeightsApart, TheSessionWithTapsComputesWithThem) {
  auto tapped = TappedSession::open(*model_, TapStyle::kSide, "");
  ASSERT_TRUE(tapped.ok()) << tapped.status().message();
  auto plain = model_->open_plain("");
  ASSERT_TRUE(plain.ok());
  InputOptions options;
  options.model_inputs = &model_->inputs();
  auto inputs = RunInputs::create(model_->library(), options);
  ASSERT_TRUE(inputs.ok());
  const auto given = inputs->of_step(0);
  const RunOutcome outcome = (*tapped)->run(given, onnxruntime::Run{});
  const auto expected = (*plain)->run(given, model_->output_names());
  ASSERT_TRUE(outcome.status.ok() && expected.ok());
  for (size_t i = 0; i < expected->size(); ++i) {
    const auto differs = difference(model_->library()->api(), (*expected)[i].get(), outcome.outputs[i].get());
    EXPECT_TRUE(differs.ok() && differs->empty());
  }
}

TEST_P(WeightsApart, NothingIsLeftOfTheirFolder) {
  const std::string folder = model_->external_folder();
  EXPECT_NE(folder, folder_.path());
  EXPECT_TRUE(path_exists(folder));
  const auto mode = std::filesystem::status(folder).permissions();
  EXPECT_EQ(mode & (std::filesystem::perms::group_all | std::filesystem::perms::others_all), std::filesystem::perms::none);
  model_.reset();
  EXPECT_FALSE(path_exists(folder));
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WeightsApart);
INSTANTIATE_TEST_SUITE_P(Releases, WeightsApart, testing::ValuesIn(runtime_folders()),
                         [](const auto& release) { return "Release" + std::to_string(release.index); });

}  // namespace
}  // namespace tensortap::onnxruntime
