// The folder into which the processes of one `tensortap exec` write.

#ifndef TENSORTAP_CLI_LAUNCH_EXEC_PLACE_H_
#define TENSORTAP_CLI_LAUNCH_EXEC_PLACE_H_

#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "plan/capture_spec.h"

namespace tensortap::cli {

// Held from before the program starts until this object ends, so that no other `tensortap exec` on this machine takes the same folder: it
// stays empty until the program's first operator. Move-only.
class ExecPlace {
 public:
  // Makes the folder. Errors: kInvalidArgument when it is a dump's that has no room for another, and it is not empty or another `tensortap
  // exec` holds it; kIo.
  static Result<ExecPlace> take(const CaptureSpec& spec);
  ExecPlace(ExecPlace&& other) noexcept
      : path_(std::move(other.path_)),
        shared_(other.shared_),
        held_(std::exchange(other.held_, -1)),
        folder_(std::move(other.folder_)),
        made_(std::move(other.made_)) {}
  ExecPlace& operator=(ExecPlace&&) = delete;
  ~ExecPlace();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool shared() const { return shared_; }
  // Whether the path still leads to the folder that take() found or made.
  [[nodiscard]] bool still_there() const;
  // Whether the path still leads to that folder, or to a new one that processes of the program made after it was gone. False if a link took
  // its place: it may lead to any dump.
  [[nodiscard]] bool still_ours() const;
  // Removes what take() made if it was not used.
  void give_back() const;

 private:
  ExecPlace() = default;
  Status hold();

  std::string path_;
  bool shared_ = false;
  int held_ = -1;                  // the socket whose name represents the folder
  File folder_;                    // open, so that no other folder gets its number
  std::vector<std::string> made_;  // innermost first
};

}  // namespace tensortap::cli

#endif  // TENSORTAP_CLI_LAUNCH_EXEC_PLACE_H_
