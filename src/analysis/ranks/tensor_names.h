// Names of the parameters behind records that an answer lists.

#ifndef TENSORTAP_RANKS_TENSOR_NAMES_H_
#define TENSORTAP_RANKS_TENSOR_NAMES_H_

#include <vector>

#include "base/json_fwd.h"
#include "ranks/rank_job.h"

namespace tensortap {

// Sets "parameter" of each of these objects, which have "record", "step", "job_op" and "call": the name of the parameter whose memory the
// record shows, or the only one that its op read; null where no dump tells. Opens the dumps again until all have a name.
void add_parameters(RankJob& job, const std::vector<Json*>& records);

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_TENSOR_NAMES_H_
