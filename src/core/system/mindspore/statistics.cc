#include "system/mindspore/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "stats/digest.h"
#include "stats/stats.h"
#include "system/mindspore/names.h"
#include "tensor/number_formats.h"

namespace tensortap::mindspore {
namespace {

constexpr std::string_view kFirstColumns = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape";

bool has(const TensorStats& stats, uint32_t bits) { return (stats.valid & bits) == bits; }

uint64_t non_finite(const TensorStats& stats) { return stats.nan + stats.neg_inf + stats.pos_inf; }

// The first zero of the tensor, +0 or -0.
double first_zero(const TensorView& data) {
  std::array<double, 256> values{};
  const uint64_t numel = data.desc.shape.numel().value_or(0);
  for (uint64_t begin = 0; begin < numel; begin += values.size()) {
    const uint64_t count = std::min<uint64_t>(values.size(), numel - begin);
    to_float64(data.desc.dtype, data.data, begin, count, values.data());
    const auto* found = std::find(values.begin(), values.begin() + count, 0.0);
    if (found != values.begin() + count) return *found;
  }
  return 0;
}

// An extreme that is zero has the sign of the tensor's first zero, since -0 and 0 compare equal in MindSpore.
void sign_zeros(TensorStats& stats, const TensorView* data) {
  if (!has(stats, kStatZero | kStatNegZero) || stats.zero == 0 || (stats.max != 0 && stats.min != 0)) return;
  double zero = stats.neg_zero == stats.zero ? -0.0 : 0.0;
  if (stats.neg_zero != 0 && stats.neg_zero != stats.zero) {
    if (data == nullptr) return;
    zero = first_zero(*data);
  }
  if (stats.max == 0) stats.max = zero;
  if (stats.min == 0) stats.min = zero;
}

double largest(const TensorStats& stats) {
  if (stats.nan > 0) return std::numeric_limits<double>::quiet_NaN();
  if (stats.pos_inf > 0) return std::numeric_limits<double>::infinity();
  if (stats.count == stats.neg_inf) return -std::numeric_limits<double>::infinity();
  return stats.max;
}

double smallest(const TensorStats& stats) {
  if (stats.nan > 0) return std::numeric_limits<double>::quiet_NaN();
  if (stats.neg_inf > 0) return -std::numeric_limits<double>::infinity();
  if (stats.count == stats.pos_inf) return std::numeric_limits<double>::infinity();
  return stats.min;
}

double average(const TensorStats& stats) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (stats.nan > 0) return kNan;
  // The processor's result of inf - inf and of 0 / 0 has its sign set.
  if (stats.count == 0 || (stats.pos_inf > 0 && stats.neg_inf > 0)) return std::copysign(kNan, -1.0);
  if (stats.pos_inf > 0) return std::numeric_limits<double>::infinity();
  if (stats.neg_inf > 0) return -std::numeric_limits<double>::infinity();
  return stats.mean == 0 ? 0.0 : stats.mean;
}

// The square root of a sum of squares in double, which overflows and underflows where ours does not.
double norm(const TensorStats& stats) {
  if (stats.nan > 0) return std::numeric_limits<double>::quiet_NaN();
  if (stats.pos_inf + stats.neg_inf > 0) return std::numeric_limits<double>::infinity();
  if (stats.count == 0) return 0.0;
  return std::sqrt(stats.l2 * stats.l2);
}

void take_digest(DigestKind kind, const RecordRow& record, const TensorView* data, Digest& digest) {
  digest = {};
  if (record.digest_kind == static_cast<uint8_t>(kind)) {
    digest.kind = kind;
    std::copy(std::begin(record.digest), std::end(record.digest), digest.bytes.begin());
  } else if (data != nullptr) {
    digest = compute_digest(*data, kind);
  } else if (record.numel == 0) {
    digest = compute_digest({record.desc(), nullptr, nullptr}, kind);
  }
}

// Writes a cell whose value depends on all elements; "null" if NaN and Inf are left out and no other element remains.
template <uint32_t bits, double (*everything)(const TensorStats&), double TensorStats::*finite>
void write_value(const StatisticRow& row, std::string& text) {
  const TensorStats& stats = row.record->stats;
  if (!has(stats, bits | kStatNan)) return;
  if (row.finite_only && stats.count == non_finite(stats)) {
    text += "null";
  } else {
    append_six_digits(row.finite_only ? stats.*finite : everything(stats), text);
  }
}

template <uint32_t bit, uint64_t TensorStats::*field>
void write_count(const StatisticRow& row, std::string& text) {
  if (has(row.record->stats, bit)) append_decimal(row.record->stats.*field, text);
}

// Counts the values below or above zero; `infinite` of them are left out where only finite values count.
template <uint32_t bits, uint64_t TensorStats::*field, uint64_t TensorStats::*infinite>
void write_sign_count(const StatisticRow& row, std::string& text) {
  const TensorStats& stats = row.record->stats;
  if (has(stats, bits)) append_decimal(stats.*field - (row.finite_only ? stats.*infinite : 0), text);
}

void write_elements(const StatisticRow& row, std::string& text) { append_decimal(row.record->numel, text); }
void write_norm(const StatisticRow& row, std::string& text) {
  if (has(row.record->stats, kStatL2 | kStatNan)) append_six_digits(norm(row.record->stats), text);
}
void write_md5(const StatisticRow& row, std::string& text) { append_hex(row.digests->md5, text); }
void write_sha1(const StatisticRow& row, std::string& text) { append_hex(row.digests->sha1, text); }

bool read_op_type(std::string_view cell, StatisticLine& line) { return !(line.op_type = cell).empty(); }
bool read_op_name(std::string_view cell, StatisticLine& line) { return !(line.op_name = cell).empty(); }
bool read_size(std::string_view cell, StatisticLine& line) { return parse_unsigned(cell, line.bytes); }
bool read_time(std::string_view cell, StatisticLine& line) {
  return is_number(cell) && parse_unsigned(cell, line.time) && line.time <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}
bool read_slot_number(std::string_view cell, StatisticLine& line) { return is_number(cell) && read_slot(cell, line.slot); }
bool read_direction(std::string_view cell, StatisticLine& line) {
  line.is_input = cell == "input";
  return line.is_input || cell == "output";
}
bool read_type(std::string_view cell, StatisticLine& line) {
  line.desc.dtype = dtype_from_name(to_lower(cell)).value_or(DType::kUndefined);
  return true;
}

// "(2,3)" or "[2,3]", already without its quotes; an empty cell, which a damaged int4 tensor leaves, is no dimensions.
bool read_shape(std::string_view cell, StatisticLine& line) {
  if (cell.empty()) return true;
  const bool round = cell.starts_with('(') && cell.ends_with(')');
  const bool square = cell.starts_with('[') && cell.ends_with(']');
  if (cell.size() < 2 || (!round && !square)) return false;
  cell = cell.substr(1, cell.size() - 2);
  if (cell.ends_with(',')) cell.remove_suffix(1);
  std::vector<int64_t> dims;
  if (!trim(cell).empty()) {
    for (const std::string_view part : split(cell, ',')) {
      int64_t dimension = 0;
      if (!parse_integer(trim(part), dimension) || dims.size() == kMaxRank) return false;
      dims.push_back(dimension);
    }
  }
  line.desc.shape = Shape(dims);
  return true;
}

// A cell that was not, or cannot be, computed.
bool is_unknown(std::string_view cell) { return cell.empty() || cell == "null"; }

template <double TensorStats::*field, Stat bit>
bool read_value(std::string_view cell, StatisticLine& line) {
  double value = cell == "True" ? 1 : 0;
  if (is_unknown(cell)) return true;
  if (cell != "True" && cell != "False" && !read_float(cell, value)) return false;
  line.stats.*field = value;
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

template <DigestKind kind>
bool read_digest(std::string_view cell, StatisticLine& line) {
  return is_unknown(cell) || read_hex(cell, kind, line);
}

using S = TensorStats;

// MindSpore prints the sign of an extreme that is zero.
constexpr uint32_t kSignOfZero = kStatZero | kStatNegZero;

// "Negative Zero Count" counts values below zero, "Positive Zero Count" values above zero, in spite of their names.
constexpr StatisticColumn kColumns[] = {
    {.header = "Max Value",
     .word = "max",
     .needs = kStatMax | kSignOfZero,
     .write = write_value<kStatMax, largest, &S::max>,
     .read = read_value<&S::max, kStatMax>},
    {.header = "Min Value",
     .word = "min",
     .needs = kStatMin | kSignOfZero,
     .write = write_value<kStatMin, smallest, &S::min>,
     .read = read_value<&S::min, kStatMin>},
    {.header = "Avg Value",
     .word = "avg",
     .needs = kStatMean,
     .write = write_value<kStatMean, average, &S::mean>,
     .read = read_value<&S::mean, kStatMean>},
    {.header = "Count", .word = "count", .write = write_elements, .read = read_count<&S::count, 0>},
    {.header = "Negative Zero Count",
     .word = "negative zero count",
     .needs = kStatNegative,
     .write = write_sign_count<kStatNegative | kStatNegInf, &S::negative, &S::neg_inf>,
     .read = read_count<&S::negative, kStatNegative>},
    {.header = "Positive Zero Count",
     .word = "positive zero count",
     .needs = kStatPositive,
     .write = write_sign_count<kStatPositive | kStatPosInf, &S::positive, &S::pos_inf>,
     .read = read_count<&S::positive, kStatPositive>},
    {.header = "NaN Count",
     .word = "nan count",
     .needs = kStatNan,
     .write = write_count<kStatNan, &S::nan>,
     .read = read_count<&S::nan, kStatNan>},
    {.header = "Negative Inf Count",
     .word = "negative inf count",
     .needs = kStatNegInf,
     .write = write_count<kStatNegInf, &S::neg_inf>,
     .read = read_count<&S::neg_inf, kStatNegInf>},
    {.header = "Positive Inf Count",
     .word = "positive inf count",
     .needs = kStatPosInf,
     .write = write_count<kStatPosInf, &S::pos_inf>,
     .read = read_count<&S::pos_inf, kStatPosInf>},
    {.header = "Zero Count",
     .word = "zero count",
     .needs = kStatZero,
     .write = write_count<kStatZero, &S::zero>,
     .read = read_count<&S::zero, kStatZero>},
    {.header = "MD5", .word = "md5", .digest = DigestKind::kMd5, .write = write_md5, .read = read_digest<DigestKind::kMd5>},
    {.header = "L2Norm Value", .word = "l2norm", .needs = kStatL2, .write = write_norm, .read = read_value<&S::l2, kStatL2>},
    {.header = "SHA1", .word = "hash:sha1", .digest = DigestKind::kSha1, .write = write_sha1, .read = read_digest<DigestKind::kSha1>},
    {.header = "Op Type", .required = true, .read = read_op_type},
    {.header = "Op Name", .required = true, .read = read_op_name},
    {.header = "Timestamp", .required = true, .read = read_time},
    {.header = "IO", .required = true, .read = read_direction},
    {.header = "Slot", .required = true, .read = read_slot_number},
    {.header = "Data Size", .read = read_size},
    {.header = "Data Type", .read = read_type},
    {.header = "Shape", .read = read_shape},
};

constexpr const StatisticColumn* column_of(std::string_view word) { return std::ranges::find(kColumns, word, &StatisticColumn::word); }

constexpr Category category(std::string_view word, bool on_device = false) { return {word, column_of(word), on_device, false}; }

constexpr std::array kCategories = {
    category("max", true),
    category("min", true),
    category("avg", true),
    category("count"),
    category("negative zero count"),
    category("positive zero count"),
    category("nan count"),
    category("negative inf count"),
    category("positive inf count"),
    category("zero count"),
    category("md5"),
    category("l2norm", true),
    Category{"hash", column_of("hash:sha1"), false, true},
    Category{"hash:sha1", column_of("hash:sha1"), false, true},
    Category{"hash:md5", column_of("md5"), false, true},
};

void append_shape(const TreeRules& rules, const Shape& shape, std::string& text) {
  text += rules.square_brackets ? "\"[" : "\"(";
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += ',';
    if (shape[i] < 0) {
      text += to_text(shape[i]);
    } else {
      append_decimal(static_cast<uint64_t>(shape[i]), text);
    }
  }
  text += rules.square_brackets ? "]\"" : ")\"";
}

}  // namespace

