// tensortap_write_exception(): tensors of a program, as a DumpData file.

#include <tensortap/capture.h>

#include <cstring>
#include <string>

#include "base/report_status.h"
#include "base/text.h"
#include "format/dump_data/dump_data_numbers.h"
#include "session/capture_session.h"
#include "tree/exception_file.h"

namespace tensortap {
namespace {

enum Role : uint32_t { kInput, kOutput, kWorkspace };

ExceptionTensor describe(const tensortap_exception_tensor& tensor, uint32_t index) {
  ExceptionTensor described;
  DumpDataTensor& facts = described.description;
  facts.size = tensor.bytes;
  facts.address = reinterpret_cast<uintptr_t>(tensor.data);
  facts.arg_index = index;
  if (tensor.role != kWorkspace) {
    facts.type = dump_data_type_from_ge(tensor.type);
    // The low bits are the format, the others a number of groups.
    facts.format = tensor.format & 0xff;
    facts.sub_format = tensor.format >> 8;
    facts.dims.assign(tensor.dims, tensor.dims + tensor.rank);
    facts.original_dims.assign(tensor.original_dims, tensor.original_dims + tensor.original_rank);
  }
  described.payload = {static_cast<const std::byte*>(tensor.data), tensor.bytes};
  return described;
}

Status write_exception(const tensortap_exception_file* given) {
  if (given == nullptr || given->size < sizeof(given->size)) return invalid_argument("no file, or its size is missing");
  tensortap_exception_file file{};
  std::memcpy(&file, given, std::min<size_t>(given->size, sizeof(file)));
  const tensortap_exception_tensor* const tensors = file.tensors;
  if (file.path == nullptr || (tensors == nullptr && file.tensor_count > 0)) return invalid_argument("no path, or no tensors");
  ExceptionFile content;
  content.name = file.name == nullptr ? "" : file.name;
  content.tag = file.tag == nullptr ? "" : file.tag;
  const auto* bytes = reinterpret_cast<const char*>(tensors);
  for (uint64_t i = 0; i < file.tensor_count; ++i, bytes += tensors->size) {
    tensortap_exception_tensor tensor{};
    if (tensors->size < sizeof(tensor.size)) return invalid_argument("the size of a structure is missing");
    std::memcpy(&tensor, bytes, std::min<size_t>(tensors->size, sizeof(tensor)));
    if (tensor.role > kWorkspace) return invalid_argument(concat("tensor ", i, ": there is no role ", tensor.role));
    auto& list = tensor.role == kInput ? content.inputs : tensor.role == kOutput ? content.outputs : content.workspaces;
    list.push_back(describe(tensor, static_cast<uint32_t>(i)));
  }
  return write_exception_file(file.path, content);
}

}  // namespace
}  // namespace tensortap

int tensortap_write_exception(const tensortap_exception_file* file, char* message, size_t capacity) noexcept {
  return tensortap::guarded<int>(nullptr, TENSORTAP_INTERNAL,
                                 [&] { return tensortap::report_status(tensortap::write_exception(file), message, capacity); });
}
