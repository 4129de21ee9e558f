#include "cli/ls_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/spans.h"
#include "base/text.h"
#include "cli/table.h"
#include "query/row_columns.h"
#include "tensor/statistics.h"

namespace tensortap::cli {
namespace {

constexpr size_t kRowsToMeasure = 1000;
constexpr size_t kLeastNameWidth = 30;
constexpr size_t kLeastTextWidth = 12;
constexpr size_t kGapWidth = 2;

// What `ls` prints by itself, from left to right.
constexpr std::array<std::string_view, 16> kUsual = {"row", "step", "op",  "type", "slot",   "dtype", "shape", "min",
                                                     "max", "mean", "std", "l2",   "absmax", "zero",  "nan",   "inf"};
// What gives way, first to last.
constexpr std::array<std::string_view, 6> kGiveWay = {"zero", "absmax", "l2", "std", "mean", "dtype"};

// Which of several dumps a row is of. No column of a record.
constexpr std::string_view kPart = "part";

// A number is at the right of its column.
bool is_number(std::string_view column) { return column != kPart && find_column(column)->kind == ColumnKind::kNumber; }

std::vector<std::string> known_columns() {
  std::vector<std::string> names(kUsual.begin(), kUsual.end());
  for (std::string& name : column_names(kColumnListed | kColumnSorts)) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::string slot_text(const RecordRow& row) {
  std::string text = slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index);
  if (row.call != 0) text += fmt::format("#{}", row.call);
  if (row.element >= 0) text += fmt::format("[{}]", row.element);
  return text;
}

struct ToCell {
  bool exactly;  // every digit of a number
  std::string operator()(const std::string& text) const { return printable(text); }
  std::string operator()(const std::vector<int64_t>& sizes) const { return Shape(sizes).to_text(); }
  template <class Number>
  std::string operator()(Number number) const {
    return exactly ? to_text(number) : fmt::format("{:.4g}", static_cast<double>(number));
  }
  std::string operator()(std::monostate) const { return "-"; }
};

std::string cell_text(const ListedDumps& listed, const RowOfDump& place, const std::string& name) {
  if (name == kPart) return printable(listed.names[place.dump]);
  const DumpIndex& dump = *listed.dumps[place.dump];
  const uint32_t index = place.row;
  const RecordRow& row = dump.rows()[index];
  if (name == "slot") return slot_text(row);
  if (name == "min" && (row.flags & kRecordUnwritten) != 0) return "unwritten";
  const RowColumn& column = *find_column(name);
  const RowValue value = column_value(column, dump, index);
  if (column.kind == ColumnKind::kText && std::holds_alternative<std::monostate>(value)) return "";
  return std::visit(ToCell{name == "row" || name == "step" || name == "inf"}, value);
}

// How much of the names they all begin with, up to and without the separator before the first part that differs; 0 = nothing worth a cut.
size_t common_beginning(const std::vector<std::string>& names) {
  if (names.empty()) return 0;
  std::string_view common = names.front();
  for (const std::string& name : names) {
    const auto [first, second] = std::ranges::mismatch(common, name);
    common = common.substr(0, static_cast<size_t>(first - common.begin()));
  }
  const size_t separator = common.find_last_of("/.");
  // The mark for the removed part is one character wide.
  return separator == std::string_view::npos || separator < 2 ? 0 : separator;
}

// The cells of the rows that decide how wide the columns are.
struct Sample {
  std::vector<std::vector<std::string>> cells;  // by column
  size_t cut = 0;                               // of the names' beginning

  [[nodiscard]] size_t width(const std::vector<std::string>& columns, size_t column) const {
    size_t width = columns[column].size();
    for (const std::string& cell : cells[column]) width = std::max(width, text_width(cell));
    return columns[column] == "op" && cut > 0 ? width - std::min(width, cut - 1) : width;
  }
};

size_t least_width(std::string_view column) { return column == "op" ? kLeastNameWidth : kLeastTextWidth; }

bool may_shrink(std::string_view column) { return !is_number(column) && column != "slot" && column != "dtype"; }

// The width of the table, or of the table with every text as narrow as it may become.
size_t table_width(const Sample& sample, const std::vector<std::string>& columns, bool narrowest) {
  size_t total = kGapWidth * (columns.size() - 1);
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t width = sample.width(columns, i);
    total += narrowest && may_shrink(columns[i]) ? std::min(width, least_width(columns[i])) : width;
  }
  return total;
}

void remove_column(Sample& sample, std::vector<std::string>& columns, size_t column) {
  columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(column));
  sample.cells.erase(sample.cells.begin() + static_cast<std::ptrdiff_t>(column));
}

