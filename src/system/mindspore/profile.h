// What MindSpore wrote differs from version to version and from device to device: one row of a table each.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_PROFILE_H_
#define TENSORTAP_SYSTEM_MINDSPORE_PROFILE_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "tensor/dtype.h"

namespace tensortap::mindspore {

inline constexpr std::string_view kDefaultProfile = "mindspore-2.10/cpu";

enum class StatisticForm : uint8_t {
  kFixed20,  // ten columns and ten statistics, NaN and Inf left out of them, "null" where nothing is left
  kFixed21,  // the same and MD5
  kChosen,   // the user's categories in the user's order, NaN and Inf let in, rows end with a comma
};

struct MindsporeVersion {
  std::string_view name;        // in the profile's name
  std::array<int, 3> since;     // the first release that this row stands for
  std::string_view ms_version;  // in config.json
  bool full_scope;              // in file names: the whole scoped name, "/" written "_"; otherwise its last part
  bool dtype_in_name;
  StatisticForm statistic;
  bool square_brackets;    // around shapes in statistic.csv
  bool full_name_in_rows;  // Op Name there is the scoped name, not that of the file
  bool hash_categories;    // "hash", "hash:md5", "hash:sha1"; repeated categories are written once
  bool constants_on_cpu;
  bool older_graph_text;  // of the .ir
};

struct MindsporeDevice {
  std::string_view name;    // in the profile's name
  std::string_view target;  // in config.json
  bool class_dtype_names;   // "Float32" in file names, not "float32"
  bool metadata;            // .dump_metadata/data_dump.json and config.json
  bool parameters;          // Parameter.* files after the step
  bool constants;           // constants/
  bool global_order;        // ms_global_execution_order_graph_0.csv
};

struct MindsporeProfile {
  const MindsporeVersion* version = nullptr;
  const MindsporeDevice* device = nullptr;

  [[nodiscard]] bool writes_constants() const { return device->constants || (device->parameters && version->constants_on_cpu); }
};

// "mindspore-2.10/cpu"; "" is the default profile, no device is cpu. A version that has no row of its own is the newest row before it.
// Errors: kInvalidArgument with the profiles that there are.
Result<MindsporeProfile> parse_mindspore_profile(std::string_view text);

// As a file name says it: "Float32" or "float32". "" for what is no dtype.
std::string_view dtype_name(const MindsporeProfile& profile, DType dtype);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_PROFILE_H_