std::span<const Category> categories() { return kCategories; }

const Category* find_category(std::string_view item) {
  const auto* const found = std::ranges::find(kCategories, item, &Category::item);
  return found == kCategories.end() ? nullptr : found;
}

std::vector<std::string> default_categories() { return {"max", "min", "l2norm"}; }

StatisticTable::StatisticTable(const TreeRules& rules, std::vector<const StatisticColumn*> columns)
    : rules_(&rules), columns_(kFirstColumns, std::move(columns), rules.fixed_categories.empty()) {}

Result<StatisticTable> StatisticTable::create(const TreeRules& rules, std::string_view categories) {
  if (!rules.fixed_categories.empty()) categories = rules.fixed_categories;
  std::vector<const StatisticColumn*> columns;
  for (const std::string_view item : categories.empty() ? std::vector<std::string_view>() : split(categories, ',')) {
    const Category* found = find_category(item);
    if (found == nullptr || (found->newest_only && !rules.hash_categories)) {
      std::vector<std::string> names;
      for (const Category& row : kCategories) {
        if (!row.newest_only || rules.hash_categories) names.emplace_back(row.item);
      }
      return invalid_argument(concat("statistic_category: there is no ", quote(item), "; there are ", join(names, ", ")));
    }
    const bool repeated = std::ranges::find(columns, found->column) != columns.end();
    if (!repeated || !rules.hash_categories) columns.push_back(found->column);
  }
  return StatisticTable(rules, std::move(columns));
}

