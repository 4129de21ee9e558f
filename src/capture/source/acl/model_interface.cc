#include "source/acl/model_interface.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "source/acl/element_kinds.h"
#include "source/acl/failure.h"
#include "source/acl/tensor_desc.h"

namespace tensortap::acl_source {
namespace {

// Of dimensions without a name: batches and other dimensions of programs that set them while running.
constexpr int64_t kLargestBatch = 32;
constexpr int64_t kLargestOther = 512;
constexpr uint64_t kMostExpectedBytes = uint64_t{1} << 30;
constexpr size_t kMostDims = ACL_MAX_DIM_CNT;

Result<ValueFacts> read_value_facts(const Json& value) {
  ValueFacts facts;
  facts.name = value.value("name", "");
  if (value.value("kind", "") != "tensor") {
    return unsupported(concat(quote(facts.name), " is a ", value.value("kind", "value"), "; only tensors have buffers"));
  }
  facts.type = acl_type_of(std::string_view(value.value("dtype", "")));
  const auto shape = value.find("shape");
  if (shape != value.end() && shape->is_array()) {
    if (shape->size() > kMostDims) return unsupported(concat(quote(facts.name), " has more than ", kMostDims, " dimensions"));
    facts.has_shape = true;
    for (const Json& dim : *shape) {
      facts.dims.push_back(dim.is_number_integer() ? dim.get<int64_t>() : -1);
      facts.symbols.push_back(dim.is_string() ? dim.get<std::string>() : "");
    }
  }
  facts.format = natural_format(facts.type, facts.dims.size());
  return facts;
}

bool is_open_shape(const std::vector<int64_t>& dims) {
  return std::ranges::any_of(dims, [](int64_t dim) { return dim < 0; });
}

std::string dims_text(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += concat(i == 0 ? "" : ", ", dims[i]);
  return text + "]";
}

}  // namespace

Result<ModelInterface> ModelInterface::create(const Json& description, const ShapeOptions& options) {
  ModelInterface interface;
  for (const Json& value : description.at("inputs")) {
    TENSORTAP_ASSIGN_OR_RETURN(ValueFacts facts, read_value_facts(value));
    interface.inputs_.push_back(std::move(facts));
  }
  for (const Json& value : description.at("outputs")) {
    TENSORTAP_ASSIGN_OR_RETURN(ValueFacts facts, read_value_facts(value));
    interface.outputs_.push_back(std::move(facts));
  }
  interface.name_ = description.value("name", "");
  TENSORTAP_RETURN_IF_ERROR(interface.take_shapes(options));
  TENSORTAP_RETURN_IF_ERROR(interface.take_gears(options));
  return interface;
}

Status ModelInterface::take_shapes(const ShapeOptions& options) {
  std::vector<std::string> names;
  for (const ValueFacts& input : inputs_) names.push_back(input.name);
  for (const std::string& listed : options.input_order) {
    if (std::ranges::find(names, listed) != names.end()) continue;
    return invalid_argument(
        concat("TENSORTAP_ACL_ATC: --input_shape: the model has no input ", quote(listed), ".", did_you_mean(listed, names)));
  }
  for (ValueFacts& input : inputs_) {
    const auto shape = options.input_shapes.find(input.name);
    if (shape == options.input_shapes.end()) continue;
    if (input.has_shape && shape->second.size() != input.dims.size()) {
      return invalid_argument(
          concat("TENSORTAP_ACL_ATC: input ", quote(input.name), " has ", input.dims.size(), " dimensions, not ", shape->second.size()));
    }
    input.has_shape = true;
    input.dims = shape->second;
    input.symbols.resize(input.dims.size());
    input.format = natural_format(input.type, input.dims.size());
  }
  return {};
}

ModelInterface::Sizes ModelInterface::in_order_of_inputs(const Sizes& listed, const std::vector<std::string>& order) const {
  const auto place_of = [&](const ValueFacts& input) { return std::ranges::find(order, input.name) - order.begin(); };
  std::vector<const ValueFacts*> by_place;
  for (const ValueFacts& input : inputs_) by_place.push_back(&input);
  std::ranges::stable_sort(by_place, {}, [&](const ValueFacts* input) { return place_of(*input); });
  std::map<const ValueFacts*, Sizes> sizes;
  size_t next = 0;
  for (const ValueFacts* input : by_place) {
    for (const int64_t dim : input->dims) {
      if (dim < 0) sizes[input].push_back(listed[next++]);
    }
  }
  Sizes ordered;
  for (const ValueFacts& input : inputs_) ordered.insert(ordered.end(), sizes[&input].begin(), sizes[&input].end());
  return ordered;
}

std::string ModelInterface::open_dims_text() const {
  std::string text;
  for (const ValueFacts& input : inputs_) {
    if (is_open_shape(input.dims)) text += concat(text.empty() ? "" : ", ", input.name, " ", dims_text(input.dims));
  }
  return text;
}

Status ModelInterface::take_gears(const ShapeOptions& options) {
  survey();
  if (open_count_ == 0) return {};
  const auto does_not_fit = [&](const char* option, const char* wanted) {
    return invalid_argument(concat("TENSORTAP_ACL_ATC: --", option, " wants ", wanted, " to be open; open are ", open_dims_text(),
                                   ": fix the others with --input_shape"));
  };
  if (!options.batches.empty() && !only_batch_) return does_not_fit("dynamic_batch_size", "the first dimension of inputs, and no other,");
  if (!options.images.empty() && !only_image_)
    return does_not_fit("dynamic_image_size", "height and width of one input, and nothing else,");
  for (const int64_t batch : options.batches) gears_.push_back(Sizes(open_count_, batch));
  for (const auto& image : options.images) gears_.push_back(image);
  for (const auto& dims : options.dims) {
    if (dims.size() != open_count_) {
      return invalid_argument(
          concat("TENSORTAP_ACL_ATC: a gear has ", dims.size(), " sizes, the model's inputs have ", open_count_, " open dimensions"));
    }
    gears_.push_back(in_order_of_inputs(dims, options.input_order));
  }
  return {};
}

void ModelInterface::survey() {
  open_count_ = 0;
  size_t first = 0;
  size_t image = 0;
  for (const ValueFacts& input : inputs_) {
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      if (input.dims[axis] >= 0) continue;
      ++open_count_;
      first += axis == 0 ? 1 : 0;
    }
    const bool image_shape = input.dims.size() == 4 && input.dims[0] >= 0;
    image = std::max(image, image_shape ? static_cast<size_t>(std::ranges::count(input.dims, -1)) : 0);
  }
  only_batch_ = open_count_ > 0 && first == open_count_;
  only_image_ = open_count_ == 2 && image == 2;
}

