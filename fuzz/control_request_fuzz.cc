// Any text is a request of `tensortap set` or an error. A request can be written as text again, and makes a plan or an error.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/control_request.h"
#include "plan/capture_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tensortap;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const uint64_t seq = sequence_of(text);
  const auto request = parse_control(text, "control.json");
  if (!request.ok()) {
    if (!request.status().message().starts_with("control.json:")) std::abort();
    return 0;
  }
  if (request->seq != seq) std::abort();
  if (request->changes_plan() && !parse_control(request->plan_text(), "again").ok()) std::abort();
  for (const int64_t step : {int64_t{0}, int64_t{57}, INT64_MAX - 1}) {
    const auto next = changed_spec(*request, CaptureSpec{}, step);
    if (next.ok()) static_cast<void>(CapturePlan::compile(*next));
  }
  return 0;
}
