// The order of RowQuery::sort. Private to this folder.

#ifndef TENSORTAP_QUERY_ROW_ORDER_H_
#define TENSORTAP_QUERY_ROW_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/row_columns.h"
#include "query/row_query.h"

namespace tensortap {

// Immutable.
class RowOrder {
 public:
  // Errors: kInvalidArgument with the nearest keys; the message begins with "sort".
  static Result<RowOrder> parse(std::string_view text);

  // The order of the dump.
  [[nodiscard]] bool is_natural() const { return column_ == nullptr; }
  // Sorts row numbers, which are in the order of the dump, and keeps the first `limit`.
  void sort(const DumpIndex& dump, std::vector<uint32_t>& rows, size_t limit) const;
  // The same of rows of several dumps.
  void sort(std::span<const DumpIndex* const> dumps, std::vector<RowOfDump>& rows, size_t limit) const;

 private:
  const RowColumn* column_ = nullptr;
  bool descending_ = false;
};

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_ROW_ORDER_H_
