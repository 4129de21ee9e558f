// What `tensortap set` asks of a running session: the content of its control file.

#ifndef TENSORTAP_API_CONTROL_REQUEST_H_
#define TENSORTAP_API_CONTROL_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plan/capture_spec.h"

namespace tensortap {

struct ControlRequest {
  uint64_t seq = 0;    // the answer has the same number
  std::string config;  // keys of the native config with other values, a JSON object; "" = none
  std::string steps;   // also relative to the step that applies it: "now", "now..", "now..+3", "now..40"
  std::optional<bool> on;
  bool then_back = false;  // after the last of `steps` the plan before the request returns
  bool flush = false;
  bool snapshot = false;                    // the last ops that are kept in memory
  std::vector<ControlRequest> before = {};  // requests that were not answered when this one was made, oldest first; they have none before
  [[nodiscard]] bool changes_plan() const { return !config.empty() || !steps.empty() || on.has_value(); }
  [[nodiscard]] std::string plan_text() const;  // that part of it, in JSON
};

// Only the number of the request, 0 where there is none: answers to refused requests need it, too.
uint64_t sequence_of(std::string_view text);

// Errors: kInvalidArgument "name: what" for what is no JSON, unknown keys (with the nearest) and wrong types.
Result<ControlRequest> parse_control(std::string_view text, const std::string& name);

// The spec after the request, if the step of this number applies it; `asked` is the spec of the last request. A request with `config` or
// `steps` also switches the capture on, unless `on` is false. Steps that have all passed become all steps. Errors: kInvalidArgument.
Result<CaptureSpec> changed_spec(const ControlRequest& request, const CaptureSpec& asked, int64_t step);

}  // namespace tensortap

#endif  // TENSORTAP_API_CONTROL_REQUEST_H_
