#include "source/onnxruntime/run/runtime_check.h"

#include <atomic>

#include "base/text.h"
#include "format/onnx_graph/node_writer.h"
#include "format/onnx_graph/onnx_fields.h"
#include "source/onnxruntime/run/run_inputs.h"
#include "source/onnxruntime/taps/captured_model.h"

namespace tensortap::onnxruntime {
namespace {

class TapCounter : public TapListener {
 public:
  bool wants(const Tap&, const Run&) override { return true; }
  void on_tap(const FiredTap&, const Run&) override { ++count_; }
  [[nodiscard]] int count() const { return count_; }

 private:
  std::atomic<int> count_{0};
};

std::string node(const NodeText& text) { return as_field(onnx_field::graph::kNode, node_bytes(text)); }

// A branch of an If: out = operator(sum, sum).
std::string branch(std::string_view type, const std::string& out) {
  std::string graph = node({type, concat(out, "_node"), {"sum", "sum"}, {out}});
  graph += as_field(onnx_field::graph::kName, out);
  graph += as_field(onnx_field::graph::kOutput, tensor_value_info(out, onnx_type::kFloat, {2, 4}));
  return graph;
}

std::string float_weight(const std::string& name, int64_t size) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(onnx_field::tensor::kDims, size);
  writer.add_int32(onnx_field::tensor::kDataType, onnx_type::kFloat);
  writer.add_string(onnx_field::tensor::kName, name);
  const std::vector<float> values(static_cast<size_t>(size), 0.5f);
  writer.add_bytes(onnx_field::tensor::kRawData, reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return bytes;
}

}  // namespace

std::string self_test_model() {
  std::string graph = node({"Add", "add", {"x", "w"}, {"sum"}});
  graph += node({"If",
                 "choose",
                 {"flag"},
                 {"chosen"},
                 {graph_attribute("then_branch", branch("Mul", "squared")), graph_attribute("else_branch", branch("Sub", "nothing"))}});
  graph += node({"Relu", "relu", {"chosen"}, {"y"}});
  graph += as_field(onnx_field::graph::kName, "self_test");
  graph += as_field(onnx_field::graph::kInitializer, float_weight("w", 4));
  graph += as_field(onnx_field::graph::kInput, tensor_value_info("x", onnx_type::kFloat, {2, 4}));
  graph += as_field(onnx_field::graph::kInput, tensor_value_info("flag", onnx_type::kBool, {}));
  graph += as_field(onnx_field::graph::kOutput, tensor_value_info("y", onnx_type::kFloat, {2, 4}));
  const OperatorSet sets[] = {{"", 13}};
  return model_bytes(graph, sets);
}

Status run_self_test(const std::shared_ptr<const RuntimeLibrary>& library) {
  TENSORTAP_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::create());
  ModelOptions options;
  options.path = join_path(folder.path(), "self_test.onnx");
  options.threads = 1;
  TENSORTAP_RETURN_IF_ERROR(write_file_atomically(options.path, self_test_model()));
  TENSORTAP_ASSIGN_OR_RETURN(const auto model, PreparedModel::prepare(library, options));
  TENSORTAP_ASSIGN_OR_RETURN(const auto plain, model->open_plain(""));
  TENSORTAP_ASSIGN_OR_RETURN(const auto tapped, TappedSession::open(*model, TapStyle::kSide, ""));
  InputOptions input_options;
  input_options.model_inputs = &model->inputs();
  TENSORTAP_ASSIGN_OR_RETURN(const RunInputs inputs, RunInputs::create(library, input_options));
  TENSORTAP_ASSIGN_OR_RETURN(const auto expected, plain->run(inputs.of_step(0), model->output_names()));
  TapCounter counter;
  Run run;
  run.listener = &counter;
  const RunOutcome outcome = tapped->run(inputs.of_step(0), run);
  TENSORTAP_RETURN_IF_ERROR(outcome.status);
  TENSORTAP_ASSIGN_OR_RETURN(const std::string differs, difference(library->api(), expected[0].get(), outcome.outputs[0].get()));
  if (!differs.empty()) return internal_error(concat("the captured run differs from the plain one: ", differs));
  // Add, the If with one of its branches, Relu.
  if (counter.count() != 4) return internal_error(concat(counter.count(), " of 4 ops were seen"));
  if (!outcome.run.in_order) return internal_error("taps do not fire in the order of the nodes");
  return {};
}

}  // namespace tensortap::onnxruntime
