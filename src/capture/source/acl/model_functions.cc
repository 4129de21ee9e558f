// The C functions of acl_mdl.h about loading and running.

#include <cstring>
#include <memory>
#include <string>

#include "base/text.h"
#include "source/acl/exceptions.h"
#include "source/acl/execution.h"
#include "source/acl/failure.h"
#include "source/acl/live_handles.h"
#include "source/acl/models.h"
#include "source/acl/objects.h"
#include "source/acl/stream.h"

namespace tensortap::acl_source {
namespace {

// ONNX Runtime's own memory is not the program's affair, but a size of 0 cannot be allocated.
constexpr size_t kTokenWorkBytes = 1024;

ModelSource from_file(const char* path) { return {path, {}}; }
ModelSource from_memory(const void* model, size_t size) { return {"", {static_cast<const char*>(model), size}}; }

aclError load_file(const char* path, uint32_t* id) {
  if (path == nullptr || *path == '\0') return fail(ACL_ERROR_INVALID_PARAM, "the path of the model is null or empty");
  return Models::of_process().load(from_file(path), id);
}

aclError load_memory(const void* model, size_t size, uint32_t* id) {
  if (model == nullptr || size == 0) return fail(ACL_ERROR_INVALID_PARAM, "the model is null or has no bytes");
  return Models::of_process().load(from_memory(model, size), id);
}

aclError query_size(const ModelSource& source, size_t* work, size_t* weights) {
  if (work == nullptr || weights == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "a pointer for the sizes is null");
  uint64_t bytes = 0;
  const aclError error = model_bytes(source, bytes);
  if (error != ACL_SUCCESS) return error;
  *work = kTokenWorkBytes;
  *weights = bytes;
  return ACL_SUCCESS;
}

template <class T>
aclError read_option(const void* value, size_t size, T& target) {
  if (size != sizeof(T)) return fail(ACL_ERROR_INVALID_PARAM, concat("this option has ", sizeof(T), " bytes, not ", size));
  std::memcpy(&target, value, sizeof(T));
  return ACL_SUCCESS;
}

aclError set_option(aclmdlConfigHandle& config, aclmdlConfigAttr attribute, const void* value, size_t size) {
  switch (attribute) {
    case ACL_MDL_LOAD_TYPE_SIZET:
      return read_option(value, size, config.load_type);
    case ACL_MDL_MEM_ADDR_PTR:
      return read_option(value, size, config.memory);
    case ACL_MDL_MEM_SIZET:
      return read_option(value, size, config.memory_size);
    case ACL_MDL_PATH_PTR: {
      const char* path = nullptr;
      const aclError error = read_option(value, size, path);
      if (error == ACL_SUCCESS && path == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the path of the model is null");
      if (error == ACL_SUCCESS) config.path = path;
      return error;
    }
    default:
      // Priorities, queues and memory for weights: nothing depends on them here.
      return attribute >= ACL_MDL_PRIORITY_INT32 && attribute <= ACL_MDL_WORKSPACE_MEM_OPTIMIZE
                 ? ACL_SUCCESS
                 : fail(ACL_ERROR_INVALID_PARAM, concat("there is no option ", static_cast<int>(attribute)));
  }
}

aclError load_with_config(const aclmdlConfigHandle* handle, uint32_t* id) {
  const auto config = live<aclmdlConfigHandle>().find(handle);
  if (!config) return bad_handle("model config");
  switch (config->load_type) {
    case ACL_MDL_LOAD_FROM_FILE:
    case ACL_MDL_LOAD_FROM_FILE_WITH_MEM:
    case ACL_MDL_LOAD_FROM_FILE_WITH_Q:
      return load_file(config->path.c_str(), id);
    case ACL_MDL_LOAD_FROM_MEM:
    case ACL_MDL_LOAD_FROM_MEM_WITH_MEM:
    case ACL_MDL_LOAD_FROM_MEM_WITH_Q:
      return load_memory(config->memory, config->memory_size, id);
    default:
      return fail(ACL_ERROR_INVALID_PARAM, "ACL_MDL_LOAD_TYPE_SIZET must be set to one of ACL_MDL_LOAD_FROM_...");
  }
}

aclError execute(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output, uint32_t stream) {
  const auto model = Models::of_process().find(id);
  return model ? run_model(*model, input, output, stream) : no_such_model(id);
}

aclError execute_on(aclrtStream handle, uint32_t id, const aclmdlDataset* input, aclmdlDataset* output) {
  const auto stream = Stream::find(handle);
  if (!stream) return bad_handle("stream");
  const auto model = Models::of_process().find(id);
  if (!model) return no_such_model(id);
  // Wrong handles are reported at once; errors of the run, when the stream is synchronised.
  if (!live<aclmdlDataset>().find(input) || !live<aclmdlDataset>().find(output)) return bad_handle("data set");
  stream->add([=, number = stream->id()] { return run_model(*model, input, output, number); });
  return ACL_SUCCESS;
}

aclError set_sizes(uint32_t id, aclmdlDataset* handle, size_t index, const DynamicSizes& sizes) {
  const auto dataset = live<aclmdlDataset>().find(handle);
  if (!dataset) return bad_handle("data set");
  const auto model = Models::of_process().find(id);
  if (!model) return no_such_model(id);
  const ModelInterface& interface = *model->interface();
  const aclError checked = interface.check_sizes(sizes);
  if (checked != ACL_SUCCESS) return checked;
  if (index != interface.inputs().size()) {
    return fail(ACL_ERROR_INVALID_PARAM, concat("the index is that of " ACL_DYNAMIC_TENSOR_NAME ", ", interface.inputs().size()));
  }
  {
    const std::lock_guard lock(dataset->mutex);
    dataset->sizes = sizes;
  }
  const std::vector<GivenInput> enough(interface.inputs().size(), GivenInput{SIZE_MAX, nullptr});
  const auto shapes = interface.input_shapes(sizes, enough);
  model->set_current_outputs(shapes.ok() ? interface.output_shapes(*shapes) : Shapes());
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace tensortap::acl_source

using tensortap::acl_source::answer;
using tensortap::acl_source::answer_or;
using tensortap::acl_source::bad_handle;
using tensortap::acl_source::DynamicSizes;
using tensortap::acl_source::fail;
using tensortap::acl_source::live;
using tensortap::acl_source::Models;

extern "C" {

aclError aclmdlLoadFromFile(const char* modelPath, uint32_t* modelId) {
  return answer([&] { return tensortap::acl_source::load_file(modelPath, modelId); });
}

aclError aclmdlLoadFromMem(const void* model, size_t modelSize, uint32_t* modelId) {
  return answer([&] { return tensortap::acl_source::load_memory(model, modelSize, modelId); });
}

aclError aclmdlLoadFromFileWithMem(const char* modelPath, uint32_t* modelId, void*, size_t, void*, size_t) {
  return aclmdlLoadFromFile(modelPath, modelId);
}

aclError aclmdlLoadFromMemWithMem(const void* model, size_t modelSize, uint32_t* modelId, void*, size_t, void*, size_t) {
  return aclmdlLoadFromMem(model, modelSize, modelId);
}

aclmdlConfigHandle* aclmdlCreateConfigHandle(void) {
  return answer_or<aclmdlConfigHandle*>(nullptr, [] { return live<aclmdlConfigHandle>().add(std::make_shared<aclmdlConfigHandle>()); });
}

aclError aclmdlDestroyConfigHandle(aclmdlConfigHandle* handle) {
  return answer([&]() -> aclError { return live<aclmdlConfigHandle>().remove(handle) ? ACL_SUCCESS : bad_handle("model config"); });
}

aclError aclmdlSetConfigOpt(aclmdlConfigHandle* handle, aclmdlConfigAttr attr, const void* attrValue, size_t valueSize) {
  return answer([&]() -> aclError {
    const auto config = live<aclmdlConfigHandle>().find(handle);
    if (!config) return bad_handle("model config");
    if (attrValue == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the option has no value");
    return tensortap::acl_source::set_option(*config, attr, attrValue, valueSize);
  });
}

aclError aclmdlLoadWithConfig(const aclmdlConfigHandle* handle, uint32_t* modelId) {
  return answer([&] { return tensortap::acl_source::load_with_config(handle, modelId); });
}

aclError aclmdlQuerySize(const char* fileName, size_t* workSize, size_t* weightSize) {
  return answer([&]() -> aclError {
    if (fileName == nullptr || *fileName == '\0') return fail(ACL_ERROR_INVALID_PARAM, "the path of the model is null or empty");
    return tensortap::acl_source::query_size(tensortap::acl_source::from_file(fileName), workSize, weightSize);
  });
}

aclError aclmdlQuerySizeFromMem(const void* model, size_t modelSize, size_t* workSize, size_t* weightSize) {
  return answer([&]() -> aclError {
    if (model == nullptr || modelSize == 0) return fail(ACL_ERROR_INVALID_PARAM, "the model is null or has no bytes");
    return tensortap::acl_source::query_size(tensortap::acl_source::from_memory(model, modelSize), workSize, weightSize);
  });
}

aclError aclmdlUnload(uint32_t modelId) {
  return answer([&] { return Models::of_process().unload(modelId); });
}

aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output) {
  return answer([&] { return tensortap::acl_source::execute(modelId, input, output, tensortap::acl_source::Stream::of_null()->id()); });
}

aclError aclmdlExecuteV2(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output, aclrtStream stream,
                         const aclmdlExecConfigHandle* handle) {
  return answer([&]() -> aclError {
    const auto known = tensortap::acl_source::Stream::find(stream);
    if (!known) return bad_handle("stream");
    if (handle != nullptr && !live<aclmdlExecConfigHandle>().find(handle)) return bad_handle("execution config");
    return tensortap::acl_source::execute(modelId, input, output, known->id());
  });
}

aclError aclmdlExecuteAsync(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output, aclrtStream stream) {
  return answer([&] { return tensortap::acl_source::execute_on(stream, modelId, input, output); });
}

aclmdlExecConfigHandle* aclmdlCreateExecConfigHandle(void) {
  return answer_or<aclmdlExecConfigHandle*>(nullptr,
                                            [] { return live<aclmdlExecConfigHandle>().add(std::make_shared<aclmdlExecConfigHandle>()); });
}

aclError aclmdlDestroyExecConfigHandle(const aclmdlExecConfigHandle* handle) {
  return answer([&]() -> aclError { return live<aclmdlExecConfigHandle>().remove(handle) ? ACL_SUCCESS : bad_handle("execution config"); });
}

aclError aclmdlSetExecConfigOpt(aclmdlExecConfigHandle* handle, aclmdlExecConfigAttr attr, const void* attrValue, size_t valueSize) {
  return answer([&]() -> aclError {
    const auto config = live<aclmdlExecConfigHandle>().find(handle);
    if (!config) return bad_handle("execution config");
    if (attrValue == nullptr || (attr != ACL_MDL_STREAM_SYNC_TIMEOUT && attr != ACL_MDL_EVENT_SYNC_TIMEOUT)) {
      return fail(ACL_ERROR_INVALID_PARAM, "unknown option, or it has no value");
    }
    return tensortap::acl_source::read_option(attrValue, valueSize, config->stream_timeout);
  });
}

aclError aclmdlSetDynamicBatchSize(uint32_t modelId, aclmdlDataset* dataset, size_t index, uint64_t batchSize) {
  return answer([&]() -> aclError {
    if (batchSize == 0 || batchSize > INT32_MAX) return fail(ACL_ERROR_INVALID_PARAM, "this is no size of a batch");
    DynamicSizes sizes;
    sizes.batch = batchSize;
    return tensortap::acl_source::set_sizes(modelId, dataset, index, sizes);
  });
}

aclError aclmdlSetDynamicHWSize(uint32_t modelId, aclmdlDataset* dataset, size_t index, uint64_t height, uint64_t width) {
  return answer([&]() -> aclError {
    if (height == 0 || width == 0 || height > INT32_MAX || width > INT32_MAX)
      return fail(ACL_ERROR_INVALID_PARAM, "this is no size of an image");
    DynamicSizes sizes;
    sizes.height = height;
    sizes.width = width;
    return tensortap::acl_source::set_sizes(modelId, dataset, index, sizes);
  });
}

aclError aclmdlSetInputDynamicDims(uint32_t modelId, aclmdlDataset* dataset, size_t index, const aclmdlIODims* dims) {
  return answer([&]() -> aclError {
    if (dims == nullptr || dims->dimCount == 0 || dims->dimCount > ACL_MAX_DIM_CNT) return fail(ACL_ERROR_INVALID_PARAM, "no dimensions");
    DynamicSizes sizes;
    sizes.dims.assign(dims->dims, dims->dims + dims->dimCount);
    for (const int64_t dim : sizes.dims) {
      if (dim < 0 || dim > INT32_MAX) return fail(ACL_ERROR_INVALID_PARAM, "a dimension is not a size");
    }
    return tensortap::acl_source::set_sizes(modelId, dataset, index, sizes);
  });
}

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  tensortap::acl_source::exceptions::set_callback(callback);
  return ACL_SUCCESS;
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) { return info != nullptr ? info->task : UINT32_MAX; }
uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) { return info != nullptr ? info->stream : UINT32_MAX; }
uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) { return info != nullptr ? info->thread : UINT32_MAX; }
uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) { return info != nullptr ? info->device : UINT32_MAX; }
uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) { return info != nullptr ? info->code : UINT32_MAX; }
aclError aclrtGetArgsFromExceptionInfo(const aclrtExceptionInfo* info, void** devArgsPtr, uint32_t* devArgsLen) {
  return answer([&]() -> aclError {
    if (info == nullptr || devArgsPtr == nullptr || devArgsLen == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "an argument is null");
    *devArgsPtr = nullptr;
    *devArgsLen = 0;
    return ACL_SUCCESS;
  });
}
}
