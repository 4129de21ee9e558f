// What the environment says of the job that this process belongs to: `tensortap exec`, and the ranks of a distributed program.

#ifndef TENSORTAP_BASE_JOB_RANK_H_
#define TENSORTAP_BASE_JOB_RANK_H_

#include <string>

namespace tensortap {

// The name of the `tensortap exec` that this process runs under, which no other has at the time; "" = none.
std::string exec_name();

// Number of this process among the ranks of its job, from RANK and WORLD_SIZE; {0, 1} when alone or when they make no sense.
struct JobRank {
  int rank = 0;
  int world_size = 1;
};
JobRank job_rank();

// Number of the device that this process of a job works on: its rank on this machine, from LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK or
// SLURM_LOCALID, the first that has a number; otherwise job_rank(), which is 0 when alone.
int job_device();

}  // namespace tensortap

#endif  // TENSORTAP_BASE_JOB_RANK_H_
