// The releases of MindSpore that tensortap knows: how each reads a config, and which tree it writes on which device. One table.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_RELEASE_H_
#define TENSORTAP_SYSTEM_MINDSPORE_RELEASE_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "tensor/dtype.h"

namespace tensortap::mindspore {

inline constexpr int8_t kRefused = -1;

// How a release reads a config. "strict" marks rules that apply only when a config is read strictly as that release; otherwise the newest
// release's rule applies.
struct ConfigRules {
  bool needs_enable;                     // strict: `enable` and `trans_flag` are required in e2e_dump_settings
  bool enable_false_ends_e2e;            // strict: "enable": false turns the synchronous dump off
  bool e2e_reads_op_debug_mode;          // strict: op_debug_mode counts beside e2e_dump_settings, too
  std::array<int8_t, 5> op_debug_modes;  // strict: the number that each number counts as, or kRefused
  bool overflow_keeps_both;              // op_debug_mode 3 turns input_output into 0
  bool kernel_types;                     // strict: an entry of `kernels` may be a type
  bool kernel_regexes;                   // strict: or a name-regex(...)
  bool ascend_e2e_statistics;            // strict: statistics beside e2e_dump_settings on Ascend
  bool repeated_categories;              // a statistic that occurs twice is two columns
  std::string_view non_finite;           // CaptureSpec::non_finite
  bool acl_variable;                     // MS_ACL_DUMP_CFG_PATH leaves the dump of a graph to AscendCL
  bool ge_variable;                      // ENABLE_MS_GE_DUMP=1 leaves it to the graph engine
};

// The tree that a release writes.
struct TreeRules {
  std::string_view ms_version;  // in config.json
  bool full_scope;              // in file names: the whole scoped name, "/" written "_"; otherwise its last part
  bool dtype_in_name;
  // The statistics of every config, joined by commas: NaN and Inf are left out of them, "null" where nothing is left. "" = the user's
  // categories in the user's order, NaN and Inf let in, rows end with a comma.
  std::string_view fixed_categories;
  bool square_brackets;    // around shapes in statistic.csv
  bool full_name_in_rows;  // Op Name there is the scoped name, not that of the file
  bool hash_categories;    // "hash", "hash:md5" and "hash:sha1" are statistics, too; repeated ones are written once
  bool constants_on_cpu;
  bool older_graph_text;  // of the .ir
};

struct Release {
  std::string_view name;     // in the profile's name
  std::array<int, 3> since;  // the first release that the row describes
  ConfigRules config;
  TreeRules tree;
};

// Oldest first; the last one is the default.
std::span<const Release> releases();

enum class DeviceKind : uint8_t { kCpu, kGpu, kAscend };

struct Device {
  DeviceKind kind;
  std::string_view name;    // in the profile's name
  std::string_view target;  // in config.json
  bool class_dtype_names;   // "Float32" in file names, not "float32"
  bool metadata;            // .dump_metadata/data_dump.json and config.json
  bool parameters;          // Parameter.* files after the step
  bool constants;           // constants/
  bool global_order;        // ms_global_execution_order_graph_0.csv
};

struct Profile {
  const Release* release = nullptr;
  const Device* device = nullptr;

  [[nodiscard]] const TreeRules& tree() const { return release->tree; }
  [[nodiscard]] bool writes_constants() const { return device->constants || (device->parameters && tree().constants_on_cpu); }
};

// "mindspore-2.7.0/gpu"; "" and "mindspore" are the newest release, without a device it is cpu. A release without a separate row is read as
// the row that describes it. Errors: kInvalidArgument naming all profiles.
Result<Profile> parse_profile(std::string_view text);
std::string profile_name(const Profile& profile);  // "mindspore-2.10/cpu": always with the device

// As in a file name: "Float32" or "float32". "" for an unknown dtype.
std::string_view dtype_name(const Profile& profile, DType dtype);
std::string_view class_dtype_name(DType dtype);  // "Float32"

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_RELEASE_H_
