// The versions of MindSpore that a config can be read as, and what is different between them: one row each.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_VERSION_H_
#define TENSORTAP_SYSTEM_MINDSPORE_VERSION_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tensortap::mindspore {

enum class Device : uint8_t { kCpu, kGpu, kAscend };

inline constexpr int8_t kRefused = -1;

// What one version does in its own way. "strict" marks what counts only when a config is read strictly as that version; otherwise
// the newest version's rule holds.
struct Version {
  std::string_view name;
  std::array<int, 3> since;              // the first release that the row stands for
  bool needs_enable;                     // strict: `enable` and `trans_flag` are required in e2e_dump_settings
  bool enable_false_ends_e2e;            // strict: "enable": false turns the synchronous dump off
  bool e2e_reads_op_debug_mode;          // strict: op_debug_mode counts beside e2e_dump_settings, too
  std::array<int8_t, 5> op_debug_modes;  // strict: as what each number counts, or kRefused
  bool overflow_keeps_both;              // op_debug_mode 3 turns input_output into 0
  bool kernel_types;                     // strict: an entry of `kernels` may be a type
  bool kernel_regexes;                   // strict: or a name-regex(...)
  bool ascend_e2e_statistics;            // strict: statistics beside e2e_dump_settings on Ascend
  std::string_view fixed_categories;     // the statistics of every config, joined by commas; "" = statistic_category chooses
  bool hash_categories;                  // "hash", "hash:md5" and "hash:sha1" are statistics, too
  bool repeated_categories;              // a statistic that stands twice is two columns
  std::string_view non_finite;           // CaptureSpec::non_finite
};

// Oldest first; the last one is the default.
std::span<const Version> versions();

struct Profile {
  const Version* version = nullptr;
  Device device = Device::kCpu;
};

// "mindspore-2.7.0/gpu"; "" and "mindspore" are the newest version, without a device it is cpu. A release without a row of its own is read as the row
// that stands for it. Errors: kInvalidArgument naming all profiles.
Result<Profile> parse_profile(std::string_view text);
std::string profile_name(const Profile& profile);  // "mindspore-2.10/cpu": always with the device
std::string_view device_name(Device device);       // "cpu", "gpu", "ascend"

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_VERSION_H_
