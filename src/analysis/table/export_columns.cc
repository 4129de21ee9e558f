#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "table/column_makers.h"
#include "table/record_columns.h"
#include "tensor/digest_text.h"
#include "tensor/statistics.h"

namespace tensortap {
namespace {

constexpr std::array<std::string_view, 4> kKinds = {"out", "in", "weight", "grad"};

// A column of a member that every row has.
template <class T, ColumnType type, class Value>
RecordColumn plain_column(std::string name, const Value& value_of) {
  return {{std::move(name), type, false},
          [value_of](const RecordBlock& block, Column& column) { add_numbers(block, column, value_of, T{}); }};
}

// A column in which only rows have a value for which `has` holds.
template <class T, ColumnType type, class Value, class Has>
RecordColumn optional_column(std::string name, const Value& value_of, const Has& has) {
  return {{std::move(name), type, true}, [value_of, has](const RecordBlock& block, Column& column) {
            add_numbers(block, column, value_of, T{});
            add_presence(block, column, has);
          }};
}

RecordColumn statistic_column(const Statistic& statistic) {
  const auto measured = [bit = statistic.bit](const RecordRow& row) { return (row.stats.valid & bit) != 0; };
  const std::string name(statistic.name);
  if (statistic.is_count()) {
    return optional_column<uint64_t, ColumnType::kUInt64>(
        name, [count = statistic.count](const RecordRow& row) { return row.stats.*count; }, measured);
  }
  return optional_column<double, ColumnType::kDouble>(
      name, [number = statistic.number](const RecordRow& row) { return row.stats.*number; }, measured);
}

template <auto Member>
RecordColumn wide_column(std::string name) {
  return plain_column<uint64_t, ColumnType::kUInt64>(std::move(name), [](const RecordRow& row) { return row.*Member; });
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const int64_t size : shape.dims()) text += concat(text.empty() ? "" : "x", size);
  return text;
}

RecordColumn shape_column() {
  return {{"shape", ColumnType::kText, false}, [places = ShapePlaces()](const RecordBlock& block, Column& column) mutable {
            if (column.texts.empty()) places.clear();
            const std::span<uint32_t> values = column.extend<uint32_t>(block.rows.size());
            for (size_t i = 0; i < values.size(); ++i) {
              values[i] = places.place_of(block.dump.rows()[block.rows[i]],
                                          [&column](const Shape& shape) { return column.text_place(shape_text(shape)); });
            }
          }};
}

bool has_digest(const RecordRow& row) { return digest_size(static_cast<DigestKind>(row.digest_kind)) > 0; }
bool has_data(const RecordRow& row) { return (row.flags & kRecordHasData) != 0; }
bool has_storage(const RecordRow& row) { return row.storage != 0; }

RecordColumn digest_column() {
  return {{"digest", ColumnType::kBytes, true}, [](const RecordBlock& block, Column& column) {
            const std::span<uint64_t> ends = column.extend<uint64_t>(block.rows.size());
            for (size_t i = 0; i < ends.size(); ++i) {
              const RecordRow& row = block.dump.rows()[block.rows[i]];
              const auto size = static_cast<size_t>(digest_size(static_cast<DigestKind>(row.digest_kind)));
              column.bytes.append(reinterpret_cast<const char*>(row.digest), size);
              ends[i] = column.bytes.size();
            }
            add_presence(block, column, has_digest);
          }};
}

std::string digest_kind_text(uint64_t kind) {
  const std::string text = digest_text({static_cast<DigestKind>(kind), {}});
  return text.substr(0, text.find(':'));
}

RecordColumn with_presence(RecordColumn column, bool (*has)(const RecordRow& row)) {
  column.spec.optional = true;
  column.add = [add = std::move(column.add), has](const RecordBlock& block, Column& made) {
    add(block, made);
    add_presence(block, made, has);
  };
  return column;
}

RecordColumn file_column() {
  RecordColumn column{{"file", ColumnType::kText, true}, [](const RecordBlock& block, Column& made) {
                        const std::span<uint32_t> values = made.extend<uint32_t>(block.rows.size());
                        for (size_t i = 0; i < values.size(); ++i) {
                          const bool has = has_data(block.dump.rows()[block.rows[i]]);
                          values[i] = made.text_place(has ? replace_broken_utf8(block.dump.file(block.rows[i])) : std::string());
                        }
                      }};
  return with_presence(std::move(column), has_data);
}

RecordColumn row_column() {
  return {{"row", ColumnType::kUInt32, false}, [](const RecordBlock& block, Column& column) {
            std::ranges::copy(block.rows, column.extend<uint32_t>(block.rows.size()).begin());
          }};
}

void add_op_columns(std::span<const uint32_t> job_ops, std::vector<RecordColumn>& columns) {
  const auto names_op = [job_ops](const RecordRow& row) { return row.op < job_ops.size(); };
  columns.push_back(optional_column<uint32_t, ColumnType::kUInt32>(
      "job_op", [job_ops](const RecordRow& row) { return row.op < job_ops.size() ? job_ops[row.op] : 0U; }, names_op));
  columns.push_back(optional_column<uint32_t, ColumnType::kUInt32>(
      "op", [](const RecordRow& row) { return row.op; }, names_op));
}

void add_statistics(std::vector<RecordColumn>& columns) {
  for (const Statistic& statistic : kStatisticTable) columns.push_back(statistic_column(statistic));
  columns.push_back(plain_column<uint64_t, ColumnType::kUInt64>("count", [](const RecordRow& row) { return row.stats.count; }));
  columns.push_back(plain_column<uint8_t, ColumnType::kFlag>(
      "sampled", [](const RecordRow& row) { return static_cast<uint8_t>((row.stats.valid & kStatSampled) != 0 ? 1 : 0); }));
  columns.push_back(optional_column<int64_t, ColumnType::kInt64>(
      "first_nonfinite", [](const RecordRow& row) { return row.stats.first_nonfinite; },
      [](const RecordRow& row) { return row.stats.first_nonfinite >= 0; }));
}

void add_places(const std::string& dump_name, std::vector<RecordColumn>& columns) {
  columns.push_back(digest_column());
  columns.push_back(with_presence(text_column(
                                      "digest_kind", [](const RecordRow& row) { return uint64_t{row.digest_kind}; }, digest_kind_text),
                                  has_digest));
  columns.push_back(with_presence(wide_column<&RecordRow::storage>("storage"), has_storage));
  columns.push_back(with_presence(wide_column<&RecordRow::version>("version"), has_storage));
  columns.push_back(plain_column<uint8_t, ColumnType::kUInt8>("flags", [](const RecordRow& row) { return row.flags; }));
  const std::string shown_name = replace_broken_utf8(dump_name);
  columns.push_back(text_column(
      "dump", [](const RecordRow&) { return uint64_t{0}; }, [shown_name](uint64_t) { return shown_name; }));
  columns.push_back(row_column());
  columns.push_back(file_column());
  columns.push_back(with_presence(wide_column<&RecordRow::member>("member"), has_data));
  columns.push_back(with_presence(wide_column<&RecordRow::data_offset>("data_offset"), has_data));
  columns.push_back(with_presence(wide_column<&RecordRow::data_bytes>("data_bytes"), has_data));
}

}  // namespace

