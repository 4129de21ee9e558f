// Which dumps of two jobs `tensortap compare` puts beside each other.

#ifndef TENSORTAP_CLI_COMPARE_PARTS_H_
#define TENSORTAP_CLI_COMPARE_PARTS_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/shard_dumps.h"
#include "cli/terminal.h"

namespace tensortap::cli {

// Two dumps that stand beside each other: of one rank, process or model.
struct ComparedPart {
  std::string name;  // the folder below those that were given, "" of these
  std::string a;
  std::string b;
  bool of_shards = false;  // A is the job whose ranks hold parts
};

// Warns of each part without a counterpart. Errors: kCorrupt when A and B have several parts, and no name is in both.
Result<std::vector<ComparedPart>> compared_parts(const std::string& a, const std::string& b, const ShardOptions& shards,
                                                 const Terminal& terminal);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_COMPARE_PARTS_H_
