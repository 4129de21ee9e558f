// The dumps of a job: those of its ranks, processes and models.

#ifndef TENSORTAP_TABLE_JOB_DUMPS_H_
#define TENSORTAP_TABLE_JOB_DUMPS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "trace/dump_index.h"

namespace tensortap {

struct JobDump {
  std::string path;
  std::optional<int64_t> rank;  // where its folder says it: rank_17
};

// The dumps at these paths and below them (read/dump_parts.h), by rank, those without one first. Errors, naming the path: kNotFound when it
// contains no dump, kInvalidArgument for a path that is given twice.
Result<std::vector<JobDump>> find_job_dumps(std::span<const std::string> paths);

// The rank of a dump: that of its folder, its first record or its manifest; otherwise 0. In a tree that several ranks share, each record
// names its rank.
int64_t rank_of(const JobDump& place, const DumpIndex& dump);

}  // namespace tensortap

#endif  // TENSORTAP_TABLE_JOB_DUMPS_H_
