// One question asked of every part of a dump: of all processes, ranks and models that one run recorded.

#ifndef TENSORTAP_FIND_ASK_PARTS_H_
#define TENSORTAP_FIND_ASK_PARTS_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "read/dump_parts.h"
#include "trace/completeness.h"
#include "trace/dump_index.h"

namespace tensortap {

struct PartQuestion {
  // Opens the dump of a part, as open_dump() does.
  std::function<Result<std::unique_ptr<DumpIndex>>(const std::string& path)> open;
  // What is said of one dump: an object.
  std::function<Result<Json>(const DumpIndex& dump)> ask;
  // Whether that is a finding.
  std::function<bool(const Json& answer)> finds;
};

// What one part said.
struct PartAnswer {
  DumpPart part;
  Json answer;  // null when the part could not be opened or asked
  bool finds = false;
  Status status;  // why it could not be
  Completeness completeness;
};

// In the order of the parts. A part that cannot be opened or asked keeps the others from nothing.
std::vector<PartAnswer> ask_parts(std::span<const DumpPart> parts, const PartQuestion& question);

// Of which part an answer speaks first: of those that find something the one whose "first_nonfinite" has the lowest step, and within a
// step one that made the value itself rather than one that may have had it from another process; where none does the first that could be
// asked. Null when none could.
const PartAnswer* first_to_tell(std::span<const PartAnswer> answers);

// "`found` in process_4711 (SpawnProcess-1): 1 of 2 processes", or "`none` in 2 processes", with how many of them could not be read, are
// incomplete or, where none finds something, clear less than all.
std::string parts_sentence(std::span<const PartAnswer> answers, std::string_view found, std::string_view none);

// One answer of all parts, whose "not_known" names each part that is no all-clear: the members of the first that finds something, or of the
// first that could be asked, with "part", "role" and "path"; "looked_at": {"parts", "unread", "incomplete", "text"}; "dump":
// completeness_json() of all; and "parts", one object for each with its members, "part", "role", "path", "finds", "problem" or null, and
// its own "dump".
Json parts_answer_json(std::span<const PartAnswer> answers);

// What `tensortap find --json` prints: the answer of one part with "dump", and with its name where the dump has others; or that of all
// parts. Errors: that of the first part, where none gives an answer.
Result<Json> answer_json(std::span<const DumpPart> parts, bool are_several, const PartQuestion& question);

// Of each part. One that could not be opened is incomplete.
std::vector<NamedCompleteness> states_of(std::span<const PartAnswer> answers);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_ASK_PARTS_H_
