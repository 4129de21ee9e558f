// The captures that run on this machine: what `ps` lists and `set` talks to.

#ifndef TENSORTAP_CLI_LIVE_RUNNING_SESSIONS_H_
#define TENSORTAP_CLI_LIVE_RUNNING_SESSIONS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/process.h"
#include "base/status.h"

namespace tensortap::cli {

// The contents of a session's session.json (base/running_captures.h). Another user may have written the file: every text may be anything.
struct RunningSession {
  std::string folder;  // that holds the file, and that receives requests
  ProcessIdentity process;
  uid_t owner = 0;
  std::string exec;  // name of the `tensortap exec` it runs under, "" = none
  std::string program;
  std::string role;  // what the program calls the process: a name, a title or both (base/process_role.h); "" = nothing
  std::string source;
  std::string model;
  std::string dump;
  std::string started;
  bool on = true;
  uint64_t steps_seen = 0;
  uint64_t steps_captured = 0;
  uint64_t records = 0;
};
Json session_json(const RunningSession& session);

// A `tensortap exec` whose program runs.
struct RunningExec {
  ProcessIdentity process;
  std::string name;  // as its processes call it
  std::string program;
  std::string dump;
  std::string started;
};

struct RunningCaptures {
  std::vector<RunningSession> sessions;  // by process
  std::vector<RunningExec> execs;
};
// The captures that the user's folder lists. Removes what killed processes left there and in their dumps, but keeps session.json if nothing
// else in a dump describes its process.
RunningCaptures running_captures();

// Sessions in a dump, or in a folder of dumps. Includes those of other users. Skips what ended processes left behind.
std::vector<RunningSession> sessions_in(const std::string& folder);

// The file that announces a `tensortap exec` as long as this object exists. Move-only.
class ExecNotice {
 public:
  // Without the user's folder there is no file, which is not a failure.
  static ExecNotice leave(const RunningExec& exec);
  ExecNotice(ExecNotice&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ExecNotice& operator=(ExecNotice&&) = delete;
  ~ExecNotice();
  // Replaces the content of the file.
  void tell(const RunningExec& exec) const;

 private:
  explicit ExecNotice(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LIVE_RUNNING_SESSIONS_H_
