#include "read/record_histogram.h"

#include "stats/histogram.h"

namespace tensortap {

std::vector<uint64_t> histogram_of(const DumpIndex& dump, size_t row, const Result<RecordData>& data) {
  std::vector<uint64_t> numbers = dump.histogram(row);
  if (!numbers.empty() || !data.ok() || !is_floating(data->view.desc.dtype)) return numbers;
  ExponentHistogram histogram;
  add_to_histogram(data->view, histogram);
  numbers.assign(histogram.bins, histogram.bins + ExponentHistogram::kBins);
  numbers.insert(numbers.end(), {histogram.zero, histogram.nan, histogram.inf});
  return numbers;
}

}  // namespace tensortap
