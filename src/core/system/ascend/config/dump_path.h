// Where a dump goes: the key `dump_path` and the environment.

#ifndef TENSORTAP_SYSTEM_ASCEND_CONFIG_DUMP_PATH_H_
#define TENSORTAP_SYSTEM_ASCEND_CONFIG_DUMP_PATH_H_

#include <optional>
#include <string>
#include <string_view>

namespace tensortap::ascend {

struct DumpPath {
  std::string folder;
  std::string problem;  // the fault and how to fix it, "" = none
  std::string note;     // for the user, even without a fault
};

// Checks a `dump_path` that a dump needs: an existing folder that may be read and written, or ADDRESS:PATH, whose path is taken below the
// current folder.
DumpPath check_dump_path(const std::string& path);

// The exception dump that the environment requests, whatever the config says.
struct EnvironmentDump {
  std::string scene;  // "aic_err_norm_dump", ...
  std::string folder;
  std::string origin;  // the variable
  std::string note;
};
std::optional<EnvironmentDump> environment_dump();

// The folder of an exception dump that the config requests: the first that exists of ASCEND_DUMP_PATH, ASCEND_WORK_PATH, `dump_path` and
// the current folder.
std::string exception_folder(const std::string& dump_path);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_CONFIG_DUMP_PATH_H_
