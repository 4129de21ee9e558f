#include "source/onnxruntime/run/run_inputs.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "source/onnxruntime/run/caller_inputs.h"
#include "source/onnxruntime/run/last_bit.h"
#include "source/onnxruntime/runtime/element_types.h"

namespace tensortap::onnxruntime {
namespace {

constexpr size_t kMadeElements = 2;  // of a sequence

std::vector<std::string> names_of(const std::vector<ValueInfo>& infos) {
  std::vector<std::string> names;
  for (const ValueInfo& info : infos) names.emplace_back(info.name);
  return names;
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

bool can_be_made(const ValueInfo& info) {
  return info.kind == ValueKind::kTensor || info.kind == ValueKind::kOptionalTensor || info.kind == ValueKind::kSequence;
}

Status check_range_names(const InputOptions& options) {
  const std::vector<std::string> names = names_of(*options.model_inputs);
  for (const auto& [name, range] : options.ranges) {
    if (std::ranges::find(names, name) != names.end()) continue;
    return invalid_argument(concat("a range for ", quote(name), ": the model has no such input. Its inputs are ", join(names, ", "), ".",
                                   did_you_mean(name, names)));
  }
  return {};
}

// The range of an input: its own, that of all inputs, the rows of the table that it chooses from, or the usual one of its type.
Result<MadeRange> range_of(const InputOptions& options, const ValueInfo& info) {
  MadeRange made{options.seed, std::nullopt, {}};
  const auto own = options.ranges.find(std::string(info.name));
  if (own != options.ranges.end()) {
    made.numbers = own->second;
  } else if (options.range.has_value() && info.element_type != kElementString) {
    made.numbers = options.range;
  } else if (const auto use = options.uses.find(info.name); use != options.uses.end() && is_whole(info.element_type)) {
    made.numbers = NumberRange{0, std::min(static_cast<long double>(use->second.height - 1), largest_whole(info.element_type))};
    made.reason = use->second.reader;
  }
  if (!made.numbers.has_value()) return made;
  const Status status = check_range(info.element_type, *made.numbers);
  if (status.ok()) return made;
  const bool shared = own == options.ranges.end();
  return invalid_argument(concat("input ", quote(info.name), ": ", status.message(), shared ? "; give this input a range of its own" : ""));
}

// A range that changes nothing is a mistake.
Status check_ranges_used(const InputOptions& options, const Json& description) {
  bool any = false;
  for (const Json& input : description) {
    any = any || input["made"] == true;
    if (input["made"] == false && options.ranges.contains(input["name"].get<std::string>())) {
      return invalid_argument(concat("input ", quote(input["name"].get<std::string>()), " is given, so a range for it changes nothing"));
    }
  }
  if (options.range.has_value() && !any) return invalid_argument("no input is made, so a range for them changes nothing");
  return {};
}

// An input from a caller of any version: the first one's `size` is the distance between the elements, and members beyond it are zero.
tensortap_onnxruntime_input given_input(const tensortap_onnxruntime_input* given, uint64_t index) {
  const size_t stride = given->size;
  tensortap_onnxruntime_input input{};
  std::memcpy(&input, reinterpret_cast<const char*>(given) + index * stride, std::min(stride, sizeof input));
  return input;
}

// Whether a part is the first of a value. It then replaces the parts given before for the same input and step.
bool begins_value(const tensortap_onnxruntime_input& part) {
  if (part.kind == TENSORTAP_INPUT_ELEMENT) return part.tensor.element <= 0;
  return part.kind != TENSORTAP_INPUT_MAP_VALUES;
}

std::string origin_of(const tensortap_onnxruntime_input& part) { return part.origin == nullptr ? "" : part.origin; }

// The origin that should hold all inputs does not hold this one.
Status missing_in(const InputOptions& options, const ValueInfo& info) {
  std::vector<std::string> members;
  for (uint64_t i = 0; i < options.given_count; ++i) {
    const tensortap_onnxruntime_input part = given_input(options.given, i);
    if (origin_of(part) == options.all_from && part.tensor.name != nullptr) members.emplace_back(part.tensor.name);
  }
  return invalid_argument(concat(options.all_from, ": no member ", quote(info.name),
                                 ", which the model takes. Members: ", members.empty() ? "none" : join(members, ", "), "."));
}

Json describe(const ValueInfo& info, Json shape) {
  return {{"name", std::string(info.name)},
          {"kind", to_text(info.kind)},
          {"dtype", info.element_type == 0 ? Json() : Json(element_type(info.element_type).name)},
          {"shape", std::move(shape)}};
}

}  // namespace

RunInputs::RunInputs() : description_(std::make_shared<Json>(Json::array())) {}

Result<RunInputs::GivenByStep> RunInputs::collect(const InputOptions& options) {
  GivenByStep given;
  for (uint64_t i = 0; i < options.given_count; ++i) {
    const tensortap_onnxruntime_input part = given_input(options.given, i);
    const auto info = find_input(*options.model_inputs, part.tensor);
    if (!info.ok()) return origin_of(part).empty() ? info.status() : info.status().with_context(origin_of(part));
    Given& value = given[{std::max<int64_t>(part.step, -1), std::string((*info)->name)}];
    value.info = *info;
    if (begins_value(part)) value.parts.clear();
    value.parts.push_back(part);
  }
  return given;
}

void RunInputs::describe_given(const ValueInfo& info, const GivenByStep& given) {
  Json shape;
  std::vector<std::string> origins;
  for (const auto& [key, value] : given) {
    if (key.second != info.name) continue;
    const tensortap_onnxruntime_input& part = value.parts.front();
    if (shape.is_null() && part.kind == TENSORTAP_INPUT_TENSOR) {
      shape = Json(std::vector<int64_t>(part.tensor.dims, part.tensor.dims + part.tensor.rank));
    }
    const std::string origin = origin_of(part);
    if (!origin.empty() && std::ranges::find(origins, origin) == origins.end()) origins.push_back(origin);
  }
  Json line = describe(info, std::move(shape));
  line["made"] = false;
  line["how"] = origins.empty()       ? "given"
                : origins.size() == 1 ? origins.front()
                                      : concat(origins.front(), " and ", origins.size() - 1, " more");
  line["seed"] = nullptr;
  description_->push_back(std::move(line));
}

Status RunInputs::make_missing(const Api& api, const InputOptions& options, const SymbolSizes& symbols, const ValueInfo& info) {
  const std::string name(info.name);
  if (!can_be_made(info)) {
    return unsupported(concat("input ", quote(name), " is a ", to_text(info.kind), ", which cannot be made up: give it"));
  }
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, symbols.dims_of(info));
  TENSORTAP_ASSIGN_OR_RETURN(const MadeRange range, range_of(options, info));
  std::vector<OwnedValue> values;
  for (size_t i = 0; i < (info.kind == ValueKind::kSequence ? kMadeElements : 1); ++i) {
    const std::string element_name = i == 0 ? name : concat(name, "[", i, "]");
    ValueInfo element = info;
    element.name = element_name;
    auto value = make_input(api, element, dims, range);
    if (!value.ok()) return value.status().with_context(concat("making input ", quote(name)));
    values.push_back(*std::move(value));
  }
  if (info.kind == ValueKind::kSequence) {
    TENSORTAP_ASSIGN_OR_RETURN(every_step_[name], make_sequence(api, values));
  } else {
    every_step_[name] = std::move(values.front());
  }
  any_made_ = true;
  Json line = describe(info, dims);
  line["made"] = true;
  line["how"] = made_text(info.element_type, range);
  line["seed"] = options.seed;
  description_->push_back(std::move(line));
  return {};
}

Result<RunInputs> RunInputs::create(const std::shared_ptr<const RuntimeLibrary>& library, const InputOptions& options) {
  RunInputs inputs;
  inputs.names_ = names_of(*options.model_inputs);
  TENSORTAP_RETURN_IF_ERROR(check_dim_names(*options.model_inputs, options.dims));
  TENSORTAP_RETURN_IF_ERROR(check_range_names(options));
  TENSORTAP_ASSIGN_OR_RETURN(const GivenByStep given, collect(options));
  for (const auto& [key, value] : given) {
    auto made = make_given_value(library, *value.info, value.parts);
    if (!made.ok()) {
      const std::string origin = origin_of(value.parts.front());
      return origin.empty() ? made.status() : made.status().with_context(origin);
    }
    (key.first < 0 ? inputs.every_step_[key.second] : inputs.of_one_step_[key]) = *std::move(made);
  }
  SymbolSizes symbols(*options.model_inputs, options.dims);
  for (const auto& [key, value] : given) {
    for (const tensortap_onnxruntime_input& part : value.parts) {
      if (part.kind == TENSORTAP_INPUT_TENSOR || part.kind == TENSORTAP_INPUT_ELEMENT) symbols.learn(*value.info, part.tensor);
    }
  }
  for (const ValueInfo& info : *options.model_inputs) {
    const std::string name(info.name);
    // A value given for the first step only is enough when later ones are carried; of_step() falls back to it.
    if (inputs.every_step_.contains(name) || inputs.of_one_step_.contains({0, name})) {
      inputs.describe_given(info, given);
      continue;
    }
    if (!options.all_from.empty()) return missing_in(options, info);
    TENSORTAP_RETURN_IF_ERROR(inputs.make_missing(library->api(), options, symbols, info));
  }
  TENSORTAP_RETURN_IF_ERROR(check_ranges_used(options, *inputs.description_));
  inputs.noise_ = options.noise;
  inputs.narrow_ = options.narrow;
  if (inputs.noise_) TENSORTAP_RETURN_IF_ERROR(inputs.move_all(library->api()));
  return inputs;
}

// Another one for each input and step.
uint64_t RunInputs::noise_of(const std::string& name, int64_t step) const {
  const auto place = std::ranges::find(names_, name) - names_.begin();
  return number_at(number_at(noise_.value_or(0), static_cast<uint64_t>(place)), static_cast<uint64_t>(step + 1));
}

Result<OwnedValue> RunInputs::moved(const Api& api, OwnedValue value, const std::string& name, int64_t step) const {
  const auto narrow = narrow_.find(name);
  return moved_by_last_bit(api, std::move(value), narrow == narrow_.end() ? DType::kUndefined : narrow->second, noise_of(name, step));
}

Status RunInputs::move_all(const Api& api) {
  for (auto& [name, value] : every_step_) {
    TENSORTAP_ASSIGN_OR_RETURN(value, moved(api, std::move(value), name, -1));
  }
  for (auto& [key, value] : of_one_step_) {
    TENSORTAP_ASSIGN_OR_RETURN(value, moved(api, std::move(value), key.second, key.first));
  }
  for (Json& line : *description_) line["noise_seed"] = *noise_;
  return {};
}

Status RunInputs::carry(const Api& api, const std::string& name, int64_t step, OwnedValue value) {
  if (noise_) {
    TENSORTAP_ASSIGN_OR_RETURN(value, moved(api, std::move(value), name, step));
  }
  carried_[name] = std::move(value);
  return {};
}

std::vector<NamedValue> RunInputs::of_step(int64_t step) const {
  std::vector<NamedValue> values;
  for (const std::string& name : names_) {
    const abi::Value* value = value_of(name, step);
    if (value != nullptr) values.push_back({name, value});
  }
  return values;
}

const abi::Value* RunInputs::value_of(const std::string& name, int64_t step) const {
  if (const auto own = of_one_step_.find({step, name}); own != of_one_step_.end()) return own->second.get();
  if (const auto carried = carried_.find(name); carried != carried_.end()) return carried->second.get();
  if (const auto every = every_step_.find(name); every != every_step_.end()) return every->second.get();
  // Given for some steps only: the last one that was given goes on.
  const abi::Value* last = nullptr;
  for (const auto& [key, value] : of_one_step_) {
    if (key.second == name && key.first <= step) last = value.get();
  }
  return last;
}

}  // namespace tensortap::onnxruntime
