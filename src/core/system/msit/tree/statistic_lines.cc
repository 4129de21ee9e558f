#include "system/msit/tree/statistic_lines.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "format/msit_bin/msit_bin_file.h"
#include "format/msit_bin/number_texts.h"
#include "system/msit/tree/type_words.h"

namespace tensortap::msit {
namespace {

constexpr uint64_t kLargestTable = uint64_t{256} << 20;
constexpr std::string_view kHeader =
    "Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,Tensor Path";
enum Column : size_t { kOpName = 2, kOpId = 4, kInputOutput, kIndex, kType, kFormat, kShape, kMax, kCells = 15 };

// "1_Decoder_layer/0_LinearOperation" of "Decoder_layer/LinearOperation" and "1_0"; "" when they do not fit.
std::string operation_of(std::string_view name, std::string_view id) {
  const auto names = split(name, '/');
  const auto numbers = split(id, '_');
  if (names.size() != numbers.size()) return "";
  std::string operation;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || !is_digits(numbers[i])) return "";
    operation += concat(i == 0 ? "" : "/", numbers[i], "_", names[i]);
  }
  return operation;
}

// "2x3"; nothing between is a tensor without dimensions.
std::optional<Shape> shape_of(std::string_view text) {
  std::vector<int64_t> dims;
  if (text.empty()) return Shape();
  for (const std::string_view word : split(text, 'x')) {
    int64_t dim = 0;
    if (!is_digits(word) || !parse_integer(word, dim)) return std::nullopt;
    dims.push_back(dim);
  }
  const Shape shape(dims);
  if (dims.size() > kMaxRank || !shape.numel()) return std::nullopt;
  return shape;
}

std::optional<StatisticLine> line_of(std::string_view text) {
  const auto cells = split(text, ',');
  if (cells.size() < kCells) return std::nullopt;  // the path, which is the last cell, may have commas
  StatisticLine line;
  line.operation = operation_of(cells[kOpName], cells[kOpId]);
  line.is_input = cells[kInputOutput] == "input";
  uint64_t slot = 0;
  const auto shape = shape_of(cells[kShape]);
  const bool fits = !line.operation.empty() && (line.is_input || cells[kInputOutput] == "output") && parse_unsigned(cells[kIndex], slot);
  if (!fits || slot > UINT16_MAX || !shape) return std::nullopt;
  line.slot = static_cast<uint16_t>(slot);
  line.format = cells[kFormat] == "nc1hwc0" ? kMsitFormatNc1hwc0 : kMsitFormatNd;
  line.desc = {type_of_word(cells[kType]), *shape};
  if (line.desc.dtype == DType::kUndefined) return std::nullopt;
  for (size_t i = 0; i < kMsitStatistics.size(); ++i) read_msit_statistic(i, cells[kMax + i], line.desc.dtype, line.stats);
  finish_msit_statistics(line.desc.dtype, line.stats);
  return line;
}

class TableReader {
 public:
  TableReader(const Tree& tree, TreeProblems& problems) : tree_(tree), problems_(problems) {}

  std::vector<StatisticLine> read() {
    for (uint32_t i = 0; i < tree_.folders.size(); ++i) {
      if (!tree_.folders[i].statistics.empty()) read_table(i);
    }
    return std::move(lines_);
  }

 private:
  void read_table(uint32_t number) {
    const TreeFolder& folder = tree_.folders[number];
    const std::string name = relative_to_tree(folder, folder.statistics);
    const auto text = read_file(join_path(folder.path, folder.statistics), kLargestTable);
    if (!text.ok()) return problems_.add(Skipped::kStatistics, text.status().message());
    size_t row = 0;
    for (std::string_view line : split(*text, '\n')) {
      ++row;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (row == 1 && line != kHeader) {
        return problems_.add(Skipped::kStatistics, concat(name, ": its first line does not name the columns of statistic.csv"));
      }
      if (row == 1 || line.empty()) continue;
      if (auto read = line_of(line)) {
        read->folder = number;
        lines_.push_back(*std::move(read));
      } else {
        problems_.add(Skipped::kStatistics, concat(name, ":", row, ": no line of the statistics of a tensor"));
      }
    }
  }

  const Tree& tree_;
  TreeProblems& problems_;
  std::vector<StatisticLine> lines_;
};

}  // namespace

std::vector<StatisticLine> read_statistic_lines(const Tree& tree, TreeProblems& problems) { return TableReader(tree, problems).read(); }

}  // namespace tensortap::msit
