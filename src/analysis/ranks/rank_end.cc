#include "ranks/rank_end.h"

#include "base/json.h"
#include "base/json_members.h"
#include "query/failed_op.h"

namespace tensortap {
namespace {

void take_op(const Json& op, RankEnd& end) {
  end.op = text_in(op, "name");
  end.type = text_in(op, "type");
  end.module = text_in(op, "module");
  end.source = text_in(op, "source");
  if (const Json* step = member(op, "step"); step != nullptr && step->is_number_integer()) end.step = step->get<int64_t>();
}

HowItEnded how_it_ended(const DumpIndex& dump, const Json& manifest) {
  const Completeness state = dump.completeness();
  if (state.state == DumpState::kRunning) return HowItEnded::kRunning;
  const Json* complete = member(manifest, "complete");
  if (complete != nullptr && *complete == Json(true)) return HowItEnded::kFinished;
  // A tree of other tools may have no manifest.
  const bool ours = dump.layout() == "tap" || complete != nullptr;
  return ours && state.state == DumpState::kIncomplete ? HowItEnded::kDied : HowItEnded::kUnknown;
}

std::map<int64_t, RankEnd> last_records(const DumpIndex& dump) {
  std::map<int64_t, const RecordRow*> last;
  for (const RecordRow& row : dump.rows()) {
    const RecordRow*& known = last[row.rank];
    if (known == nullptr || row.sequence >= known->sequence) known = &row;
  }
  std::map<int64_t, RankEnd> ends;
  for (const auto& [rank, row] : last) {
    const OpInfo& op = op_of(dump, *row);
    RankEnd& end = ends[rank];
    end.op = op.name;
    end.type = op.type;
    end.module = op.module;
    end.source = op.source_location;
    end.step = row->step;
  }
  for (const RecordRow& row : dump.rows()) {
    RankEnd& end = ends[row.rank];
    ++end.records;
    end.records_of_step += row.step == end.step ? 1 : 0;
  }
  return ends;
}

}  // namespace

std::string_view end_name(HowItEnded how) {
  constexpr std::string_view kNames[] = {"unknown", "finished", "running", "failed", "crashed", "died"};
  return kNames[static_cast<size_t>(how)];
}

std::map<int64_t, RankEnd> ends_of(const DumpIndex& dump) {
  const Json manifest = manifest_json(dump);
  const HowItEnded how = how_it_ended(dump, manifest);
  const Json* crash = member(manifest, "crash");
  const Json failed = failed_op(dump);
  std::map<int64_t, RankEnd> ends = last_records(dump);
  for (auto& [rank, end] : ends) {
    end.how = how;
    if (crash != nullptr && crash->is_object()) {
      end.how = HowItEnded::kCrashed;
      end.signal = text_in(*crash, "signal");
      if (const Json* op = member(*crash, "op"); op != nullptr && op->is_object()) take_op(*op, end);
    } else if (ended_program(failed)) {
      end.how = HowItEnded::kFailed;
      end.reason = failure_reason(failed);
      take_op(failed, end);
    }
  }
  return ends;
}

}  // namespace tensortap
