#include "table/job_dumps.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "read/dump_parts.h"
#include "read/open_dump.h"

namespace tensortap {
namespace {

constexpr std::string_view kRankFolder = "rank_";

std::optional<int64_t> rank_of_folders(std::string_view path) {
  std::optional<int64_t> rank;
  for (const std::string_view part : split(path, '/')) {
    int64_t number = 0;
    if (part.starts_with(kRankFolder) && parse_integer(part.substr(kRankFolder.size()), number) && number >= 0) rank = number;
  }
  return rank;
}

}  // namespace

Result<std::vector<JobDump>> find_job_dumps(std::span<const std::string> paths) {
  std::vector<JobDump> dumps;
  for (const std::string& path : paths) {
    std::vector<std::string> folders = is_directory(path) ? dump_parts(path) : std::vector<std::string>();
    if (folders.empty()) {
      TENSORTAP_ASSIGN_OR_RETURN(const FoundDump found, locate_dump(path));
      folders = dump_parts(found.folder);
    }
    for (std::string& folder : folders) {
      const auto is_same = [&folder](const JobDump& other) {
        std::error_code ignored;
        return std::filesystem::equivalent(other.path, folder, ignored);
      };
      if (paths.size() > 1 && std::ranges::any_of(dumps, is_same)) return invalid_argument(concat(folder, ": given twice"));
      const std::optional<int64_t> rank = rank_of_folders(folder);
      dumps.push_back({std::move(folder), rank});
    }
  }
  std::ranges::stable_sort(dumps, {}, [](const JobDump& dump) { return dump.rank.value_or(-1); });
  return dumps;
}

int64_t rank_of(const JobDump& place, const DumpIndex& dump) {
  if (!dump.rows().empty()) return dump.rows().front().rank;
  if (place.rank) return *place.rank;
  const Json manifest = manifest_json(dump);
  const auto rank = manifest.find("rank");
  return rank != manifest.end() && rank->is_number_integer() ? rank->get<int64_t>() : 0;
}

}  // namespace tensortap
