#include "system/ascend/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "format/dump_data/dump_data_file.h"
#include "format/dump_data/dump_data_numbers.h"

namespace tensortap::ascend {
namespace {

constexpr std::string_view kFirstColumns = "Input/Output,Index,Data Size,Data Type,Format,Shape";
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

bool measured(const TensorStats& stats, uint32_t bits) { return (stats.valid & bits) == bits; }

// NaN has no sign here.
void append_float(double number, std::string& text) { append_six_digits(std::isnan(number) ? kNotANumber : number, text); }

// Whether the first element is a NaN, as far as the statistics show it: the real system begins its comparisons with it, and no comparison
// with it is true.
bool begins_with_nan(const TensorStats& stats) {
  return measured(stats, kStatNonFinite) && stats.nan > 0 && stats.first_nonfinite == 0 && stats.pos_inf + stats.neg_inf == 0;
}

template <bool largest>
void write_extreme(const StatisticRow& row, std::string& text) {
  const TensorStats& stats = row.record->stats;
  if (!measured(stats, largest ? kStatMax : kStatMin) || stats.count == 0) return;
  const auto dtype = static_cast<DType>(row.record->dtype);
  const DTypeKind kind = dtype_info(dtype).kind;
  if (kind == DTypeKind::kFloat || kind == DTypeKind::kComplex) {
    append_float(begins_with_nan(stats) ? kNotANumber : largest ? stats.max : stats.min, text);
  } else if (const int64_t value = largest ? stats.max_integer : stats.min_integer; dtype == DType::kUInt64) {
    text += to_text(static_cast<uint64_t>(value));
  } else {
    text += to_text(value);
  }
}

void write_average(const StatisticRow& row, std::string& text) {
  const TensorStats& stats = row.record->stats;
  if (!measured(stats, kStatMean) || stats.count == 0) return;
  double average = stats.nan > 0 ? kNotANumber : stats.mean;
  if (stats.pos_inf > 0 && stats.neg_inf == 0) average = kInfinite;
  if (stats.neg_inf > 0 && stats.pos_inf == 0) average = -kInfinite;
  if (stats.neg_inf > 0 && stats.pos_inf > 0) average = kNotANumber;
  append_float(average, text);
}

void write_norm(const StatisticRow& row, std::string& text) {
  const TensorStats& stats = row.record->stats;
  if (!measured(stats, kStatL2)) return;
  append_float(stats.nan > 0 ? kNotANumber : stats.pos_inf + stats.neg_inf > 0 ? kInfinite : stats.l2, text);
}

void write_elements(const StatisticRow& row, std::string& text) {
  if (row.record->stats.valid != 0) text += to_text(row.record->stats.count);
}

template <uint64_t TensorStats::*field, Stat bit>
void write_count(const StatisticRow& row, std::string& text) {
  if (measured(row.record->stats, bit)) text += to_text(row.record->stats.*field);
}

void append_shape(const Shape& shape, std::string& text) {
  if (shape.rank() == 0) text += '-';
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += 'x';
    text += to_text(shape[i]);
  }
}

bool read_direction(std::string_view cell, StatisticLine& line) {
  line.is_input = cell == "Input";
  return line.is_input || cell == "Output";
}

bool read_index(std::string_view cell, StatisticLine& line) { return read_slot(cell, line.slot); }
bool read_size(std::string_view cell, StatisticLine& line) { return parse_unsigned(cell, line.bytes); }

bool read_type(std::string_view cell, StatisticLine& line) {
  for (int32_t number = 0; const DumpDataType* type = find_dump_data_type(number); ++number) {
    if (type->name != cell) continue;
    line.desc.dtype = type->form == DumpDataForm::kSame ? type->dtype : DType::kUndefined;
    break;
  }
  return true;
}

bool read_format(std::string_view cell, StatisticLine& line) {
  line.format = dump_data_format_number(cell).value_or(kFormatNd);
  return true;
}

bool read_shape(std::string_view cell, StatisticLine& line) {
  if (cell == "-" || cell.empty()) return true;
  std::vector<int64_t> dims;
  for (const std::string_view part : split(cell, 'x')) {
    int64_t dim = 0;
    if (!parse_integer(part, dim) || dim < 0 || dims.size() == kMaxRank) return false;
    dims.push_back(dim);
  }
  line.desc.shape = Shape(dims);
  return true;
}

bool is_unknown(std::string_view cell) { return cell.empty() || cell == "NA" || cell == "-"; }

template <double TensorStats::*field, Stat bit>
bool read_value(std::string_view cell, StatisticLine& line) {
  if (is_unknown(cell)) return true;
  if (!read_float(cell, line.stats.*field)) return false;
  line.stats.valid |= bit;
  return true;
}

template <uint64_t TensorStats::*field, uint32_t bit>
bool read_count(std::string_view cell, StatisticLine& line) {
  if (is_unknown(cell)) return true;
  if (!parse_unsigned(cell, line.stats.*field)) return false;
  line.stats.valid |= bit;
  return true;
}

using S = TensorStats;

constexpr StatisticColumn kColumns[] = {
    {.header = "Max Value", .word = "Max", .needs = kStatMax, .write = write_extreme<true>, .read = read_value<&S::max, kStatMax>},
    {.header = "Min Value", .word = "Min", .needs = kStatMin, .write = write_extreme<false>, .read = read_value<&S::min, kStatMin>},
    {.header = "Avg Value", .word = "Avg", .needs = kStatMean, .write = write_average, .read = read_value<&S::mean, kStatMean>},
    {.header = "Nan Count",
     .word = "Nan",
     .needs = kStatNan,
     .write = write_count<&S::nan, kStatNan>,
     .read = read_count<&S::nan, kStatNan>},
    {.header = "Negative Inf Count",
     .word = "Negative Inf",
     .needs = kStatNegInf,
     .write = write_count<&S::neg_inf, kStatNegInf>,
     .read = read_count<&S::neg_inf, kStatNegInf>},
    {.header = "Positive Inf Count",
     .word = "Positive Inf",
     .needs = kStatPosInf,
     .write = write_count<&S::pos_inf, kStatPosInf>,
     .read = read_count<&S::pos_inf, kStatPosInf>},
    {.header = "l2norm", .word = "L2norm", .needs = kStatL2, .write = write_norm, .read = read_value<&S::l2, kStatL2>},
    {.header = "Count", .write = write_elements, .read = read_count<&S::count, 0>},
    {.header = "Input/Output", .required = true, .read = read_direction},
    {.header = "Index", .required = true, .read = read_index},
    {.header = "Data Size", .read = read_size},
    {.header = "Data Type", .read = read_type},
    {.header = "Format", .read = read_format},
    {.header = "Shape", .read = read_shape},
};
constexpr auto kWords = std::span(kColumns).first<kStatisticWords.size()>();
static_assert(std::ranges::equal(kWords, kStatisticWords, {}, &StatisticColumn::word));
constexpr const StatisticColumn* kCount = kWords.data() + kWords.size();

// A tensor that failed has no cell for its count.
void mend_failed(std::vector<std::string_view>& cells, size_t columns) {
  constexpr std::ptrdiff_t kCountAt = 6;
  if (cells.size() + 1 != columns || cells.empty() || cells.back() != "NA") return;
  cells.insert(cells.begin() + std::min(kCountAt, std::ssize(cells)), "NA");
}

}  // namespace

