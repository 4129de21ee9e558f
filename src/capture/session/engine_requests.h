// The requests that a serving engine calls its model for: lines of requests.jsonl (docs/layouts/tap.md).

#ifndef TENSORTAP_SESSION_ENGINE_REQUESTS_H_
#define TENSORTAP_SESSION_ENGINE_REQUESTS_H_

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace tensortap {

class CaptureSession;

// Keeps the requests of a step, a JSON object; `phase` is a number of enum tensortap_model_phase. Errors: kInvalidArgument for other text
// or numbers; those of CaptureSession::add_document(), and then "runtime" says from which step on requests are missing, except for
// kUnsupported.
Status add_requests(CaptureSession& session, int64_t step, uint32_t phase, std::string_view json);

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_ENGINE_REQUESTS_H_
