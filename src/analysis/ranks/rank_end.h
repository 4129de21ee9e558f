// How the capture of a rank came to its end, and where it was then.

#ifndef TENSORTAP_RANKS_RANK_END_H_
#define TENSORTAP_RANKS_RANK_END_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "trace/dump_index.h"

namespace tensortap {

enum class HowItEnded : uint8_t {
  kUnknown,   // nothing tells
  kFinished,  // its capture came to its end
  kRunning,
  kFailed,   // an op failed, and the program ended with it
  kCrashed,  // a signal, of which a crash file tells
  kDied,     // its process is gone, and its capture did not come to its end
};
std::string_view end_name(HowItEnded how);  // "unknown", "finished", "running", "failed", "crashed", "died"
// Whether it ended before it wanted to.
inline bool is_cut(HowItEnded how) { return how >= HowItEnded::kFailed; }

struct RankEnd {
  HowItEnded how = HowItEnded::kUnknown;
  std::string signal;  // "SIGSEGV"; "" = not known
  std::string reason;  // of a failure
  // The op that failed or crashed, otherwise the last one with a record.
  std::string op;  // "" = none
  std::string type;
  std::string module;
  std::string source;
  int64_t step = 0;
  uint64_t records_of_step = 0;
  uint64_t records = 0;  // that say this
};

// By rank of the records. Linear in the records.
std::map<int64_t, RankEnd> ends_of(const DumpIndex& dump);

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_RANK_END_H_
