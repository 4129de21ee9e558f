// NaN and Inf in a dump: the first record that holds one, and where a record's come from.
//
// Records without counts of NaN and Inf are counted here when they have their data.

#ifndef TENSORTAP_FIND_NONFINITE_ORIGINS_H_
#define TENSORTAP_FIND_NONFINITE_ORIGINS_H_

#include <cstdint>
#include <optional>
#include <span>
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

// The first record with NaN or Inf in time order; nothing when there is none. Ignores memory that an op is about to overwrite. Linear in
// the records.
std::optional<NonFiniteRecord> first_nonfinite(const DumpIndex& dump, bool with_weights = true);
// Counts the records of floating-point types that may hold NaN or Inf: the dump has neither counts over all their elements nor all their
// data. Excludes those of count_not_looked_at().
size_t count_unknown(const DumpIndex& dump);
// Records whose elements were in memory that the capture could not read, such as a device's.
size_t count_not_looked_at(const DumpIndex& dump);
// Records that a limit of the config left out of the dump, by its manifest: neither their values nor their counts are known. Losses to a
// failure make a dump incomplete (trace/completeness.h).
uint64_t count_left_out(const DumpIndex& dump);
// What one record holds, nothing when all of it is finite, or when neither counts nor data show it.
std::optional<NonFiniteRecord> nonfinite_in(const DumpIndex& dump, size_t row);

enum class OriginKind : uint8_t {
  kOp,             // the op made them although everything that it read was finite
  kGraphInput,     // they came in as an input of the graph
  kWeight,         // a weight contains them
  kUnknown,        // the walk ends here because records are missing
  kIntended,       // infinities that an op makes on purpose, such as a mask's, or that come from an infinite argument
  kUninitialised,  // the op worked on memory that nothing was written to
};
std::string_view origin_kind_name(OriginKind kind);  // "op", "graph input", "weight", "unknown", "intended", "uninitialised memory"

// One op on the way back.
struct OriginStep {
  size_t row = 0;                    // the record that holds NaN or Inf
  std::vector<size_t> inputs;        // rows of the captured inputs of its op
  std::vector<std::string> missing;  // values that its op read and that were not captured, in words
};

// From a record back to where its NaN or Inf began.
struct NonFiniteOrigin {
  OriginKind kind = OriginKind::kUnknown;
  bool certain = false;      // false when a record that could say otherwise is missing
  bool harmless = false;     // as far as captured, nothing of it reached what the program saw
  std::string_view reached;  // how the chosen record matters: a sight_name() of find/nonfinite_flow.h; "" = unknown
  bool meant = false;        // intended infinities: of the kind kIntended, or of a weight that is a mask or one number
  bool overflowed = false;   // the op made infinities of finite numbers because its type holds no larger ones, where another would
  std::optional<size_t> swallowed_by;  // an output of the op that made finite numbers of the infinities
  std::vector<OriginStep> chain;       // the chosen record first, the origin last; never empty
};

// Walks back from `row`, which holds NaN or Inf, through the inputs that hold some, the earliest each time.
NonFiniteOrigin trace_nonfinite(const DumpIndex& dump, size_t row);

// Where NaN and Inf of a dump began, and what came of them.
struct NonFiniteFindings {
  // The way back from the NaN or Inf that matters most. It matters if the program read it or began a backward pass with it, if a failing op
  // read it, if it was written into a parameter, if the graph hands it out or no captured op read it, or if an op made wrong finite numbers
  // of the overflow of a narrow type. Nothing if all is harmless or intended: infinities of a mask that the program reads, its own numbers
  // that it reads back. Only in dumps that record which memory each tensor uses, or that know their whole graph.
  std::optional<NonFiniteOrigin> seen;
  // Every op that made NaN or Inf from finite inputs, and graph inputs and weights that hold some: its first record each, or the first that
  // is not harmless, in time order.
  std::vector<NonFiniteOrigin> origins;
  bool judged = false;  // whether harm could be judged: `seen` and `harmless` mean something
};
// At most `limit` origins. Linear in the records.
NonFiniteFindings find_nonfinite(const DumpIndex& dump, size_t limit = 100);

// For each of these rows, whether it holds NaN or Inf that is neither harmless nor intended, by the rule of find_nonfinite(). If harm
// cannot be judged, all that is not intended counts. Linear in the records, plus the ways back from these rows.
std::vector<bool> harmful_rows(const DumpIndex& dump, std::span<const size_t> rows);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_NONFINITE_ORIGINS_H_
