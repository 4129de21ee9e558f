#include "format/npz/npz.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "format/npy/npy_header.h"
#include "format/npz/zip_archive.h"

namespace tensortap {
namespace {

constexpr std::string_view kExtension = ".npy";
constexpr size_t kLongestName = 65535;

// A decoded npy member may borrow from the decompressed member: both are kept.
struct Owners {
  std::shared_ptr<const void> member;
  std::shared_ptr<const void> tensor;
};

uint64_t memory_of_machine() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : UINT64_MAX;
}

// A small archive may claim to hold any amount, so a member may only decompress to the size that its npy header needs.
Status check_deflated(std::span<const std::byte> bytes, const ZipEntry& entry) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string prefix, read_member_head(bytes, entry, kNpyPrefix));
  TENSORTAP_ASSIGN_OR_RETURN(const uint64_t header_bytes, npy_header_bytes(std::as_bytes(std::span(prefix))));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string head, read_member_head(bytes, entry, header_bytes));
  TENSORTAP_ASSIGN_OR_RETURN(const NpyHeader header, parse_npy_header(std::as_bytes(std::span(head))));
  TENSORTAP_ASSIGN_OR_RETURN(const uint64_t needed, npy_file_bytes(header));
  if (needed == entry.size) return {};
  return corrupt(concat("npz: ", needed, " bytes by the npy header, ", entry.size, " by the archive; it is not decompressed"));
}

// All arrays are in memory together.
Status check_sizes(std::span<const std::byte> bytes, std::span<const ZipEntry> entries) {
  uint64_t all = 0;
  for (const ZipEntry& entry : entries) {
    if (entry.method == 0 || !entry.name.ends_with(kExtension)) continue;
    TENSORTAP_RETURN_IF_ERROR(check_deflated(bytes, entry).with_context(concat("member ", quote(entry.name))));
    if (__builtin_add_overflow(all, entry.size, &all) || all > memory_of_machine()) {
      return exhausted(concat("npz: its arrays take more than the ", bytes_text(memory_of_machine()), " of memory that this machine has"));
    }
  }
  return {};
}

}  // namespace

bool npz_holds(DType dtype) { return npy_names(dtype); }

bool npz_recognise(std::span<const std::byte> head) { return is_zip(head); }

Result<std::vector<NamedTensor>> npz_decode(std::span<const std::byte> bytes) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<ZipEntry> entries, read_zip_directory(bytes));
  TENSORTAP_RETURN_IF_ERROR(check_sizes(bytes, entries));
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
