#include "system/mindspore/release.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "plan/release_table.h"

namespace tensortap::mindspore {
namespace {

constexpr std::string_view kProfilePrefix = "mindspore";

constexpr std::string_view kTenCategories =
    "max,min,avg,count,negative zero count,positive zero count,nan count,negative inf count,positive inf count,zero count";
constexpr std::string_view kElevenCategories =
    "max,min,avg,count,negative zero count,positive zero count,nan count,negative inf count,positive inf count,zero count,md5";

// 2.0: no types of kernels, ten statistics. Each release below lists its changes.
constexpr ConfigRules k2_0 = {.needs_enable = true,
                              .enable_false_ends_e2e = true,
                              .e2e_reads_op_debug_mode = false,
                              .op_debug_modes = {0, 1, 2, 3, kRefused},
                              .overflow_keeps_both = false,
                              .kernel_types = false,
                              .kernel_regexes = false,
                              .ascend_e2e_statistics = false,
                              .repeated_categories = false,
                              .non_finite = "skip-nonfinite",
                              .acl_variable = false,
                              .ge_variable = false};

constexpr ConfigRules k2_2_15 = [] {
  ConfigRules rules = k2_0;
  rules.kernel_types = true;
  return rules;
}();

constexpr ConfigRules k2_3_0 = [] {
  ConfigRules rules = k2_2_15;
  rules.acl_variable = true;
  rules.ge_variable = true;
  return rules;
}();

constexpr ConfigRules k2_3_2 = [] {
  ConfigRules rules = k2_3_0;
  rules.e2e_reads_op_debug_mode = true;
  rules.op_debug_modes = {0, kRefused, kRefused, 3, 4};
  rules.kernel_regexes = true;
  rules.ascend_e2e_statistics = true;
  rules.repeated_categories = true;
  rules.non_finite = "propagate";
  return rules;
}();

constexpr ConfigRules k2_4 = [] {
  ConfigRules rules = k2_3_2;
  rules.needs_enable = false;
  rules.enable_false_ends_e2e = false;
  rules.op_debug_modes = {0, 3, 3, 3, 4};
  return rules;
}();

constexpr ConfigRules k2_4_10 = [] {
  ConfigRules rules = k2_4;
  rules.acl_variable = false;
  return rules;
}();

constexpr ConfigRules k2_6 = [] {
  ConfigRules rules = k2_4_10;
  rules.ge_variable = false;
  return rules;
}();

constexpr ConfigRules k2_7_0 = [] {
  ConfigRules rules = k2_6;
  rules.overflow_keeps_both = true;
  return rules;
}();

constexpr ConfigRules k2_10 = [] {
  ConfigRules rules = k2_7_0;
  rules.repeated_categories = false;
  return rules;
}();

// Oldest first. Each row was seen in that release's files or code.
constexpr Release kReleases[] = {
    {"2.0", {1, 3, 0}, k2_0, {"2.0.0", false, false, kTenCategories, false, false, false, true, true}},
    {"2.2.15", {2, 2, 15}, k2_2_15, {"2.2.15", false, false, kElevenCategories, false, false, false, true, true}},
    {"2.3.0", {2, 3, 0}, k2_3_0, {"2.3.0", true, false, kElevenCategories, false, false, false, false, false}},
    {"2.3.2", {2, 3, 1}, k2_3_2, {"2.3.2", true, false, "", false, false, false, false, false}},
    {"2.4", {2, 4, 0}, k2_4, {"2.4.0", true, true, "", false, false, false, false, false}},
    {"2.4.10", {2, 4, 10}, k2_4_10, {"2.4.10", true, true, "", false, false, false, false, false}},
    {"2.6", {2, 6, 0}, k2_6, {"2.6.0", true, true, "", false, false, false, false, false}},
    {"2.7.0", {2, 7, 0}, k2_7_0, {"2.7.0", true, true, "", false, false, false, false, false}},
    {"2.10", {2, 7, 1}, k2_10, {"2.10.0", true, true, "", true, true, true, false, false}},
};

// The first one is that of a profile without a device.
constexpr Device kDevices[] = {
    {DeviceKind::kCpu, "cpu", "CPU", true, true, true, false, true},
    {DeviceKind::kGpu, "gpu", "GPU", false, true, true, true, true},
    {DeviceKind::kAscend, "ascend", "Ascend", false, false, false, false, false},
};

// By the numbers of DType.
constexpr std::string_view kClassNames[kDTypeCount] = {
    "",          "Bool",       "Int8",         "Int16",          "Int32",      "Int64",          "UInt8",
    "UInt16",    "UInt32",     "UInt64",       "Float16",        "BFloat16",   "Float32",        "Float64",
    "Complex64", "Complex128", "Float8E4M3FN", "Float8E4M3FNUZ", "Float8E5M2", "Float8E5M2FNUZ", "Float8E8M0",
    "Int4",      "UInt4",      "Int2",         "UInt2",          "UInt1",      "Float4E2M1",     "String",
};

Status unknown_profile(std::string_view text) {
  std::vector<std::string> known;
  for (const Release& release : kReleases) known.insert(known.begin(), concat(kProfilePrefix, "-", release.name));
  return invalid_argument(concat("there is no profile ", quote(text), ".", did_you_mean(text.substr(0, text.find('/')), known),
                                 " Take one of ", join(known, ", "),
                                 ", each with /cpu, /gpu or /ascend after it where the device matters"));
}

}  // namespace

std::span<const Release> releases() { return kReleases; }

std::string profile_name(const Profile& profile) { return concat(kProfilePrefix, "-", profile.release->name, "/", profile.device->name); }

Result<Profile> parse_profile(std::string_view text) {
  Profile profile{std::end(kReleases) - 1, kDevices};
  if (text.empty()) return profile;
  const size_t slash = text.find('/');
  std::string_view release = text.substr(0, slash);
  if (slash != std::string_view::npos) {
    profile.device = std::ranges::find(kDevices, text.substr(slash + 1), &Device::name);
    if (profile.device == std::end(kDevices)) return unknown_profile(text);
  }
  if (release == kProfilePrefix) return profile;
  if (!release.starts_with(kProfilePrefix) || !release.substr(kProfilePrefix.size()).starts_with('-')) return unknown_profile(text);
  release.remove_prefix(kProfilePrefix.size() + 1);
  profile.release = find_release(kReleases, release);
  if (profile.release == nullptr) return unknown_profile(text);
  return profile;
}

std::string_view dtype_name(const Profile& profile, DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  if (info.dtype == DType::kUndefined) return "";
  return profile.device->class_dtype_names ? class_dtype_name(info.dtype) : info.name;
}

std::string_view class_dtype_name(DType dtype) { return kClassNames[static_cast<size_t>(dtype_info(dtype).dtype)]; }

}  // namespace tensortap::mindspore
