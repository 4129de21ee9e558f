// Runs models with the inputs beside them, plain and captured, in one process, because onnx has many backend tests.
//
//   backend_suite_program RUNTIME < list of folders, one to a line
//
// Each folder holds model.onnx and test_data_set_N/input_M.pb. Prints a line for each: result, taps, values compared, folder, why. Results:
//   same              outputs have the same bits, and graph outputs that a tap saw are what the run gave
//   different, values differ, order      what must not happen
//   plain fails       the runtime itself does not load or run the model
//   capture fails     only the captured one fails

#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>

#include "base/files.h"
#include "base/text.h"
#include "fake_capture.h"
#include "format/onnx_graph/onnx_fields.h"
#include "source/onnxruntime/runtime/element_types.h"
#include "source/onnxruntime/taps/captured_model.h"
#include "source/onnxruntime/taps/event_sender.h"

namespace {

using namespace tensortap;               // NOLINT(google-build-using-namespace)
using namespace tensortap::onnxruntime;  // NOLINT(google-build-using-namespace)

struct Line {
  std::string result;
  size_t taps = 0;
  size_t compared = 0;
  std::string why;
};

// ---- test data ------------------------------------------------------------------------------------------------------------

Result<OwnedValue> tensor_value(const Api& api, std::string_view bytes) {
  std::string storage;
  TENSORTAP_ASSIGN_OR_RETURN(const TensorProto data, read_tensor_proto(bytes, storage));
  tensortap_tensor tensor{};
  tensor.size = sizeof(tensor);
  tensor.dtype = dtype_number(data.element_type);
  tensor.dims = data.dims.data();
  tensor.rank = static_cast<uint32_t>(data.dims.size());
  tensor.data = data.raw.data();
  if (tensor.dtype == TENSORTAP_STRING) tensor.data = data.strings.data();
  return make_value(api, tensor);
}

Result<OwnedValue> sequence_value(const Api& api, std::string_view bytes) {
  constexpr uint32_t kTensorValues = 3;
  std::vector<OwnedValue> elements;
  protozero::pbf_reader reader(onnx_field::view(bytes));
  while (reader.next(kTensorValues)) {
    TENSORTAP_ASSIGN_OR_RETURN(OwnedValue element, tensor_value(api, onnx_field::text(reader.get_view())));
    elements.push_back(std::move(element));
  }
  return make_sequence(api, elements);
}

// Null when the optional is empty. An empty sequence cannot be made through the C interface.
Result<OwnedValue> optional_value(const Api& api, std::string_view bytes) {
  constexpr uint32_t kTensorValue = 3;
  constexpr uint32_t kSequenceValue = 5;
  protozero::pbf_reader reader(onnx_field::view(bytes));
  while (reader.next()) {
    if (reader.tag() == kTensorValue) return tensor_value(api, onnx_field::text(reader.get_view()));
    if (reader.tag() == kSequenceValue) return sequence_value(api, onnx_field::text(reader.get_view()));
    reader.skip();
  }
  return OwnedValue();
}

Result<OwnedValue> read_value(const Api& api, const std::string& path, ValueKind kind) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string bytes, read_file(path));
  return onnx_field::guarded(path, [&]() -> Result<OwnedValue> {
    if (kind == ValueKind::kSequence) return sequence_value(api, bytes);
    if (kind == ValueKind::kOptionalTensor || kind == ValueKind::kOptionalSequence) return optional_value(api, bytes);
    return tensor_value(api, bytes);
  });
}

struct DataSet {
  std::vector<OwnedValue> values;
  std::vector<NamedValue> inputs;
};

// Files count either all inputs of the author's graph, or those that are not weights.
Result<DataSet> read_data_set(const PreparedModel& model, const std::string& folder) {
  std::vector<std::string> files;
  while (path_exists(concat(folder, "/input_", files.size(), ".pb"))) files.push_back(concat(folder, "/input_", files.size(), ".pb"));
  const auto& all = model.author().graph.inputs;
  const auto& infos = all.size() == files.size() ? all : model.inputs();
  DataSet set;
  for (size_t i = 0; i < files.size() && i < infos.size(); ++i) {
    TENSORTAP_ASSIGN_OR_RETURN(OwnedValue value, read_value(model.library()->api(), files[i], infos[i].kind));
    set.inputs.push_back({std::string(infos[i].name), value.get()});
    set.values.push_back(std::move(value));
  }
  return set;
}

// ---- what taps see --------------------------------------------------------------------------------------------------------

// Keeps the tensors of the main graph by name.
class TensorKeeper : public TapListener {
 public:
  explicit TensorKeeper(const PreparedModel& model) : model_(model) {}
  bool wants(const Tap&, const Run&) override { return true; }
  void on_tap(const FiredTap& fired, const Run&) override {
    if (fired.tap.depth != 0 || fired.tap.kind != TapKind::kOutputs) return;
    const Node& node = *model_.ops().entries[model_.ops().by_node[fired.tap.node]].node;
    for (size_t i = 0; i < fired.values.size(); ++i) {
      TensorScratch scratch;
      tensortap_tensor tensor{};
      std::vector<unsigned char> memory;
      if (!view_tensor(fired.api, fired.values[i], scratch, tensor).ok()) continue;
      if (fired.tap.slots[i].element_type != 0) repack(fired.tap.slots[i].element_type, memory, tensor);
      seen_[std::string(node.outputs[fired.tap.slots[i].output])] = fake_capture::copy_of(tensor);
    }
  }
  [[nodiscard]] const std::map<std::string, fake_capture::Tensor>& seen() const { return seen_; }