std::optional<Shapes> ModelInterface::shapes_with(const Sizes& sizes) const {
  Shapes shapes;
  size_t next = 0;
  for (const ValueFacts& input : inputs_) {
    if (!input.has_shape) return std::nullopt;
    shapes.push_back(input.dims);
    for (int64_t& dim : shapes.back()) {
      if (dim < 0) dim = sizes[next++];
    }
  }
  return shapes;
}

std::vector<ModelInterface::Sizes> ModelInterface::sizes_to_expect(bool largest) const {
  if (!gears_.empty()) return gears_;
  if (open_count_ == 0 || only_batch_) return {Sizes(open_count_, largest ? kLargestBatch : 1)};
  if (!largest) return {};
  Sizes sizes;
  for (const ValueFacts& input : inputs_) {
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      if (input.dims[axis] < 0) sizes.push_back(axis == 0 ? kLargestBatch : kLargestOther);
    }
  }
  return {sizes};
}

size_t ModelInterface::most_bytes(bool largest, const std::function<std::optional<uint64_t>(const Shapes&)>& bytes_of) const {
  uint64_t most = 0;
  for (const Sizes& sizes : sizes_to_expect(largest)) {
    const auto shapes = shapes_with(sizes);
    const auto bytes = shapes ? bytes_of(*shapes) : std::nullopt;
    if (!bytes) return 0;
    most = std::max(most, *bytes);
  }
  return is_dynamic() && gears_.empty() && most > kMostExpectedBytes ? 0 : most;
}

size_t ModelInterface::input_bytes(size_t index, bool largest) const {
  return most_bytes(largest, [&](const Shapes& shapes) -> std::optional<uint64_t> {
    uint64_t bytes = 0;
    return tensor_bytes(inputs_[index].type, shapes[index], bytes) ? std::optional(bytes) : std::nullopt;
  });
}

