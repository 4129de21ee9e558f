#include "source/atb/tensor_path.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "base/text.h"

namespace tensortap::atb {
namespace {

constexpr size_t kMostOperations = 32;
constexpr size_t kBeforeOperations = 2;  // the process and the round

// Takes what is before the first `mark` of `text`, nothing without one.
std::optional<std::string_view> take_until(std::string_view& text, char mark) {
  const size_t end = text.find(mark);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end + 1);
  return part;
}

bool parse_process(std::string_view text, int32_t& device) {
  const auto first = take_until(text, '_');
  int64_t number = 0;
  uint64_t process = 0;
  if (!first || !parse_integer(*first, number) || number < -1 || number > std::numeric_limits<int32_t>::max()) return false;
  device = static_cast<int32_t>(number);
  return parse_unsigned(text, process);
}

bool parse_operation(std::string_view part, PathOperation& operation) {
  uint64_t number = 0;
  const auto first = take_until(part, '_');
  if (!first || part.empty() || !parse_unsigned(*first, number) || number > std::numeric_limits<uint32_t>::max()) return false;
  operation.type = part;
  operation.id += operation.id.empty() ? to_text(number) : concat("_", number);
  return true;
}

// "intensor0.bin", "outTensor1_name.bin".
bool parse_file(std::string_view file, TensorPath& tensor) {
  if (!file.ends_with(".bin")) return false;
  file.remove_suffix(4);
  tensor.is_input = file.starts_with("intensor") || file.starts_with("inTensor");
  if (!tensor.is_input && !file.starts_with("outtensor") && !file.starts_with("outTensor")) return false;
  file.remove_prefix(tensor.is_input ? 8 : 9);
  const std::string_view digits = file.substr(0, file.find('_'));
  uint64_t slot = 0;
  if (!parse_unsigned(digits, slot) || slot >= std::numeric_limits<uint16_t>::max()) return false;
  tensor.slot = static_cast<uint32_t>(slot);
  if (digits.size() < file.size()) tensor.parameter = file.substr(digits.size() + 1);
  return true;
}

}  // namespace

std::optional<FolderPath> parse_folder_path(std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  FolderPath folder;
  uint64_t round = 0;
  if (parts.size() <= kBeforeOperations || parts.size() > kBeforeOperations + kMostOperations) return std::nullopt;
  if (!parse_process(parts[0], folder.device) || !parse_unsigned(parts[1], round) || round > std::numeric_limits<int32_t>::max())
    return std::nullopt;
  folder.process = parts[0];
  folder.round = static_cast<int64_t>(round);
  const char* begin = parts[kBeforeOperations].data();
  PathOperation operation;
  for (size_t i = kBeforeOperations; i < parts.size(); ++i) {
    if (!parse_operation(parts[i], operation)) return std::nullopt;
    operation.path = {begin, static_cast<size_t>(parts[i].data() + parts[i].size() - begin)};
    folder.operations.push_back(operation);
  }
  return folder;
}

std::optional<TensorPath> parse_tensor_path(std::string_view path) {
  const size_t file = path.rfind('/');
  const size_t moment = file == std::string_view::npos || file == 0 ? file : path.rfind('/', file - 1);
  if (file == std::string_view::npos || moment == std::string_view::npos) return std::nullopt;
  TensorPath tensor;
  const std::string_view word = path.substr(moment + 1, file - moment - 1);
  tensor.before = word == "before";
  if ((!tensor.before && word != "after") || !parse_file(path.substr(file + 1), tensor)) return std::nullopt;
  std::optional<FolderPath> folder = parse_folder_path(path.substr(0, moment));
  if (!folder) return std::nullopt;
  tensor.folder = *std::move(folder);
  return tensor;
}

}  // namespace tensortap::atb
