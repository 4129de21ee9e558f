#include "system/msit/tree/launches.h"

#include "base/text.h"
#include "stats/stats.h"
#include "stats/stats_target.h"

namespace tensortap::msit {

void Launches::see(OpId id, const RecordRow& row) {
  Seen& seen = seen_[{row.run, id}];
  const bool is_output = row.slot_kind == static_cast<uint8_t>(SlotKind::kOutput);
  if (seen.bytes == 0 || (is_output && !seen.has_output)) seen.numel = row.numel;
  seen.has_output = seen.has_output || is_output;
  seen.bytes += row.bytes;
  seen.contiguous = seen.contiguous && row.strided == static_cast<uint8_t>(Strided::kNo);
}

std::string Launches::end(OpId id, std::string_view kernel, const RecordRow& event) {
  const auto seen = seen_.extract({event.run, id});
  if (seen.empty() || (event.flags & kRecordFailedOp) != 0) return "";
  const Seen& tensors = seen.mapped();
  return concat(R"({"kernel":)", quote(kernel), threads_ > 0 ? concat(R"(,"threads":)", threads_) : "", R"(,"isa":)",
                quote(stats_targets().front()), R"(,"numel":)", tensors.numel, R"(,"bytes":)", tensors.bytes, R"(,"contiguous":)",
                tensors.contiguous, "}\n");
}

}  // namespace tensortap::msit
