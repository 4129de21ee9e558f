#include "system/mindspore/statistic_row.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "stats/stats.h"
#include "system/mindspore/tensor_name.h"
#include "tensor/number_formats.h"

namespace tensortap::mindspore {
namespace {

constexpr std::string_view kFirstColumns = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape";
constexpr std::string_view kFixed20 =
    "max,min,avg,count,negative zero count,positive zero count,nan count,negative inf count,positive inf count,zero count";

// As printf's %g has it in the C locale: six digits, "inf", "nan" with its sign.
void append_number(double number, std::string& text) {
  std::array<char, 32> digits{};
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::general, 6);
  text.append(digits.data(), end.ptr);
}

bool has(const TensorStats& stats, uint32_t bits) { return (stats.valid & bits) == bits; }

uint64_t non_finite(const TensorStats& stats) { return stats.nan + stats.neg_inf + stats.pos_inf; }

// Of the first zero of the tensor, +0 or -0.
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

// An extreme that is zero has the sign of the first zero of the tensor, since -0 and 0 compare equal there.
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
  // What the processor makes of inf - inf and of 0 / 0 has its sign set.
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

void append_digest(const Digest& digest, std::string& text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  for (int i = 0; i < digest_size(digest.kind); ++i) {
    const uint8_t byte = digest.bytes[static_cast<size_t>(i)];
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
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

}  // namespace

const StatisticTable::Column StatisticTable::kColumns[] = {
    {"max", "Max Value", Cell::kMax, false},
    {"min", "Min Value", Cell::kMin, false},
    {"avg", "Avg Value", Cell::kAvg, false},
    {"count", "Count", Cell::kCount, false},
    {"negative zero count", "Negative Zero Count", Cell::kNegative, false},
    {"positive zero count", "Positive Zero Count", Cell::kPositive, false},
    {"nan count", "NaN Count", Cell::kNan, false},
    {"negative inf count", "Negative Inf Count", Cell::kNegInf, false},
    {"positive inf count", "Positive Inf Count", Cell::kPosInf, false},
    {"zero count", "Zero Count", Cell::kZero, false},
    {"md5", "MD5", Cell::kMd5, false},
    {"l2norm", "L2Norm Value", Cell::kL2Norm, false},
    {"hash", "SHA1", Cell::kSha1, true},
    {"hash:sha1", "SHA1", Cell::kSha1, true},
    {"hash:md5", "MD5", Cell::kMd5, true},
};

void StatisticTable::add_column(const Column& column) {
  if (version_->hash_categories && std::ranges::find(cells_, column.cell) != cells_.end()) return;
  cells_.push_back(column.cell);
  header_ += concat(",", column.header);
}

std::vector<std::string_view> StatisticTable::known(const TreeRules& version) {
  std::vector<std::string_view> names;
  for (const Column& column : kColumns) {
    if (!column.only_with_hash || version.hash_categories) names.push_back(column.category);
  }
  return names;
}

Status StatisticTable::choose(std::string_view categories) {
  if (categories.empty()) return {};
  for (const std::string_view category : split(categories, ',')) {
    const auto* column = std::ranges::find(kColumns, category, &Column::category);
    if (column == std::end(kColumns) || (column->only_with_hash && !version_->hash_categories)) {
      std::string names;
      for (const std::string_view name : known(*version_)) names += concat(names.empty() ? "" : ", ", name);
      return invalid_argument(concat("statistic_category: there is no ", quote(category), "; there are ", names));
    }
    add_column(*column);
  }
  return {};
}

Result<StatisticTable> StatisticTable::create(const TreeRules& version, std::string_view categories) {
  StatisticTable table(version);
  table.header_ = kFirstColumns;
  std::string fixed(kFixed20);
  if (version.statistic == StatisticForm::kFixed21) fixed += ",md5";
  TENSORTAP_RETURN_IF_ERROR(table.choose(version.statistic == StatisticForm::kChosen ? categories : fixed));
  table.header_ += '\n';
  return table;
}

void StatisticTable::append_shape(const RecordRow& record, std::string& text) const {
  text += version_->square_brackets ? "\"[" : "\"(";
  const TensorDesc desc = record.desc();
  for (int i = 0; i < desc.shape.rank(); ++i) {
    if (i > 0) text += ',';
    if (desc.shape[i] < 0) {
      text += to_text(desc.shape[i]);
    } else {
      append_decimal(static_cast<uint64_t>(desc.shape[i]), text);
    }
  }
  text += version_->square_brackets ? "]\"" : ")\"";
}

void StatisticTable::append_cell(Cell cell, const StatisticRow& row, std::string& text) const {
  const TensorStats& stats = row.record->stats;
  const bool finite_only = version_->statistic != StatisticForm::kChosen;
  const bool nothing_left = finite_only && stats.count == non_finite(stats);
  const auto value = [&](uint32_t bits, auto&& number) {
    if (!has(stats, bits)) return;
    if (nothing_left) {
      text += "null";
    } else {
      append_number(number(), text);
    }
  };
  const auto count = [&](uint32_t bits, uint64_t number) {
    if (has(stats, bits)) append_decimal(number, text);
  };
  switch (cell) {
    case Cell::kMax:
      return value(kStatMax | kStatNan, [&] { return finite_only ? stats.max : largest(stats); });
    case Cell::kMin:
      return value(kStatMin | kStatNan, [&] { return finite_only ? stats.min : smallest(stats); });
    case Cell::kAvg:
      return value(kStatMean | kStatNan, [&] { return finite_only ? stats.mean : average(stats); });
    case Cell::kL2Norm:
      return value(kStatL2 | kStatNan, [&] { return norm(stats); });
    case Cell::kCount:
      return append_decimal(row.record->numel, text);
    case Cell::kNegative:
      return count(kStatNegative | kStatNegInf, stats.negative - (finite_only ? stats.neg_inf : 0));
    case Cell::kPositive:
      return count(kStatPositive | kStatPosInf, stats.positive - (finite_only ? stats.pos_inf : 0));
    case Cell::kNan:
      return count(kStatNan, stats.nan);
    case Cell::kNegInf:
      return count(kStatNegInf, stats.neg_inf);
    case Cell::kPosInf:
      return count(kStatPosInf, stats.pos_inf);
    case Cell::kZero:
      return count(kStatZero, stats.zero);
    case Cell::kMd5:
      return append_digest(row.digests->md5, text);
    case Cell::kSha1:
      return append_digest(row.digests->sha1, text);
  }
}

void StatisticTable::complete(RecordRow& record, const TensorView* data, StatisticDigests& digests) const {
  const bool finite_only = version_->statistic != StatisticForm::kChosen;
  if (finite_only && data != nullptr && record.stats.valid != 0 && non_finite(record.stats) > 0) {
    StatsOptions options;
    options.policy = NonFinitePolicy::kSkipNonFinite;
    record.stats = compute_stats(*data, options);
  }
  sign_zeros(record.stats, data);
  const auto wants = [this](Cell cell) { return std::ranges::find(cells_, cell) != cells_.end(); };
  if (wants(Cell::kMd5)) take_digest(DigestKind::kMd5, record, data, digests.md5);
  if (wants(Cell::kSha1)) take_digest(DigestKind::kSha1, record, data, digests.sha1);
}

bool StatisticTable::needs_values(std::string_view digest) const {
  const auto lacks = [&](Cell cell, DigestKind kind) {
    return std::ranges::find(cells_, cell) != cells_.end() && digest_from_name(digest) != kind;
  };
  return lacks(Cell::kMd5, DigestKind::kMd5) || lacks(Cell::kSha1, DigestKind::kSha1);
}

void StatisticTable::append_row(const StatisticRow& row, std::string& text) const {
  const RecordRow& record = *row.record;
  text += row.op_cells;
  text += "0,0,";
  append_decimal(row.time_us, text);
  text += row.is_input ? ",input," : ",output,";
  append_decimal(row.slot, text);
  text += ',';
  append_decimal(record.bytes, text);
  text += ',';
  text += dtype_name(record.desc().dtype);
  text += ',';
  append_shape(record, text);
  text += ',';
  for (const Cell cell : cells_) {
    append_cell(cell, row, text);
    text += ',';
  }
  if (version_->statistic != StatisticForm::kChosen) text.pop_back();
  text += '\n';
}

}  // namespace tensortap::mindspore
