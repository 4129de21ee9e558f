#include "cli/run_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/arguments.h"

namespace tensortap::cli {
namespace {

constexpr std::string_view kDataSet = "test_data_set_";
constexpr std::string_view kInput = "input_";

Result<LoadedInput> load_file(const std::string& path) {
  auto file = read_tensor_file(path);
  if (!file.ok()) {
    // A file that is there and holds no tensor is the user's mistake, not a failure of the run.
    const StatusCode code = file.status().code();
    return code == StatusCode::kCorrupt || code == StatusCode::kUnsupported ? invalid_argument(file.status().message()) : file.status();
  }
  if (file->tensors.size() != 1) return invalid_argument(fmt::format("{}: {} tensors, where one is expected", path, file->tensors.size()));
  LoadedInput input;
  input.file = std::make_shared<TensorFile>(*std::move(file));
  return input;
}

// The number in "input_3.pb"; false for other names.
bool numbered(std::string_view name, std::string_view prefix, std::string_view extension, uint64_t& number) {
  if (!name.starts_with(prefix) || !name.ends_with(extension) || name.size() < prefix.size() + extension.size()) return false;
  name.remove_prefix(prefix.size());
  name.remove_suffix(extension.size());
  return parse_unsigned(name, number) && number < 100'000;
}

Status load_data_set(const std::string& folder, int64_t step, std::vector<LoadedInput>& inputs) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto names, list_directory(folder));
  const size_t before = inputs.size();
  for (const std::string& name : names) {
    uint64_t position = 0;
    if (!numbered(name, kInput, ".pb", position) && !numbered(name, kInput, ".npy", position)) continue;
    TENSORTAP_ASSIGN_OR_RETURN(LoadedInput input, load_file(join_path(folder, name)));
    input.position = static_cast<uint32_t>(position);
    input.step = step;
    inputs.push_back(std::move(input));
  }
  if (inputs.size() == before) return invalid_argument(fmt::format("{}: no input_0.pb (nor input_0.npy) in this folder", folder));
  return {};
}

Status load_folder(const std::string& folder, std::vector<LoadedInput>& inputs) {
  if (!is_directory(folder)) return not_found(fmt::format("--inputs {}: no such folder", folder));
  TENSORTAP_ASSIGN_OR_RETURN(const auto names, list_directory(folder));
  std::vector<uint64_t> sets;
  for (const std::string& name : names) {
    uint64_t number = 0;
    if (numbered(name, kDataSet, "", number)) sets.push_back(number);
  }
  if (sets.empty()) return load_data_set(folder, -1, inputs);
  std::ranges::sort(sets);
  for (size_t step = 0; step < sets.size(); ++step) {
    TENSORTAP_RETURN_IF_ERROR(
        load_data_set(join_path(folder, fmt::format("{}{}", kDataSet, sets[step])), static_cast<int64_t>(step), inputs));
  }
  return {};
}

}  // namespace

Result<std::vector<LoadedInput>> load_inputs(const std::vector<std::string>& pairs, const std::string& folder) {
  std::vector<LoadedInput> inputs;
  if (!folder.empty()) TENSORTAP_RETURN_IF_ERROR(load_folder(folder, inputs));
  for (const std::string& pair : pairs) {
    std::string name;
    std::string path;
    if (!split_pair(pair, name, path)) return invalid_argument(fmt::format("--input {}: write it as NAME=FILE", pair));
    auto input = load_file(path);
    if (!input.ok()) return input.status().with_context(fmt::format("--input {}", name));
    input->name = name;
    inputs.push_back(*std::move(input));
  }
  return inputs;
}

int64_t steps_of(const std::vector<LoadedInput>& inputs) {
  int64_t steps = 1;
  for (const LoadedInput& input : inputs) steps = std::max(steps, input.step + 1);
  return steps;
}

std::vector<tensortap_onnxruntime_input> borrow_inputs(const std::vector<LoadedInput>& inputs) {
  std::vector<tensortap_onnxruntime_input> borrowed;
  for (const LoadedInput& input : inputs) {
    const TensorView& view = input.file->tensors.front().view;
    tensortap_onnxruntime_input one{};
    one.size = sizeof one;
    one.step = input.step;
    one.tensor.size = sizeof one.tensor;
    one.tensor.dtype = static_cast<uint32_t>(view.desc.dtype);
    one.tensor.data = view.data;
    one.tensor.dims = view.desc.shape.dims().data();
    one.tensor.strides = view.strides;
    one.tensor.rank = static_cast<uint32_t>(view.desc.shape.rank());
    one.tensor.slot_kind = TENSORTAP_SLOT_INPUT;
    one.tensor.slot_index = input.position;
    one.tensor.name = input.name.c_str();
    one.tensor.element = -1;
    borrowed.push_back(one);
  }
  return borrowed;
}

}  // namespace tensortap::cli
