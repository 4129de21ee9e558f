#include "tree/folder_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/files.h"
#include "base/text.h"

namespace tensortap {
namespace {

EntryKind kind_of(int folder, const dirent& entry) {
  if (entry.d_type == DT_REG) return EntryKind::kFile;
  if (entry.d_type == DT_DIR) return EntryKind::kFolder;
  if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return EntryKind::kOther;
  struct stat info {};
  if (fstatat(folder, entry.d_name, &info, 0) != 0) return EntryKind::kOther;
  if (S_ISREG(info.st_mode)) return EntryKind::kFile;
  return S_ISDIR(info.st_mode) ? EntryKind::kFolder : EntryKind::kOther;
}

}  // namespace

bool in_number_order(std::string_view a, std::string_view b) {
  if (is_digits(a) && is_digits(b) && a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

bool is_time_folder(std::string_view name) {
  constexpr size_t kDigits = 14;
  return name.size() == kDigits && is_digits(name) && (name.starts_with("20") || name.starts_with("19"));
}

std::optional<int32_t> parse_rank_folder(std::string_view name) {
  constexpr std::string_view kPrefix = "rank_";
  constexpr size_t kMostDigits = 19;
  uint64_t rank = 0;
  if (!name.starts_with(kPrefix) || name.size() > kPrefix.size() + kMostDigits) return std::nullopt;
  if (!parse_unsigned(name.substr(kPrefix.size()), rank) || rank > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(rank);
}

std::vector<std::string> FolderNames::folders() const {
  std::vector<std::string> found;
  for (const FolderEntry& entry : entries) {
    if (entry.kind == EntryKind::kFolder) found.emplace_back(name(entry));
  }
  std::ranges::sort(found, in_number_order);
  return found;
}

Result<FolderNames> read_folder(const std::string& path, size_t most) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (folder == nullptr) return errno_status(path, errno);
  FolderNames found;
  errno = 0;
  while (const dirent* entry = readdir(folder.get())) {  // NOLINT(concurrency-mt-unsafe): glibc's readdir is safe per stream
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (found.entries.size() == most || found.names.size() + name.size() > UINT32_MAX) break;
    found.entries.push_back(
        {static_cast<uint32_t>(found.names.size()), static_cast<uint32_t>(name.size()), kind_of(dirfd(folder.get()), *entry)});
    found.names += name;
    errno = 0;
  }
  if (errno != 0 && found.entries.empty()) return errno_status(path, errno);
  return found;
}

}  // namespace tensortap
