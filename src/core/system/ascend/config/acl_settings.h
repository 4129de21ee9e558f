// A dump config as AscendCL understands it: every key of "dump", in the order in which it is checked, and the effects of keys on each
// other. dialect.h translates it for tensortap.

#ifndef TENSORTAP_SYSTEM_ASCEND_CONFIG_ACL_SETTINGS_H_
#define TENSORTAP_SYSTEM_ASCEND_CONFIG_ACL_SETTINGS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plan/capture_spec.h"
#include "plan/config_key.h"
#include "system/ascend/config/dump_list.h"

namespace tensortap::ascend {

// The members of "dump", in the order in which their types and words are checked.
std::span<const ConfigKey> keys();

enum class Mode : uint8_t { kInput, kOutput, kAll };
enum class DumpLevel : uint8_t { kDefault, kOp, kKernel, kAll };
enum class Scene : uint8_t { kNone, kLiteException, kBrief, kNorm, kDetail, kWatcher };

// The effective settings. Value type.
struct Settings {
  std::string path;  // "dump_path" as written in the config, "" = none
  std::string out;   // the folder that it means; for an exception dump, the folder from the environment
  Mode mode = Mode::kOutput;
  DumpLevel level = DumpLevel::kDefault;
  bool single_ops = false;  // "dump_op_switch": "on"
  bool statistics = false;
  std::vector<std::string_view> columns;  // of the statistics, in AscendCL's order
  bool overflow = false;
  Scene scene = Scene::kNone;
  StepSet steps = StepSet::all();
  std::vector<DumpItem> items;
  std::vector<std::string> notes;

  [[nodiscard]] bool is_exception() const { return scene != Scene::kNone && scene != Scene::kWatcher; }
  // Whether anything asks for a dump.
  [[nodiscard]] bool asks() const { return !items.empty() || single_ops || overflow || scene != Scene::kNone; }
};

// Reads a config. Errors: "name:line:column: key: what; how to fix it (EP0003, AscendCL error 100009)" for the first fault in AscendCL's
// order. Its number is the foreign code: that of aclmdlSetDump, or with `at_start` that of aclInit. Reads the file system for `dump_path`
// and the environment for an exception dump.
Result<Settings> read_settings(std::string_view text, std::string_view name, bool at_start);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_CONFIG_ACL_SETTINGS_H_
