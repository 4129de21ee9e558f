#include "session/engine_requests.h"

#include <tensortap/capture.h>

#include <string>

#include "base/json.h"
#include "base/text.h"
#include "session/capture_session.h"
#include "trace/step_documents.h"

namespace tensortap {

Status add_requests(CaptureSession& session, int64_t step, uint32_t phase, std::string_view json) {
  if (phase > TENSORTAP_MODEL_PHASE_WARM_UP) return invalid_argument(concat(phase, " is no phase of a model"));
  auto line = parse_json(json, "requests");
  if (!line.ok()) return line.status();
  if (!line->is_object()) return invalid_argument("the requests of a step are no JSON object");
  if (!session.is_on()) return {};
  const int64_t number = session.number_of(step);
  (*line)["step"] = number;
  (*line)["model_phase"] = model_phase_name(static_cast<ModelPhase>(phase));
  const Status status = session.add_document(kRequestsDocument, to_json_text(*line) + "\n", true);
  if (!status.ok() && status.code() != StatusCode::kUnsupported) session.facts().miss_requests(number);
  return status;
}

}  // namespace tensortap
