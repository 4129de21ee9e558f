#include "query/row_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/text.h"
#include "query/row_query.h"

namespace tensortap {
namespace {

template <class Row, class Value, class Less>
void sort_by(std::vector<Row>& rows, const std::vector<Value>& values, size_t limit, Less less) {
  std::vector<uint32_t> places(rows.size());
  std::iota(places.begin(), places.end(), 0U);
  const auto before = [&](uint32_t a, uint32_t b) {
    if (less(values[a], values[b])) return true;
    if (less(values[b], values[a])) return false;
    return a < b;
  };
  const size_t kept = std::min(limit, rows.size());
  std::partial_sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(kept), places.end(), before);
  std::vector<Row> sorted;
  sorted.reserve(kept);
  for (size_t i = 0; i < kept; ++i) sorted.push_back(rows[places[i]]);
  rows = std::move(sorted);
}

// `value_of` gives the value of a row in the column.
template <class Row, class ValueOf>
void sort_rows(std::vector<Row>& rows, ColumnKind kind, bool descending, size_t limit, const ValueOf& value_of) {
  if (kind == ColumnKind::kText) {
    std::vector<std::string> texts;
    for (const Row& row : rows) texts.push_back(std::get<std::string>(value_of(row)));
    sort_by(rows, texts, limit, [descending](const std::string& a, const std::string& b) { return descending ? b < a : a < b; });
    return;
  }
  std::vector<double> numbers;
  for (const Row& row : rows) numbers.push_back(number_of(value_of(row)));
  sort_by(rows, numbers, limit, [descending](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    return descending ? b < a : a < b;
  });
}

}  // namespace

std::vector<std::string> sort_keys() { return column_names(kColumnSorts); }

std::string_view sort_key(std::string_view sort) { return sort.starts_with("-") ? sort.substr(1) : sort; }

Result<RowOrder> RowOrder::parse(std::string_view text) {
  RowOrder order;
  if (text.empty()) return order;
  order.descending_ = text.starts_with("-");
  order.column_ = find_column(sort_key(text));
  if (order.column_ != nullptr && (order.column_->uses & kColumnSorts) != 0) return order;
  const std::vector<std::string> keys = sort_keys();
  return invalid_argument(
      concat("sort ", quote(text), ": no such column.", did_you_mean(sort_key(text), keys), " The columns are ", join(keys, ", "), "."));
}

void RowOrder::sort(const DumpIndex& dump, std::vector<uint32_t>& rows, size_t limit) const {
  if (is_natural()) {
    if (rows.size() > limit) rows.resize(limit);
    return;
  }
  sort_rows(rows, column_->kind, descending_, limit, [&](uint32_t row) { return column_value(*column_, dump, row); });
}

void RowOrder::sort(std::span<const DumpIndex* const> dumps, std::vector<RowOfDump>& rows, size_t limit) const {
  if (is_natural()) {
    if (rows.size() > limit) rows.resize(limit);
    return;
  }
  sort_rows(rows, column_->kind, descending_, limit,
            [&](const RowOfDump& one) { return column_value(*column_, *dumps[one.dump], one.row); });
}

}  // namespace tensortap