std::vector<RecordColumn> export_columns(std::span<const uint32_t> job_ops, const std::string& dump_name) {
  std::vector<RecordColumn> columns;
  columns.push_back(plain_column<int64_t, ColumnType::kInt64>("step", [](const RecordRow& row) { return row.step; }));
  add_op_columns(job_ops, columns);
  columns.push_back(plain_column<uint32_t, ColumnType::kUInt32>("call", [](const RecordRow& row) { return row.call; }));
  columns.push_back(wide_column<&RecordRow::run>("run"));
  columns.push_back(slot_column());
  columns.push_back(text_column(
      "slot_kind", [](const RecordRow& row) { return uint64_t{row.slot_kind}; },
      [](uint64_t kind) { return std::string(kind < kKinds.size() ? kKinds[static_cast<size_t>(kind)] : "slot"); }));
  columns.push_back(plain_column<uint16_t, ColumnType::kUInt16>("slot_index", [](const RecordRow& row) { return row.slot_index; }));
  columns.push_back(optional_column<int64_t, ColumnType::kInt64>(
      "element", [](const RecordRow& row) { return row.element; }, [](const RecordRow& row) { return row.element >= 0; }));
  columns.push_back(phase_column());
  columns.push_back(model_phase_column());
  columns.push_back(text_column(
      "moment", [](const RecordRow& row) { return uint64_t{row.moment}; },
      [](uint64_t moment) { return std::string(moment_name(static_cast<Moment>(moment))); }));
  columns.push_back(dtype_column());
  columns.push_back(shape_column());
  columns.push_back(wide_column<&RecordRow::numel>("numel"));
  columns.push_back(wide_column<&RecordRow::bytes>("bytes"));
  add_statistics(columns);
  columns.push_back(wide_column<&RecordRow::sequence>("sequence"));
  columns.push_back(plain_column<uint32_t, ColumnType::kUInt32>("thread", [](const RecordRow& row) { return row.thread; }));
  columns.push_back(plain_column<int64_t, ColumnType::kInt64>("time_ns", [](const RecordRow& row) { return row.time_ns; }));
  columns.push_back(optional_column<int64_t, ColumnType::kInt64>(
      "duration_ns", [](const RecordRow& row) { return row.duration_ns; }, [](const RecordRow& row) { return row.duration_ns >= 0; }));
  add_places(dump_name, columns);
  return columns;
}

}  // namespace tensortap
