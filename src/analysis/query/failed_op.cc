#include "query/failed_op.h"

#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "query/record_lookup.h"

namespace tensortap {
namespace {

Json of_records(const DumpIndex& dump) {
  const RecordRow* failed = nullptr;
  bool caught = false;
  for (const size_t number : rows_in_time_order(dump)) {
    const RecordRow& row = dump.rows()[number];
    if ((row.flags & kRecordFailedOp) != 0) {
      failed = &row;
      caught = false;
    } else if (failed != nullptr && row.thread == failed->thread) {
      caught = true;
    }
  }
  if (failed == nullptr) return {};
  const OpInfo& op = op_of(dump, *failed);
  return {{"name", op.name},
          {"type", op.type},
          {"source", text_or_null(op.source_location)},
          {"module", text_or_null(op.module)},
          {"step", failed->step},
          {"error", nullptr},
          {"exception", nullptr},
          {"caught", caught}};
}

}  // namespace

Json failed_op(const DumpIndex& dump) {
  const Json manifest = manifest_json(dump);
  const auto told = manifest.find("failed_op");
  if (told == manifest.end()) return of_records(dump);
  return told->is_object() ? *told : Json();
}

bool ended_program(const Json& failed) {
  if (!failed.is_object()) return false;
  const auto caught = failed.find("caught");
  return caught == failed.end() || !caught->is_boolean() || !caught->get<bool>();
}

std::string failure_reason(const Json& failed) {
  constexpr std::string_view kRaised = "the operator raised an exception";
  if (!failed.is_object()) return {};
  std::string error = text_in(failed, "error");
  const std::string exception = text_in(failed, "exception");
  if (exception.empty()) return error.empty() ? "the reason is not known: the process left no run.json" : error;
  if (error.starts_with(kRaised)) error.erase(0, kRaised.size());
  // The thread that waited for a collective raised what the collective failed with.
  constexpr std::string_view kCollective = "the collective failed: ";
  if (error.starts_with(kCollective) && exception.ends_with(error.substr(kCollective.size()))) return concat(kCollective, exception);
  return error.empty() || error.starts_with(": ") ? exception + error : concat(exception, ": ", error);
}

}  // namespace tensortap