void StatisticTable::complete(RecordRow& record, const TensorView* data, StatisticDigests& digests) const {
  if (finite_only() && data != nullptr && record.stats.valid != 0 && non_finite(record.stats) > 0) {
    StatsOptions options;
    options.policy = NonFinitePolicy::kSkipNonFinite;
    record.stats = compute_stats(*data, options);
  }
  sign_zeros(record.stats, data);
  if (columns_.has(DigestKind::kMd5)) take_digest(DigestKind::kMd5, record, data, digests.md5);
  if (columns_.has(DigestKind::kSha1)) take_digest(DigestKind::kSha1, record, data, digests.sha1);
}

bool StatisticTable::needs_values(std::string_view digest) const {
  const auto lacks = [&](DigestKind kind) { return columns_.has(kind) && digest_from_name(digest) != kind; };
  return lacks(DigestKind::kMd5) || lacks(DigestKind::kSha1);
}

void StatisticTable::append_row(StatisticRow row, std::string& text) const {
  const RecordRow& record = *row.record;
  row.finite_only = finite_only();
  text += row.op_cells;
  for (const uint64_t number : {row.task, row.stream}) {
    append_decimal(number, text);
    text += ',';
  }
  append_decimal(row.time_us, text);
  text += row.is_input ? ",input," : ",output,";
  append_decimal(row.slot, text);
  text += ',';
  append_decimal(record.bytes, text);
  text += ',';
  text += dtype_name(record.desc().dtype);
  text += ',';
  append_shape(*rules_, record.desc().shape, text);
  columns_.append_cells(row, text);
}

std::vector<StatisticLine> read_statistic_table(std::string_view text, std::string_view name, TreeProblems& problems) {
  std::vector<StatisticLine> lines = read_statistics(text, kColumns, name, problems);
  // The counts are of all elements, and a reader of averages wants their number.
  for (StatisticLine& line : lines) {
    if (line.stats.count == 0) line.stats.count = line.desc.shape.numel().value_or(0);
  }
  return lines;
}

}  // namespace tensortap::mindspore
