#include "cli/launch/replay_runtime.h"

#include <array>

#include "base/code_file.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/text/member_text.h"
#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::cli {
namespace {

struct ModelCloser {
  void operator()(tensortap_onnxruntime_model* model) const { tensortap_onnxruntime_model_close(model); }
};

struct OpenModel {
  std::unique_ptr<tensortap_onnxruntime_model, ModelCloser> model;
  std::string source;
  std::string warning;
};

// The report's error, in one line.
Status failure(int code, char* report) {
  const std::string text = report == nullptr ? "{}" : report;
  tensortap_free(report);
  const Result<Json> json = parse_json(text, "");
  std::string message = json.ok() ? member_text(*json, "error") : "";
  if (message.empty()) message = "the runtime failed";
  return {static_cast<StatusCode>(code), message};
}

Result<OpenModel> open_model(const std::string& request, std::string_view bytes) {
  tensortap_onnxruntime_model_options options{};
  options.size = sizeof options;
  options.request = request.c_str();
  options.bytes = bytes.data();
  options.byte_count = bytes.size();
  options.name = "replay";
  tensortap_onnxruntime_model* model = nullptr;
  char* report = nullptr;
  if (const int code = tensortap_onnxruntime_model_open(&options, &model, &report); code != TENSORTAP_OK) return failure(code, report);
  OpenModel opened{std::unique_ptr<tensortap_onnxruntime_model, ModelCloser>(model), "", ""};
  const Result<Json> json = parse_json(report == nullptr ? "{}" : report, "");
  tensortap_free(report);
  if (json.ok()) {
    opened.source = member_text(*json, "source");
    opened.warning = member_text(*json, "runtime_warning");
  }
  return opened;
}

// The smallest model that shows whether there is a runtime.
std::string smallest_model() {
  const std::vector<int64_t> dims = {1};
  std::string graph = as_field(onnx_field::graph::kNode, node_bytes({"Identity", "identity", {"x"}, {"y"}}));
  graph += as_field(onnx_field::graph::kName, "smallest");
  graph += as_field(onnx_field::graph::kInput, tensor_value_info("x", onnx_type::kFloat, dims));
  graph += as_field(onnx_field::graph::kOutput, tensor_value_info("y", onnx_type::kFloat, dims));
  const std::array<OperatorSet, 1> sets = {{{"", 13}}};
  return model_bytes(graph, sets);
}

tensortap_tensor tensor_of(const NamedView& input) {
  tensortap_tensor tensor{};
  tensor.size = sizeof tensor;
  tensor.dtype = static_cast<uint32_t>(input.view.desc.dtype);
  tensor.data = input.view.data;
  tensor.dims = input.view.desc.shape.dims().data();
  tensor.rank = static_cast<uint32_t>(input.view.desc.shape.rank());
  tensor.name = input.name.c_str();
  tensor.element = -1;
  return tensor;
}

void on_replay_output(void* user, int64_t /*step*/, const tensortap_tensor* output) {
  if (output->dtype >= kDTypeCount || output->name == nullptr || output->element >= 0) return;
  const TensorView view{{static_cast<DType>(output->dtype), Shape(std::span(output->dims, output->rank))}, output->data, output->strides};
  (*static_cast<const TakeOutput*>(user))(output->name, view);
}

}  // namespace

Result<std::string> recorded_library(const RuntimeOfDump& runtime, std::string& why) {
  if (runtime.library.empty()) return std::string();
  const std::string name = file_name(runtime.library);
  if (!name.starts_with("libonnxruntime.so")) {
    why = concat(quote(runtime.library), ", which the dump names as its runtime, is not called as ONNX Runtime is");
    return std::string();
  }
  Result<std::string> trusted = trusted_code_file(runtime.library, "");
  if (trusted.ok()) return trusted;
  why = concat("the runtime that made the dump is not loaded: ", trusted.status().message());
  if (trusted.status().code() == StatusCode::kUnsupported) return io_error(why + "; or name another with --runtime");
  return std::string();
}

Result<std::unique_ptr<OnnxReplayRuntime>> OnnxReplayRuntime::open(const ReplayRuntimeOptions& options) {
  Json request = {{"capture", false}, {"optimize", options.optimization}, {"threads", options.threads}};
  if (!options.runtime.empty()) request["runtime"] = options.runtime;
  if (!options.custom_ops.empty()) request["custom_ops"] = options.custom_ops;
  std::unique_ptr<OnnxReplayRuntime> runtime(new OnnxReplayRuntime());
  runtime->request_ = to_json_text(request);
  TENSORTAP_ASSIGN_OR_RETURN(const OpenModel smallest, open_model(runtime->request_, smallest_model()));
  runtime->source_ = smallest.source;
  runtime->warning_ = smallest.warning;
  return runtime;
}

bool is_of_onnxruntime(const RuntimeOfDump& runtime) { return runtime.source.starts_with("onnxruntime "); }

Result<std::unique_ptr<OnnxReplayRuntime>> open_replay_runtime(ReplayRuntimeOptions options, const RuntimeOfDump& maker,
                                                               const Terminal& terminal) {
  const bool is_named = !options.runtime.empty();
  std::string why;
  if (!is_named) {
    TENSORTAP_ASSIGN_OR_RETURN(options.runtime, recorded_library(maker, why));
  }
  if (!why.empty()) terminal.warn(printable(why + "; --runtime names another"));
  auto runtime = OnnxReplayRuntime::open(options);
  if (!runtime.ok()) return io_error(runtime.status().message());
  if (!(*runtime)->warning().empty()) terminal.warn(printable((*runtime)->warning()));
  if (!is_named && (*runtime)->source() != maker.source) {
    terminal.warn(printable(concat("this is ", (*runtime)->source(), ", and ", maker.source, " made the dump; --runtime names another")));
  }
  return runtime;
}

Status OnnxReplayRuntime::run(std::string_view model, std::span<const NamedView> inputs, const TakeOutput& take) {
  TENSORTAP_ASSIGN_OR_RETURN(const OpenModel opened, open_model(request_, model));
  std::vector<tensortap_tensor> tensors;
  tensors.reserve(inputs.size());
  for (const NamedView& input : inputs) tensors.push_back(tensor_of(input));
  char* report = nullptr;
  TakeOutput taken = take;
  const int code = tensortap_onnxruntime_model_run(opened.model.get(), tensors.data(), tensors.size(), on_replay_output, &taken, &report);
  return code == TENSORTAP_OK ? Status() : failure(code, report);
}

}  // namespace tensortap::cli
