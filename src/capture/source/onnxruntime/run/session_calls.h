// Opening, binding and asking a capture session through capture.h, with Status instead of codes.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUN_SESSION_CALLS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUN_SESSION_CALLS_H_

#include <memory>
#include <string>

#include "base/json_fwd.h"
#include "base/status.h"
#include "source/onnxruntime/run/run_request.h"
#include "source/onnxruntime/taps/captured_model.h"
#include "tensortap/capture.h"

namespace tensortap::onnxruntime {

// A capture session, closed on destruction.
struct SessionCloser {
  void operator()(tensortap_session* session) const { tensortap_session_close(session); }
};
using OwnedSession = std::unique_ptr<tensortap_session, SessionCloser>;

// The most that the runs of --overhead may write.
inline constexpr uint64_t kMaxMeasuredBytes = uint64_t{2} << 30;

// Which model of the process the session is for, where there are several (tensortap_session_options).
struct CaptureIdentity {
  std::string model;  // "" = the name of its file, without the suffix
  uint32_t model_id = 0;
  int32_t device = 0;
  std::string timestamp;  // "" = now
  int32_t rank = 0;
  int32_t world_size = 0;
};

// Opens a session for the model, which configs may name by its file (without the suffix) and by its graph.
Result<OwnedSession> open_capture_session(const RunRequest& request, const std::string& config, const PreparedModel& model,
                                          const CaptureIdentity& identity = {});
Status bind_capture_session(tensortap_session* session);

// The session's report; an empty object when there is none.
Json session_report(tensortap_session* session);
// Closes the session. `report` becomes its last report, which knows how each file ended.
Status end_session(OwnedSession session, Json& report);
std::string dump_path(tensortap_session* session);
uint64_t written_bytes(tensortap_session* session);

// Tells the session which values no tap can see, and why.
void report_untapped(tensortap_session* session, const PreparedModel& model, const TappedSession& tapped, const OpIds& ids);

// `config` with another output folder. Errors: kUnsupported for configs of other systems, whose tree the source knows nothing of.
Result<std::string> config_with_out(const std::string& config, const std::string& folder);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUN_SESSION_CALLS_H_
