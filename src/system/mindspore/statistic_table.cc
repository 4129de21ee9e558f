#include "system/mindspore/statistic_table.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/status.h"
#include "base/text.h"
#include "stats/digest.h"
#include "system/mindspore/name_parse.h"
#include "tree/integer_cells.h"

namespace tensortap::mindspore {
namespace {

// Reads a cell into the line; false when it is not what the column holds.
using ReadCell = bool (*)(std::string_view cell, StatisticLine& line);

bool pass_over(std::string_view /*cell*/, StatisticLine& /*line*/) { return true; }

bool read_size(std::string_view cell, StatisticLine& line) { return parse_unsigned(cell, line.data_size); }
bool read_time(std::string_view cell, StatisticLine& line) {
  return is_number(cell) && parse_unsigned(cell, line.time) && line.time <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}
bool read_slot(std::string_view cell, StatisticLine& line) {
  uint64_t slot = 0;
  if (!is_number(cell) || !parse_unsigned(cell, slot) || slot > std::numeric_limits<uint16_t>::max()) return false;
  line.slot = static_cast<uint32_t>(slot);
  return true;
}

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

template <double TensorStats::*field, Stat bit>
bool read_value(std::string_view cell, StatisticLine& line) {
  double value = 0;
  if (cell == "null" || cell.empty()) return true;  // was not, or can not be, computed
  if (cell == "True" || cell == "False") {
    value = cell == "True" ? 1 : 0;
  } else if (const std::string_view plain = cell.starts_with('-') || cell.starts_with('+') ? cell.substr(1) : cell; plain == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (plain == "inf") {
    value = cell.starts_with('-') ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  } else if (!parse_number(cell, value)) {
    return false;
  }
  line.stats.*field = value;
  line.stats.valid |= bit;
  return true;
}

template <uint64_t TensorStats::*field, uint32_t bit>
bool read_count(std::string_view cell, StatisticLine& line) {
  if (cell == "null" || cell.empty()) return true;
  if (!parse_unsigned(cell, line.stats.*field)) return false;
  line.stats.valid |= bit;
  return true;
}

template <DigestKind kind>
bool read_digest(std::string_view cell, StatisticLine& line) {
  if (cell.empty() || cell == "null") return true;
  const auto size = static_cast<size_t>(digest_size(kind));
  if (cell.size() != 2 * size) return false;
  if (kind == DigestKind::kSha1 && line.digest_kind == static_cast<uint8_t>(DigestKind::kMd5)) return true;
  std::array<uint8_t, 20> bytes{};
  for (size_t i = 0; i < cell.size(); ++i) {
    const char c = cell[i];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return false;
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] << 4 | digit);
  }
  line.digest = bytes;
  line.digest_kind = static_cast<uint8_t>(kind);
  return true;
}

bool read_op_type(std::string_view cell, StatisticLine& line) { return !(line.op_type = cell).empty(); }
bool read_op_name(std::string_view cell, StatisticLine& line) { return !(line.op_name = cell).empty(); }

struct Column {
  std::string_view name;
  ReadCell read;
  bool needed;
};

constexpr std::string_view kMax = "Max Value";
constexpr std::string_view kMin = "Min Value";

// "Negative Zero Count" counts what is below zero, "Positive Zero Count" what is above, whatever their names say.
constexpr Column kColumns[] = {
    {"Op Type", read_op_type, true},
    {"Op Name", read_op_name, true},
    {"Task ID", pass_over, false},
    {"Stream ID", pass_over, false},
    {"Timestamp", read_time, true},
    {"IO", read_direction, true},
    {"Slot", read_slot, true},
    {"Data Size", read_size, false},
    {"Data Type", read_type, false},
    {"Shape", read_shape, false},
    {kMax, read_value<&TensorStats::max, kStatMax>, false},
    {kMin, read_value<&TensorStats::min, kStatMin>, false},
    {"Avg Value", read_value<&TensorStats::mean, kStatMean>, false},
    {"L2Norm Value", read_value<&TensorStats::l2, kStatL2>, false},
    {"Count", read_count<&TensorStats::count, 0>, false},
    {"Negative Zero Count", read_count<&TensorStats::negative, kStatNegative>, false},
    {"Positive Zero Count", read_count<&TensorStats::positive, kStatPositive>, false},
    {"Zero Count", read_count<&TensorStats::zero, kStatZero>, false},
    {"NaN Count", read_count<&TensorStats::nan, kStatNan>, false},
    {"Negative Inf Count", read_count<&TensorStats::neg_inf, kStatNegInf>, false},
    {"Positive Inf Count", read_count<&TensorStats::pos_inf, kStatPosInf>, false},
    {"MD5", read_digest<DigestKind::kMd5>, false},
    {"SHA1", read_digest<DigestKind::kSha1>, false},
};
constexpr Column kUnknown = {"", pass_over, false};

// Splits a line at its commas outside of quotes; a cell in quotes loses them.
void split_cells(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  for (size_t at = 0; at <= line.size();) {
    const bool quoted = at < line.size() && line[at] == '"';
    const size_t close = quoted ? line.find('"', at + 1) : std::string_view::npos;
    size_t end = std::min(line.find(',', quoted && close != std::string_view::npos ? close + 1 : at), line.size());
    const std::string_view cell = line.substr(at, end - at);
    cells.push_back(quoted && close + 1 == end ? cell.substr(1, cell.size() - 2) : trim(cell));
    at = end + 1;
  }
}

Status read_header(std::string_view line, std::vector<const Column*>& columns) {
  std::vector<std::string_view> cells;
  split_cells(line, cells);
  if (!cells.empty() && cells.back().empty()) cells.pop_back();
  for (const std::string_view cell : cells) {
    const auto* found = std::ranges::find(kColumns, cell, &Column::name);
    columns.push_back(found == std::end(kColumns) ? &kUnknown : found);
  }
  for (const Column& column : kColumns) {
    if (column.needed && std::ranges::find(columns, &column) == columns.end()) {
      return corrupt(concat("line 1: the column ", quote(column.name), " is missing, so nothing of this file is used"));
    }
  }
  return {};
}

Status read_line(std::span<const std::string_view> cells, std::span<const Column* const> columns, StatisticLine& line) {
  const bool trailing = cells.size() == columns.size() + 1 && cells.back().empty();
  if (cells.size() != columns.size() && !trailing)
    return corrupt(concat(cells.size(), " cells, the header has ", columns.size(), " columns"));
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i]->read(cells[i], line)) continue;
    return corrupt(concat("column ", quote(columns[i]->name), ": ", quote(cells[i].substr(0, 40)), " can not be read"));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i]->name == kMin) line.stats.min_integer = integer_of_cell(cells[i], line.stats.min, line.desc.dtype);
    if (columns[i]->name == kMax) line.stats.max_integer = integer_of_cell(cells[i], line.stats.max, line.desc.dtype);
  }
  // The counts are of all elements, and a reader of averages wants their number.
  if (line.stats.count == 0) line.stats.count = line.desc.shape.numel().value_or(0);
  return {};
}

}  // namespace

std::vector<StatisticLine> read_statistic_table(std::string_view text, std::string_view name, TreeProblems& problems) {
  std::vector<StatisticLine> lines;
  std::vector<const Column*> columns;
  std::vector<std::string_view> cells;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    if (line.empty()) continue;
    if (columns.empty()) {
      if (const Status status = read_header(line, columns); !status.ok()) {
        problems.add(Skipped::kStatistics, status.with_context(name).message());
        return lines;
      }
      continue;
    }
    split_cells(line, cells);
    StatisticLine read;
    const Status status = read_line(cells, columns, read);
    if (status.ok()) {
      lines.push_back(read);
    } else {
      problems.add(Skipped::kStatistics, concat(name, ":", number, ": ", status.message(), "; the row is skipped"));
    }
  }
  if (columns.empty()) problems.add(Skipped::kStatistics, concat(name, ": is empty"));
  return lines;
}

}  // namespace tensortap::mindspore
