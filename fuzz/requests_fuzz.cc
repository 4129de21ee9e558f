// Any text is a file of the requests of a serving engine. What is read can be written and read again, and no request has rows that its
// tensor lacks.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json.h"
#include "query/step_requests.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tensortap;
  const RequestsFile file = parse_requests({reinterpret_cast<const char*>(data), size});
  for (const StepRequests& step : file.steps) {
    const RequestsFile again = parse_requests(to_json_text(requests_json(step)));
    if (again.steps.size() != 1 || again.steps[0].requests.size() != step.requests.size()) std::abort();
    for (const RequestRows& request : step.requests) {
      for (const int64_t rows : {int64_t{0}, int64_t{1}, int64_t{8}, static_cast<int64_t>(step.rows)}) {
        const auto range = rows_of_request(step, request.id, std::array<int64_t, 2>{rows, 4});
        const auto present = static_cast<uint64_t>(rows);
        if (range.ok() && (range->first > present || range->count > present - range->first)) std::abort();
      }
    }
  }
  return 0;
}
