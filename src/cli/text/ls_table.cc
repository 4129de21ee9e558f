#include "cli/text/ls_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/spans.h"
#include "base/text.h"
#include "cli/text/table.h"
#include "query/row_columns.h"
#include "tensor/statistics.h"

namespace tensortap::cli {
namespace {

constexpr size_t kRowsToMeasure = 1000;
// How narrow texts become before a column gives way.
struct Leasts {
  size_t name;
  size_t text;
};
constexpr size_t kAnyWidth = std::numeric_limits<size_t>::max();
constexpr Leasts kWhole = {kAnyWidth, kAnyWidth};
constexpr Leasts kUsualLeasts = {24, 10};
constexpr Leasts kTightLeasts = {16, 8};  // before a column of kLastToGo does
constexpr Leasts kNarrowLeasts = {6, 6};  // where all have given way
constexpr size_t kGapWidth = 2;

// What `ls` prints by itself, from left to right.
constexpr std::array<std::string_view, 16> kUsual = {"row", "step", "op",  "type", "slot",   "dtype", "shape", "min",
                                                     "max", "mean", "std", "l2",   "absmax", "zero",  "nan",   "inf"};
// What gives way, first to last. Counts of NaN and Inf do only where no listed record has any.
constexpr std::array<std::string_view, 8> kGiveWay = {"zero", "l2", "std", "absmax", "mean", "dtype", "inf", "nan"};
constexpr std::array<std::string_view, 3> kLastToGo = {"min", "max", "type"};

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

size_t least_width(std::string_view column, const Leasts& leasts) { return column == "op" ? leasts.name : leasts.text; }

bool may_shrink(std::string_view column) {
  return !is_number(column) && column != "slot" && column != "dtype" && column != "shape" && column != "step";
}

// Rows spread over all of them.
std::vector<RowOfDump> spread_rows(std::span<const RowOfDump> rows) {
  const size_t stride = std::max<size_t>(1, rows.size() / kRowsToMeasure);
  std::vector<RowOfDump> chosen;
  for (size_t i = 0; i < rows.size(); i += stride) chosen.push_back(rows[i]);
  return chosen;
}

bool has_several_steps(const ListedDumps& listed) {
  std::optional<int64_t> first;
  for (const DumpIndex* dump : listed.dumps) {
    for (const RecordRow& row : dump->rows()) {
      if (first.value_or(row.step) != row.step) return true;
      first = row.step;
    }
  }
  return false;
}

// What the counts of NaN and Inf say about all listed rows.
struct NonFiniteCounts {
  bool has_nan = false;
  bool has_inf = false;
  bool is_known = true;  // each row has both counts
};

NonFiniteCounts count_nonfinite(const ListedDumps& listed, std::span<const RowOfDump> rows) {
  NonFiniteCounts counts;
  for (const RowOfDump& place : rows) {
    const TensorStats& stats = listed.dumps[place.dump]->rows()[place.row].stats;
    counts.has_nan = counts.has_nan || stats.nan > 0;
    counts.has_inf = counts.has_inf || stats.pos_inf + stats.neg_inf > 0;
    counts.is_known = counts.is_known && (stats.valid & kStatNonFinite) == kStatNonFinite;
  }
  return counts;
}

// The width of the table with every text as narrow as it may become.
size_t table_width(const Sample& sample, const std::vector<std::string>& columns, const Leasts& leasts) {
  size_t total = kGapWidth * (columns.size() - 1);
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t width = sample.width(columns, i);
    total += may_shrink(columns[i]) ? std::min(width, least_width(columns[i], leasts)) : width;
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
  for (const RowOfDump& row : spread_rows(rows)) {
    for (size_t i = 0; i < columns.size(); ++i) sample.cells[i].push_back(cell_text(listed, row, columns[i]));
  }
  return sample;
}

struct Fit {
  std::string beginning;       // of names, that is not shown
  std::vector<size_t> widths;  // of the columns that are left
  bool is_too_wide = false;    // whatever gave way
  std::vector<std::string> left_out;
};

struct GivingWay {
  std::string_view column;
  Leasts leasts;  // how narrow texts become before it does
};

std::vector<GivingWay> giving_way() {
  std::vector<GivingWay> all;
  for (const Statistic& statistic : kStatisticTable) {
    if (statistic.json == StatisticInJson::kIfMeasured) all.push_back({statistic.name, kUsualLeasts});
  }
  for (const std::string_view column : kGiveWay) all.push_back({column, kUsualLeasts});
  for (const std::string_view column : kLastToGo) all.push_back({column, kTightLeasts});
  return all;
}

// Takes columns away until the table fits, unless `fixed`.
Fit fit_columns(Sample sample, std::vector<std::string>& columns, size_t width, bool fixed, const NonFiniteCounts& counts) {
  Fit fit;
  const auto names = std::ranges::find(columns, "op");
  if (names != columns.end() && table_width(sample, columns, kWhole) > width) {
    const std::vector<std::string>& shown = sample.cells[static_cast<size_t>(names - columns.begin())];
    sample.cut = common_beginning(shown);
    fit.beginning = shown.front().substr(0, sample.cut);
  }
  for (const auto& [candidate, leasts] : giving_way()) {
    if (fixed || table_width(sample, columns, leasts) <= width) continue;
    const auto found = std::ranges::find(columns, candidate);
    const bool is_count = candidate == "nan" || candidate == "inf";
    const bool is_needed = (candidate == "nan" && counts.has_nan) || (candidate == "inf" && counts.has_inf);
    if (found == columns.end() || is_needed) continue;
    fit.left_out.push_back(concat(candidate, is_count && counts.is_known ? " (all 0)" : ""));
    remove_column(sample, columns, static_cast<size_t>(found - columns.begin()));
  }
  for (size_t i = 0; i < columns.size(); ++i) fit.widths.push_back(sample.width(columns, i));
  fit.is_too_wide = table_width(sample, columns, kTightLeasts) > width;
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
                                    std::vector<std::string> columns, bool fixed, bool keeps_step) {
  if (!fixed) add_measured(listed, rows, columns);
  if (!fixed && !keeps_step && !has_several_steps(listed)) std::erase(columns, "step");
  if (!listed.names.empty()) columns.insert(columns.begin(), std::string(kPart));
  const size_t width = terminal.width();
  const Fit fit = width == 0 ? Fit{} : fit_columns(measure(listed, rows, columns), columns, width, fixed, count_nonfinite(listed, rows));
  std::vector<Column> layout;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = columns[i];
    Column column{name, is_number(name), may_shrink(name) || (fit.is_too_wide && !is_number(name)), 0, name == "op"};
    column.least = least_width(name, fit.is_too_wide ? kNarrowLeasts : kTightLeasts);
    if (!fit.widths.empty()) column.width = fit.widths[i];
    layout.push_back(column);
  }
  TablePrinter table(terminal, layout, InPipe::kTabs);
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