uint32_t stats_of_word(std::string_view word) {
  const auto found = std::ranges::find(kWords, word, &StatisticColumn::word);
  return found == kWords.end() ? 0 : found->needs;
}

Result<StatisticTable> StatisticTable::create(std::string_view columns) {
  std::array<bool, kWords.size()> chosen{};
  std::fill_n(chosen.begin(), columns.empty() ? kDefaultWords : 0, true);
  for (const std::string_view part : columns.empty() ? std::vector<std::string_view>() : split(columns, ',')) {
    const auto found = std::ranges::find(kWords, trim(part), &StatisticColumn::word);
    if (found == kWords.end()) {
      std::vector<std::string> words;
      for (const StatisticColumn& column : kWords) words.emplace_back(column.word);
      return invalid_argument(concat("stats_columns: there is no ", quote(trim(part)), "; there are ", join(words, ", "), ".",
                                     did_you_mean(trim(part), words)));
    }
    chosen[static_cast<size_t>(found - kWords.begin())] = true;
  }
  std::vector<const StatisticColumn*> all;
  for (size_t i = 0; i < kWords.size(); ++i) {
    if (chosen[i]) all.push_back(&kWords[i]);
  }
  // The count of elements comes first, but in the default table it comes before the other counts.
  const bool is_default = all.size() == kDefaultWords && !chosen.back();
  all.insert(all.begin() + (is_default ? 3 : 0), kCount);
  return StatisticTable(ChosenColumns(kFirstColumns, std::move(all), false));
}

void StatisticTable::append_row(StatisticPlace place, const RecordRow& record, std::string& text) const {
  const DumpDataType* type = dump_data_type_of(static_cast<DType>(record.dtype));
  const int32_t format = place.image ? image_format(record.desc()) : kFormatNd;
  text += concat(place.is_input ? "Input," : "Output,", place.index, ",", record.bytes, ",", type == nullptr ? "UNKNOW" : type->name, ",",
                 dump_data_format_name(format), ",");
  append_shape(record.desc().shape, text);
  columns_.append_cells({.is_input = place.is_input, .slot = place.index, .record = &record}, text);
}

std::vector<StatisticLine> read_statistic_table(std::string_view text, std::string_view name, TreeProblems& problems) {
  return read_statistics(text, kColumns, name, problems, mend_failed);
}

}  // namespace tensortap::ascend