size_t ModelInterface::output_bytes(size_t index, bool largest) const {
  if (!outputs_[index].has_shape) return 0;
  return most_bytes(largest, [&](const Shapes& shapes) -> std::optional<uint64_t> {
    uint64_t bytes = 0;
    return tensor_bytes(outputs_[index].type, output_shapes(shapes)[index], bytes) ? std::optional(bytes) : std::nullopt;
  });
}

Shapes ModelInterface::output_shapes(const Shapes& inputs) const {
  std::map<std::string, int64_t> known;
  std::optional<int64_t> batch;
  for (size_t i = 0; i < inputs_.size() && i < inputs.size(); ++i) {
    for (size_t axis = 0; axis < inputs_[i].dims.size() && axis < inputs[i].size(); ++axis) {
      if (inputs_[i].dims[axis] >= 0) continue;
      if (!inputs_[i].symbols[axis].empty()) known.emplace(inputs_[i].symbols[axis], inputs[i][axis]);
      if (axis == 0 && !batch) batch = inputs[i][axis];
    }
  }
  Shapes shapes;
  for (const ValueFacts& output : outputs_) {
    shapes.push_back(output.dims);
    for (size_t axis = 0; axis < output.dims.size(); ++axis) {
      int64_t& dim = shapes.back()[axis];
      if (dim >= 0) continue;
      const auto named = known.find(output.symbols[axis]);
      if (named != known.end()) {
        dim = named->second;
      } else if (axis == 0 && only_batch_ && batch) {
        dim = *batch;  // exporters often give the batch of an output a different name
      }
    }
  }
  return shapes;
}

aclError ModelInterface::check_sizes(const DynamicSizes& sizes) const {
  if (!is_dynamic()) return fail(ACL_ERROR_MODEL_NOT_DYNAMIC, "the model has no open dimensions");
  const auto asked = sizes_of(sizes);
  if (!asked.ok()) return fail(ACL_ERROR_INVALID_PARAM, asked.status().message());
  if (!gears_.empty() && std::ranges::find(gears_, *asked) == gears_.end()) {
    return fail(ACL_ERROR_INVALID_PARAM, "these sizes are not among the model's gears (TENSORTAP_ACL_ATC)");
  }
  return ACL_SUCCESS;
}

// The open dimensions as a call sets them; -1 for those that it does not mention.
Result<ModelInterface::Sizes> ModelInterface::sizes_of(const DynamicSizes& asked) const {
  Sizes sizes;
  size_t place = 0;
  size_t total = 0;
  for (const ValueFacts& input : inputs_) total += input.dims.size();
  const bool all_given = asked.dims.size() == total;
  if (!asked.dims.empty() && !all_given && asked.dims.size() != open_count_) {
    return invalid_argument(
        concat("the model's inputs have ", total, " dimensions, ", open_count_, " of them open; ", asked.dims.size(), " are given"));
  }
  for (const ValueFacts& input : inputs_) {
    for (size_t axis = 0; axis < input.dims.size(); ++axis, ++place) {
      const int64_t dim = input.dims[axis];
      if (all_given && !asked.dims.empty() && dim >= 0 && asked.dims[place] != dim) {
        return invalid_argument(concat("dimension ", axis, " of input ", quote(input.name), " is ", dim, ", not ", asked.dims[place]));
      }
      if (dim >= 0) continue;
      int64_t size = -1;
      if (!asked.dims.empty()) size = all_given ? asked.dims[place] : asked.dims[sizes.size()];
      if (asked.batch > 0 && axis == 0) size = static_cast<int64_t>(asked.batch);
      // Height and width follow the channels, or precede them.
      const size_t height_axis = input.dims.size() == 4 && input.dims[1] < 0 && input.dims[3] >= 0 ? 1 : 2;
      if (asked.height > 0 && input.dims.size() == 4 && axis == height_axis) size = static_cast<int64_t>(asked.height);
      if (asked.height > 0 && input.dims.size() == 4 && axis == height_axis + 1) size = static_cast<int64_t>(asked.width);
      sizes.push_back(size);
    }
  }
  return sizes;
}

