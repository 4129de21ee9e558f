// How two records differ of which at least one has no data: by their statistics alone.

#ifndef TENSORTAP_COMPARE_STATISTICS_DIFFERENCE_H_
#define TENSORTAP_COMPARE_STATISTICS_DIFFERENCE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/statistics.h"
#include "trace/dump_index.h"
#include "trace/record_row.h"

namespace tensortap {

struct StatisticDifference {
  bool known = false;  // both records have it
  double a = 0;
  double b = 0;
  double difference = 0;  // a - b; 0 of two NaN and of equal infinities, NaN of one NaN
  double relative = 0;    // |a - b| / |b|; 0 when they do not differ, Inf when only b is 0
};

enum class DigestAnswer : uint8_t {
  kUnknown,    // one record has none, or they are of different kinds, types or sizes
  kEqual,      // the bytes are equal
  kDifferent,  // they are not
};

struct StatisticsDifference {
  std::array<StatisticDifference, kStatisticTable.size()> values;  // in the order of kStatisticTable
  DigestAnswer digest = DigestAnswer::kUnknown;
  bool any_known = false;          // some statistic, or the digest
  double max_relative = 0;         // of the statistics that are no counts
  bool nonfinite_differs = false;  // the counts of NaN, +Inf or -Inf do
  bool sampled = false;            // one side's are of a sample
};

// Whether sums may have other bits in the two dumps although all elements are equal: processors with other instructions formed them, or
// devices did, as far as the manifests tell it.
bool sums_are_rounded_otherwise(const DumpIndex& a, const DumpIndex& b);

// `a` is judged, `b` is the reference. Equal statistics do not say that two tensors are equal; only equal digests do. `rounded_otherwise`:
// sums within the bounds of docs/statistics.md do not differ. Thread-safe.
StatisticsDifference compare_statistics(const RecordRow& a, const RecordRow& b, bool rounded_otherwise);

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_STATISTICS_DIFFERENCE_H_
