#include "base/job_rank.h"

#include <cstdint>
#include <limits>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"

namespace tensortap {

std::string exec_name() {
  const auto path = environment_value("TENSORTAP_EXEC");
  return path ? file_name(parent_path(*path)) : std::string();
}

JobRank job_rank() {
  int64_t rank = 0;
  int64_t world_size = 0;
  const auto rank_text = environment_value("RANK");
  const auto size_text = environment_value("WORLD_SIZE");
  if (!rank_text || !size_text || !parse_integer(*rank_text, rank) || !parse_integer(*size_text, world_size)) return {};
  constexpr int64_t kMostRanks = int64_t{1} << 30;
  if (world_size < 2 || world_size > kMostRanks || rank < 0 || rank >= world_size) return {};
  return {static_cast<int>(rank), static_cast<int>(world_size)};
}

int job_device() {
  for (const std::string_view name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}) {
    int64_t device = 0;
    const auto text = environment_value(name);
    if (text && parse_integer(*text, device) && device >= 0 && device <= std::numeric_limits<int>::max()) return static_cast<int>(device);
  }
  return job_rank().rank;
}

}  // namespace tensortap
