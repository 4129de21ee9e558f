#include "query/step_requests.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json_members.h"
#include "base/text.h"
#include "trace/model_phase.h"
#include "trace/step_documents.h"

namespace tensortap {
namespace {

std::optional<StepRequests> step_of(std::string_view line) {
  const Result<Json> json = parse_json(line, kRequestsDocument);
  const Json* number = json.ok() ? member(*json, "step") : nullptr;
  const Json* list = json.ok() ? member(*json, "requests") : nullptr;
  if (number == nullptr || !number->is_number_integer() || list == nullptr || !list->is_array()) return std::nullopt;
  StepRequests step;
  step.step = number->get<int64_t>();
  step.phase = model_phase_of(text_in(*json, "model_phase"));
  step.rows = count_in(*json, "rows");
  for (const Json& one : *list) {
    step.requests.push_back({text_in(one, "id"), count_in(one, "first_row"), count_in(one, "rows"), count_in(one, "position"),
                             count_in(one, "prompt"), count_in(one, "drafts")});
  }
  return step;
}

std::string names_of(const StepRequests& step) {
  constexpr size_t kMostNamed = 8;
  std::vector<std::string> names;
  for (const RequestRows& one : step.requests) {
    if (names.size() < kMostNamed) names.push_back(one.id);
  }
  return concat(join(names, ", "), step.requests.size() > kMostNamed ? " and others" : "");
}

}  // namespace

Json requests_json(const StepRequests& step) {
  Json requests = Json::array();
  for (const RequestRows& one : step.requests) {
    Json json = {{"id", one.id}, {"first_row", one.first_row}, {"rows", one.rows}, {"position", one.position}, {"prompt", one.prompt}};
    if (one.drafts > 0) json["drafts"] = one.drafts;
    requests.push_back(std::move(json));
  }
  return {{"step", step.step}, {"model_phase", model_phase_name(step.phase)}, {"rows", step.rows}, {"requests", std::move(requests)}};
}

RequestsFile parse_requests(std::string_view text) {
  RequestsFile file;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    if (auto step = step_of(line)) {
      file.steps.push_back(*std::move(step));
    } else {
      ++file.unreadable;
    }
  }
  return file;
}

Result<RequestsFile> read_requests(const DumpIndex& dump) {
  const Result<std::string> text = dump.document(kRequestsDocument);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return RequestsFile();
  if (!text.ok()) return text.status();
  return parse_requests(*text);
}

Result<RowRange> rows_of_request(const StepRequests& step, std::string_view request, std::span<const int64_t> dims) {
  const auto found = std::ranges::find(step.requests, request, &RequestRows::id);
  if (found == step.requests.end()) {
    return not_found(concat("request ", quote(request), " has no part in step ", step.step, "; it is of ", names_of(step)));
  }
  const uint64_t rows = dims.empty() || dims[0] < 0 ? 0 : static_cast<uint64_t>(dims[0]);
  if (!dims.empty() && rows == step.rows && found->first_row <= rows && found->rows <= rows - found->first_row) {
    return RowRange{found->first_row, found->rows};
  }
  const bool guesses = std::ranges::any_of(step.requests, [](const RequestRows& one) { return one.drafts > 0; });
  if (!dims.empty() && rows == step.requests.size() && !guesses) {
    return RowRange{static_cast<uint64_t>(found - step.requests.begin()), 1};
  }
  return invalid_argument(concat("the tensor has ", dims.empty() ? "no dimension" : concat(rows, " rows"), ": neither the ", step.rows,
                                 " of the batch of step ", step.step, " nor one for each of its ", step.requests.size(), " requests"));
}

}  // namespace tensortap
