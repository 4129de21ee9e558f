#include "source/onnxruntime/model/weight_reader.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "tensor/channel_blocks.h"

namespace tensortap::onnxruntime {

Result<TensorProto> WeightReader::read(const Initializer& initializer) {
  TENSORTAP_ASSIGN_OR_RETURN(TensorProto tensor, read_tensor_proto(initializer.bytes, storage_));
  if (!tensor.external.file.empty()) TENSORTAP_RETURN_IF_ERROR(read_outside(tensor));
  return tensor;
}

Status WeightReader::read_outside(TensorProto& tensor) {
  auto& map = maps_[std::string(tensor.external.file)];
  if (map.bytes().empty()) {
    TENSORTAP_ASSIGN_OR_RETURN(map, MappedFile::open(join_path(folder_, tensor.external.file)));
  }
  const auto size = packed_bytes(dtype_from_onnx(tensor.element_type), element_count(tensor.dims).value_or(UINT64_MAX));
  if (!size) return corrupt("impossible shape");
  if (tensor.external.offset > map.text().size() || *size > map.text().size() - tensor.external.offset)
    return corrupt("the weights file is too short");
  tensor.raw = map.text().substr(tensor.external.offset, *size);
  return {};
}

void WeightReader::release_memory(const TensorProto& tensor) const {
  if (!maps_.contains(tensor.external.file) || tensor.raw.empty()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(tensor.raw.data());
  const uintptr_t begin = address / page * page;
  madvise(reinterpret_cast<void*>(begin), address + tensor.raw.size() - begin, MADV_DONTNEED);
}

Status put_in_order(const BlockedWeight& weight, uint32_t block, std::string& memory, TensorProto& tensor) {
  const FilterBlocks filter{weight.order, block, Shape(weight.dims), uint64_t{dtype_info(dtype_from_onnx(tensor.element_type)).bits} / 8};
  const bool is_filter = block > 1 && !weight.dims.empty() && weight.dims.size() <= kMaxRank && filter.bytes_each > 0;
  const uint64_t stored = is_filter ? filter.filled().numel().value_or(0) * filter.bytes_each : 0;
  if (stored == 0 || stored != tensor.raw.size()) return unsupported("the weight is in an unknown order");
  std::string plain(element_count(weight.dims).value_or(0) * filter.bytes_each, '\0');
  if (!unblock_filter(filter, reinterpret_cast<const std::byte*>(tensor.raw.data()), reinterpret_cast<std::byte*>(plain.data())))
    return unsupported("the weight is in an unknown order");
  memory = std::move(plain);
  tensor.raw = memory;
  tensor.dims = weight.dims;
  return {};
}

}  // namespace tensortap::onnxruntime
