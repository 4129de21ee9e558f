// The order of `tensortap ls --sort`.

#ifndef TENSORTAP_CLI_ROW_SORT_H_
#define TENSORTAP_CLI_ROW_SORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "trace/dump_index.h"

namespace tensortap::cli {

// The column `name` of a row as a number; nothing when it is no number or the statistic was not measured.
std::optional<double> row_number(const RecordRow& row, std::string_view name);

// Immutable.
class RowOrder {
 public:
  // "absmax", "-absmax", "op", or "" for the order of the dump. Errors: kInvalidArgument with the nearest keys.
  static Result<RowOrder> parse(std::string_view text);
  static std::vector<std::string> keys();
  static std::string keys_text();  // joined

  [[nodiscard]] bool is_natural() const { return key_.empty(); }
  [[nodiscard]] const std::string& key() const { return key_; }
  // Sorts row numbers and cuts them to `limit` (0 = none). Rows without a value come last either way; equal ones keep their order.
  void sort(const DumpIndex& dump, std::vector<uint32_t>& rows, size_t limit) const;

 private:
  std::string key_;
  bool descending_ = false;
};

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_ROW_SORT_H_
