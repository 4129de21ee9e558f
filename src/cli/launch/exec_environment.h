// What a captured program finds in its environment: the request and the preloaded library.

#ifndef TENSORTAP_CLI_LAUNCH_EXEC_ENVIRONMENT_H_
#define TENSORTAP_CLI_LAUNCH_EXEC_ENVIRONMENT_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json_fwd.h"
#include "base/left_report.h"
#include "base/status.h"
#include "cli/launch/child_process.h"
#include "cli/launch/installed_files.h"

namespace tensortap::cli {

// The folder of one `tensortap exec`: the request file, and the marks by which the processes decide who writes where. Removed on
// destruction. Move-only.
class ExecFolder {
 public:
  // Makes the folder below TMPDIR, or /tmp, and writes the request into it. kShared: also for processes of other users, who can read the
  // request and add marks, but cannot remove existing files.
  static Result<ExecFolder> create(const Json& request, Access access);
  ExecFolder(ExecFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ExecFolder& operator=(ExecFolder&&) = delete;
  ~ExecFolder();

  // As the processes of the program call it (exec_name()).
  [[nodiscard]] std::string name() const;
  // What processes left here that could not finish their dumps (base/left_report.h).
  [[nodiscard]] std::map<std::string, LeftReport> reports() const { return left_reports(path_); }
  // The folders of the dumps that processes reported, wherever they are.
  [[nodiscard]] std::set<std::string> dumps() const { return told_dumps(path_); }
  // The variables to set for the program. Errors: kIo.
  [[nodiscard]] Result<Variables> variables(const InstalledFiles& installed) const;

 private:
  explicit ExecFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// `library` in front of what LD_PRELOAD has, behind a sanitizer's runtime, which must stay first.
std::string with_preloaded(std::string_view preloaded, std::string_view library);

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_EXEC_ENVIRONMENT_H_
