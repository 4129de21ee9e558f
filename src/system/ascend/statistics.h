// The table of statistics that stands for one op's tensors, written and read.

#ifndef TENSORTAP_SYSTEM_ASCEND_STATISTICS_H_
#define TENSORTAP_SYSTEM_ASCEND_STATISTICS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/tensor_stats.h"
#include "trace/record_row.h"

namespace tensortap::ascend {

inline constexpr std::string_view kTableBegin = "Input/Output,";

// Immutable. Thread-safe.
class StatisticTable {
 public:
  // `columns` are words of the config, joined by ",": Max, Min, Avg, Nan, Negative Inf, Positive Inf, L2norm, in any order; "" is the first six.
  // Errors: kInvalidArgument with the word that there is not.
  static Result<StatisticTable> create(std::string_view columns);

  [[nodiscard]] const std::string& header() const { return header_; }  // with its line end
  // Appends a row with its line end. What was not measured, and what a type has no statistics of, stays empty.
  void append_row(bool is_input, uint32_t index, const RecordRow& record, std::string& text) const;
  // Stat bits that the rows tell.
  [[nodiscard]] uint32_t wanted() const;

 private:
  enum Column : uint32_t { kMax = 1, kMin = 2, kAvg = 4, kNan = 8, kNegInf = 16, kPosInf = 32, kL2 = 64 };
  static constexpr uint32_t kDefault = kMax | kMin | kAvg | kNan | kNegInf | kPosInf;

  explicit StatisticTable(uint32_t columns);

  uint32_t columns_;
  std::string header_;
};

// One row as read.
struct StatisticLine {
  bool is_input = false;
  uint32_t index = 0;
  uint64_t bytes = 0;
  TensorDesc desc;
  int32_t format = 2;
  TensorStats stats;
};

// The rows of a table, of either producer. What can not be read is told in `problem`, one sentence for the whole file.
std::vector<StatisticLine> read_statistics(std::string_view text, std::string& problem);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_STATISTICS_H_
