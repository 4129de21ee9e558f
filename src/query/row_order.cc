#include "query/row_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/text.h"
#include "query/row_query.h"

namespace tensortap {
namespace {

template <class Value, class Less>
void sort_by(std::vector<uint32_t>& rows, const std::vector<Value>& values, size_t limit, Less less) {
  std::vector<uint32_t> places(rows.size());
  std::iota(places.begin(), places.end(), 0U);
  const auto before = [&](uint32_t a, uint32_t b) {
    if (less(values[a], values[b])) return true;
    if (less(values[b], values[a])) return false;
    return a < b;
  };
  const size_t kept = std::min(limit, rows.size());
  std::partial_sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(kept), places.end(), before);
  places.resize(kept);
  for (uint32_t& place : places) place = rows[place];
  rows = std::move(places);
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
  } else if (column_->kind == ColumnKind::kText) {
    std::vector<std::string> texts;
    for (const uint32_t row : rows) texts.push_back(std::get<std::string>(column_value(*column_, dump, row)));
    sort_by(rows, texts, limit, [this](const std::string& a, const std::string& b) { return descending_ ? b < a : a < b; });
  } else {
    std::vector<double> numbers;
    for (const uint32_t row : rows) numbers.push_back(number_of(column_value(*column_, dump, row)));
    sort_by(rows, numbers, limit, [this](double a, double b) {
      if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
      return descending_ ? b < a : a < b;
    });
  }
}

}  // namespace tensortap
