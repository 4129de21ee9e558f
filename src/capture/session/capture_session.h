// CaptureSession: the session behind tensortap_session. Connects its parts: takes events, decides, measures, copies, queues, writes and
// reports.

#ifndef TENSORTAP_SESSION_CAPTURE_SESSION_H_
#define TENSORTAP_SESSION_CAPTURE_SESSION_H_

#include <tensortap/capture.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "layout/layout.h"
#include "session/active_plan.h"
#include "session/admission.h"
#include "session/buffer_pool.h"
#include "session/content_cache.h"
#include "session/failed_ops.h"
#include "session/last_ops.h"
#include "session/op_registry.h"
#include "session/output_folder.h"
#include "session/overflow_watch.h"
#include "session/plan_changes.h"
#include "session/record_sink.h"
#include "session/requested_plan.h"
#include "session/session_counts.h"
#include "session/session_options.h"
#include "session/session_problems.h"
#include "session/session_report.h"
#include "session/step_modules.h"
#include "session/tensor_look.h"
#include "session/watch_looks.h"

namespace tensortap {

// Thread-safe, except for open, close and discard. Its functions may throw what the standard library throws (no memory): callers in
// src/capture/api go through guarded(), which switches the session off then.
class CaptureSession {
 public:
  // Compiles the plan, then creates the folder. Errors as tensortap_session_open() has them; nothing is left on the disk after one.
  static Result<std::unique_ptr<CaptureSession>> open(SessionOptions options);
  // A session that does nothing and makes no folder; its report says why.
  static std::unique_ptr<CaptureSession> disabled(std::string why);
  ~CaptureSession();
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;

  // Once each, and nothing after it. In a forked child both leave everything as it is.
  // `last_report`, not null, gets run.json's text; of one that could not be written with "complete" false.
  Status close(std::string* last_report = nullptr);
  // Ends the session and removes what it wrote.
  void discard();

  [[nodiscard]] bool is_on() const { return problems_.is_on(); }
  // Switches the session off and on, and knows what went wrong.
  [[nodiscard]] SessionProblems& state() { return problems_; }
  Status flush();
  // run.json's text so far. Flushes.
  std::string report();
  // Writes the last ops that are kept in memory. False when there are none kept.
  bool write_last_ops();
  [[nodiscard]] SessionCounts counts() const;
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }

  // The options that opened the session.
  [[nodiscard]] const SessionOptions& options() const { return options_; }

  // Captures what `spec` asks for in steps that begin from now on; one that runs goes on under the plan it began under. While a step of the
  // plan before the present one runs, the new plan waits, and of several only the latest is applied. Steps must be begun and ended. A
  // source that remembers what wants_op() said asks again. Errors: kInvalidArgument when what is fixed at open differs (plan_change.h) or
  // the spec is wrong; kUnsupported under the triggers overflow and watch, and with a layout that takes no changes. Nothing changes after
  // an error.
  Status replace_plan(CaptureSpec spec, std::vector<PlanChange> changes);
  // Selectors of the newest plan that match no op that is known so far, in the user's words.
  [[nodiscard]] std::vector<std::string> unmatched() const { return ops_.unmatched(); }
  // Whether the next step already runs under a plan that is given now.
  [[nodiscard]] bool takes_plan_at_once() const { return admission_.steps().is_free(); }
  // The spec of the plan that was given last.
  [[nodiscard]] CaptureSpec asked() const { return changes_.asked(); }

  // Whether the object of the question is selected; false unless the session was opened with `asks`.
  bool would_keep(const Question& question);
  // Errors: as KeepsDocuments::add_document(); all but kUnsupported are the session's, too.
  Status add_document(std::string_view path, std::string_view content, bool append);

  [[nodiscard]] RuntimeFacts& facts() { return origin_.facts; }
  // The number of a step as users see it.
  [[nodiscard]] int64_t number_of(int64_t step) const { return admission_.number_of(step); }
  // Keeps the arguments of a call that are no tensors, a JSON object, if keeps_arguments(). Errors: kInvalidArgument for other text; those
  // of add_document(), and then "runtime" says from which step on arguments are missing.
  Status add_arguments(OpId op, int64_t step, uint32_t call, std::string_view json);

  OpId register_op(OpInfo info);
  Status bind();
  void request_op(OpId op, bool enabled) { ops_.request(op, enabled, !options_.before_moment); }
  void not_captured(OpId op, std::string_view reason);
  bool wants_op(OpId op);
  // What tensortap_wants_reads() returns.
  [[nodiscard]] uint32_t wanted_reads() const;

  // What tensortap_step_begin_kind() says.
  bool step_begin(int64_t step, uint64_t run, uint64_t kind = 0);
  void step_end(int64_t step, uint64_t run);
  bool wants(OpId op, int64_t step);
  void on_op(const tensortap_op_event& event);
  void op_failed(const tensortap_op_event& event, std::string_view error);
  [[nodiscard]] FailedOps& failed_ops() { return program_.failed; }
  [[nodiscard]] StepModules& step_modules() { return program_.steps; }
  [[nodiscard]] const StepModules& step_modules() const { return program_.steps; }

 private:
  struct Opened;
  // The events that the layout follows.
  struct Follows {
    Follows(const LayoutParts& parts, bool before_moment);
    const bool steps;
    const bool executions;
    const bool first_rounds;
    const bool first_executions;  // of ops that become known as they run: LayoutParts::numbers_ops
  };
  explicit CaptureSession(Opened opened);
  [[nodiscard]] Json manifest(bool ended) const;
  // Whether the layout receives everything in this step.
  [[nodiscard]] bool describes(int64_t step) const { return follows_.first_rounds && step == 0; }
  // Takes an event. Returns the number of the execution, or nothing if it is not needed.
  std::optional<uint32_t> take(const tensortap_op_event& event);

  // Members that every event uses come first.
  SessionProblems problems_;
  std::unique_ptr<LayoutWriter> layout_;
  const Follows follows_;
  const SessionOptions options_;
  SessionReport::Origin origin_;
  const std::unique_ptr<RequestedPlan> asked_;  // null unless the engine asks
  OutputFolder folder_;
  PoolAccount pool_;
  std::unique_ptr<ContentCache> contents_;
  OpRegistry ops_;
  Admission admission_;
  RecordSink sink_;
  LastOps last_ops_;
  DeviceReads devices_{ops_};
  TensorLook look_;
  std::optional<OverflowWatch> overflow_;
  std::optional<WatchLooks> watch_;
  struct Program {
    FailedOps failed;
    StepModules steps;
  } program_{{}, {options_.spec.step_at, options_.modules}};
  PlanChanges changes_;
  bool bind_failed_ = false;
};

// Runs `call` for the C interface. An exception switches the session off, and `otherwise` is returned.
template <class T, class Call>
T guarded(CaptureSession* session, T otherwise, Call&& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    if (session != nullptr) session->state().fail("no memory");
  } catch (const std::exception& error) {
    if (session != nullptr) session->state().fail(error.what());
  } catch (...) {
    if (session != nullptr) session->state().fail("unknown exception");
  }
  return otherwise;
}

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_CAPTURE_SESSION_H_
