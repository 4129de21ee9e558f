#include "source/onnxruntime/run_inputs.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/text.h"
#include "source/onnxruntime/element_types.h"

namespace tensortap::onnxruntime {
namespace {

constexpr int64_t kDefaultDimension = 16;

std::vector<std::string> names_of(const std::vector<ValueInfo>& infos) {
  std::vector<std::string> names;
  for (const ValueInfo& info : infos) names.emplace_back(info.name);
  return names;
}

std::string given_text(const tensortap_tensor& tensor) {
  std::string text = concat(element_type(onnx_type_of(tensor.dtype)).name, " [");
  for (uint32_t i = 0; i < tensor.rank; ++i) text += concat(i == 0 ? "" : ", ", tensor.dims[i]);
  return text + "]";
}

Result<const ValueInfo*> find_input(const std::vector<ValueInfo>& infos, const tensortap_tensor& tensor) {
  if (tensor.name == nullptr || *tensor.name == '\0') {
    if (tensor.slot_index < infos.size()) return &infos[tensor.slot_index];
    return invalid_argument(concat("there is no input number ", tensor.slot_index, ": the model has ", infos.size(), "."));
  }
  const auto info = std::ranges::find(infos, std::string_view(tensor.name), &ValueInfo::name);
  if (info != infos.end()) return &*info;
  const auto names = names_of(infos);
  return invalid_argument(
      concat("the model has no input ", quote(tensor.name), ". Its inputs are ", join(names, ", "), ".", did_you_mean(tensor.name, names)));
}

bool fits(const ValueInfo& info, const tensortap_tensor& tensor) {
  if (!info.has_shape) return true;
  if (info.dims.size() != tensor.rank) return false;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (info.dims[i].size >= 0 && info.dims[i].size != tensor.dims[i]) return false;
  }
  return true;
}

// Dimensions that the model leaves open: those named with --dim, 1 for the first (the batch), 16 for the rest.
std::vector<int64_t> concrete_dims(const ValueInfo& info, const std::map<std::string, int64_t>& dims) {
  std::vector<int64_t> result;
  for (size_t axis = 0; axis < info.dims.size(); ++axis) {
    const auto by_name = dims.find(std::string(info.dims[axis].name));
    const auto by_place = dims.find(concat(info.name, ".", axis));
    if (by_place != dims.end()) {
      result.push_back(by_place->second);
    } else if (info.dims[axis].size >= 0) {
      result.push_back(info.dims[axis].size);
    } else if (by_name != dims.end()) {
      result.push_back(by_name->second);
    } else {
      result.push_back(axis == 0 ? 1 : kDefaultDimension);
    }
  }
  return result;
}

Status check_dim_names(const std::vector<ValueInfo>& infos, const std::map<std::string, int64_t>& dims) {
  std::set<std::string> known;
  for (const ValueInfo& info : infos) {
    for (size_t axis = 0; axis < info.dims.size(); ++axis) {
      if (info.dims[axis].size >= 0) continue;
      known.insert(concat(info.name, ".", axis));
      if (!info.dims[axis].name.empty()) known.emplace(info.dims[axis].name);
    }
  }
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [name, size] : dims) {
    if (known.contains(name)) continue;
    return invalid_argument(concat("no open dimension of an input is called ", quote(name), ".",
                                   names.empty() ? " The model's inputs have none." : concat(" There are ", join(names, ", "), ".")));
  }
  return {};
}

// An input as a caller of any version passes it: the elements are as far apart as the first one's size says, and what it does not reach is zero.
tensortap_onnxruntime_input given_input(const tensortap_onnxruntime_input* given, uint64_t index) {
  const size_t stride = given->size;
  tensortap_onnxruntime_input input{};
  std::memcpy(&input, reinterpret_cast<const char*>(given) + index * stride, std::min(stride, sizeof input));
  return input;
}

}  // namespace

