#include "query/row_columns.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "tensor/digest_text.h"
#include "tensor/statistics.h"

namespace tensortap {
namespace {

template <class Integer>
RowValue number_value(Integer number) {
  if constexpr (std::is_floating_point_v<Integer>) {
    return double{number};
  } else if constexpr (std::is_signed_v<Integer>) {
    return int64_t{number};
  } else {
    return uint64_t{number};
  }
}

template <auto Member>
RowValue field(const DumpIndex& dump, size_t row) {
  return number_value(dump.rows()[row].*Member);
}
template <auto Member>
RowValue op_text(const DumpIndex& dump, size_t row) {
  return op_of(dump, dump.rows()[row]).*Member;
}
template <RecordFlag flag>
bool has_flag(const RecordRow& row) {
  return (row.flags & flag) != 0;
}

// The extremes of integer types are exact, unless the record has no elements.
RowValue exact_or(const RecordRow& record, int64_t exact, double number) {
  const DTypeKind kind = dtype_info(record.desc().dtype).kind;
  if (record.stats.count > 0 && kind == DTypeKind::kSigned) return exact;
  if (record.stats.count > 0 && kind == DTypeKind::kUnsigned) return static_cast<uint64_t>(exact);
  return number;
}

template <size_t Number>
RowValue statistic_value(const DumpIndex& dump, size_t row) {
  constexpr Statistic kStatistic = kStatisticTable[Number];
  const RecordRow& record = dump.rows()[row];
  if constexpr (kStatistic.is_count()) {
    return number_value(record.stats.*kStatistic.count);
  } else if constexpr (kStatistic.exact != nullptr) {
    return exact_or(record, record.stats.*kStatistic.exact, record.stats.*kStatistic.number);
  } else {
    return record.stats.*kStatistic.number;
  }
}

template <size_t Number>
bool has_statistic(const RecordRow& row) {
  return (row.stats.valid & kStatisticTable[Number].bit) != 0;
}

RowValue text_or_nothing(std::string text) {
  if (text.empty()) return {};
  return text;
}

RowValue row_number(const DumpIndex&, size_t row) { return uint64_t{row}; }
RowValue phase_text(const DumpIndex& dump, size_t row) { return std::string(phase_name(static_cast<Phase>(dump.rows()[row].phase))); }
RowValue model_phase_text(const DumpIndex& dump, size_t row) {
  return text_or_nothing(std::string(model_phase_name(static_cast<ModelPhase>(dump.rows()[row].model_phase))));
}
RowValue moment_text(const DumpIndex& dump, size_t row) { return std::string(moment_name(static_cast<Moment>(dump.rows()[row].moment))); }
RowValue slot_text(const DumpIndex& dump, size_t row) {
  return slot_name(static_cast<SlotKind>(dump.rows()[row].slot_kind), dump.rows()[row].slot_index);
}
RowValue dtype_text(const DumpIndex& dump, size_t row) { return std::string(dtype_name(dump.rows()[row].desc().dtype)); }
RowValue shape_sizes(const DumpIndex& dump, size_t row) {
  const TensorDesc desc = dump.rows()[row].desc();
  return std::vector<int64_t>(desc.shape.dims().begin(), desc.shape.dims().end());
}

RowValue stride_sizes(const DumpIndex& dump, size_t row) {
  const std::span<const int32_t> strides = dump.rows()[row].strides_of();
  return std::vector<int64_t>(strides.begin(), strides.end());
}

RowValue range_value(const DumpIndex& dump, size_t row) {
  const TensorStats& stats = dump.rows()[row].stats;
  return stats.max - stats.min;
}
RowValue nonfinite_value(const DumpIndex& dump, size_t row) {
  const TensorStats& stats = dump.rows()[row].stats;
  return stats.nan + stats.pos_inf + stats.neg_inf;
}
RowValue infinities(const DumpIndex& dump, size_t row) {
  const TensorStats& stats = dump.rows()[row].stats;
  if ((stats.valid & (kStatPosInf | kStatNegInf)) == 0) return {};
  return stats.pos_inf + stats.neg_inf;
}

RowValue hash_text(const DumpIndex& dump, size_t row) {
  const RecordRow& record = dump.rows()[row];
  Digest digest;
  digest.kind = static_cast<DigestKind>(record.digest_kind);
  std::ranges::copy(record.digest, digest.bytes.begin());
  return text_or_nothing(digest_text(digest));
}
RowValue file_text(const DumpIndex& dump, size_t row) { return text_or_nothing(dump.file(row)); }
RowValue source_text(const DumpIndex& dump, size_t row) { return text_or_nothing(op_of(dump, dump.rows()[row]).source_location); }

RowValue yes(const DumpIndex&, size_t) { return true; }
bool is_before(const RecordRow& row) { return row.moment == static_cast<uint8_t>(Moment::kBefore); }
bool has_model_phase(const RecordRow& row) { return !model_phase_name(static_cast<ModelPhase>(row.model_phase)).empty(); }
bool is_element(const RecordRow& row) { return row.element >= 0; }
bool knows_strides(const RecordRow& row) { return !row.strides_of().empty(); }
bool knows_storage(const RecordRow& row) { return row.storage != 0; }

constexpr auto kNumber = ColumnKind::kNumber;
constexpr auto kText = ColumnKind::kText;
constexpr uint8_t kSortedInJson = kColumnSorts | kColumnInJson;
constexpr uint8_t kOnlySorts = kColumnSorts;
constexpr uint8_t kJsonIfSet = kColumnInJson | kColumnIfSet;

constexpr std::array kFirstColumns = {
    RowColumn{"row", kNumber, kColumnListed | kColumnInJson, 0, row_number},
    RowColumn{"step", kNumber, kSortedInJson, 0, field<&RecordRow::step>},
    RowColumn{"call", kNumber, kSortedInJson, 0, field<&RecordRow::call>},
    RowColumn{"rank", kNumber, kSortedInJson, 0, field<&RecordRow::rank>},
    RowColumn{"phase", kText, kColumnInJson, 0, phase_text},
    RowColumn{"model_phase", kText, kColumnListed | kJsonIfSet, 0, model_phase_text, has_model_phase},
    RowColumn{"moment", kText, kJsonIfSet, 0, moment_text, is_before},
    RowColumn{"op", kText, kSortedInJson, 0, op_text<&OpInfo::name>},
    RowColumn{"type", kText, kSortedInJson, 0, op_text<&OpInfo::type>},
    RowColumn{"slot", kText, kSortedInJson, 0, slot_text},
    RowColumn{"element", kNumber, kSortedInJson | kColumnIfSet, 0, field<&RecordRow::element>, is_element},
    RowColumn{"dtype", kText, kSortedInJson, 0, dtype_text},
    RowColumn{"shape", ColumnKind::kSizes, kColumnListed | kColumnInJson, 0, shape_sizes},
    RowColumn{"strides", ColumnKind::kSizes, kJsonIfSet, 0, stride_sizes, knows_strides},
    RowColumn{"numel", kNumber, kSortedInJson, 0, field<&RecordRow::numel>},
    RowColumn{"bytes", kNumber, kOnlySorts, 0, field<&RecordRow::bytes>},
    RowColumn{"duration", kNumber, kOnlySorts, 0, field<&RecordRow::duration_ns>},
    RowColumn{"sequence", kNumber, kOnlySorts, 0, field<&RecordRow::sequence>},
};

constexpr uint8_t uses_of(const Statistic& statistic) {
  if (statistic.json == StatisticInJson::kNever) return kOnlySorts;
  return statistic.json == StatisticInJson::kAlways ? kSortedInJson : kSortedInJson | kColumnIfSet;
}

template <size_t... Numbers>
constexpr auto statistic_columns(std::index_sequence<Numbers...> /*numbers*/) {
  return std::array{RowColumn{kStatisticTable[Numbers].name, kNumber, uses_of(kStatisticTable[Numbers]), kStatisticTable[Numbers].bit,
                              statistic_value<Numbers>,
                              (uses_of(kStatisticTable[Numbers]) & kColumnIfSet) != 0 ? has_statistic<Numbers> : nullptr}...};
}
constexpr auto kStatisticColumns = statistic_columns(std::make_index_sequence<kStatisticTable.size()>());

constexpr std::array kLastColumns = {
    RowColumn{"range", kNumber, kOnlySorts, kStatMin | kStatMax, range_value},
    RowColumn{"nonfinite", kNumber, kOnlySorts, kStatNonFinite, nonfinite_value},
    RowColumn{"inf", kNumber, kColumnListed, 0, infinities},
    RowColumn{"unwritten", ColumnKind::kFlag, kJsonIfSet, 0, yes, has_flag<kRecordUnwritten>},
    RowColumn{"failed_op", ColumnKind::kFlag, kJsonIfSet, 0, yes, has_flag<kRecordFailedOp>},
    RowColumn{"storage", kNumber, kJsonIfSet, 0, field<&RecordRow::storage>, knows_storage},
    RowColumn{"version", kNumber, kJsonIfSet, 0, field<&RecordRow::version>, knows_storage},
    RowColumn{"hash", kText, kColumnInJson, 0, hash_text},
    RowColumn{"file", kText, kColumnInJson, 0, file_text},
    RowColumn{"module", kText, kColumnListed, 0, op_text<&OpInfo::module>},
    RowColumn{"source", kText, kColumnListed | kColumnInJson, 0, source_text},
};

constexpr auto kColumns = [] {
  std::array<RowColumn, kFirstColumns.size() + kStatisticColumns.size() + kLastColumns.size()> columns{};
  auto* end = std::ranges::copy(kFirstColumns, columns.begin()).out;
  end = std::ranges::copy(kStatisticColumns, end).out;
  std::ranges::copy(kLastColumns, end);
  return columns;
}();

}  // namespace

std::span<const RowColumn> row_columns() { return kColumns; }

const RowColumn* find_column(std::string_view name) {
  const auto* found = std::ranges::find(kColumns, name, &RowColumn::name);
  return found == kColumns.end() ? nullptr : found;
}

std::vector<std::string> column_names(uint8_t uses) {
  std::vector<std::string> names;
  for (const bool texts : {true, false}) {
    for (const RowColumn& column : kColumns) {
      if ((column.uses & uses) != 0 && (column.kind == ColumnKind::kText) == texts) names.emplace_back(column.name);
    }
  }
  return names;
}

RowValue column_value(const RowColumn& column, const DumpIndex& dump, size_t row) {
  if ((dump.rows()[row].stats.valid & column.stats) != column.stats) return {};
  return column.value(dump, row);
}

double number_of(const RowValue& value) {
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>>) return static_cast<double>(held);
        return std::numeric_limits<double>::quiet_NaN();
      },
      value);
}

}  // namespace tensortap
