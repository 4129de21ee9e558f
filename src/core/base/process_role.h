// The names of a process of a captured program: "process" in run.json and session.json.

#ifndef TENSORTAP_BASE_PROCESS_ROLE_H_
#define TENSORTAP_BASE_PROCESS_ROLE_H_

#include <string>
#include <string_view>

#include "base/json_fwd.h"

namespace tensortap {

// The fact (tensortap_add_fact()) that is the "name" of a process.
inline constexpr std::string_view kProcessNameFact = "process_name";

// {"pid", "parent", "name", "command", "title"} of this process: what the program calls it ("SpawnProcess-1"; null = it does not say), the
// words that it was started with, and its title where that is another text now (null otherwise).
Json process_json(const std::string& name, const std::string& command);

// The "process" in the text of a session.json; null for any other text.
Json process_of_session(std::string_view text);

// How an answer calls such a process: by the name and the title that the program gave it, otherwise by its command. "" when `process` says
// nothing, or is no object.
std::string process_role(const Json& process);

}  // namespace tensortap

#endif  // TENSORTAP_BASE_PROCESS_ROLE_H_
