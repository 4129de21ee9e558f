#include "source/pytorch/adapter/tensor_facts.h"

#include <tensortap/capture.h>
#include <torch/version.h>

#include <vector>

#include "source/pytorch/adapter/device_copy.h"
#include "source/pytorch/adapter/thread_frames.h"

namespace tensortap::torch_adapter {
namespace {

uint32_t dtype_of(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Byte:
    case c10::ScalarType::QUInt8:
      return TENSORTAP_UINT8;
    case c10::ScalarType::Char:
    case c10::ScalarType::QInt8:
      return TENSORTAP_INT8;
    case c10::ScalarType::Short:
      return TENSORTAP_INT16;
    case c10::ScalarType::Int:
    case c10::ScalarType::QInt32:
      return TENSORTAP_INT32;
    case c10::ScalarType::Long:
      return TENSORTAP_INT64;
    case c10::ScalarType::UInt16:
      return TENSORTAP_UINT16;
    case c10::ScalarType::UInt32:
      return TENSORTAP_UINT32;
    case c10::ScalarType::UInt64:
      return TENSORTAP_UINT64;
    case c10::ScalarType::Half:
      return TENSORTAP_FLOAT16;
    case c10::ScalarType::BFloat16:
      return TENSORTAP_BFLOAT16;
    case c10::ScalarType::Float:
      return TENSORTAP_FLOAT32;
    case c10::ScalarType::Double:
      return TENSORTAP_FLOAT64;
    case c10::ScalarType::ComplexFloat:
      return TENSORTAP_COMPLEX64;
    case c10::ScalarType::ComplexDouble:
      return TENSORTAP_COMPLEX128;
    case c10::ScalarType::Bool:
      return TENSORTAP_BOOL;
    case c10::ScalarType::Float8_e4m3fn:
      return TENSORTAP_FLOAT8_E4M3FN;
    case c10::ScalarType::Float8_e4m3fnuz:
      return TENSORTAP_FLOAT8_E4M3FNUZ;
    case c10::ScalarType::Float8_e5m2:
      return TENSORTAP_FLOAT8_E5M2;
    case c10::ScalarType::Float8_e5m2fnuz:
      return TENSORTAP_FLOAT8_E5M2FNUZ;
    case c10::ScalarType::ComplexHalf:  // its parts: NumPy has no such type
      return TENSORTAP_FLOAT16;
#if TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR >= 207
    case c10::ScalarType::Float8_e8m0fnu:
      return TENSORTAP_FLOAT8_E8M0;
#endif
#if TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR >= 208
    case c10::ScalarType::Float4_e2m1fn_x2:
      return TENSORTAP_FLOAT4_E2M1;
#endif
    default:
      return TENSORTAP_UNDEFINED;
  }
}

// Dims and strides that do not come from code of the program.
bool has_plain_sizes(const c10::TensorImpl& impl) { return !impl.has_symbolic_sizes_strides(); }

void describe_sizes(const c10::TensorImpl& impl, tensortap_torch_tensor& facts) {
  if (!has_plain_sizes(impl)) return;
  facts.dims = impl.sizes().data();
  facts.strides = impl.strides().data();
  facts.rank = static_cast<uint32_t>(impl.sizes().size());
}

bool is_contiguous(const tensortap_torch_tensor& facts) {
  int64_t expected = 1;
  for (uint32_t i = facts.rank; i-- > 0;) {
    if (facts.dims[i] == 0) return true;
    if (facts.dims[i] != 1 && facts.strides[i] != expected) return false;
    expected *= facts.dims[i];
  }
  return true;
}

// Reported sizes of a tensor that differ from torch's, kept until the thread's next call.
std::vector<int64_t>* new_sizes(const int64_t* sizes, uint32_t rank) {
  ThreadFrames* frames = thread_frames();
  return frames == nullptr ? nullptr : &frames->made_sizes.emplace_back(sizes, sizes + rank);
}

// torch counts pairs: the last dimension has twice as many elements.
void count_in_halves(tensortap_torch_tensor& facts) {
  if (facts.dims == nullptr) return;
  if (!is_contiguous(facts)) facts.flags |= TENSORTAP_TORCH_TENSOR_SCATTERED;
  std::vector<int64_t>* const dims = new_sizes(facts.dims, facts.rank);
  if (dims == nullptr) return;
  if (dims->empty()) dims->push_back(1);
  dims->back() *= 2;
  facts.dims = dims->data();
  facts.rank = static_cast<uint32_t>(dims->size());
  facts.strides = nullptr;
}

// The parts of each element form a separate dimension.
void count_parts(tensortap_torch_tensor& facts) {
  if (facts.dims == nullptr) return;
  std::vector<int64_t>* const dims = new_sizes(facts.dims, facts.rank);
  std::vector<int64_t>* const strides = new_sizes(facts.strides, facts.rank);
  if (dims == nullptr || strides == nullptr) return;
  for (int64_t& stride : *strides) stride *= 2;
  dims->push_back(2);
  strides->push_back(1);
  facts.dims = dims->data();
  facts.strides = strides->data();
  ++facts.rank;
}

void describe_memory(const c10::TensorImpl& impl, tensortap_torch_tensor& facts) {
  const c10::StorageImpl* storage = impl.storage().unsafeGetStorageImpl();
  facts.storage = storage;
  if (storage == nullptr) return;
  facts.storage_bytes = storage->nbytes();
  if (facts.kind == TENSORTAP_TORCH_DEVICE) {
    facts.device = device_memory(impl.device());
    facts.tensor = &impl;
  } else if (facts.kind != TENSORTAP_TORCH_STRIDED) {
    return;
  }
  facts.storage_data = storage->data();
  if (facts.storage_data == nullptr) return;
  facts.data = static_cast<const char*>(facts.storage_data) + impl.storage_offset() * static_cast<int64_t>(impl.itemsize());
}

}  // namespace

