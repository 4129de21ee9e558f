#include "cli/text/requests_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "cli/text/table.h"

namespace tensortap::cli {
namespace {

// "3-5", "3", "-" where it has none.
std::string rows_text(const RequestRows& request) {
  if (request.rows == 0) return "-";
  const uint64_t last = request.first_row + request.rows - 1;
  return request.rows == 1 ? fmt::format("{}", request.first_row) : fmt::format("{}-{}", request.first_row, last);
}

void print_json(Terminal& terminal, const std::vector<RequestsOfPart>& parts) {
  for (const RequestsOfPart& part : parts) {
    for (const StepRequests& step : part.steps) {
      Json json = requests_json(step);
      if (!part.part.empty()) json["part"] = part.part;
      terminal.json_line(json);
    }
  }
}

}  // namespace

void print_requests(Terminal& terminal, const std::vector<RequestsOfPart>& parts) {
  if (terminal.json) return print_json(terminal, parts);
  const bool are_several = std::ranges::any_of(parts, [](const RequestsOfPart& one) { return !one.part.empty(); });
  std::vector<Column> columns = {{.title = "step", .right = true},         {.title = "model_phase"},
                                 {.title = "request", .may_shrink = true}, {.title = "rows", .right = true},
                                 {.title = "of", .right = true},           {.title = "position", .right = true},
                                 {.title = "prompt", .right = true}};
  if (are_several) columns.insert(columns.begin(), {.title = "part", .may_shrink = true});
  TablePrinter table(terminal, std::move(columns), InPipe::kTabs);
  for (const RequestsOfPart& part : parts) {
    for (const StepRequests& step : part.steps) {
      for (const RequestRows& one : step.requests) {
        std::vector<std::string> cells = {fmt::format("{}", step.step),
                                          std::string(model_phase_name(step.phase)),
                                          printable(one.id),
                                          rows_text(one),
                                          fmt::format("{}", step.rows),
                                          fmt::format("{}", one.position),
                                          fmt::format("{}", one.prompt)};
        if (are_several) cells.insert(cells.begin(), printable(part.part));
        table.add(std::move(cells));
      }
    }
  }
  table.finish();
}

}  // namespace tensortap::cli
