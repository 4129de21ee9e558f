#include "system/msit/tree/tree_names.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trace/scoped_name.h"
#include "tree/named_folder.h"

namespace tensortap::msit {
namespace {

constexpr std::string_view kDump = "msit_dump";
constexpr std::array<std::string_view, 3> kDumps = {kDump, "ait_dump", "atb_dump_data"};
constexpr std::string_view kExtension = ".bin";
constexpr std::string_view kCall = "call";
constexpr std::string_view kOperation = "Operation";
constexpr std::string_view kKernel = "Kernel";
constexpr size_t kDateDigits = 8;
constexpr size_t kTimeDigits = 14;

bool is_number(std::string_view text, uint64_t most, uint64_t& number) {
  return is_digits(text) && parse_unsigned(text, number) && number <= most;
}

// The text before the first "_", and what follows it; nothing without one.
std::optional<std::pair<std::string_view, std::string_view>> split_at_first(std::string_view text) {
  const size_t at = text.find('_');
  if (at == std::string_view::npos) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

}  // namespace

bool is_dump_name(std::string_view name) {
  return std::ranges::any_of(
      kDumps, [name](std::string_view dump) { return name.starts_with(dump) && (name.size() == dump.size() || name[dump.size()] == '_'); });
}

std::string time_of_dump(std::string_view name) {
  if (!is_dump_name(name)) return "";
  std::string digits(name.substr(std::min(name.find("dump_"), name.size())));
  digits.erase(0, std::string_view("dump_").size());
  std::erase(digits, '_');
  return digits.size() == kTimeDigits && is_digits(digits) ? digits : "";
}

std::string dump_name(std::string_view time) { return concat(kDump, "_", time.substr(0, kDateDigits), "_", time.substr(kDateDigits)); }

std::optional<ProcessName> parse_process_name(std::string_view name) {
  const auto parts = split_at_first(name);
  uint64_t device = 0;
  uint64_t process = 0;
  if (!parts || !is_number(parts->second, INT32_MAX, process)) return std::nullopt;
  if (parts->first == "-1") return ProcessName{-1, static_cast<int64_t>(process)};
  if (!is_number(parts->first, INT32_MAX, device)) return std::nullopt;
  return ProcessName{static_cast<int32_t>(device), static_cast<int64_t>(process)};
}

std::optional<OperationName> parse_operation_name(std::string_view name) {
  const auto parts = split_at_first(name);
  uint64_t number = 0;
  if (!parts || parts->second.empty() || !is_number(parts->first, UINT32_MAX - 1, number)) return std::nullopt;
  return OperationName{static_cast<uint32_t>(number), parts->second};
}

std::optional<TensorName> parse_tensor_name(std::string_view name) {
  TensorName tensor;
  if (!name.ends_with(kExtension)) return std::nullopt;
  name.remove_suffix(kExtension.size());
  // ATB has called its files so, too.
  const bool is_input = name.starts_with("intensor") || name.starts_with("inTensor");
  if (!is_input && !name.starts_with("outtensor") && !name.starts_with("outTensor")) return std::nullopt;
  tensor.is_input = is_input;
  name.remove_prefix(std::string_view(is_input ? "intensor" : "outtensor").size());
  const size_t end = std::min(name.find('_'), name.size());
  uint64_t number = 0;
  if (!is_number(name.substr(0, end), UINT16_MAX, number)) return std::nullopt;
  tensor.slot = static_cast<uint16_t>(number);
  if (end == name.size()) return tensor;
  tensor.parameter = name.substr(end + 1);
  if (tensor.parameter.starts_with(kCall) && is_number(tensor.parameter.substr(kCall.size()), UINT32_MAX, number)) {
    tensor.call = static_cast<uint32_t>(number);
    tensor.parameter = "";
  }
  return tensor;
}

std::string tensor_name(bool is_input, uint32_t slot, uint32_t call) {
  return concat(is_input ? "intensor" : "outtensor", slot, call == 0 ? "" : concat("_", kCall, call), kExtension);
}

Level level_of_type(std::string_view type) {
  if (type.ends_with(kOperation)) return Level::kOp;
  return type.ends_with(kKernel) ? Level::kKernel : Level::kModule;
}

}  // namespace tensortap::msit
