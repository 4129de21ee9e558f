#include "system/tap/written_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/counted.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "stats/digest.h"
#include "system/tap/tap_files.h"

namespace tensortap::tap {
namespace {

constexpr uint64_t kWhole = uint64_t{256} << 10;  // longer files are looked at in pieces
constexpr uint64_t kPiece = uint64_t{4} << 10;
constexpr uint64_t kPieces = kWhole / kPiece;
constexpr size_t kMostFiles = 100;

Result<std::string> digest_of(const File& file, uint64_t bytes) {
  std::vector<std::byte> content(std::min(bytes, kWhole));
  if (bytes <= kWhole) {
    TENSORTAP_RETURN_IF_ERROR(file.read_at(0, content));
  } else {
    // Evenly over the file, the first and the last bytes included.
    for (uint64_t i = 0; i < kPieces; ++i) {
      const uint64_t offset = (bytes - kPiece) / (kPieces - 1) * i;
      const std::span<std::byte> piece(content.data() + i * kPiece, kPiece);
      TENSORTAP_RETURN_IF_ERROR(file.read_at(i + 1 == kPieces ? bytes - kPiece : offset, piece));
    }
  }
  const TensorView view{{DType::kUInt8, {static_cast<int64_t>(content.size())}}, content.data(), nullptr};
  return digest_text(compute_digest(view, DigestKind::kXxh3));
}

// Why a file is not the one that was written; "" when it is.
std::string fault_of(const std::string& folder, const std::string& name, const Json& told) {
  const Result<File> file = File::open(join_path(folder, name), O_RDONLY);
  if (file.status().code() == StatusCode::kNotFound) return concat(name, " is missing");
  if (!file.ok()) return file.status().message();
  const Result<uint64_t> size = file->size();
  if (!size.ok()) return size.status().message();
  const uint64_t bytes = count_in(told, "bytes");
  if (*size < bytes) return concat(name, " has ", grouped(*size), " of ", grouped(bytes), " bytes");
  const Result<std::string> digest = digest_of(*file, bytes);
  if (!digest.ok()) return digest.status().message();
  if (*size == bytes && *digest == text_in(told, "digest")) return "";
  return concat(name, " is not the file that run.json describes: one of the two was replaced or changed");
}

}  // namespace

Status CutWatch::append(File& file, uint64_t bytes, std::span<const std::byte> content) {
  const Result<uint64_t> begin = file.append(content);
  if (begin.ok() && *begin == bytes) return {};
  Status status = begin.status();
  if (begin.ok()) {
    seen_ = seen_ || *begin < bytes;
    // What follows is found by its place.
    status = file.truncate(std::min(*begin, bytes));
    if (status.ok()) status = file.write_at(bytes, content);
  }
  if (!status.ok()) (void)file.truncate(bytes);
  return status;
}

std::string_view what_became_of(const WrittenFile& written, const Folder& folder) {
  struct stat open = {};
  struct stat named = {};
  if (::fstat(written.file->fd(), &open) != 0) return "";
  const bool is_there = ::fstatat(folder.fd(), written.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_there) return "removed";
  if (open.st_nlink == 0 || named.st_ino != open.st_ino || named.st_dev != open.st_dev) return "replaced";
  return written.was_cut || static_cast<uint64_t>(open.st_size) < written.bytes ? "cut" : "";
}

Json files_json(std::span<const WrittenFile> files) {
  Json json = Json::object();
  for (const WrittenFile& one : files) {
    const Result<std::string> digest = digest_of(*one.file, one.bytes);
    if (digest.ok()) json[one.name] = {{"bytes", one.bytes}, {"rows", one.rows}, {"digest", *digest}};
  }
  return json;
}

void check_written_files(const std::string& folder, const Json& manifest, Completeness& completeness) {
  const Json* files = member(manifest, kFilesMember);
  if (files == nullptr || !files->is_object() || files->size() > kMostFiles) return;
  const auto rows_of = [files](std::string_view name) -> std::optional<uint64_t> {
    const Json* told = member(*files, std::string(name).c_str());
    return told == nullptr ? std::nullopt : std::optional(count_in(*told, "rows"));
  };
  const uint64_t tensors = rows_of(kTensorsFile).value_or(0);
  // A repair writes the files anew, and keeps the counts of what was written before.
  if (DumpCounts& written = completeness.written; member(manifest, kWrittenMember) == nullptr) {
    written.records = rows_of(kRecordsFile);
    written.ops = rows_of(kOpsFile);
    written.tensors = tensors;
  }
  bool has_tensors = true;
  for (const auto& [name, told] : files->items()) {
    if (name.empty() || name.find('/') != std::string::npos || name == "." || name == "..") continue;
    const std::string fault = fault_of(folder, name, told);
    if (fault.empty()) continue;
    completeness.lack(fault);
    has_tensors = has_tensors && name != kTensorsFile;
  }
  completeness.found.tensors = has_tensors ? std::optional(tensors) : std::nullopt;
  if (!path_exists(join_path(folder, kTensorsFile))) completeness.found.tensors = 0;
}

}  // namespace tensortap::tap
