// The capture of this process: the session that observes the operators of the program.

#ifndef TENSORTAP_SOURCE_PYTORCH_SESSION_TORCH_CAPTURE_H_
#define TENSORTAP_SOURCE_PYTORCH_SESSION_TORCH_CAPTURE_H_

#include <tensortap/capture.h>

#include <atomic>
#include <string>

#include "base/status.h"
#include "source/pytorch/identity/backward_links.h"
#include "source/pytorch/identity/traced_nodes.h"
#include "source/pytorch/session/torch_session.h"

namespace tensortap::pytorch {

// The one session of a process that observes the operators which the program runs. Made by open_capture(), never destroyed.
class TorchCapture : public TorchSession {
 public:
  TorchCapture(tensortap_session* opened, TorchRuntime& runtime);

  const bool shows_reads;        // tensortap_wants_reads()
  const bool shows_reads_after;  // tensortap_wants_reads_after()
  const bool wants_moves;        // operators that only rearrange values count in every execution
  const bool wants_arguments;    // tensortap_wants_arguments()
  // A collective failed, and no operator began since.
  std::atomic<bool> work_has_failed{false};
  BackwardLinks links;
  TracedNodes traced;
  std::atomic<bool> observing{false};
  std::atomic<bool> step_wanted{true};
  std::atomic<bool> enabled{true};
  std::atomic<bool> told_of_early_calls{false};  // that are of no round
  // Whether the dump keeps the requests of an engine. Where rounds are steps, a number of a step comes several times.
  std::atomic<bool> takes_requests{!identities.calls_apart()};

  // Turns torch's callbacks on or off, as the step, enable(), tracing and the bootstrap of the interpreter require.
  void observe();
};

// The capture that runs now, null when there is none. It stays usable until leave_capture(), whatever happens meanwhile.
TorchCapture* enter_capture();
void leave_capture();

// The capture for the duration of one call from outside.
class EnteredCapture {
 public:
  EnteredCapture() : capture_(enter_capture()) {}
  ~EnteredCapture() {
    if (capture_ != nullptr) leave_capture();
  }
  EnteredCapture(const EnteredCapture&) = delete;
  EnteredCapture& operator=(const EnteredCapture&) = delete;
  TorchCapture* operator->() const { return capture_; }
  [[nodiscard]] TorchCapture* get() const { return capture_; }
  explicit operator bool() const { return capture_ != nullptr; }

 private:
  TorchCapture* capture_;
};

// Opens a session with the config text and makes it the process's capture. Errors: kInvalidArgument when there is one, those of
// tensortap_session_open(). The adapter must be loaded.
Status open_capture(const char* config, const char* config_name, const std::string& program);
// Ends the capture: no thread is inside afterwards, and the dump is complete. Returns the session's status; kOk without a capture. `report`
// may be null.
Status close_capture(std::string* report);
// Ends the capture and removes what it wrote.
void discard_capture();
[[nodiscard]] bool capture_is_open();
// A fact about the whole process or its job, for run.json: in the current capture and in later ones.
void add_fact(const char* name, const char* json);
// Whether the operator tensortap::name_group exists from now on.
bool names_groups();
// Forgets the capture in a child of fork(). The first operator in the child makes the parent's session count it.
void drop_capture_after_fork();
// In a child that is left out on purpose: its parent does not count it.
void leave_fork_alone();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_SESSION_TORCH_CAPTURE_H_
