#include "cli/files/input_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/text/arguments.h"

namespace tensortap::cli {
namespace {

constexpr std::string_view kDataSet = "test_data_set_";
constexpr std::string_view kInput = "input_";
constexpr std::string_view kOutput = "output_";

Result<LoadedInput> load_file(const std::string& path) {
  auto file = read_value_file(path);
  if (!file.ok()) {
    // An existing file without a tensor is the user's mistake, not a failure of the run.
    const StatusCode code = file.status().code();
    return code == StatusCode::kCorrupt || code == StatusCode::kUnsupported ? invalid_argument(file.status().message()) : file.status();
  }
  if (file->tensors.empty() && file->group == TensorGroup::kNone) return invalid_argument(fmt::format("{}: no tensors in it", path));
  LoadedInput input;
  input.origin = path;
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
  bool is_data_set = false;
  for (const std::string& name : names) {
    uint64_t position = 0;
    is_data_set = is_data_set || numbered(name, kInput, ".pb", position) || numbered(name, kInput, ".npy", position) ||
                  numbered(name, kOutput, ".pb", position);
    if (!numbered(name, kInput, ".pb", position) && !numbered(name, kInput, ".npy", position)) continue;
    TENSORTAP_ASSIGN_OR_RETURN(LoadedInput input, load_file(join_path(folder, name)));
    input.position = static_cast<uint32_t>(position);
    input.step = step;
    inputs.push_back(std::move(input));
  }
  // The data of a model without inputs is what it should put out.
  if (!is_data_set) return invalid_argument(fmt::format("{}: no input_0.pb (nor input_0.npy) in this folder", folder));
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

// An npz of all inputs: a member for each.
Status load_all(const std::string& path, LoadedInputs& loaded) {
  auto whole = load_file(path);
  if (!whole.ok()) return whole.status().with_context("--input");
  if (whole->file->format != "npz")
    return invalid_argument(fmt::format("--input {0}: write it as NAME={0}; only an npz holds inputs by their names", path));
  for (size_t member = 0; member < whole->file->tensors.size(); ++member) {
    LoadedInput input = *whole;
    input.name = input.file->tensors[member].name;
    input.member = member;
    loaded.inputs.push_back(std::move(input));
  }
  loaded.all_from = path;
  return {};
}

tensortap_onnxruntime_input borrow(const LoadedInput& input, uint32_t kind, const TensorView* view, int64_t element) {
  tensortap_onnxruntime_input one{};
  one.size = sizeof one;
  one.kind = kind;
  one.step = input.step;
  one.origin = input.origin.c_str();
  one.tensor.size = sizeof one.tensor;
  one.tensor.slot_kind = TENSORTAP_SLOT_INPUT;
  one.tensor.slot_index = input.position;
  one.tensor.name = input.name.c_str();
  one.tensor.element = element;
  if (view == nullptr) return one;
  one.tensor.dtype = static_cast<uint32_t>(view->desc.dtype);
  one.tensor.data = view->data;
  one.tensor.dims = view->desc.shape.dims().data();
  one.tensor.strides = view->strides;
  one.tensor.rank = static_cast<uint32_t>(view->desc.shape.rank());
  return one;
}

void borrow_parts(const LoadedInput& input, std::vector<tensortap_onnxruntime_input>& borrowed) {
  const std::vector<NamedTensor>& tensors = input.file->tensors;
  if (input.member.has_value()) {
    borrowed.push_back(borrow(input, TENSORTAP_INPUT_TENSOR, &tensors[*input.member].view, -1));
  } else if (tensors.empty()) {
    borrowed.push_back(borrow(input, TENSORTAP_INPUT_EMPTY, nullptr, -1));
  } else if (input.file->group == TensorGroup::kMap) {
    borrowed.push_back(borrow(input, TENSORTAP_INPUT_MAP_KEYS, &tensors[0].view, -1));
    borrowed.push_back(borrow(input, TENSORTAP_INPUT_MAP_VALUES, &tensors[1].view, -1));
  } else if (tensors.size() == 1) {
    borrowed.push_back(borrow(input, TENSORTAP_INPUT_TENSOR, &tensors[0].view, -1));
  } else {
    for (size_t i = 0; i < tensors.size(); ++i)
      borrowed.push_back(borrow(input, TENSORTAP_INPUT_ELEMENT, &tensors[i].view, static_cast<int64_t>(i)));
  }
}

}  // namespace

Result<LoadedInputs> load_inputs(const std::vector<std::string>& given, const std::string& folder) {
  LoadedInputs loaded;
  if (!folder.empty()) TENSORTAP_RETURN_IF_ERROR(load_folder(folder, loaded.inputs));
  for (const std::string& one : given) {
    std::string name;
    std::string path;
    if (one.find('=') == std::string::npos) {
      if (!loaded.all_from.empty()) {
        return invalid_argument(fmt::format("--input {}: all inputs come from {} already; give one such file", one, loaded.all_from));
      }
      TENSORTAP_RETURN_IF_ERROR(load_all(one, loaded));
      continue;
    }
    if (!split_pair(one, name, path)) {
      return invalid_argument(fmt::format("--input {}: write it as NAME=FILE, or as FILE for an npz of all inputs", one));
    }
    // What one file holds of all inputs may be replaced, input by input.
    const auto before = std::ranges::find_if(loaded.inputs, [&](const LoadedInput& other) { return other.name == name && !other.member; });
    if (before != loaded.inputs.end()) {
      return invalid_argument(fmt::format("--input {}: {} is given twice, by {} too; give it once", one, quote(name), before->origin));
    }
    auto input = load_file(path);
    if (!input.ok()) return input.status().with_context(fmt::format("--input {}", name));
    input->name = name;
    loaded.inputs.push_back(*std::move(input));
  }
  for (const LoadedInput& input : loaded.inputs) loaded.steps = std::max(loaded.steps, input.step + 1);
  return loaded;
}

std::vector<tensortap_onnxruntime_input> borrow_inputs(const LoadedInputs& loaded) {
  std::vector<tensortap_onnxruntime_input> borrowed;
  for (const LoadedInput& input : loaded.inputs) borrow_parts(input, borrowed);
  return borrowed;
}

}  // namespace tensortap::cli
