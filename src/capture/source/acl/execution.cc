#include "source/acl/execution.h"

#include <algorithm>
#include <cstring>

#include "base/json.h"
#include "base/text.h"
#include "source/acl/element_kinds.h"
#include "source/acl/exceptions.h"
#include "source/acl/failure.h"
#include "source/acl/live_handles.h"
#include "source/acl/memory.h"
#include "source/acl/tensor_desc.h"

namespace tensortap::acl_source {
namespace {

// A data set as it is at the moment of the run.
struct BoundDataset {
  std::shared_ptr<aclmdlDataset> dataset;
  std::vector<std::shared_ptr<aclDataBuffer>> buffers;
  std::vector<std::shared_ptr<aclTensorDesc>> descriptions;
  DynamicSizes sizes;
};

aclError bind_dataset(const aclmdlDataset* handle, BoundDataset& bound) {
  bound.dataset = live<aclmdlDataset>().find(handle);
  if (!bound.dataset) return bad_handle("data set");
  const std::lock_guard lock(bound.dataset->mutex);
  for (const auto& entry : bound.dataset->entries) {
    bound.buffers.push_back(live<aclDataBuffer>().find(entry.buffer));
    bound.descriptions.push_back(entry.description);
    if (!bound.buffers.back()) return bad_handle("data buffer");
  }
  bound.sizes = bound.dataset->sizes;
  return ACL_SUCCESS;
}

// The buffer of the sizes, which programs add behind the inputs, is not read: the sizes came with a call.
aclError check_counts(const ModelInterface& interface, const BoundDataset& input, const BoundDataset& output) {
  const size_t wanted = interface.inputs().size();
  const size_t given = input.buffers.size();
  if (given != wanted && !(interface.is_dynamic() && given == wanted + 1)) {
    return fail(ACL_ERROR_MODEL_INPUT_NOT_MATCH, concat("the model has ", wanted, " inputs, the data set ", given, " buffers"));
  }
  if (output.buffers.size() == interface.outputs().size()) return ACL_SUCCESS;
  return fail(ACL_ERROR_MODEL_OUTPUT_NOT_MATCH,
              concat("the model has ", interface.outputs().size(), " outputs, the data set ", output.buffers.size(), " buffers"));
}

// A program that hands over the buffer of the sizes and sets none would get those of its buffers, which are as large as the largest may be.
bool lacks_sizes(const ModelInterface& interface, const BoundDataset& input) {
  if (!interface.is_dynamic() || input.buffers.size() != interface.inputs().size() + 1 || !input.sizes.empty()) return false;
  return std::ranges::all_of(input.descriptions, [](const auto& description) { return description == nullptr; });
}

aclError shapes_of_run(const ModelInterface& interface, const BoundDataset& input, Shapes& shapes) {
  if (lacks_sizes(interface, input)) {
    return fail(ACL_ERROR_MODEL_INPUT_NOT_MATCH,
                "the sizes of the open dimensions are not set: call aclmdlSetDynamicBatchSize(), aclmdlSetDynamicHWSize() or "
                "aclmdlSetInputDynamicDims() before the run");
  }
  std::vector<GivenInput> given;
  for (size_t i = 0; i < interface.inputs().size(); ++i) {
    const aclError checked = check_buffer(*input.buffers[i], false);
    if (checked != ACL_SUCCESS) return checked;
    if (dtype_of(interface.inputs()[i].type) == TENSORTAP_UNDEFINED || interface.inputs()[i].type == ACL_STRING) {
      return fail(ACL_ERROR_UNSUPPORTED_DATA_TYPE, concat("input ", quote(interface.inputs()[i].name), " cannot lie in a buffer"));
    }
    given.push_back({input.buffers[i]->size, input.descriptions[i].get()});
  }
  auto found = interface.input_shapes(input.sizes, given);
  if (!found.ok()) return fail(ACL_ERROR_MODEL_INPUT_NOT_MATCH, found.status().message());
  shapes = *std::move(found);
  return ACL_SUCCESS;
}

void describe_output(BoundDataset& output, size_t index, const tensortap_tensor& made) {
  const aclDataType type = acl_type_of(made.dtype);
  const std::span<const int64_t> dims(made.dims, made.rank);
  auto described = describe_tensor(type, dims, natural_format(type, dims.size()));
  if (made.name != nullptr) described->name = made.name;
  described->address = output.buffers[index]->data;
  const std::lock_guard lock(output.dataset->mutex);
  if (index >= output.dataset->entries.size()) return;
  auto& held = output.dataset->entries[index].description;
  if (held) live<aclTensorDesc>().remove(held.get());
  held = std::move(described);
  live<aclTensorDesc>().add(held);
}

}  // namespace

aclError check_buffer(const aclDataBuffer& buffer, bool may_be_empty) {
  if (buffer.data == nullptr && (may_be_empty || buffer.size == 0)) {
    return buffer.size == 0 ? ACL_SUCCESS : fail(ACL_ERROR_INVALID_PARAM, "a data buffer has a size but no memory");
  }
  if (Memory::of_process().extent(buffer.data, buffer.size) == Extent::kInside) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM,
              concat("the memory of a data buffer of ", buffer.size, " bytes was not allocated here, is freed, or is smaller"));
}

