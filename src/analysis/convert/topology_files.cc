#include "convert/topology_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr std::string_view kExtension = ".json";
constexpr uint64_t kLargestTopology = uint64_t{256} << 20;
constexpr uint64_t kLargestTable = uint64_t{256} << 20;

// The columns that are read.
enum Column : uint8_t { kName, kInTypes, kInShapes, kOutTypes, kOutShapes };
constexpr std::array<std::string_view, 5> kColumns = {"OpName", "InDType", "InShape", "OutDType", "OutShape"};

// The runtime's own words where they are not ours.
constexpr std::array<std::pair<std::string_view, DType>, 3> kTypeWords = {
    {{"float", DType::kFloat32}, {"double", DType::kFloat64}, {"bf16", DType::kBFloat16}}};

DType dtype_of(std::string_view word) {
  const auto* found = std::ranges::find(kTypeWords, word, &std::pair<std::string_view, DType>::first);
  if (found != kTypeWords.end()) return found->second;
  return dtype_from_name(word).value_or(DType::kUndefined);
}

bool parse_shape(std::string_view text, Shape& shape) {
  std::vector<int64_t> dims;
  for (const std::string_view part : split(text, ',')) {
    int64_t dim = 0;
    if (!parse_integer(part, dim) || dim < 0 || dims.size() == size_t{kMaxRank}) return false;
    dims.push_back(dim);
  }
  shape = Shape(dims);
  return true;
}

// Types and shapes of one cell each, as many as both have.
bool parse_tensors(std::string_view types, std::string_view shapes, std::vector<TensorDesc>& tensors) {
  if (types.empty() && shapes.empty()) return true;
  const auto words = split(types, ';');
  const auto texts = split(shapes, ';');
  for (size_t i = 0; i < words.size() && i < texts.size(); ++i) {
    TensorDesc desc;
    desc.dtype = dtype_of(words[i]);
    if (!parse_shape(texts[i], desc.shape)) return false;
    tensors.push_back(desc);
  }
  return true;
}

// The file's "\n" or "\r\n" at the end of a line is no part of a cell.
std::vector<std::string_view> cells_of(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return split(line, '|');
}

Result<std::array<size_t, kColumns.size()>> find_columns(std::string_view line, const std::string& path) {
  const auto cells = cells_of(line);
  std::array<size_t, kColumns.size()> places{};
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const auto found = std::ranges::find(cells, kColumns[i]);
    if (found == cells.end()) {
      return Status(StatusCode::kCorrupt, concat(path, ":1: no column ", kColumns[i], "; a table of operations has its columns between |"));
    }
    places[i] = static_cast<size_t>(found - cells.begin());
  }
  return places;
}

}  // namespace

std::string operation_table_of(const std::string& topology_path) {
  const std::string process = parent_path(std::filesystem::absolute(topology_path).lexically_normal().string());
  const std::string folder = join_path(join_path(parent_path(parent_path(process)), "operation_io_tensors"), file_name(process));
  const auto names = list_directory(folder);
  if (!names.ok()) return "";
  std::pair<uint64_t, std::string> first = {UINT64_MAX, ""};
  for (const std::string& file : *names) {
    if (!file.starts_with("operation") || !file.ends_with(".csv")) continue;
    const std::string stem = file.substr(0, file.size() - std::string_view(".csv").size());
    uint64_t number = UINT64_MAX - 1;
    parse_unsigned(std::string_view(stem).substr(stem.find_last_not_of("0123456789") + 1), number);
    if (first.second.empty() || number < first.first) first = {number, file};
  }
  return first.second.empty() ? "" : join_path(folder, first.second);
}

Result<std::map<std::string, OperationTypes>> read_operation_table(const std::string& path) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string text, read_file(path, kLargestTable));
  const auto lines = split(text, '\n');
  TENSORTAP_ASSIGN_OR_RETURN(const auto columns, find_columns(lines.front(), path));
  std::map<std::string, OperationTypes> operations;
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto cells = cells_of(lines[i]);
    // The real system leaves a line empty that a spreadsheet could read as a formula.
    if (cells.size() == 1 && cells[0].empty()) continue;
    OperationTypes types;
    const bool whole = *std::ranges::max_element(columns) < cells.size() &&
                       parse_tensors(cells[columns[kInTypes]], cells[columns[kInShapes]], types.inputs) &&
                       parse_tensors(cells[columns[kOutTypes]], cells[columns[kOutShapes]], types.outputs);
    if (!whole) return Status(StatusCode::kCorrupt, concat(path, ":", i + 1, ": the row is cut short, or a shape in it is none"));
    operations.try_emplace(std::string(cells[columns[kName]]), std::move(types));
  }
  return operations;
}

Status convert_topology(const std::string& path, int64_t level, const TypesOf& types) {
  if (!path.ends_with(kExtension)) return invalid_argument(concat(path, ": a topology file is called NAME.json"));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string text, read_file(path, kLargestTopology));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string model, topology_model(text, path, level, types));
  return write_file_atomically(concat(std::string_view(path).substr(0, path.size() - kExtension.size()), ".onnx"), model, Access::kShared);
}

}  // namespace tensortap