tensortap_torch_kind kind_of(const at::Tensor& tensor) {
  using c10::DispatchKey;
  if (!tensor.defined()) return TENSORTAP_TORCH_UNDEFINED;
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const c10::DispatchKeySet keys = impl.key_set();
  const bool wrapper = keys.has(DispatchKey::FuncTorchBatched) || keys.has(DispatchKey::FuncTorchGradWrapper) ||
                       keys.has(DispatchKey::Batched) || keys.has(DispatchKey::Functionalize) || keys.has(DispatchKey::Python);
  if (wrapper) return TENSORTAP_TORCH_WRAPPER;
  if (keys.has(DispatchKey::ZeroTensor)) return TENSORTAP_TORCH_ZERO;
  if (tensor.is_nested()) return TENSORTAP_TORCH_NESTED;
  if (tensor.is_mkldnn()) return TENSORTAP_TORCH_MKLDNN;
  if (tensor.layout() != c10::kStrided) return TENSORTAP_TORCH_SPARSE;
  if (tensor.is_meta()) return TENSORTAP_TORCH_META;
  if (!tensor.device().is_cpu()) return TENSORTAP_TORCH_DEVICE;
  return impl.has_storage() ? TENSORTAP_TORCH_STRIDED : TENSORTAP_TORCH_OTHER;
}

tensortap_torch_tensor describe(const at::Tensor& tensor, uint32_t slot, int32_t element) {
  tensortap_torch_tensor facts{};
  facts.kind = kind_of(tensor);
  facts.slot = slot;
  facts.element = element;
  if (facts.kind == TENSORTAP_TORCH_UNDEFINED || facts.kind == TENSORTAP_TORCH_WRAPPER) return facts;
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  facts.dtype = dtype_of(c10::typeMetaToScalarType(impl.dtype()));
  if (facts.kind == TENSORTAP_TORCH_NESTED || facts.kind == TENSORTAP_TORCH_SPARSE || facts.kind == TENSORTAP_TORCH_MKLDNN) return facts;
  describe_sizes(impl, facts);
  if (facts.dtype == TENSORTAP_FLOAT4_E2M1) count_in_halves(facts);
  if (c10::typeMetaToScalarType(impl.dtype()) == c10::ScalarType::ComplexHalf) count_parts(facts);
  if (facts.kind == TENSORTAP_TORCH_META || !impl.has_storage()) return facts;
  if (tensor.is_conj()) facts.flags |= TENSORTAP_TORCH_TENSOR_CONJUGATE;
  if (tensor.is_neg()) facts.flags |= TENSORTAP_TORCH_TENSOR_NEGATIVE;
  if (tensor.is_quantized()) facts.flags |= TENSORTAP_TORCH_TENSOR_QUANTIZED;
  describe_memory(impl, facts);
  return facts;
}

uint32_t role_of(const at::Tensor& tensor) {
  const bool is_parameter = tensor.defined() && tensor.requires_grad() && tensor.is_leaf();
  return TENSORTAP_TORCH_TENSOR_READ | (is_parameter ? TENSORTAP_TORCH_TENSOR_PARAMETER : 0U);
}

}  // namespace tensortap::torch_adapter
