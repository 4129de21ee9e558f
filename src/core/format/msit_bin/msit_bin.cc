#include "format/msit_bin/msit_bin.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/spans.h"
#include "base/text.h"
#include "format/msit_bin/msit_bin_file.h"

namespace tensortap {
namespace {

// The lines with which a header begins. A file with these lines in another order is recognised by its extension.
constexpr std::array<std::string_view, 5> kFirstLines = {"$Version=", "$Object.", "format=", "dtype=", "dims="};

}  // namespace

bool msit_bin_recognise(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  return std::ranges::any_of(kFirstLines, [text](std::string_view line) { return text.starts_with(line); });
}

Result<std::vector<DescribedTensor>> msit_bin_describe(std::span<const std::byte> bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(const MsitBinFile file, parse_msit_bin(bytes, bytes.size()));
  if (file.has_data && file.bytes_there < file.data_bytes) {
    return corrupt(concat("msit .bin: ", dtype_name(file.desc.dtype), " ", file.desc.shape.to_text(), " takes ", file.data_bytes,
                          " bytes, ", file.bytes_there, " are there"));
  }
  DescribedTensor tensor;
  tensor.tensor.view.desc = file.desc;
  tensor.stats = file.stats;
  if (file.has_data) {
    const auto elements = part_of(bytes, file.data_begin, file.data_bytes);
    if (!elements) return corrupt("msit .bin: the elements lie outside the file");
    tensor.tensor.view.data = elements->data();
  }
  return std::vector<DescribedTensor>{std::move(tensor)};
}

Result<std::vector<NamedTensor>> msit_bin_decode(std::span<const std::byte> bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<DescribedTensor> described, msit_bin_describe(bytes));
  std::vector<NamedTensor> tensors;
  for (const DescribedTensor& tensor : described) {
    if (tensor.tensor.view.data == nullptr) return unsupported("msit .bin: the file describes its tensor and holds no values");
    tensors.push_back(tensor.tensor);
  }
  return tensors;
}

Result<std::string> msit_bin_encode(std::span<const NamedTensor> tensors) {
  if (tensors.size() != 1) return unsupported(concat("msit .bin: a file holds one tensor, not ", tensors.size()));
  const TensorView& view = tensors[0].view;
  TENSORTAP_ASSIGN_OR_RETURN(std::string file, make_msit_bin_header({.desc = view.desc}));
  const uint64_t numel = view.desc.shape.numel().value_or(0);
  if (view.data == nullptr && numel > 0) return invalid_argument("msit .bin: a tensor without values cannot be written");
  const size_t begin = file.size();
  const uint64_t bytes = packed_bytes(view.desc.dtype, numel).value_or(0);
  file.resize(begin + bytes);
  if (bytes > 0) copy_packed(view, file.data() + begin);
  return file;
}

}  // namespace tensortap
