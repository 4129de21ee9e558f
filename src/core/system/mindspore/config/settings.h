// A MindSpore dump config as MindSpore understands it: every key, in the order in which they are checked, and the effects of keys on each
// other. dialect.h translates it for tensortap.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_CONFIG_SETTINGS_H_
#define TENSORTAP_SYSTEM_MINDSPORE_CONFIG_SETTINGS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plan/config_key.h"
#include "system/mindspore/config/kernels.h"
#include "system/mindspore/release.h"

namespace tensortap::mindspore {

// In the order in which they are checked.
std::span<const ConfigKey> keys();

// Which component dumps the graph of an Ascend without e2e_dump_settings, as far as the environment shows.
enum class GraphDump : uint8_t { kOfRelease, kByGraphEngine, kByAcl };

// The effective settings: after defaults, forced values and the order of things. Value type.
struct Settings {
  bool asynchronous = false;  // Ascend without e2e_dump_settings: the graph engine dumps
  GraphDump graph_dump = GraphDump::kOfRelease;
  bool e2e = false;
  bool synchronous = false;  // "enable": true
  uint64_t dump_mode = 0;
  uint64_t op_debug_mode = 0;
  uint64_t overflow_number = 0;
  std::string path;
  std::string net_name;
  std::string iteration;
  uint64_t input_output = 0;      // 0 both, 1 inputs, 2 outputs
  Kernels kernels;                // read in dump_mode 1 only
  bool every_device = true;       // no device is left out
  std::vector<uint64_t> devices;  // otherwise those that dump, in ascending order
  std::string saved_data = "tensor";
  std::vector<std::string> categories;  // by the names of their columns
  uint64_t initial_iteration = 0;
  bool trans_flag = false;
  bool save_kernel_args = false;
  bool device_statistics = false;
  bool device_asked = false;  // "stat_calc_mode": "device", obeyed or not
  bool high_precision = true;
  uint64_t sample_mode = 0;
  uint64_t sample_num = 100;
  bool npy = false;                // "file_format": "npy", read for asynchronous dumps only
  std::vector<std::string> notes;  // values that were ignored, forced or repeated, each with its place
};

// Reads a config. `strict`: rejects what that version rejects on that device, and knows only that version's keys; otherwise the keys of the
// newest version are known, and everything that it allows on any device is allowed. Errors: kInvalidArgument "name:line:column: key: what;
// how to fix it" for the first fault in the order of keys(). Reads MS_DIAGNOSTIC_DATA_PATH when the config has no path; notes report the
// effect of ENABLE_MS_GE_DUMP and MS_ACL_DUMP_CFG_PATH.
Result<Settings> read_settings(std::string_view text, std::string_view name, const Profile& profile, bool strict);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_CONFIG_SETTINGS_H_