Status ModelInterface::fill_from_descriptions(std::span<const GivenInput> given, Shapes& shapes) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const aclTensorDesc* desc = given[i].description;
    if (desc == nullptr || desc->unknown_rank || is_open_shape(desc->dims)) continue;
    if (desc->type != inputs_[i].type) {
      return invalid_argument(concat("input ", quote(inputs_[i].name), " is ", element_name(inputs_[i].type), "; its description says ",
                                     element_name(desc->type)));
    }
    bool fits = !inputs_[i].has_shape || desc->dims.size() == inputs_[i].dims.size();
    for (size_t axis = 0; fits && axis < inputs_[i].dims.size(); ++axis) {
      fits = inputs_[i].dims[axis] < 0 || inputs_[i].dims[axis] == desc->dims[axis];
    }
    if (!fits) {
      return invalid_argument(concat("input ", quote(inputs_[i].name), " is ", dims_text(inputs_[i].dims),
                                     " (-1 = any); its description says ", dims_text(desc->dims)));
    }
    shapes[i] = desc->dims;
  }
  return {};
}

void ModelInterface::fill_from_symbols(Shapes& shapes) const {
  std::map<std::string, int64_t> known;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    for (size_t axis = 0; axis < inputs_[i].symbols.size() && axis < shapes[i].size(); ++axis) {
      if (!inputs_[i].symbols[axis].empty() && shapes[i][axis] >= 0) known.emplace(inputs_[i].symbols[axis], shapes[i][axis]);
    }
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    for (size_t axis = 0; axis < inputs_[i].symbols.size() && axis < shapes[i].size(); ++axis) {
      const auto named = known.find(inputs_[i].symbols[axis]);
      if (shapes[i][axis] < 0 && named != known.end()) shapes[i][axis] = named->second;
    }
  }
}

// A single open dimension follows from the buffer's size; of several, and beside sizes that were set, the batch is 1.
Status ModelInterface::fill_from_bytes(std::span<const GivenInput> given, bool sizes_were_set, Shapes& shapes) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    std::vector<int64_t>& dims = shapes[i];
    if (!inputs_[i].has_shape && dims.empty()) {
      return invalid_argument(concat("input ", quote(inputs_[i].name), " has any shape: say which with aclmdlSetDatasetTensorDesc()"));
    }
    const auto open_dims = std::ranges::count(dims, -1);
    if (dims.size() > 1 && dims[0] < 0 && (open_dims > 1 || sizes_were_set)) {
      dims[0] = 1;
      warn_once(
          concat("model ", quote(name_), ", input ", quote(inputs_[i].name), " ", dims_text(inputs_[i].dims),
                 ": nothing says how large the batch is; it is taken to be 1. Put the model's atc command line into TENSORTAP_ACL_ATC"));
    }
    if (std::ranges::count(dims, -1) > 1) {
      return invalid_argument(concat("input ", quote(inputs_[i].name), " is ", dims_text(inputs_[i].dims),
                                     ": set its open dimensions (-1) before the run, or with TENSORTAP_ACL_ATC"));
    }
    const auto open = std::ranges::find(dims, -1);
    if (open == dims.end()) continue;
    *open = 1;
    uint64_t unit = 0;
    if (!tensor_bytes(inputs_[i].type, dims, unit) || unit == 0 || given[i].bytes % unit != 0) {
      return invalid_argument(concat("input ", quote(inputs_[i].name), " is ", dims_text(inputs_[i].dims), "; its buffer of ",
                                     given[i].bytes, " bytes is no whole number of ", unit));
    }
    *open = static_cast<int64_t>(given[i].bytes / unit);
    fill_from_symbols(shapes);
  }
  return {};
}

Result<Shapes> ModelInterface::input_shapes(const DynamicSizes& sizes, std::span<const GivenInput> given) const {
  TENSORTAP_ASSIGN_OR_RETURN(const Sizes open, sizes_of(sizes));
  Shapes shapes;
  size_t next = 0;
  for (const ValueFacts& input : inputs_) {
    shapes.push_back(input.dims);
    for (int64_t& dim : shapes.back()) {
      if (dim < 0) dim = open[next++];
    }
  }
  TENSORTAP_RETURN_IF_ERROR(fill_from_descriptions(given, shapes));
  fill_from_symbols(shapes);
  TENSORTAP_RETURN_IF_ERROR(fill_from_bytes(given, !sizes.empty(), shapes));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    uint64_t bytes = 0;
    if (!tensor_bytes(inputs_[i].type, shapes[i], bytes) || bytes > given[i].bytes) {
      return invalid_argument(concat("input ", quote(inputs_[i].name), " of shape ", dims_text(shapes[i]), " takes ", bytes,
                                     " bytes; its buffer has ", given[i].bytes));
    }
  }
  return shapes;
}

}  // namespace tensortap::acl_source
