#include "system/ascend/statistics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "format/dump_data/dump_data_numbers.h"

namespace tensortap::ascend {
namespace {

constexpr std::string_view kFirstColumns = "Input/Output,Index,Data Size,Data Type,Format,Shape";
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

bool measured(const TensorStats& stats, uint32_t bits) { return (stats.valid & bits) == bits; }

// As a stream of C++ prints it: six digits. NaN has no sign.
void append_float(double number, std::string& text) {
  std::array<char, 32> digits{};
  if (std::isnan(number)) number = kNotANumber;
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::general, 6);
  text.append(digits.data(), end.ptr);
}

// Whether the first element is a NaN, as far as the statistics can tell: with it the real system begins its comparisons, and nothing compares to it.
bool begins_with_nan(const TensorStats& stats) {
  return measured(stats, kStatNonFinite) && stats.nan > 0 && stats.first_nonfinite == 0 && stats.pos_inf + stats.neg_inf == 0;
}

void append_extreme(bool largest, const RecordRow& record, std::string& text) {
  const TensorStats& stats = record.stats;
  if (!measured(stats, largest ? kStatMax : kStatMin) || stats.count == 0) return;
  const auto dtype = static_cast<DType>(record.dtype);
  const DTypeKind kind = dtype_info(dtype).kind;
  if (kind == DTypeKind::kFloat || kind == DTypeKind::kComplex) {
    append_float(begins_with_nan(stats) ? kNotANumber : largest ? stats.max : stats.min, text);
  } else if (const int64_t value = largest ? stats.max_integer : stats.min_integer; dtype == DType::kUInt64) {
    text += to_text(static_cast<uint64_t>(value));
  } else {
    text += to_text(value);
  }
}

void append_average(const RecordRow& record, std::string& text) {
  const TensorStats& stats = record.stats;
  if (!measured(stats, kStatMean) || stats.count == 0) return;
  double average = stats.nan > 0 ? kNotANumber : stats.mean;
  if (stats.pos_inf > 0 && stats.neg_inf == 0) average = kInfinite;
  if (stats.neg_inf > 0 && stats.pos_inf == 0) average = -kInfinite;
  if (stats.neg_inf > 0 && stats.pos_inf > 0) average = kNotANumber;
  append_float(average, text);
}

void append_norm(const RecordRow& record, std::string& text) {
  const TensorStats& stats = record.stats;
  if (!measured(stats, kStatL2)) return;
  append_float(stats.nan > 0 ? kNotANumber : stats.pos_inf + stats.neg_inf > 0 ? kInfinite : stats.l2, text);
}

void append_count(uint32_t bit, uint64_t count, const TensorStats& stats, std::string& text) {
  if (measured(stats, bit)) text += to_text(count);
}

void append_shape(const RecordRow& record, std::string& text) {
  const Shape shape = record.desc().shape;
  if (shape.rank() == 0) text += '-';
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += 'x';
    text += to_text(shape[i]);
  }
}

}  // namespace

StatisticTable::StatisticTable(uint32_t columns) : columns_(columns), header_(kFirstColumns) {
  static constexpr std::array kNames = {"Max Value",          "Min Value",          "Avg Value", "Nan Count",
                                        "Negative Inf Count", "Positive Inf Count", "l2norm"};
  if (columns != kDefault) header_ += ",Count";
  for (uint32_t i = 0; i < kNames.size(); ++i) {
    if ((columns >> i & 1U) == 0) continue;
    if (columns == kDefault && 1U << i == kNan) header_ += ",Count";
    header_ += concat(",", kNames[i]);
  }
  header_ += '\n';
}

Result<StatisticTable> StatisticTable::create(std::string_view columns) {
  static const std::vector<std::string> kWords = {"Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"};
  if (columns.empty()) return StatisticTable(kDefault);
  uint32_t chosen = 0;
  for (const std::string_view part : split(columns, ',')) {
    const auto found = std::ranges::find(kWords, trim(part));
    if (found == kWords.end()) {
      return invalid_argument(concat("stats_columns: there is no ", quote(trim(part)), "; there are ", join(kWords, ", "), ".",
                                     did_you_mean(trim(part), kWords)));
    }
    chosen |= 1U << (found - kWords.begin());
  }
  return StatisticTable(chosen);
}

uint32_t StatisticTable::wanted() const {
  constexpr std::array kBits = {kStatMax, kStatMin, kStatMean, kStatNan, kStatNegInf, kStatPosInf, kStatL2};
  uint32_t wanted = kStatNonFinite;
  for (uint32_t i = 0; i < kBits.size(); ++i) {
    if ((columns_ >> i & 1U) != 0) wanted |= kBits[i];
  }
  return wanted;
}

void StatisticTable::append_row(bool is_input, uint32_t index, const RecordRow& record, std::string& text) const {
  const DumpDataType* type = dump_data_type_of(static_cast<DType>(record.dtype));
  text += concat(is_input ? "Input," : "Output,", index, ",", record.bytes, ",", type == nullptr ? "UNKNOW" : type->name, ",ND,");
  append_shape(record, text);
  const TensorStats& stats = record.stats;
  const auto append_elements = [&] { text += stats.valid == 0 ? std::string(",") : concat(",", stats.count); };
  if (columns_ != kDefault) append_elements();
  for (uint32_t bit = kMax; bit <= kL2; bit <<= 1) {
    if ((columns_ & bit) == 0) continue;
    if (columns_ == kDefault && bit == kNan) append_elements();
    text += ',';
    if (bit == kMax) append_extreme(true, record, text);
    if (bit == kMin) append_extreme(false, record, text);
    if (bit == kAvg) append_average(record, text);
    if (bit == kNan) append_count(kStatNan, stats.nan, stats, text);
    if (bit == kNegInf) append_count(kStatNegInf, stats.neg_inf, stats, text);
    if (bit == kPosInf) append_count(kStatPosInf, stats.pos_inf, stats, text);
    if (bit == kL2) append_norm(record, text);
  }
  text += '\n';
}

}  // namespace tensortap::ascend
