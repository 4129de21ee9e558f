#include "source/onnxruntime/origins/channel_block.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"
#include "source/onnxruntime/model/fusion_rules.h"
#include "source/onnxruntime/runtime/inference_session.h"

namespace tensortap::onnxruntime {
namespace {

constexpr int64_t kChannels = 128;  // more than any block has
constexpr int64_t kPositions = 2;
static_assert(kChannels * kPositions == kReorderedNumbers);

}  // namespace

std::string reordering_model() {
  const std::vector<int64_t> dims = {1, kChannels, 1, kPositions};
  std::string graph = as_field(onnx_field::graph::kNode, node_bytes({"ReorderInput", "reorder", {"x"}, {"y"}, {}, kBlockedDomain}));
  graph += as_field(onnx_field::graph::kName, "reorder");
  graph += as_field(onnx_field::graph::kInput, tensor_value_info("x", onnx_type::kFloat, dims));
  graph += as_field(onnx_field::graph::kOutput, tensor_value_info("y", onnx_type::kFloat, dims));
  const OperatorSet sets[] = {{"", 13}, {kBlockedDomain, 1}};
  return model_bytes(graph, sets);
}

Result<uint32_t> channel_block_in(std::span<const float> reordered) {
  if (reordered.size() != kReorderedNumbers) return internal_error("the runtime gave another number of channels than it got");
  // After the first position of one block of channels comes the second position of channel 0: the number 1.
  const auto found = std::find(reordered.begin(), reordered.end(), 1.0F) - reordered.begin();
  if (found < 2 || found > 255 || kChannels % found != 0) return internal_error(concat("channels are not reordered as expected: ", found));
  return static_cast<uint32_t>(found);
}

Result<uint32_t> channel_block_of(const std::shared_ptr<const RuntimeLibrary>& library) {
  SessionSettings settings;
  settings.level = abi::kOptimizeNone;
  settings.threads = 1;
  const std::string model = reordering_model();
  TENSORTAP_ASSIGN_OR_RETURN(const auto session, InferenceSession::open(library, "", model, settings));
  std::vector<float> numbers(kChannels * kPositions);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const int64_t dims[] = {1, kChannels, 1, kPositions};
  tensortap_tensor tensor{};
  tensor.size = sizeof(tensor);
  tensor.dtype = TENSORTAP_FLOAT32;
  tensor.data = numbers.data();
  tensor.dims = dims;
  tensor.rank = 4;
  TENSORTAP_ASSIGN_OR_RETURN(const OwnedValue input, make_value(library->api(), tensor));
  TENSORTAP_ASSIGN_OR_RETURN(const auto outputs, session->run({{"x", input.get()}}, {"y"}));
  TensorScratch scratch;
  tensortap_tensor reordered{};
  TENSORTAP_RETURN_IF_ERROR(view_tensor(library->api(), outputs.at(0).get(), scratch, reordered));
  return channel_block_in({static_cast<const float*>(reordered.data), numbers.size()});
}

}  // namespace tensortap::onnxruntime
