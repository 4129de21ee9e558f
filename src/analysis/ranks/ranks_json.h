// What the questions about a job say alike.

#ifndef TENSORTAP_RANKS_RANKS_JSON_H_
#define TENSORTAP_RANKS_RANKS_JSON_H_

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/json_members.h"
#include "ranks/job_cells.h"

namespace tensortap {

// {"job_op", "op", "type", "module"}.
inline Json job_op_json(const RankJob& job, uint32_t job_op) {
  const JobOps::Op& op = job.ops()[job_op];
  return {{"job_op", job_op}, {"op", op.name}, {"type", op.type}, {"module", text_or_null(op.module)}};
}

// The same with "step", "call", "slot" and "record", the name by which other commands find it.
inline Json cell_json(const JobCells& cells, const CellKey& key) {
  const RankJob& job = cells.job();
  Json json = {{"step", job.steps()[key.step]}};
  json.update(job_op_json(job, key.job_op));
  json["call"] = key.call;
  const CellSlot& slot = cells.slot(key.slot);
  json["slot"] = slot_name(slot.kind, slot.index);
  RecordRow row;
  row.slot_kind = static_cast<uint8_t>(slot.kind);
  row.slot_index = slot.index;
  row.element = slot.element;
  row.step = job.steps()[key.step];
  row.call = key.call;
  json["record"] = record_name(row, job.ops()[key.job_op].name);
  return json;
}

// Their numbers, of places.
inline std::vector<int64_t> ranks_at(const RankJob& job, const std::vector<uint32_t>& places) {
  std::vector<int64_t> ranks;
  for (const uint32_t place : places) ranks.push_back(job.ranks()[place].rank);
  return ranks;
}

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_RANKS_JSON_H_
