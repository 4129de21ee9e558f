// Tables of statistics as either producer writes them, from untrusted text.

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"
#include "format/dump_data/dump_data_file.h"
#include "format/dump_data/dump_data_numbers.h"
#include "system/ascend/statistics.h"
#include "tree/integer_cells.h"

namespace tensortap::ascend {
namespace {

enum class GeColumn : uint8_t {
  kDirection,
  kIndex,
  kSize,
  kType,
  kFormat,
  kShape,
  kMax,
  kMin,
  kAvg,
  kCount,
  kNan,
  kNegInf,
  kPosInf,
  kNorm,
  kOther
};
struct ColumnName {
  std::string_view name;
  GeColumn column;
};
constexpr std::array kColumnNames = {
    ColumnName{"Input/Output", GeColumn::kDirection},
    ColumnName{"Index", GeColumn::kIndex},
    ColumnName{"Data Size", GeColumn::kSize},
    ColumnName{"Data Type", GeColumn::kType},
    ColumnName{"Format", GeColumn::kFormat},
    ColumnName{"Shape", GeColumn::kShape},
    ColumnName{"Max Value", GeColumn::kMax},
    ColumnName{"Min Value", GeColumn::kMin},
    ColumnName{"Avg Value", GeColumn::kAvg},
    ColumnName{"Count", GeColumn::kCount},
    ColumnName{"Nan Count", GeColumn::kNan},
    ColumnName{"Negative Inf Count", GeColumn::kNegInf},
    ColumnName{"Positive Inf Count", GeColumn::kPosInf},
    ColumnName{"l2norm", GeColumn::kNorm},
};

bool set_double(std::string_view cell, uint32_t bit, double& value, TensorStats& stats) {
  const std::string_view plain = cell.starts_with('-') ? cell.substr(1) : cell;
  if (plain == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (plain == "inf") {
    value = plain.size() < cell.size() ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  } else if (!parse_number(cell, value)) {
    return false;
  }
  stats.valid |= bit;
  return true;
}

bool set_count(std::string_view cell, uint32_t bit, uint64_t& value, TensorStats& stats) {
  if (!parse_unsigned(cell, value)) return false;
  stats.valid |= bit;
  return true;
}

bool set_shape(std::string_view cell, TensorDesc& desc) {
  if (cell == "-" || cell.empty()) return true;
  std::vector<int64_t> dims;
  for (const std::string_view part : split(cell, 'x')) {
    int64_t dim = 0;
    if (!parse_integer(part, dim) || dim < 0 || dims.size() == kMaxRank) return false;
    dims.push_back(dim);
  }
  desc.shape = Shape(dims);
  return true;
}

DType type_called(std::string_view name) {
  for (int32_t number = 0; const DumpDataType* type = find_dump_data_type(number); ++number) {
    if (type->name == name) return type->form == DumpDataForm::kSame ? type->dtype : DType::kUndefined;
  }
  return DType::kUndefined;
}

bool set_cell(GeColumn column, std::string_view cell, StatisticLine& line) {
  TensorStats& stats = line.stats;
  uint64_t index = 0;
  const bool is_statistic = column >= GeColumn::kMax && column <= GeColumn::kNorm;
  if (is_statistic && (cell.empty() || cell == "NA" || cell == "-")) return true;
  switch (column) {
    case GeColumn::kDirection:
      line.is_input = cell == "Input";
      return line.is_input || cell == "Output";
    case GeColumn::kIndex:
      if (!parse_unsigned(cell, index) || index > std::numeric_limits<uint16_t>::max()) return false;
      line.index = static_cast<uint32_t>(index);
      return true;
    case GeColumn::kSize:
      return parse_unsigned(cell, line.bytes);
    case GeColumn::kType:
      line.desc.dtype = type_called(cell);
      return true;
    case GeColumn::kFormat:
      line.format = dump_data_format_number(cell).value_or(kFormatNd);
      return true;
    case GeColumn::kShape:
      return set_shape(cell, line.desc);
    case GeColumn::kMax:
      return set_double(cell, kStatMax, stats.max, stats);
    case GeColumn::kMin:
      return set_double(cell, kStatMin, stats.min, stats);
    case GeColumn::kAvg:
      return set_double(cell, kStatMean, stats.mean, stats);
    case GeColumn::kCount:
      return set_count(cell, 0, stats.count, stats);
    case GeColumn::kNan:
      return set_count(cell, kStatNan, stats.nan, stats);
    case GeColumn::kNegInf:
      return set_count(cell, kStatNegInf, stats.neg_inf, stats);
    case GeColumn::kPosInf:
      return set_count(cell, kStatPosInf, stats.pos_inf, stats);
    case GeColumn::kNorm:
      return set_double(cell, kStatL2, stats.l2, stats);
    case GeColumn::kOther:
      break;
  }
  return true;
}

std::vector<GeColumn> read_columns(std::string_view header) {
  std::vector<GeColumn> columns;
  for (const std::string_view cell : split(header, ',')) {
    const auto* found = std::ranges::find(kColumnNames, trim(cell), &ColumnName::name);
    columns.push_back(found == kColumnNames.end() ? GeColumn::kOther : found->column);
  }
  return columns;
}

bool read_line(std::string_view text, const std::vector<GeColumn>& columns, StatisticLine& line) {
  std::vector<std::string_view> cells = split(text, ',');
  // A tensor that failed has no cell for its count.
  if (cells.size() + 1 == columns.size() && !cells.empty() && cells.back() == "NA") {
    cells.insert(cells.begin() + std::min<std::ptrdiff_t>(6, std::ssize(cells)), "NA");
  }
  if (cells.size() != columns.size()) return false;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!set_cell(columns[i], trim(cells[i]), line)) return false;
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    const DType dtype = line.desc.dtype;
    if (columns[i] == GeColumn::kMin) line.stats.min_integer = integer_of_cell(trim(cells[i]), line.stats.min, dtype);
    if (columns[i] == GeColumn::kMax) line.stats.max_integer = integer_of_cell(trim(cells[i]), line.stats.max, dtype);
  }
  return true;
}

}  // namespace

std::vector<StatisticLine> read_statistics(std::string_view text, std::string& problem) {
  std::vector<StatisticLine> lines;
  std::vector<GeColumn> columns;
  size_t number = 0;
  size_t bad = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (columns.empty()) {
      columns = read_columns(line);
      if (columns[0] != GeColumn::kDirection || std::ranges::find(columns, GeColumn::kIndex) == columns.end()) {
        problem = "line 1 is not the header of a table of statistics, so nothing of it is used";
        return {};
      }
      continue;
    }
    StatisticLine read;
    if (read_line(line, columns, read)) {
      lines.push_back(read);
    } else if (bad++ == 0) {
      problem = concat("line ", number, " can not be read and is left out");
    }
  }
  if (bad > 1) problem += concat(", and so are ", bad - 1, " more");
  if (columns.empty()) problem = "the table is empty";
  return lines;
}

}  // namespace tensortap::ascend
