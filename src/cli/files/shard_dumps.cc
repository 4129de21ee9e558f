#include "cli/files/shard_dumps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/files.h"
#include "cli/files/dump_access.h"
#include "cli/text/arguments.h"
#include "ranks/rank_groups.h"
#include "read/dump_parts.h"
#include "shards/joined_dump.h"
#include "shards/shard_file.h"
#include "table/job_dumps.h"

namespace tensortap::cli {

void add_shard_options(CLI::App& app, ShardOptions& options) {
  app.add_option("--shards", options.file, "How the ranks in A hold parts of tensors: lines \"REGEX b s h(tp)\"; without it, as A tells")
      ->type_name(kFile);
  add_repeated(app, "--groups", options.groups, "NAME=RANKS", "Ranks that hold the parts, such as tp=0-1,2-3; without it, as A tells");
}

bool joins_shards(const ShardOptions& options, const std::string& job, const std::string& reference) {
  if (!options.file.empty() || !options.groups.empty()) return true;
  if (dump_parts(job).size() < 2 || dump_parts(reference).size() != 1) return false;
  const std::vector<std::string> paths = {job};
  const auto places = find_job_dumps(paths);
  return places.ok() && std::ranges::all_of(*places, [](const JobDump& place) { return place.rank.has_value(); });
}

Result<std::unique_ptr<DumpIndex>> open_shards(const Terminal& terminal, const ShardOptions& options, const std::string& job,
                                               const DumpIndex& reference) {
  std::optional<ShardFile> file;
  if (!options.file.empty()) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string text, read_file(options.file));
    TENSORTAP_ASSIGN_OR_RETURN(file, ShardFile::parse(text, options.file));
  }
  ShardRequest request{file ? &*file : nullptr, {}};
  TENSORTAP_ASSIGN_OR_RETURN(request.groups, parse_rank_groups(options.groups));
  TENSORTAP_ASSIGN_OR_RETURN(auto joined, join_shards(job, request, reference));
  warn_of_problems(terminal, *joined, job);
  return joined;
}

}  // namespace tensortap::cli
