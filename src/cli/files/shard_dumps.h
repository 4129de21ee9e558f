// `compare --shards`: a job whose ranks hold shards, as one dump.

#ifndef TENSORTAP_CLI_FILES_SHARD_DUMPS_H_
#define TENSORTAP_CLI_FILES_SHARD_DUMPS_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/text/terminal.h"
#include "trace/dump_index.h"

namespace tensortap::cli {

struct ShardOptions {
  std::string file;
  std::vector<std::string> groups;
};

// --shards and --groups.
void add_shard_options(CLI::App& app, ShardOptions& options);

// Whether the dumps at `job` are put together before they are compared with the one at `reference`: asked for, or ranks beside a single
// dump.
bool joins_shards(const ShardOptions& options, const std::string& job, const std::string& reference);

// Calls shards/joined_dump.h; lists failures on stderr.
Result<std::unique_ptr<DumpIndex>> open_shards(const Terminal& terminal, const ShardOptions& options, const std::string& job,
                                               const DumpIndex& reference);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FILES_SHARD_DUMPS_H_
