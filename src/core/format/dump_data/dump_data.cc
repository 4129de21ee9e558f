#include "format/dump_data/dump_data.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/spans.h"
#include "base/text.h"
#include "format/dump_data/dump_data_file.h"
#include "format/dump_data/dump_data_numbers.h"

namespace tensortap {
namespace {

Status add_tensors(std::span<const std::byte> bytes, const std::vector<DumpDataTensor>& part, std::string_view word,
                   std::vector<NamedTensor>& tensors) {
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i].absent) continue;
    const auto payload = part_of(bytes, part[i].payload_at, part[i].size);
    if (!payload) return corrupt("DumpData: the values of a tensor lie outside the file");
    TENSORTAP_ASSIGN_OR_RETURN(NamedTensor tensor, load_dump_data(part[i], *payload, concat(word, ".", i)));
    tensors.push_back(std::move(tensor));
  }
  return {};
}

// The tensors in the order of their payloads, described in `file`.
Status place_tensors(std::span<const NamedTensor> tensors, DumpDataFile& file, std::vector<const NamedTensor*>& order) {
  std::vector<const NamedTensor*> outputs;
  const auto described = [](const TensorDesc& desc) {
    DumpDataTensor tensor = describe_dump_data(desc);
    tensor.format = image_format(desc);
    return tensor;
  };
  for (const NamedTensor& tensor : tensors) {
    const TensorDesc& desc = tensor.view.desc;
    const std::optional<uint64_t> numel = desc.shape.numel();
    if (!dump_data_holds(desc.dtype)) return unsupported(concat("DumpData has no element type ", dtype_name(desc.dtype)));
    if (!numel || !packed_bytes(desc.dtype, *numel) || (tensor.view.data == nullptr && *numel > 0)) {
      return invalid_argument("DumpData: a tensor without values cannot be written");
    }
    if (tensor.name.starts_with("input.")) {
      file.inputs.push_back(described(desc));
      order.push_back(&tensor);
    } else {
      file.outputs.push_back(described(desc));
      outputs.push_back(&tensor);
    }
  }
  order.insert(order.end(), outputs.begin(), outputs.end());
  return {};
}

}  // namespace

bool dump_data_row_holds(DType dtype) { return dump_data_holds(dtype); }

bool dump_data_recognise(std::span<const std::byte> head) { return is_dump_data(head); }

Result<std::vector<NamedTensor>> dump_data_decode(std::span<const std::byte> bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(const DumpDataFile file, parse_dump_data(bytes, bytes.size()));
  std::vector<NamedTensor> tensors;
  for (const auto& [part, word] : {std::pair(&file.inputs, "input"), std::pair(&file.outputs, "output"), std::pair(&file.buffers, "buffer"),
                                   std::pair(&file.workspaces, "space")}) {
    TENSORTAP_RETURN_IF_ERROR(add_tensors(bytes, *part, word, tensors));
  }
  return tensors;
}

Result<std::string> dump_data_encode(std::span<const NamedTensor> tensors) {
  DumpDataFile file;
  std::vector<const NamedTensor*> order;
  TENSORTAP_RETURN_IF_ERROR(place_tensors(tensors, file, order));
  TENSORTAP_ASSIGN_OR_RETURN(std::string text, make_dump_data_head(file));
  for (const NamedTensor* tensor : order) {
    const TensorDesc& desc = tensor->view.desc;
    const uint64_t bytes = *packed_bytes(desc.dtype, *desc.shape.numel());
    const size_t begin = text.size();
    text.resize(begin + bytes);
    if (bytes == 0) continue;
    copy_packed(tensor->view, text.data() + begin);
    reorder_dump_data_bits(desc.dtype, after(std::as_writable_bytes(std::span(text)), begin));
  }
  return text;
}

}  // namespace tensortap