 private:
  const PreparedModel& model_;
  std::map<std::string, fake_capture::Tensor> seen_;
};

// How many outputs a tap saw, or what differs.
Result<size_t> compare_seen(const PreparedModel& model, const TensorKeeper& keeper, const std::vector<OwnedValue>& outputs) {
  size_t compared = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto seen = keeper.seen().find(model.output_names()[i]);
    TensorScratch scratch;
    tensortap_tensor tensor{};
    if (seen == keeper.seen().end() || !view_tensor(model.library()->api(), outputs[i].get(), scratch, tensor).ok()) continue;
    const fake_capture::Tensor fetched = fake_capture::copy_of(tensor);
    if (fetched.dtype != seen->second.dtype || fetched.dims != seen->second.dims || fetched.bytes != seen->second.bytes) {
      return internal_error(concat("output ", model.output_names()[i], ": dtypes ", fetched.dtype, " ", seen->second.dtype,
                                   fetched.bytes == seen->second.bytes ? "" : " bytes differ ", quote(fetched.bytes),
                                   quote(seen->second.bytes)));
    }
    ++compared;
  }
  return compared;
}

// ---- one model ------------------------------------------------------------------------------------------------------------

struct Sessions {
  const PreparedModel& model;
  const InferenceSession& plain;
  const TappedSession& tapped;
  TapStyle style;
};

Line check_set(const Sessions& sessions, const std::string& folder) {
  const auto& [model, plain, tapped, style] = sessions;
  const auto set = read_data_set(model, folder);
  if (!set.ok()) return {"plain fails", 0, 0, concat("test data: ", set.status().message())};
  const auto expected = plain.run(set->inputs, model.output_names());
  if (!expected.ok()) return {"plain fails", 0, 0, expected.status().message()};
  TensorKeeper keeper(model);
  Run run;
  run.listener = &keeper;
  const RunOutcome outcome = tapped.run(set->inputs, run);
  if (!outcome.status.ok()) return {"capture fails", 0, 0, outcome.status.message()};
  if (style == TapStyle::kSide && !outcome.run.in_order) return {"order", 0, 0, "taps fired out of order"};
  for (size_t i = 0; i < expected->size(); ++i) {
    const auto differs = difference(model.library()->api(), (*expected)[i].get(), outcome.outputs[i].get());
    if (differs.ok() && differs->empty()) continue;
    const auto again = plain.run(set->inputs, model.output_names());
    const auto itself = difference(model.library()->api(), (*expected)[i].get(), (*again)[i].get());
    if (itself.ok() && !itself->empty()) return {"not deterministic", 0, 0, *itself};
    return {"different", 0, 0, differs.ok() ? *differs : differs.status().message()};
  }
  const auto compared = compare_seen(model, keeper, outcome.outputs);
  if (!compared.ok()) return {"values differ", 0, 0, compared.status().message()};
  return {"same", 0, *compared, ""};
}

Line check(const std::shared_ptr<const RuntimeLibrary>& library, const std::string& folder, TapStyle style) {
  ModelOptions options;
  options.path = join_path(folder, "model.onnx");
  options.threads = 1;
  const auto model = PreparedModel::prepare(library, options);
  if (!model.ok()) return {"plain fails", 0, 0, model.status().message()};
  const auto plain = (*model)->open_plain("");
  if (!plain.ok()) return {"plain fails", 0, 0, plain.status().message()};
  const auto tapped = TappedSession::open(**model, style, "");
  if (!tapped.ok()) return {"capture fails", 0, 0, tapped.status().message()};
  Line line{"same", 0, 0, ""};
  for (int set = 0; is_directory(concat(folder, "/test_data_set_", set)); ++set) {
    const Line one = check_set({**model, **plain, **tapped, style}, concat(folder, "/test_data_set_", set));
    line.compared += one.compared;
    line.result = one.result;
    line.why = one.why;
    if (one.result != "same") break;
  }
  line.taps = (*tapped)->taps().size();
  return line;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const auto library = load_runtime(argument_count > 1 ? arguments[1] : "");
  if (!library.ok()) {
    std::cerr << library.status().message() << "\n";
    return 2;
  }
  const bool alias = argument_count > 2 && std::string_view(arguments[2]) == "alias";
  std::string folder;
  while (std::getline(std::cin, folder)) {
    Line line = check(*library, folder, alias ? TapStyle::kAlias : TapStyle::kSide);
    for (char& c : line.why) c = c == '\n' || c == '\t' ? ' ' : c;
    std::cout << line.result << '\t' << line.taps << '\t' << line.compared << '\t' << folder << '\t' << line.why << std::endl;
  }
  return 0;
}
