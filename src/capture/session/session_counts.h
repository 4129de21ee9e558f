// Counts what a session has done so far. Also has the name of its process.

#ifndef TENSORTAP_SESSION_SESSION_COUNTS_H_
#define TENSORTAP_SESSION_SESSION_COUNTS_H_

#include <cstdint>
#include <string>

namespace tensortap {

struct SessionCounts {
  uint64_t steps_seen = 0;
  uint64_t steps_captured = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;
  uint64_t lost = 0;
  std::string process;  // process_json() as text
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_SESSION_COUNTS_H_
