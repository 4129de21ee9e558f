// Everything that `find` looks for, in one answer.

#ifndef TENSORTAP_FIND_FIND_REPORT_H_
#define TENSORTAP_FIND_FIND_REPORT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/status.h"
#include "trace/dump_index.h"

namespace tensortap {

// {"first_nonfinite": {...} or null, "lead": {...} or null, "seen": {...} or null, "harmless": count, "origins": [...], "failed_op": as
// failed_op() of query/failed_op.h, "unwritten": [...], "unknown": count, "not_captured": [...], "hidden_ops": count, "not_looked_at":
// count, "left_out": count, "records": count, "known": count, "not_known": text or null, "records_left_out_by_condition": count,
// "trigger": as in run.json, "captured_none": whether ops were to be captured and none was, "compile_route": text or null,
// "headroom": {"float16": [...], "bfloat16": [...]}, "dead_outputs": [...], "gradients": {...} or null}; the forms are those of
// find/find_json.h, at most `limit` of each list. The first non-finite value is one of a run: weights that hold some are listed among the
// origins only.
//
// In dumps that record which memory each tensor uses, or that know their whole graph, "seen" is the way back from the value that matters
// most (see NonFiniteFindings), as one of the origins, and "first_nonfinite" is where it ends. Both are null when all NaN and Inf was
// harmless; "harmless" counts such origins.
// "lead" is the trend, of the op's outputs or inputs, that the first non-finite value ended, if there was one.
// When an incomplete dump lacks that record, "first_nonfinite" comes from its manifest (find/told_nonfinite.h).
// "unwritten" lists inputs that ops read although nothing was written to their memory (find_unwritten_reads()), whatever values they held.
// "unknown" counts records that have neither counts of all elements nor all data (count_unknown()), "not_looked_at" those in memory that
// the capture could not read (count_not_looked_at()), "left_out" those that a limit left out (count_left_out()).
// "records" counts the records of the dump, and "known" those of which it is known whether they hold NaN or Inf.
// "not_captured" lists why ops that ran are not in the dump, as run.json has it: {"reason", "count", "examples"}.
// "hidden_ops" counts ops that read or made tensors in a form that is not looked into (hides_values()).
// "not_known" says why an answer without a finding clears less than the program (not_known_text()); null where it clears everything.
// "first_in_time" exists when the first record with NaN or Inf is another one. In dumps of the other kind, "first_nonfinite" is the first
// origin that is not intended.
Json find_report(const DumpIndex& dump, size_t limit);

// Adds what of the dump an answer does not cover: "unknown", "not_captured", "hidden_ops", "not_looked_at", "left_out", "records", "known",
// "trigger", "records_left_out_by_condition" and "not_known", as find_report() has them. Linear in the records.
void add_unseen(const DumpIndex& dump, Json& answer);

// Whether the report finds something wrong: a value of NaN or Inf that matters, memory that was read and never written, or an op whose
// failure ended the program. The one rule for exit codes and summaries.
bool has_finding(const Json& report);

// Why an answer without a finding is no all-clear; "" where it is one. `report` is that of find_report(). Reasons: records without counts
// of NaN and Inf, records that a limit left out, kernels and ops that ran unseen. Several are joined by "; ".
std::string not_known_text(const Json& report);

// Whether an answer of `find` without a finding is no all-clear: its "not_known" is a text. For all questions that `find` answers.
bool is_partial(const Json& answer);

// Whether kernels ran whose values were not looked at.
bool ran_fused(const Json& report);
// Whether ops ran whose values were not looked at, kernels among them.
bool hid_ops(const Json& report);

// Whether ops ran that should have been captured and were not, by the manifest of a dump or the summary of a run.
bool has_unseen_ops(const Json& manifest);

// Whether an answer without a finding clears nothing, since no tensor was looked at: `report` is that of find_report(), the manifest of
// a dump or the summary of a run. Records that a condition left out were looked at, and under the trigger "overflow" all ops that were
// asked for.
bool saw_nothing(const Json& report);
// Why, of such a report.
std::string_view nothing_seen_text(const Json& report);

// {"source": text, "ops": [{"op", "type", "source", "originals"}]}: the ops that come from a source line, or the lines that the ops of that
// name come from. Errors: kNotFound when there is neither.
Result<Json> find_source(const DumpIndex& dump, std::string_view text);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_FIND_REPORT_H_
