// The lines of the captured program around an op.

#ifndef TENSORTAP_SERVE_PROGRAM_LINES_H_
#define TENSORTAP_SERVE_PROGRAM_LINES_H_

#include <cstdint>
#include <string>

#include "base/json_fwd.h"

namespace tensortap {

// {"file", "line", "first", "lines": [...]} of "train.py:41", the 8 lines around it with it; null where there is no such source file, where
// it is newer than the dump (`until_ns`, the time of day in ns), or where it does not look like the source of a program: dumps come from
// strangers, and no other file of the reader's machine is to be shown on their word.
Json program_lines_json(const std::string& location, int64_t until_ns);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_PROGRAM_LINES_H_
