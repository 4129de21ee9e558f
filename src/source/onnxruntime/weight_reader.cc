#include "source/onnxruntime/weight_reader.h"

#include <sys/mman.h>
#include <unistd.h>

#include "source/onnxruntime/element_types.h"

namespace tensortap::onnxruntime {

Result<TensorData> WeightReader::read(const Initializer& initializer) {
  TENSORTAP_ASSIGN_OR_RETURN(TensorData tensor, read_tensor(initializer.bytes, storage_));
  if (!tensor.external.file.empty()) TENSORTAP_RETURN_IF_ERROR(read_outside(tensor));
  return tensor;
}

Status WeightReader::read_outside(TensorData& tensor) {
  auto& map = maps_[std::string(tensor.external.file)];
  if (map.bytes().empty()) {
    TENSORTAP_ASSIGN_OR_RETURN(map, MappedFile::open(join_path(folder_, tensor.external.file)));
  }
  uint64_t count = 0;
  uint64_t size = 0;
  if (!element_count(tensor.dims, count) || !byte_count(tensor.element_type, count, size)) return corrupt("impossible shape");
  if (tensor.external.offset > map.text().size() || size > map.text().size() - tensor.external.offset)
    return corrupt("the weights file is too short");
  tensor.raw = map.text().substr(tensor.external.offset, size);
  return {};
}

void WeightReader::release_memory(const TensorData& tensor) const {
  if (!maps_.contains(tensor.external.file) || tensor.raw.empty()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(tensor.raw.data());
  const uintptr_t begin = address / page * page;
  madvise(reinterpret_cast<void*>(begin), address + tensor.raw.size() - begin, MADV_DONTNEED);
}

}  // namespace tensortap::onnxruntime
