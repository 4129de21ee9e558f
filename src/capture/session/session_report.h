// SessionReport: the text of run.json: the request, the captured ops, and the missing ones with the reasons. Keys: docs/layouts/tap.md.

#ifndef TENSORTAP_SESSION_SESSION_REPORT_H_
#define TENSORTAP_SESSION_SESSION_REPORT_H_

#include <cstdint>
#include <string>

#include "base/json_fwd.h"
#include "base/process.h"
#include "session/admission.h"
#include "session/buffer_pool.h"
#include "session/content_cache.h"
#include "session/failed_ops.h"
#include "session/last_ops.h"
#include "session/op_registry.h"
#include "session/overflow_watch.h"
#include "session/plan_changes.h"
#include "session/record_sink.h"
#include "session/runtime_facts.h"
#include "session/session_problems.h"
#include "session/step_modules.h"
#include "session/tensor_look.h"
#include "session/watch_looks.h"

namespace tensortap {

// Reads the parts of a session and owns nothing. Thread-safe as far as they are.
class SessionReport {
 public:
  // Who asked for the capture, and when it began.
  struct Origin {
    std::string program;
    std::string source;
    std::string folder;
    int32_t rank = 0;
    int32_t world_size = 1;
    int64_t opened_ns = 0;       // of the monotonic clock
    std::string started;         // wall_clock_iso()
    std::string why_disabled{};  // of a session that is off from the start
    RuntimeFacts facts{};
    std::string command = command_line_of(0);  // that started the process
    // process_json() of it.
    [[nodiscard]] Json process() const;
  };
  struct Parts {
    const Origin& origin;
    const OpRegistry& ops;
    const Admission& admission;
    const RecordSink& sink;
    const TensorLook& look;
    const LastOps& last_ops;
    const ContentCache& contents;
    const PoolAccount& pool;
    const FailedOps& failed;
    const SessionProblems& problems;
    const PlanChanges& changes;
    const OverflowWatch* overflow;  // null without the trigger
    const WatchLooks* watch;
    const StepModules& step_modules;
  };
  explicit SessionReport(const Parts& parts) : parts_(parts) {}

  // `ended`: nothing comes any more; OpRegistry::decide_rest() has run.
  [[nodiscard]] Json to_json(bool ended) const;

 private:
  void add_coverage(Json& json) const;
  void add_steps(Json& json, bool ended) const;
  void add_channels(Json& json) const;
  void add_layers(Json& json) const;
  void add_triggers(Json& json) const;

  const Parts parts_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_SESSION_REPORT_H_