aclError store_output(const tensortap_tensor& made, aclDataBuffer& buffer) {
  uint64_t bytes = 0;
  const aclDataType type = acl_type_of(made.dtype);
  if (type == ACL_DT_UNDEFINED || type == ACL_STRING || !tensor_bytes(type, {made.dims, made.rank}, bytes)) {
    return fail(ACL_ERROR_UNSUPPORTED_DATA_TYPE,
                concat("output ", quote(made.name != nullptr ? made.name : ""), " cannot lie in a buffer"));
  }
  if (buffer.data == nullptr && buffer.size == 0 && bytes > 0) {
    buffer.data = Memory::of_process().allocate(bytes, MemoryKind::kDevice);
    if (buffer.data == nullptr) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, concat("there is no memory for ", bytes, " bytes"));
    buffer.size = bytes;
  }
  if (bytes > buffer.size) {
    return fail(ACL_ERROR_MODEL_OUTPUT_NOT_MATCH,
                concat("output ", quote(made.name != nullptr ? made.name : ""), " takes ", bytes, " bytes; its buffer has ", buffer.size));
  }
  if (bytes > 0) std::memcpy(buffer.data, made.data, bytes);
  return ACL_SUCCESS;
}

tensortap_tensor input_tensor(aclDataType type, const std::vector<int64_t>& dims, const void* data) {
  tensortap_tensor tensor{};
  tensor.size = sizeof(tensor);
  tensor.dtype = dtype_of(type);
  tensor.data = data;
  tensor.dims = dims.data();
  tensor.rank = static_cast<uint32_t>(dims.size());
  tensor.slot_kind = TENSORTAP_SLOT_INPUT;
  tensor.element = -1;
  return tensor;
}

aclError run_model(Model& model, const aclmdlDataset* input_handle, aclmdlDataset* output_handle, uint32_t stream) {
  BoundDataset input;
  BoundDataset output;
  Shapes shapes;
  const ModelInterface& interface = *model.interface();
  aclError error = bind_dataset(input_handle, input);
  if (error == ACL_SUCCESS) error = bind_dataset(output_handle, output);
  if (error == ACL_SUCCESS) error = check_counts(interface, input, output);
  for (size_t i = 0; error == ACL_SUCCESS && i < output.buffers.size(); ++i) error = check_buffer(*output.buffers[i], true);
  if (error == ACL_SUCCESS) error = shapes_of_run(interface, input, shapes);
  if (error != ACL_SUCCESS) return error;
  std::vector<tensortap_tensor> tensors;
  for (size_t i = 0; i < shapes.size(); ++i) {
    tensors.push_back(input_tensor(interface.inputs()[i].type, shapes[i], input.buffers[i]->data));
    tensors.back().slot_index = static_cast<uint32_t>(i);
  }
  Shapes made_shapes(output.buffers.size());
  Json failed_op;
  const Status ran = model.engine().run(
      tensors,
      [&](const tensortap_tensor& made) {
        if (made.slot_index >= output.buffers.size()) return;
        const aclError stored = store_output(made, *output.buffers[made.slot_index]);
        if (error == ACL_SUCCESS) error = stored;
        made_shapes[made.slot_index].assign(made.dims, made.dims + made.rank);
        describe_output(output, made.slot_index, made);
      },
      failed_op);
  if (!ran.ok()) {
    const aclError code = fail(ACL_ERROR_GE_FAILURE, ran.message());
    exceptions::report(failed_op, stream, static_cast<uint32_t>(code));
    return code;
  }
  model.set_current_outputs(std::move(made_shapes));
  return error;
}

}  // namespace tensortap::acl_source
