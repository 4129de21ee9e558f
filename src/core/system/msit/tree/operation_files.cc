#include "system/msit/tree/operation_files.h"

#include <array>
#include <span>

#include "base/text.h"
#include "format/msit_bin/msit_bin_file.h"
#include "system/msit/tree/tree_names.h"
#include "tree/manifests.h"

namespace tensortap::msit {
namespace {

constexpr int32_t kNoOrder = 2;        // RecordRow::element_order minus the number of the format
constexpr uint32_t kMostCalls = 1000;  // how many names to try for a free one

FilePart part_of_text(std::string_view text) { return {std::as_bytes(std::span(text)), nullptr}; }

}  // namespace

Result<std::shared_ptr<NamedFolder>> OperationFiles::folder_of(const std::string& below) {
  if (const auto found = folders_.find(below); found != folders_.end()) return found->second;
  TENSORTAP_ASSIGN_OR_RETURN(auto folder, make_folder(below));
  if (folders_.size() >= kMostFolders) folders_.clear();
  folders_[below] = folder;
  return folder;
}

Result<std::shared_ptr<NamedFolder>> OperationFiles::make_folder(const std::string& below) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto above, folder_above(below));
  return NamedFolder::create(*above, below.substr(below.rfind('/') + 1), {.access = options_.access});
}

Result<std::shared_ptr<const Folder>> OperationFiles::folder_above(const std::string& below) {
  const size_t end = below.rfind('/');
  const std::string path = end == std::string::npos ? "" : below.substr(0, end);
  if (const auto found = above_.find(path); found != above_.end()) return found->second;
  const auto make = [&]() -> Result<Folder> {
    if (path.empty()) return options_.root->below("");
    TENSORTAP_ASSIGN_OR_RETURN(const auto above, folder_above(path));
    return above->make_below(path.substr(path.rfind('/') + 1), folder_mode(options_.access));
  };
  TENSORTAP_ASSIGN_OR_RETURN(Folder made, make());
  if (above_.size() >= kMostFolders) above_.clear();
  return above_[path] = std::make_shared<const Folder>(std::move(made));
}

template <class Give>
Status OperationFiles::under_free_name(const FilePlace& place, Give&& give) {
  Status status;
  for (uint32_t attempt = 0; attempt < kMostCalls; ++attempt) {
    status = give(tensor_name(place.is_input, place.slot, place.call + attempt));
    if (status.code() != StatusCode::kUnsupported) break;
  }
  return status;
}

Status OperationFiles::write_file(const FilePlace& place, std::string_view header, const FilePart* elements, WrittenFile& written) {
  const std::string below = place.folder();
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, folder_of(below));
  const std::array<FilePart, 2> parts = {part_of_text(header), elements == nullptr ? FilePart() : *elements};
  const uint64_t bytes = parts[0].size() + parts[1].size();
  TENSORTAP_RETURN_IF_ERROR(room_.take(DumpRoom::of_file(bytes)));
  std::string stored;
  Status status = under_free_name(place, [&](const std::string& name) { return folder->write(name, parts, stored); });
  if (!status.ok()) {
    room_.give_back(DumpRoom::of_file(bytes));
    return status;
  }
  bytes_written_.fetch_add(bytes, std::memory_order_relaxed);
  written = {below, std::move(stored)};
  return {};
}

Status OperationFiles::write(const FilePlace& place, const RecordRow& row, const FilePart* elements, WrittenFile& written) {
  MsitBinHeader header{.desc = row.desc()};
  if ((row.flags & kRecordBlocked) != 0) header.format = kMsitFormatNc1hwc0;
  if (row.element_order != 0) header.format = row.element_order - kNoOrder;
  if (options_.statistics) header.stats = &row.stats;
  header.has_data = elements != nullptr;
  TENSORTAP_ASSIGN_OR_RETURN(const std::string text, make_msit_bin_header(header));
  // Write a value that waits for its reader in a file without looking for an equal file.
  const bool in_memory = elements == nullptr || elements->kept == nullptr || elements->kept->memory.size() == elements->kept->bytes;
  if (!options_.links || !in_memory) return write_file(place, text, elements, written);
  std::span<const std::byte> bytes;
  if (elements != nullptr) bytes = elements->kept == nullptr ? elements->bytes : std::span<const std::byte>(elements->kept->memory);
  std::string key = EqualFiles::key_of(text, bytes);
  const WrittenFile* equal = equal_.find(key, text, bytes);
  if (equal != nullptr && point(*equal, place, written).ok()) return {};
  TENSORTAP_RETURN_IF_ERROR(write_file(place, text, elements, written));
  equal_.add(std::move(key), written);
  return {};
}

Status OperationFiles::point(const WrittenFile& from, const FilePlace& place, WrittenFile& written) {
  const std::string below = place.folder();
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, folder_of(below));
  const std::string target = relative_path(below, from);
  TENSORTAP_RETURN_IF_ERROR(under_free_name(place, [&](const std::string& name) { return folder->point(target, name); }));
  // Further names lead to the file itself.
  written = from;
  return {};
}

Status OperationFiles::link(const WrittenFile& from, const FilePlace& place) {
  WrittenFile same;
  if (options_.links && point(from, place, same).ok()) return {};
  TENSORTAP_ASSIGN_OR_RETURN(const auto source, folder_of(from.folder));
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, folder_of(place.folder()));
  std::string stored;
  uint64_t copied = 0;
  const Status status =
      under_free_name(place, [&](const std::string& name) { return folder->link(*source, from.stored, name, stored, copied); });
  bytes_written_.fetch_add(copied, std::memory_order_relaxed);
  room_.use(DumpRoom::of_file(copied));
  return status;
}

Status OperationFiles::write_parameters(const std::string& operation, std::string_view content) {
  return write_document(operation, std::string(kParametersFile), content);
}

Status OperationFiles::write_document(const std::string& below, const std::string& name, std::string_view content) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, folder_of(below));
  TENSORTAP_RETURN_IF_ERROR(room_.take(DumpRoom::of_file(content.size())));
  bytes_written_.fetch_add(content.size(), std::memory_order_relaxed);
  return folder->write_once(name, content);
}

Status OperationFiles::append_document(const std::string& below, const std::string& name, std::string_view content) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, folder_of(below));
  TENSORTAP_RETURN_IF_ERROR(room_.take(content.size()));
  bytes_written_.fetch_add(content.size(), std::memory_order_relaxed);
  return folder->append(name, content);
}

Status OperationFiles::write_manifest(std::string_view manifest) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto folder, folder_of(concat(options_.dump, "/", kManifestFolder)));
  return folder->replace(options_.manifest, manifest);
}

}  // namespace tensortap::msit
