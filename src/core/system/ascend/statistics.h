// The table of statistics that replaces one op's tensors, written and read.

#ifndef TENSORTAP_SYSTEM_ASCEND_STATISTICS_H_
#define TENSORTAP_SYSTEM_ASCEND_STATISTICS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tree/statistics_table.h"

namespace tensortap::ascend {

inline constexpr std::string_view kTableBegin = "Input/Output,";

// The words of configs for statistics, in the order of the columns that they choose; the first kDefaultWords count where none is chosen.
inline constexpr std::array<std::string_view, 7> kStatisticWords = {"Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"};
inline constexpr size_t kDefaultWords = 6;
// The Stat bits that the column of a word needs; 0 for an unknown word.
uint32_t stats_of_word(std::string_view word);

struct StatisticPlace {
  bool is_input = false;
  uint32_t index = 0;
  bool image = false;  // tensors of four and five dimensions are images
};

// Immutable. Thread-safe.
class StatisticTable {
 public:
  // `columns` are words of the config, joined by ",": Max, Min, Avg, Nan, Negative Inf, Positive Inf, L2norm, in any order; "" means the
  // first six. Errors: kInvalidArgument naming the unknown word.
  static Result<StatisticTable> create(std::string_view columns);

  [[nodiscard]] const std::string& header() const { return columns_.header(); }
  // Appends a row with its line end. Statistics that were not measured, or that the type does not have, stay empty.
  void append_row(StatisticPlace place, const RecordRow& record, std::string& text) const;

 private:
  explicit StatisticTable(ChosenColumns columns) : columns_(std::move(columns)) {}
  ChosenColumns columns_;
};

// The rows of a table of either producer that can be read.
std::vector<StatisticLine> read_statistic_table(std::string_view text, std::string_view name, TreeProblems& problems);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_STATISTICS_H_