std::string type_text(const ValueInfo& info) {
  std::string text = info.kind == ValueKind::kTensor || info.kind == ValueKind::kNotStated ? "" : concat(to_text(info.kind), " of ");
  text += element_type(info.element_type).name;
  if (!info.has_shape) return text + " of any shape";
  text += " [";
  for (size_t i = 0; i < info.dims.size(); ++i) {
    const Dimension& dim = info.dims[i];
    text += concat(i == 0 ? "" : ", ", dim.size >= 0 ? std::to_string(dim.size) : dim.name.empty() ? "?" : std::string(dim.name));
  }
  return text + "]";
}

Status RunInputs::add_given(const Api& api, const Options& options, const tensortap_onnxruntime_input& input) {
  TENSORTAP_ASSIGN_OR_RETURN(const ValueInfo* info, find_input(*options.model_inputs, input.tensor));
  const std::string name(info->name);
  if (info->kind != ValueKind::kTensor && info->kind != ValueKind::kOptionalTensor) {
    return unsupported(concat("input ", quote(name), " is a ", to_text(info->kind), ": only tensors can be given"));
  }
  if (element_type(info->element_type).dtype != input.tensor.dtype || !fits(*info, input.tensor)) {
    return invalid_argument(concat("input ", quote(name), " must be ", type_text(*info), ", but is ", given_text(input.tensor), "."));
  }
  auto value = make_value(api, input.tensor);
  if (!value.ok()) return value.status().with_context(concat("input ", quote(name)));
  if (input.step < 0) {
    every_step_[name] = *std::move(value);
  } else {
    of_one_step_[{input.step, name}] = *std::move(value);
  }
  return {};
}

Status RunInputs::make_missing(const Api& api, const Options& options, const ValueInfo& info) {
  const std::string name(info.name);
  if (info.kind != ValueKind::kTensor) {
    return unsupported(
        concat("input ", quote(name), " is a ", to_text(info.kind), ", which can not be made up: run a model with tensor inputs"));
  }
  const std::vector<int64_t> dims = concrete_dims(info, options.dims);
  auto value = make_input(api, info, dims, options.seed);
  if (!value.ok()) return value.status().with_context(concat("making input ", quote(name)));
  every_step_[name] = *std::move(value);
  made_.push_back({{"name", name}, {"dtype", element_type(info.element_type).name}, {"shape", dims}, {"seed", options.seed}});
  return {};
}

Result<RunInputs> RunInputs::create(const Api& api, const Options& options) {
  RunInputs inputs;
  inputs.names_ = names_of(*options.model_inputs);
  TENSORTAP_RETURN_IF_ERROR(check_dim_names(*options.model_inputs, options.dims));
  for (uint64_t i = 0; i < options.given_count; ++i) {
    TENSORTAP_RETURN_IF_ERROR(inputs.add_given(api, options, given_input(options.given, i)));
  }
  for (const ValueInfo& info : *options.model_inputs) {
    const std::string name(info.name);
    // A value given for the first step only is enough when later ones are carried; of_step() falls back to it.
    if (inputs.every_step_.contains(name)) continue;
    const auto first = inputs.of_one_step_.find({0, name});
    if (first == inputs.of_one_step_.end()) TENSORTAP_RETURN_IF_ERROR(inputs.make_missing(api, options, info));
  }
  return inputs;
}

std::vector<NamedValue> RunInputs::of_step(int64_t step) const {
  std::vector<NamedValue> values;
  for (const std::string& name : names_) {
    const auto own = of_one_step_.find({step, name});
    const auto carried = carried_.find(name);
    const auto every = every_step_.find(name);
    if (own != of_one_step_.end()) {
      values.push_back({name, own->second.get()});
    } else if (carried != carried_.end()) {
      values.push_back({name, carried->second.get()});
    } else if (every != every_step_.end()) {
      values.push_back({name, every->second.get()});
    } else {
      // Given for some steps only: the last one that was given goes on.
      auto last = of_one_step_.end();
      for (auto entry = of_one_step_.begin(); entry != of_one_step_.end(); ++entry) {
        if (entry->first.second == name && entry->first.first <= step) last = entry;
      }
      if (last != of_one_step_.end()) values.push_back({name, last->second.get()});
    }
  }
  return values;
}

}  // namespace tensortap::onnxruntime
