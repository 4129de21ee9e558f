#include "format/npz/npz.h"

#include <algorithm>

#include "base/text.h"
#include "format/npy_header.h"
#include "format/zip_archive.h"

namespace tensortap {
namespace {

constexpr std::string_view kExtension = ".npy";
constexpr size_t kLongestName = 65535;

// A decoded npy member may borrow from the decompressed member: both are kept.
struct Owners {
  std::shared_ptr<const void> member;
  std::shared_ptr<const void> tensor;
};

}  // namespace

bool npz_holds(DType dtype) { return npy_names(dtype); }

bool npz_recognise(std::span<const std::byte> head) { return is_zip(head); }

Result<std::vector<NamedTensor>> npz_decode(std::span<const std::byte> bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<ZipEntry> entries, read_zip_directory(bytes));
  std::vector<NamedTensor> tensors;
  for (const ZipEntry& entry : entries) {
    if (!entry.name.ends_with(kExtension)) continue;
    auto owners = std::make_shared<Owners>();
    TENSORTAP_ASSIGN_OR_RETURN(const std::span<const std::byte> content, read_member(bytes, entry, owners->member));
    Result<NamedTensor> tensor = decode_npy(content);
    if (!tensor.ok()) return tensor.status().with_context(concat("member ", quote(entry.name)));
    owners->tensor = tensor->owner;
    tensor->name = entry.name.substr(0, entry.name.size() - kExtension.size());
    tensor->owner = std::move(owners);
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

Result<std::string> npz_encode(std::span<const NamedTensor> tensors) {
  std::string file;
  ZipDirectory directory;
  for (const NamedTensor& tensor : tensors) {
    const std::string name = tensor.name + std::string(kExtension);
    if (name.size() > kLongestName) return unsupported("npz: a name longer than 65535 bytes");
    TENSORTAP_ASSIGN_OR_RETURN(const std::string content, encode_npy(tensor.view));
    const auto data = std::as_bytes(std::span(content));
    TENSORTAP_ASSIGN_OR_RETURN(const NpyHeader header, parse_npy_header(data));
    const ZipMember member{
        .name = name, .offset = file.size(), .size = content.size(), .prefix = header.data_begin, .crc = zip_crc(0, data)};
    file += make_local_header(member);
    file += content;
    directory.add(member);
  }
  return file + directory.finish(file.size());
}

}  // namespace tensortap
