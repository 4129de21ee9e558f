// Names in one folder with their kinds, in one pass.

#ifndef TENSORTAP_TREE_FOLDER_NAMES_H_
#define TENSORTAP_TREE_FOLDER_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tensortap {

enum class EntryKind : uint8_t { kFile, kFolder, kOther };

// Links are what they lead to; kOther is a pipe, a device, a socket and a link to nowhere.
struct FolderEntry {
  uint32_t at = 0;
  uint32_t length = 0;
  EntryKind kind = EntryKind::kOther;
};

struct FolderNames {
  std::string names;  // all of them, one after another
  std::vector<FolderEntry> entries;
  [[nodiscard]] std::string_view name(const FolderEntry& entry) const { return std::string_view(names).substr(entry.at, entry.length); }
  // Names of the folders in it, sorted; those of numbers by number.
  [[nodiscard]] std::vector<std::string> folders() const;
};

// Whether a name sorts before another one; those of numbers sort by number.
bool in_number_order(std::string_view a, std::string_view b);

// 20240131235959: fourteen digits that begin with a year.
bool is_time_folder(std::string_view name);

// rank_3 gives 3. Nothing for anything else, for more than 19 digits and for what an int32 does not hold.
std::optional<int32_t> parse_rank_folder(std::string_view name);

// At most `most` names, in the order of the file system. Errors: kIo, kNotFound.
Result<FolderNames> read_folder(const std::string& path, size_t most = SIZE_MAX);

}  // namespace tensortap

#endif  // TENSORTAP_TREE_FOLDER_NAMES_H_
