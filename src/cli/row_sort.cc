#include "cli/row_sort.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace tensortap::cli {
namespace {

constexpr std::array<std::string_view, 4> kTextKeys = {"op", "type", "slot", "dtype"};

struct NumberKey {
  std::string_view name;
  uint32_t stat;  // the bit that must be valid, 0 = always there
  double (*value)(const RecordRow& row);
};

template <auto Member>
double field(const RecordRow& row) {
  return static_cast<double>(row.*Member);
}
template <auto Member>
double statistic(const RecordRow& row) {
  return static_cast<double>(row.stats.*Member);
}

constexpr std::array kNumberKeys = {
    NumberKey{"step", 0, field<&RecordRow::step>},
    NumberKey{"call", 0, field<&RecordRow::call>},
    NumberKey{"rank", 0, field<&RecordRow::rank>},
    NumberKey{"element", 0, field<&RecordRow::element>},
    NumberKey{"numel", 0, field<&RecordRow::numel>},
    NumberKey{"bytes", 0, field<&RecordRow::bytes>},
    NumberKey{"duration", 0, field<&RecordRow::duration_ns>},
    NumberKey{"sequence", 0, field<&RecordRow::sequence>},
    NumberKey{"min", kStatMin, statistic<&TensorStats::min>},
    NumberKey{"max", kStatMax, statistic<&TensorStats::max>},
    NumberKey{"mean", kStatMean, statistic<&TensorStats::mean>},
    NumberKey{"std", kStatStd, statistic<&TensorStats::std>},
    NumberKey{"l2", kStatL2, statistic<&TensorStats::l2>},
    NumberKey{"absmax", kStatAbsMax, statistic<&TensorStats::absmax>},
    NumberKey{"nan", kStatNan, statistic<&TensorStats::nan>},
    NumberKey{"pos_inf", kStatPosInf, statistic<&TensorStats::pos_inf>},
    NumberKey{"neg_inf", kStatNegInf, statistic<&TensorStats::neg_inf>},
    NumberKey{"zero", kStatZero, statistic<&TensorStats::zero>},
    NumberKey{"neg_zero", kStatNegZero, statistic<&TensorStats::neg_zero>},
    NumberKey{"positive", kStatPositive, statistic<&TensorStats::positive>},
    NumberKey{"negative", kStatNegative, statistic<&TensorStats::negative>},
    NumberKey{"range", kStatMin | kStatMax, [](const RecordRow& row) { return row.stats.max - row.stats.min; }},
    NumberKey{"nonfinite", kStatNonFinite,
              [](const RecordRow& row) { return static_cast<double>(row.stats.nan + row.stats.pos_inf + row.stats.neg_inf); }},
};

std::vector<std::string> all_keys() {
  std::vector<std::string> keys(kTextKeys.begin(), kTextKeys.end());
  for (const NumberKey& key : kNumberKeys) keys.emplace_back(key.name);
  return keys;
}

std::string row_text(const DumpIndex& dump, const RecordRow& row, std::string_view key) {
  if (key == "op") return op_of(dump, row).name;
  if (key == "type") return op_of(dump, row).type;
  if (key == "slot") return slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index);
  return std::string(dtype_name(row.desc().dtype));
}

template <class Value, class Less>
void sort_by(std::vector<uint32_t>& rows, const std::vector<Value>& values, size_t limit, Less less) {
  std::vector<uint32_t> places(rows.size());
  for (uint32_t i = 0; i < places.size(); ++i) places[i] = i;
  const auto before = [&](uint32_t a, uint32_t b) {
    if (less(values[a], values[b])) return true;
    if (less(values[b], values[a])) return false;
    return a < b;
  };
  const size_t kept = limit == 0 ? rows.size() : std::min(limit, rows.size());
  std::partial_sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(kept), places.end(), before);
  places.resize(kept);
  for (uint32_t& place : places) place = rows[place];
  rows = std::move(places);
}

}  // namespace

std::optional<double> row_number(const RecordRow& row, std::string_view name) {
  const auto key = std::ranges::find(kNumberKeys, name, &NumberKey::name);
  if (key == kNumberKeys.end() || (row.stats.valid & key->stat) != key->stat) return std::nullopt;
  return key->value(row);
}

std::vector<std::string> RowOrder::keys() { return all_keys(); }

std::string RowOrder::keys_text() { return join(all_keys(), ", "); }

Result<RowOrder> RowOrder::parse(std::string_view text) {
  RowOrder order;
  order.descending_ = text.starts_with("-");
  order.key_ = order.descending_ ? text.substr(1) : text;
  const auto keys = all_keys();
  if (text.empty() || std::ranges::find(keys, order.key_) != keys.end()) return order;
  return invalid_argument(
      fmt::format("--sort {}: no such column.{} The columns are {}.", quote(text), did_you_mean(order.key_, keys), keys_text()));
}

void RowOrder::sort(const DumpIndex& dump, std::vector<uint32_t>& rows, size_t limit) const {
  if (is_natural()) {
    if (limit > 0 && rows.size() > limit) rows.resize(limit);
    return;
  }
  if (std::ranges::find(kTextKeys, key_) != kTextKeys.end()) {
    std::vector<std::string> values;
    for (const uint32_t row : rows) values.push_back(row_text(dump, dump.rows()[row], key_));
    sort_by(rows, values, limit, [this](const std::string& a, const std::string& b) { return descending_ ? b < a : a < b; });
    return;
  }
  constexpr double kLast = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values;
  for (const uint32_t row : rows) values.push_back(row_number(dump.rows()[row], key_).value_or(kLast));
  sort_by(rows, values, limit, [this](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    return descending_ ? b < a : a < b;
  });
}

}  // namespace tensortap::cli
