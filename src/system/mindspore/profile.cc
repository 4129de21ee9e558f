#include "system/mindspore/profile.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "plan/release_table.h"

namespace tensortap::mindspore {
namespace {

// Oldest first. What each row says was seen in that release's files or code.
constexpr MindsporeVersion kVersions[] = {
    {"2.0", {1, 3, 0}, "2.0.0", false, false, StatisticForm::kFixed20, false, false, false, true, true},
    {"2.2.15", {2, 2, 15}, "2.2.15", false, false, StatisticForm::kFixed21, false, false, false, true, true},
    {"2.3.0", {2, 3, 0}, "2.3.0", true, false, StatisticForm::kFixed21, false, false, false, false, false},
    {"2.3.2", {2, 3, 1}, "2.3.2", true, false, StatisticForm::kChosen, false, false, false, false, false},
    {"2.4", {2, 4, 0}, "2.4.0", true, true, StatisticForm::kChosen, false, false, false, false, false},
    {"2.7.0", {2, 7, 0}, "2.7.0", true, true, StatisticForm::kChosen, false, false, false, false, false},
    {"2.10", {2, 7, 1}, "2.10.0", true, true, StatisticForm::kChosen, true, true, true, false, false},
};

constexpr MindsporeDevice kDevices[] = {
    {"cpu", "CPU", true, true, true, false, true},
    {"gpu", "GPU", false, true, true, true, true},
    {"ascend", "Ascend", false, false, false, false, false},
};

// By the numbers of DType.
constexpr std::string_view kClassNames[kDTypeCount] = {
    "",          "Bool",       "Int8",         "Int16",          "Int32",      "Int64",          "UInt8",
    "UInt16",    "UInt32",     "UInt64",       "Float16",        "BFloat16",   "Float32",        "Float64",
    "Complex64", "Complex128", "Float8E4M3FN", "Float8E4M3FNUZ", "Float8E5M2", "Float8E5M2FNUZ", "Float8E8M0",
    "Int4",      "UInt4",      "Int2",         "UInt2",          "UInt1",      "Float4E2M1",     "String",
};

Status unknown_profile(std::string_view text) {
  std::vector<std::string> versions;
  for (const MindsporeVersion& version : kVersions) versions.push_back(concat("mindspore-", version.name));
  return invalid_argument(
      concat("there is no profile ", quote(text), "; there are ", join(versions, ", "), ", each with /cpu, /gpu or /ascend"));
}

}  // namespace

Result<MindsporeProfile> parse_mindspore_profile(std::string_view text) {
  std::string_view version = text.empty() ? kDefaultProfile : text;
  constexpr std::string_view kPrefix = "mindspore-";
  if (!version.starts_with(kPrefix)) return unknown_profile(text);
  version.remove_prefix(kPrefix.size());
  std::string_view device = kDevices[0].name;
  if (const size_t slash = version.find('/'); slash != std::string_view::npos) {
    device = version.substr(slash + 1);
    version = version.substr(0, slash);
  }
  MindsporeProfile profile;
  profile.version = find_release(kVersions, version);
  const auto* found = std::ranges::find(kDevices, device, &MindsporeDevice::name);
  if (profile.version == nullptr || found == std::end(kDevices)) return unknown_profile(text);
  profile.device = found;
  return profile;
}

std::string_view dtype_name(const MindsporeProfile& profile, DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  if (info.dtype == DType::kUndefined) return "";
  return profile.device->class_dtype_names ? kClassNames[static_cast<size_t>(info.dtype)] : info.name;
}

}  // namespace tensortap::mindspore