Sample measure(const ListedDumps& listed, std::span<const RowOfDump> rows, const std::vector<std::string>& columns) {
  Sample sample;
  sample.cells.resize(columns.size());
  for (const RowOfDump& row : first_of(rows, kRowsToMeasure)) {
    for (size_t i = 0; i < columns.size(); ++i) sample.cells[i].push_back(cell_text(listed, row, columns[i]));
  }
  return sample;
}

struct Fit {
  std::string beginning;  // of names, that is not shown
  std::vector<std::string> left_out;
};

// Takes columns away until the table fits, unless `fixed`.
Fit fit_columns(Sample sample, std::vector<std::string>& columns, size_t width, bool fixed) {
  Fit fit;
  const auto names = std::ranges::find(columns, "op");
  if (names != columns.end() && table_width(sample, columns, false) > width) {
    const std::vector<std::string>& shown = sample.cells[static_cast<size_t>(names - columns.begin())];
    sample.cut = common_beginning(shown);
    fit.beginning = shown.front().substr(0, sample.cut);
  }
  std::vector<std::string_view> giving_way;
  for (const Statistic& statistic : kStatisticTable) {
    if (statistic.json == StatisticInJson::kIfMeasured) giving_way.push_back(statistic.name);
  }
  giving_way.insert(giving_way.end(), kGiveWay.begin(), kGiveWay.end());
  for (const std::string_view candidate : giving_way) {
    if (fixed || table_width(sample, columns, true) <= width) break;
    const auto found = std::ranges::find(columns, candidate);
    if (found == columns.end()) continue;
    fit.left_out.emplace_back(candidate);
    remove_column(sample, columns, static_cast<size_t>(found - columns.begin()));
  }
  return fit;
}

// The statistics that a capture computes on request stand before the counts, if a listed record has them.
void add_measured(const ListedDumps& listed, std::span<const RowOfDump> rows, std::vector<std::string>& columns) {
  for (const Statistic& statistic : kStatisticTable) {
    const auto measured = [&](const RowOfDump& row) { return (listed.dumps[row.dump]->rows()[row.row].stats.valid & statistic.bit) != 0; };
    if (statistic.json != StatisticInJson::kIfMeasured || std::ranges::find(columns, statistic.name) != columns.end()) continue;
    if (std::ranges::none_of(first_of(rows, kRowsToMeasure), measured)) continue;
    columns.insert(std::ranges::find(columns, "zero"), std::string(statistic.name));
  }
}

std::string without_beginning(const std::string& name, const std::string& beginning) {
  return !beginning.empty() && name.starts_with(beginning) ? "…" + name.substr(beginning.size()) : name;
}

}  // namespace

std::string column_names_text() { return join(known_columns(), ", "); }

Result<std::vector<std::string>> choose_columns(std::string_view text, std::string_view sort_key) {
  if (text.empty()) {
    std::vector<std::string> columns(kUsual.begin(), kUsual.end());
    if (!sort_key.empty() && std::ranges::find(columns, sort_key) == columns.end()) columns.emplace_back(sort_key);
    return columns;
  }
  const std::vector<std::string> known = known_columns();
  std::vector<std::string> columns;
  for (const std::string_view part : split(text, ',')) {
    const std::string word(trim(part));
    if (std::ranges::find(known, word) == known.end())
      return invalid_argument(
          fmt::format("--columns {}: no such column.{} The columns are {}.", quote(word), did_you_mean(word, known), column_names_text()));
    columns.push_back(word);
  }
  return columns;
}

std::vector<std::string> print_rows(Terminal& terminal, const ListedDumps& listed, std::span<const RowOfDump> rows,
                                    std::vector<std::string> columns, bool fixed) {
  if (!fixed) add_measured(listed, rows, columns);
  if (!listed.names.empty()) columns.insert(columns.begin(), std::string(kPart));
  const Fit fit = terminal.width() == 0 ? Fit{} : fit_columns(measure(listed, rows, columns), columns, terminal.width(), fixed);
  std::vector<Column> layout;
  for (const std::string& column : columns)
    layout.push_back({column, is_number(column), may_shrink(column), least_width(column), column == "op"});
  TablePrinter table(terminal, layout);
  for (const RowOfDump& row : rows) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const std::string& column : columns) {
      std::string text = cell_text(listed, row, column);
      cells.push_back(column == "op" ? without_beginning(text, fit.beginning) : std::move(text));
    }
    table.add(std::move(cells));
  }
  table.finish();
  return fit.left_out;
}

}  // namespace tensortap::cli
