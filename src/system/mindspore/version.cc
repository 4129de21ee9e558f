#include "system/mindspore/version.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "plan/release_table.h"

namespace tensortap::mindspore {
namespace {

constexpr std::string_view kPrefix = "mindspore";
constexpr std::array<std::string_view, 3> kDevices = {"cpu", "gpu", "ascend"};

constexpr std::string_view kTenCategories =
    "max,min,avg,count,negative zero count,positive zero count,nan count,negative inf count,positive inf count,zero count";
constexpr std::string_view kElevenCategories =
    "max,min,avg,count,negative zero count,positive zero count,nan count,negative inf count,positive inf count,zero count,md5";

constexpr std::array<int8_t, 5> kOldDebugModes = {0, 1, 2, 3, kRefused};
constexpr std::array<int8_t, 5> kThreeDebugModes = {0, kRefused, kRefused, 3, 4};
constexpr std::array<int8_t, 5> kNewDebugModes = {0, 3, 3, 3, 4};

constexpr Version k2_2_15 = {.name = "2.2.15",
                             .since = {2, 2, 15},
                             .needs_enable = true,
                             .enable_false_ends_e2e = true,
                             .e2e_reads_op_debug_mode = false,
                             .op_debug_modes = kOldDebugModes,
                             .overflow_keeps_both = false,
                             .kernel_types = true,
                             .kernel_regexes = false,
                             .ascend_e2e_statistics = false,
                             .fixed_categories = kElevenCategories,
                             .hash_categories = false,
                             .repeated_categories = false,
                             .non_finite = "skip-nonfinite"};

// A release that reads configs as an earlier one, and writes another tree.
constexpr Version named(Version version, std::string_view name, std::array<int, 3> since) {
  version.name = name;
  version.since = since;
  return version;
}

constexpr std::array kVersions = {
    Version{.name = "2.0",
            .since = {1, 3, 0},
            .needs_enable = true,
            .enable_false_ends_e2e = true,
            .e2e_reads_op_debug_mode = false,
            .op_debug_modes = kOldDebugModes,
            .overflow_keeps_both = false,
            .kernel_types = false,
            .kernel_regexes = false,
            .ascend_e2e_statistics = false,
            .fixed_categories = kTenCategories,
            .hash_categories = false,
            .repeated_categories = false,
            .non_finite = "skip-nonfinite"},
    k2_2_15,
    named(k2_2_15, "2.3.0", {2, 3, 0}),
    Version{.name = "2.3.2",
            .since = {2, 3, 1},
            .needs_enable = true,
            .enable_false_ends_e2e = true,
            .e2e_reads_op_debug_mode = true,
            .op_debug_modes = kThreeDebugModes,
            .overflow_keeps_both = false,
            .kernel_types = true,
            .kernel_regexes = true,
            .ascend_e2e_statistics = true,
            .fixed_categories = "",
            .hash_categories = false,
            .repeated_categories = true,
            .non_finite = "propagate"},
    Version{.name = "2.4",
            .since = {2, 4, 0},
            .needs_enable = false,
            .enable_false_ends_e2e = false,
            .e2e_reads_op_debug_mode = true,
            .op_debug_modes = kNewDebugModes,
            .overflow_keeps_both = false,
            .kernel_types = true,
            .kernel_regexes = true,
            .ascend_e2e_statistics = true,
            .fixed_categories = "",
            .hash_categories = false,
            .repeated_categories = true,
            .non_finite = "propagate"},
    Version{.name = "2.7.0",
            .since = {2, 7, 0},
            .needs_enable = false,
            .enable_false_ends_e2e = false,
            .e2e_reads_op_debug_mode = true,
            .op_debug_modes = kNewDebugModes,
            .overflow_keeps_both = true,
            .kernel_types = true,
            .kernel_regexes = true,
            .ascend_e2e_statistics = true,
            .fixed_categories = "",
            .hash_categories = false,
            .repeated_categories = true,
            .non_finite = "propagate"},
    Version{.name = "2.10",
            .since = {2, 7, 1},
            .needs_enable = false,
            .enable_false_ends_e2e = false,
            .e2e_reads_op_debug_mode = true,
            .op_debug_modes = kNewDebugModes,
            .overflow_keeps_both = true,
            .kernel_types = true,
            .kernel_regexes = true,
            .ascend_e2e_statistics = true,
            .fixed_categories = "",
            .hash_categories = true,
            .repeated_categories = false,
            .non_finite = "propagate"},
};

Status unknown_profile(std::string_view text) {
  std::vector<std::string> known;
  for (auto version = kVersions.rbegin(); version != kVersions.rend(); ++version) known.push_back(concat(kPrefix, "-", version->name));
  return invalid_argument(concat("there is no profile ", quote(text), ".", did_you_mean(text.substr(0, text.find('/')), known),
                                 " Take one of ", join(known, ", "),
                                 ", each with /cpu, /gpu or /ascend after it where the device matters"));
}

}  // namespace

std::span<const Version> versions() { return kVersions; }

std::string_view device_name(Device device) { return kDevices[static_cast<size_t>(device)]; }

std::string profile_name(const Profile& profile) { return concat(kPrefix, "-", profile.version->name, "/", device_name(profile.device)); }

Result<Profile> parse_profile(std::string_view text) {
  Profile profile{&kVersions.back(), Device::kCpu};
  if (text.empty()) return profile;
  const size_t slash = text.find('/');
  std::string_view version = text.substr(0, slash);
  if (slash != std::string_view::npos) {
    const auto* const device = std::ranges::find(kDevices, text.substr(slash + 1));
    if (device == kDevices.end()) return unknown_profile(text);
    profile.device = static_cast<Device>(device - kDevices.begin());
  }
  if (version == kPrefix) return profile;
  if (!version.starts_with(kPrefix) || !version.substr(kPrefix.size()).starts_with('-')) return unknown_profile(text);
  version.remove_prefix(kPrefix.size() + 1);
  profile.version = find_release(kVersions, version);
  if (profile.version == nullptr) return unknown_profile(text);
  return profile;
}

}  // namespace tensortap::mindspore
