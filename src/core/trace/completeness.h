// Completeness: whether a dump holds all that its capture wrote. Computed when the dump is opened.

#ifndef TENSORTAP_TRACE_COMPLETENESS_H_
#define TENSORTAP_TRACE_COMPLETENESS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "trace/record_row.h"

namespace tensortap {

// From best to worst.
enum class DumpState : uint8_t {
  kComplete,
  kUnknown,     // nothing tells how much was written, and nothing is known to be missing: another tool's tree, a single file
  kRunning,     // a program still writes it
  kIncomplete,  // something is missing
};
std::string_view dump_state_name(DumpState state);  // "complete", "unknown", "running", "incomplete"

// Nothing = not known.
struct DumpCounts {
  std::optional<uint64_t> records;
  std::optional<uint64_t> tensors;
  std::optional<uint64_t> ops;
  std::optional<uint64_t> steps;
};

// Value type.
struct Completeness {
  DumpState state = DumpState::kUnknown;
  DumpCounts found;
  DumpCounts written;
  std::optional<std::pair<int64_t, int64_t>> step_range;  // first and last step with records, of dumps that are not complete
  std::vector<std::string> reasons;                       // why it is not complete, a sentence each

  // Whether an answer about the records in the dump holds for the whole capture, as far as is known.
  [[nodiscard]] bool holds_all() const { return state <= DumpState::kUnknown; }
  // Something is missing, and why.
  void lack(std::string reason);
  // Makes the state at least as bad as `other`.
  void worsen(DumpState other);
  // Counts the steps of the records in the dump.
  void count_steps(std::span<const RecordRow> rows);
};

// A dump of an answer that is about several, and what messages call it.
struct NamedCompleteness {
  std::string name;
  Completeness completeness;
};
// Sums up all dumps of an answer: the worst state, the sums of the known counts and, if there are several dumps, each reason behind the
// name of its dump.
Completeness sum_of(std::span<const NamedCompleteness> dumps);

// {"complete": true, false or null (unknown), "state": name, "found": {"records", "tensors", "ops", "steps", "first_step", "last_step"},
// "written": {"records", "tensors", "ops", "steps"}, "reasons": [...]}; unknown counts are null.
Json completeness_json(const Completeness& completeness);

// What an answer begins with: "incomplete dump: 1,945 of 21,961 records, steps 0 to 5 of 64; the answer below holds for these only". `name`
// follows the word "dump" where there are several. "" for a dump that holds_all().
std::string completeness_text(const Completeness& completeness, std::string_view name = {});

// completeness_json() of sum_of() the dumps; where there are several, with "parts": the same of each, with its "name".
Json completeness_json(std::span<const NamedCompleteness> dumps);
// The lines that an answer about these dumps begins with; none when all of them holds_all(). For many dumps, the first line says how
// many are incomplete, and the first of these follow.
std::vector<std::string> completeness_lines(std::span<const NamedCompleteness> dumps);

// "3 records were not looked at (tensor on a device)".
std::string not_looked_at_text(uint64_t count);

// Adds what a manifest reports: counts of what was written, records that the capture lost to a failure or could not look into, a capture
// that did not finish, what `tensortap repair` dropped. Accepts any JSON. A manifest of a capture that ended makes an unknown state
// complete.
void add_manifest(const Json& manifest, Completeness& completeness);

// Members of a manifest: sentences about data that the dump lacks for good, and the counts of all that was written before anything was
// dropped.
inline constexpr const char* kIncompleteMember = "incomplete";
inline constexpr const char* kWrittenMember = "written";
Json counts_json(const DumpCounts& counts);

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_COMPLETENESS_H_
