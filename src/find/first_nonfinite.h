// NaN and Inf in a dump: the first record that holds one, and where a record's come from.
//
// Records without counts of NaN and Inf are counted here when they have their data.

#ifndef TENSORTAP_FIND_FIRST_NONFINITE_H_
#define TENSORTAP_FIND_FIRST_NONFINITE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

// A record that holds NaN or Inf.
struct NonFiniteRecord {
  size_t row = 0;
  uint64_t nan = 0;
  uint64_t pos_inf = 0;
  uint64_t neg_inf = 0;
  std::vector<int64_t> index;  // of the first such element, one number per dimension
  bool index_known = false;
};

// The first in time order, nothing when no record holds any. Linear in the records.
std::optional<NonFiniteRecord> first_nonfinite(const DumpIndex& dump);
// What one record holds, nothing when all of it is finite, or when neither counts nor data tell.
std::optional<NonFiniteRecord> nonfinite_in(const DumpIndex& dump, size_t row);

enum class OriginKind : uint8_t {
  kOp,          // the op made them although everything that it read was finite
  kGraphInput,  // they came in as an input of the graph
  kWeight,      // they stand in a weight
  kUnknown,     // the walk ends here because records are missing
  kIntended,    // infinities of an op that is there to make them, as a mask is: no alarm
};
std::string_view origin_kind_name(OriginKind kind);  // "op", "graph input", "weight", "unknown", "intended"

// One op on the way back.
struct OriginStep {
  size_t row = 0;                    // the record that holds NaN or Inf
  std::vector<size_t> inputs;        // rows of what its op read, as far as they were captured
  std::vector<std::string> missing;  // values that its op read and that were not captured, in words
};

// From a record back to where its NaN or Inf began.
struct NonFiniteOrigin {
  OriginKind kind = OriginKind::kUnknown;
  bool certain = false;           // false when a record that could say otherwise is missing
  std::vector<OriginStep> chain;  // the chosen record first, the origin last; never empty
};

// Walks back from `row`, which holds NaN or Inf, through the inputs that hold some, the earliest each time.
NonFiniteOrigin trace_nonfinite(const DumpIndex& dump, size_t row);

// The value that the program looked at, or else a parameter, with the way back from it: the first input that holds NaN or Inf of an op that hands a value to
// the program (kSeesValue), or else the first such record of the phase kUpdate. Intended infinities are passed over. Nothing when there is none.
std::optional<NonFiniteOrigin> seen_nonfinite(const DumpIndex& dump);

// Every op of the dump that made NaN or Inf from finite inputs, and graph inputs and weights that hold some: its first record each,
// in time order, at most `limit`.
std::vector<NonFiniteOrigin> nonfinite_origins(const DumpIndex& dump, size_t limit = 100);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_FIRST_NONFINITE_H_
