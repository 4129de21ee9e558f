// The C functions of acl_mdl.h that describe models.

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "source/acl/failure.h"
#include "source/acl/live_handles.h"
#include "source/acl/models.h"
#include "source/acl/objects.h"
#include "source/acl/program_symbols.h"
#include "source/acl/tensor_desc.h"

namespace tensortap::acl_source {
namespace {

enum class ValueSide : uint8_t { kInput, kOutput };

constexpr size_t kBytesOfOneSize = 8;  // of what the input of sizes would hold for each open dimension

// A description that knows its model.
std::shared_ptr<aclmdlDesc> filled_desc(const aclmdlDesc* handle) {
  auto desc = live<aclmdlDesc>().find(handle);
  return desc && desc->interface ? desc : nullptr;
}

const ValueFacts* facts_at(const aclmdlDesc& desc, ValueSide side, size_t index) {
  const auto& values = side == ValueSide::kInput ? desc.interface->inputs() : desc.interface->outputs();
  return index < values.size() ? &values[index] : nullptr;
}

// The input that a compiled model with gears has behind its own ones. Programs find it by name; it counts only where the gears are known.
bool is_size_input(const aclmdlDesc& desc, ValueSide side, size_t index) {
  return side == ValueSide::kInput && desc.interface->is_dynamic() && index == desc.interface->inputs().size();
}

// Whether buffers are to hold the largest sizes that the program may set. Says once for a model that these are guessed.
bool wants_largest(const aclmdlDesc& desc) {
  const bool wants = desc.asks_for_sizes || program_sets_sizes_blindly();
  const ModelInterface& model = *desc.interface;
  if (wants && model.is_dynamic() && !model.has_gears()) {
    warn_once(concat("model ", quote(model.name()),
                     ": the program sets sizes of open dimensions, and nothing says how large they may be. Buffers are for ",
                     "a batch of 32", model.only_batch_is_open() ? "" : " and 512 for other dimensions",
                     ". Put the model's atc command line into TENSORTAP_ACL_ATC"));
  }
  return wants;
}

// Asks about one input or output; `otherwise` where there is none.
template <class Value, class Ask>
Value ask_value(const aclmdlDesc* handle, ValueSide side, size_t index, Value otherwise, Ask&& ask) noexcept {
  return answer_or<Value>(otherwise, [&]() -> Value {
    const auto desc = filled_desc(handle);
    const ValueFacts* const facts = desc ? facts_at(*desc, side, index) : nullptr;
    return facts != nullptr ? ask(*desc, *facts) : otherwise;
  });
}

// Names that do not fit are cut, as the structure has it.
void write_dims(const std::string& name, const std::vector<int64_t>& dims, aclmdlIODims& target) {
  target = {};
  std::memcpy(target.name, name.data(), std::min(name.size(), sizeof(target.name) - 1));
  target.dimCount = dims.size();
  std::ranges::copy(dims, target.dims);
}

aclError dims_at(const aclmdlDesc* handle, ValueSide side, size_t index, aclmdlIODims* dims) {
  const auto desc = filled_desc(handle);
  if (!desc) return bad_handle("description of a model");
  if (dims == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the dimensions is null");
  if (is_size_input(*desc, side, index)) {
    write_dims(ACL_DYNAMIC_TENSOR_NAME, {static_cast<int64_t>(desc->interface->open_count())}, *dims);
    return ACL_SUCCESS;
  }
  const ValueFacts* const facts = facts_at(*desc, side, index);
  if (facts == nullptr) return fail(ACL_ERROR_INVALID_PARAM, concat("there is no number ", index));
  write_dims(facts->name, facts->dims, *dims);
  return ACL_SUCCESS;
}

aclError current_dims(const aclmdlDesc* handle, size_t index, aclmdlIODims* dims) {
  const aclError error = dims_at(handle, ValueSide::kOutput, index, dims);
  const auto desc = filled_desc(handle);
  if (error != ACL_SUCCESS || !desc || !desc->model) return error;
  const Shapes current = desc->model->current_outputs();
  if (index < current.size()) write_dims(desc->interface->outputs()[index].name, current[index], *dims);
  return ACL_SUCCESS;
}

aclError index_of(const aclmdlDesc* handle, ValueSide side, const char* name, size_t* index) {
  const auto desc = filled_desc(handle);
  if (!desc) return bad_handle("description of a model");
  if (name == nullptr || index == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the name or the pointer for the index is null");
  const auto& values = side == ValueSide::kInput ? desc->interface->inputs() : desc->interface->outputs();
  const auto found = std::ranges::find(values, std::string_view(name), &ValueFacts::name);
  if (found != values.end()) {
    *index = static_cast<size_t>(found - values.begin());
    return ACL_SUCCESS;
  }
  if (std::string_view(name) == ACL_DYNAMIC_TENSOR_NAME && is_size_input(*desc, side, values.size())) {
    desc->asks_for_sizes = true;
    *index = values.size();
    return ACL_SUCCESS;
  }
  std::vector<std::string> names;
  for (const ValueFacts& value : values) names.push_back(value.name);
  return fail(ACL_ERROR_INVALID_PARAM, concat("nothing is called ", quote(name), ".", did_you_mean(name, names)));
}

size_t input_size(const aclmdlDesc* handle, size_t index) {
  const auto desc = filled_desc(handle);
  if (!desc) return 0;
  if (is_size_input(*desc, ValueSide::kInput, index)) return desc->interface->open_count() * kBytesOfOneSize;
  return facts_at(*desc, ValueSide::kInput, index) != nullptr ? desc->interface->input_bytes(index, wants_largest(*desc)) : 0;
}

aclError batches_of(const aclmdlDesc* handle, aclmdlBatch* batch) {
  const auto desc = filled_desc(handle);
  if (!desc || batch == nullptr) return bad_handle("description of a model");
  *batch = {};
  if (!desc->interface->only_batch_is_open()) return ACL_SUCCESS;
  desc->asks_for_sizes = true;
  if (desc->interface->has_gears()) {
    for (const auto& gear : desc->interface->gears()) batch->batch[batch->batchCount++] = static_cast<uint64_t>(gear.front());
    return ACL_SUCCESS;
  }
  // Any batch runs; these are the ones whose buffers the sizes allow for.
  const size_t one = desc->interface->input_bytes(0, false);
  const size_t most = one == 0 ? 0 : desc->interface->input_bytes(0, true) / one;
  for (size_t size = 1; size <= most && batch->batchCount < ACL_MAX_BATCH_NUM; ++size) batch->batch[batch->batchCount++] = size;
  return ACL_SUCCESS;
}

aclError images_of(const aclmdlDesc* handle, aclmdlHW* hw) {
  const auto desc = filled_desc(handle);
  if (!desc || hw == nullptr) return bad_handle("description of a model");
  *hw = {};
  if (!desc->interface->only_image_is_open()) return ACL_SUCCESS;
  desc->asks_for_sizes = true;
  for (const auto& gear : desc->interface->gears()) {
    hw->hw[hw->hwCount][0] = static_cast<uint64_t>(gear[0]);
    hw->hw[hw->hwCount++][1] = static_cast<uint64_t>(gear[1]);
  }
  return ACL_SUCCESS;
}

// A gear has the dimensions of all inputs, one behind the other.
aclError gears_of(const aclmdlDesc* handle, aclmdlIODims* dims, size_t count) {
  const auto desc = filled_desc(handle);
  if (!desc || dims == nullptr) return bad_handle("description of a model");
  const Shapes& gears = desc->interface->gears();
  if (count > gears.size()) return fail(ACL_ERROR_INVALID_PARAM, concat("there are ", gears.size(), " gears"));
  for (size_t i = 0; i < count; ++i) {
    std::vector<int64_t> all;
    size_t next = 0;
    for (const ValueFacts& input : desc->interface->inputs()) {
      for (const int64_t dim : input.dims) all.push_back(dim >= 0 ? dim : gears[i][next++]);
    }
    if (all.size() > ACL_MAX_DIM_CNT) return fail(ACL_ERROR_FEATURE_UNSUPPORTED, "the inputs have too many dimensions");
    write_dims(ACL_DYNAMIC_TENSOR_NAME, all, dims[i]);
  }
  return ACL_SUCCESS;
}

// "[4]conv[4]relu": each name behind its length.
const char* originals_of(aclmdlDesc& desc, const std::string& op) {
  if (!desc.model) return nullptr;
  const auto kept = desc.attributes.find(op);
  if (kept != desc.attributes.end()) return kept->second.c_str();
  for (const Json& known : desc.model->engine().description().value("ops", Json::array())) {
    if (known.value("name", "") != op) continue;
    std::string& text = desc.attributes[op];
    for (const Json& original : known.value("originals", Json::array())) {
      const std::string name = original.get<std::string>();
      text += concat("[", name.size(), "]", name);
    }
    return text.c_str();
  }
  return nullptr;
}

aclError describe_source(aclmdlDesc* handle, const ModelSource& source) {
  const auto desc = live<aclmdlDesc>().find(handle);
  if (!desc) return bad_handle("description of a model");
  std::shared_ptr<const ModelInterface> interface;
  const aclError error = read_interface(source, interface);
  if (error != ACL_SUCCESS) return error;
  desc->interface = std::move(interface);
  desc->model.reset();
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace tensortap::acl_source

using tensortap::acl_source::answer;
using tensortap::acl_source::answer_or;
using tensortap::acl_source::ask_value;
using tensortap::acl_source::bad_handle;
using tensortap::acl_source::fail;
using tensortap::acl_source::filled_desc;
using tensortap::acl_source::live;
using tensortap::acl_source::ValueFacts;
using tensortap::acl_source::ValueSide;

extern "C" {

aclmdlDesc* aclmdlCreateDesc(void) {
  return answer_or<aclmdlDesc*>(nullptr, [] { return live<aclmdlDesc>().add(std::make_shared<aclmdlDesc>()); });
}

aclError aclmdlDestroyDesc(aclmdlDesc* modelDesc) {
  return answer([&]() -> aclError { return live<aclmdlDesc>().remove(modelDesc) ? ACL_SUCCESS : bad_handle("description of a model"); });
}

aclError aclmdlGetDesc(aclmdlDesc* modelDesc, uint32_t modelId) {
  return answer([&]() -> aclError {
    const auto desc = live<aclmdlDesc>().find(modelDesc);
    if (!desc) return bad_handle("description of a model");
    const auto model = tensortap::acl_source::Models::of_process().find(modelId);
    if (!model) return tensortap::acl_source::no_such_model(modelId);
    desc->interface = model->interface();
    desc->model = model;
    desc->asks_for_sizes = false;
    desc->attributes.clear();
    return ACL_SUCCESS;
  });
}

aclError aclmdlGetDescFromFile(aclmdlDesc* modelDesc, const char* modelPath) {
  return answer([&]() -> aclError {
    if (modelPath == nullptr || *modelPath == '\0') return fail(ACL_ERROR_INVALID_PARAM, "the path of the model is null or empty");
    return tensortap::acl_source::describe_source(modelDesc, {modelPath, {}});
  });
}

aclError aclmdlGetDescFromMem(aclmdlDesc* modelDesc, const void* model, size_t modelSize) {
  return answer([&]() -> aclError {
    if (model == nullptr || modelSize == 0) return fail(ACL_ERROR_INVALID_PARAM, "the model is null or has no bytes");
    return tensortap::acl_source::describe_source(modelDesc, {"", {static_cast<const char*>(model), modelSize}});
  });
}

size_t aclmdlGetNumInputs(aclmdlDesc* modelDesc) {
  return answer_or<size_t>(0, [&]() -> size_t {
    const auto desc = filled_desc(modelDesc);
    return desc ? desc->interface->inputs().size() + (desc->interface->has_gears() ? 1 : 0) : 0;
  });
}

size_t aclmdlGetNumOutputs(aclmdlDesc* modelDesc) {
  return answer_or<size_t>(0, [&]() -> size_t {
    const auto desc = filled_desc(modelDesc);
    return desc ? desc->interface->outputs().size() : 0;
  });
}

size_t aclmdlGetInputSizeByIndex(aclmdlDesc* modelDesc, size_t index) {
  return answer_or<size_t>(0, [&] { return tensortap::acl_source::input_size(modelDesc, index); });
}

size_t aclmdlGetOutputSizeByIndex(aclmdlDesc* modelDesc, size_t index) {
  return ask_value(modelDesc, ValueSide::kOutput, index, size_t{0}, [&](const aclmdlDesc& desc, const ValueFacts&) {
    return desc.interface->output_bytes(index, tensortap::acl_source::wants_largest(desc));
  });
}

aclError aclmdlGetInputDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims) {
  return answer([&] { return tensortap::acl_source::dims_at(modelDesc, ValueSide::kInput, index, dims); });
}

aclError aclmdlGetInputDimsV2(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims) {
  return aclmdlGetInputDims(modelDesc, index, dims);
}

aclError aclmdlGetOutputDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims) {
  return answer([&] { return tensortap::acl_source::dims_at(modelDesc, ValueSide::kOutput, index, dims); });
}

aclError aclmdlGetCurOutputDims(const aclmdlDesc* modelDesc, size_t index, aclmdlIODims* dims) {
  return answer([&] { return tensortap::acl_source::current_dims(modelDesc, index, dims); });
}

const char* aclmdlGetInputNameByIndex(const aclmdlDesc* modelDesc, size_t index) {
  return answer_or<const char*>("", [&]() -> const char* {
    const auto desc = filled_desc(modelDesc);
    if (!desc) return "";
    if (tensortap::acl_source::is_size_input(*desc, ValueSide::kInput, index)) return ACL_DYNAMIC_TENSOR_NAME;
    const ValueFacts* const facts = tensortap::acl_source::facts_at(*desc, ValueSide::kInput, index);
    return facts != nullptr ? facts->name.c_str() : "";
  });
}

const char* aclmdlGetOutputNameByIndex(const aclmdlDesc* modelDesc, size_t index) {
  return ask_value(modelDesc, ValueSide::kOutput, index, "", [](const aclmdlDesc&, const ValueFacts& facts) { return facts.name.c_str(); });
}

aclFormat aclmdlGetInputFormat(const aclmdlDesc* modelDesc, size_t index) {
  return ask_value(modelDesc, ValueSide::kInput, index, ACL_FORMAT_UNDEFINED,
                   [](const aclmdlDesc&, const ValueFacts& facts) { return facts.format; });
}

aclFormat aclmdlGetOutputFormat(const aclmdlDesc* modelDesc, size_t index) {
  return ask_value(modelDesc, ValueSide::kOutput, index, ACL_FORMAT_UNDEFINED,
                   [](const aclmdlDesc&, const ValueFacts& facts) { return facts.format; });
}

aclDataType aclmdlGetInputDataType(const aclmdlDesc* modelDesc, size_t index) {
  return ask_value(modelDesc, ValueSide::kInput, index, ACL_DT_UNDEFINED,
                   [](const aclmdlDesc&, const ValueFacts& facts) { return facts.type; });
}

aclDataType aclmdlGetOutputDataType(const aclmdlDesc* modelDesc, size_t index) {
  return ask_value(modelDesc, ValueSide::kOutput, index, ACL_DT_UNDEFINED,
                   [](const aclmdlDesc&, const ValueFacts& facts) { return facts.type; });
}

aclError aclmdlGetInputIndexByName(const aclmdlDesc* modelDesc, const char* name, size_t* index) {
  return answer([&] { return tensortap::acl_source::index_of(modelDesc, ValueSide::kInput, name, index); });
}

aclError aclmdlGetOutputIndexByName(const aclmdlDesc* modelDesc, const char* name, size_t* index) {
  return answer([&] { return tensortap::acl_source::index_of(modelDesc, ValueSide::kOutput, name, index); });
}

aclError aclmdlGetDynamicBatch(const aclmdlDesc* modelDesc, aclmdlBatch* batch) {
  return answer([&] { return tensortap::acl_source::batches_of(modelDesc, batch); });
}

aclError aclmdlGetDynamicHW(const aclmdlDesc* modelDesc, size_t, aclmdlHW* hw) {
  return answer([&] { return tensortap::acl_source::images_of(modelDesc, hw); });
}

aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc* modelDesc, size_t, size_t* gearCount) {
  return answer([&]() -> aclError {
    const auto desc = filled_desc(modelDesc);
    if (!desc || gearCount == nullptr) return bad_handle("description of a model");
    *gearCount = desc->interface->gears().size();
    return ACL_SUCCESS;
  });
}

aclError aclmdlGetInputDynamicDims(const aclmdlDesc* modelDesc, size_t, aclmdlIODims* dims, size_t gearCount) {
  return answer([&] { return tensortap::acl_source::gears_of(modelDesc, dims, gearCount); });
}

const char* aclmdlGetOpAttr(aclmdlDesc* modelDesc, const char* opName, const char* attr) {
  return answer_or<const char*>(nullptr, [&]() -> const char* {
    const auto desc = filled_desc(modelDesc);
    if (!desc || opName == nullptr || attr == nullptr || std::string_view(attr) != ACL_ATTR_NAME_DATA_DUMP_ORIGIN_OP_NAMES) return nullptr;
    return tensortap::acl_source::originals_of(*desc, opName);
  });
}

const char* aclmdlGetTensorRealName(const aclmdlDesc* modelDesc, const char* name) {
  return answer_or<const char*>(nullptr, [&]() -> const char* {
    const auto desc = filled_desc(modelDesc);
    if (!desc || name == nullptr) return nullptr;
    for (const auto* values : {&desc->interface->inputs(), &desc->interface->outputs()}) {
      const auto found = std::ranges::find(*values, std::string_view(name), &ValueFacts::name);
      if (found != values->end()) return found->name.c_str();
    }
    return nullptr;
  });
}
}
