#include "tree/statistics_table.h"

#include <algorithm>
#include <charconv>

#include "base/spans.h"
#include "base/status.h"

namespace tensortap {
namespace {

constexpr StatisticColumn kUnknownColumn{};

// The exact extreme of an integer tensor, whose cell may have more digits than a double keeps. Where the cell is no whole number in the
// range of the type, the nearest integer in that range; a uint64 as its bits.
int64_t integer_of_cell(std::string_view cell, double value, DType dtype) {
  constexpr double kTop = 18446744073709551616.0;  // 2^64
  uint64_t positive = 0;
  int64_t whole = 0;
  const bool is_unsigned = dtype == DType::kUInt64;
  if (is_unsigned && parse_unsigned(cell, positive)) return static_cast<int64_t>(positive);
  if (!is_unsigned && parse_integer(cell, whole)) return whole;
  if (is_unsigned) {
    positive = value >= kTop ? UINT64_MAX : value > 0 ? static_cast<uint64_t>(value) : 0;
    return static_cast<int64_t>(positive);
  }
  if (!(value >= -kTop / 2)) return value < 0 ? std::numeric_limits<int64_t>::min() : 0;
  return value >= kTop / 2 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(value);
}

// Splits a line at its commas outside of quotes; a cell in quotes loses them.
void split_cells(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  for (size_t at = 0; at <= line.size();) {
    const bool quoted = at < line.size() && line[at] == '"';
    const size_t close = quoted ? line.find('"', at + 1) : std::string_view::npos;
    const size_t end = std::min(line.find(',', quoted && close != std::string_view::npos ? close + 1 : at), line.size());
    const std::string_view cell = line.substr(at, end - at);
    cells.push_back(quoted && close + 1 == end ? cell.substr(1, cell.size() - 2) : trim(cell));
    at = end + 1;
  }
}

// Reads one table, line by line.
class TableReader {
 public:
  explicit TableReader(std::span<const StatisticColumn> known) : known_(known) {}

  [[nodiscard]] bool has_header() const { return !columns_.empty(); }
  [[nodiscard]] size_t columns() const { return columns_.size(); }

  Status read_header(std::span<const std::string_view> cells) {
    if (!cells.empty() && cells.back().empty()) cells = first_of(cells, cells.size() - 1);
    for (const std::string_view cell : cells) {
      const auto found = std::ranges::find(known_, cell, &StatisticColumn::header);
      columns_.push_back(found == known_.end() ? &kUnknownColumn : &*found);
    }
    for (const StatisticColumn& column : known_) {
      if (column.required && std::ranges::find(columns_, &column) == columns_.end()) {
        return corrupt(concat("line 1: the column ", quote(column.header), " is missing, so nothing of this file is used"));
      }
    }
    return {};
  }

  Status read_line(std::span<const std::string_view> cells, StatisticLine& line) const {
    const bool trailing = cells.size() == columns_.size() + 1 && cells.back().empty();
    if (cells.size() != columns_.size() && !trailing) {
      return corrupt(concat(cells.size(), " cells, the header has ", columns_.size(), " columns"));
    }
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i]->read == nullptr || columns_[i]->read(cells[i], line)) continue;
      return corrupt(concat("column ", quote(columns_[i]->header), ": ", quote(cells[i].substr(0, 40)), " cannot be read"));
    }
    for (size_t i = 0; i < columns_.size(); ++i) {
      if ((columns_[i]->needs & kStatMin) != 0) line.stats.min_integer = integer_of_cell(cells[i], line.stats.min, line.desc.dtype);
      if ((columns_[i]->needs & kStatMax) != 0) line.stats.max_integer = integer_of_cell(cells[i], line.stats.max, line.desc.dtype);
    }
    return {};
  }

 private:
  std::span<const StatisticColumn> known_;
  std::vector<const StatisticColumn*> columns_;
};

}  // namespace

ChosenColumns::ChosenColumns(std::string_view first, std::vector<const StatisticColumn*> columns, bool trailing_comma)
    : columns_(std::move(columns)), header_(first), trailing_comma_(trailing_comma) {
  for (const StatisticColumn* column : columns_) header_ += concat(",", column->header);
  header_ += '\n';
}

bool ChosenColumns::has(DigestKind digest) const {
  return std::ranges::any_of(columns_, [digest](const StatisticColumn* column) { return column->digest == digest; });
}

void ChosenColumns::append_cells(const StatisticRow& row, std::string& text) const {
  for (const StatisticColumn* column : columns_) {
    text += ',';
    column->write(row, text);
  }
  if (trailing_comma_) text += ',';
  text += '\n';
}

void append_six_digits(double number, std::string& text) {
  std::array<char, 32> digits{};
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::general, 6);
  text.append(digits.data(), end.ptr);
}

void append_hex(const Digest& digest, std::string& text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  for (int i = 0; i < digest_size(digest.kind); ++i) {
    const uint8_t byte = digest.bytes[static_cast<size_t>(i)];
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
}

bool read_slot(std::string_view cell, uint32_t& slot) {
  uint64_t number = 0;
  if (!parse_unsigned(cell, number) || number > std::numeric_limits<uint16_t>::max()) return false;
  slot = static_cast<uint32_t>(number);
  return true;
}

bool read_float(std::string_view cell, double& value) {
  const bool has_sign = cell.starts_with('-') || cell.starts_with('+');
  const std::string_view plain = has_sign ? cell.substr(1) : cell;
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (plain == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (plain == "inf") {
    value = cell.starts_with('-') ? -kInfinite : kInfinite;
  } else {
    return parse_number(cell, value);
  }
  return true;
}

bool read_hex(std::string_view cell, DigestKind kind, StatisticLine& line) {
  if (cell.size() != 2 * static_cast<size_t>(digest_size(kind))) return false;
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

std::vector<StatisticLine> read_statistics(std::string_view text, std::span<const StatisticColumn> columns, std::string_view name,
                                           TreeProblems& problems, void (*mend)(std::vector<std::string_view>& cells, size_t columns)) {
  std::vector<StatisticLine> lines;
  TableReader reader(columns);
  std::vector<std::string_view> cells;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    split_cells(line, cells);
    if (!reader.has_header()) {
      if (const Status status = reader.read_header(cells); !status.ok()) {
        problems.add(Skipped::kStatistics, status.with_context(name).message());
        return lines;
      }
      continue;
    }
    if (mend != nullptr) mend(cells, reader.columns());
    StatisticLine read;
    if (const Status status = reader.read_line(cells, read); status.ok()) {
      lines.push_back(read);
    } else {
      problems.add(Skipped::kStatistics, concat(name, ":", number, ": ", status.message(), "; the row is skipped"));
    }
  }
  if (!reader.has_header()) problems.add(Skipped::kStatistics, concat(name, ": is empty"));
  return lines;
}

}  // namespace tensortap
