// Which dumps of two jobs `tensortap compare` puts beside each other.

#ifndef TENSORTAP_CLI_FILES_COMPARE_PARTS_H_
#define TENSORTAP_CLI_FILES_COMPARE_PARTS_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/files/shard_dumps.h"
#include "cli/text/terminal.h"

namespace tensortap::cli {

// Two dumps that are compared: of one rank, process or model.
struct ComparedPart {
  std::string name;  // of the part in A, its folder below A; "" where A or B has no parts
  std::string a;
  std::string b;
  bool of_shards = false;  // A is the job whose ranks hold parts
};

struct ComparedParts {
  std::vector<ComparedPart> pairs;
  bool has_all = true;  // no part of A or B lacks a counterpart
};

// Parts with equal names belong together. The numbers of processes differ from run to run: these parts belong together when their processes
// have the same role, and those of one role in their order. A dump without parts is compared with the dump in the other's own folder. Warns
// of each part without a counterpart. Errors: kCorrupt when A and B have several parts, and none belongs to another.
Result<ComparedParts> compared_parts(const std::string& a, const std::string& b, const ShardOptions& shards, const Terminal& terminal);

// Whether `folder` is one of the dumps of noise that lie in the dump in `path`.
bool is_noise_of(const std::string& path, const std::string& folder);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_FILES_COMPARE_PARTS_H_
