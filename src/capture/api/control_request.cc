#include "api/control_request.h"

#include <limits>
#include <vector>

#include "base/json.h"
#include "base/running_captures.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr std::string_view kNow = "now";
constexpr int64_t kLastStep = std::numeric_limits<int64_t>::max();
constexpr std::string_view kHowToSteps = "; write steps such as now..+3, now.., 120-140 or all";

Status wrong(const std::string& name, std::string_view what) { return invalid_argument(concat(name, ": ", what)); }

Status read_flag(const Json& value, const std::string& name, std::string_view key, bool& target) {
  if (!value.is_boolean()) return wrong(name, concat(key, " must be true or false"));
  target = value.get<bool>();
  return {};
}

Status read_member(const std::string& key, const Json& value, const std::string& name, ControlRequest& request) {
  if (key == "seq") {
    if (!value.is_number_unsigned()) return wrong(name, "seq must be a whole number");
    request.seq = value.get<uint64_t>();
  } else if (key == "config") {
    if (!value.is_object()) return wrong(name, "config must be an object such as {\"payload\": \"full\"}");
    if (!value.empty()) request.config = to_json_text(value);
  } else if (key == "steps") {
    if (!value.is_string()) return wrong(name, "steps must be a text such as \"now..+3\"");
    request.steps = value.get<std::string>();
  } else if (key == "on") {
    bool on = false;
    TENSORTAP_RETURN_IF_ERROR(read_flag(value, name, key, on));
    request.on = on;
  } else if (key == "then") {
    if (value != "back") return wrong(name, "then must be \"back\": the plan before returns after the last of the steps");
    request.then_back = true;
  } else if (key == "flush") {
    return read_flag(value, name, key, request.flush);
  } else if (key == "snapshot") {
    return read_flag(value, name, key, request.snapshot);
  } else if (key != "before") {
    const std::vector<std::string> known = {"seq", "config", "steps", "on", "then", "flush", "snapshot", "before"};
    return wrong(name, concat(quote(key), ": unknown key.", did_you_mean(key, known)));
  }
  return {};
}

Result<ControlRequest> read_request(const Json& json, const std::string& name) {
  if (!json.is_object()) return wrong(name, "must be an object such as {\"seq\": 1, \"on\": true}");
  ControlRequest request;
  for (const auto& [key, value] : json.items()) TENSORTAP_RETURN_IF_ERROR(read_member(key, value, name, request));
  if (request.then_back && request.steps.empty()) return wrong(name, "then: needs steps, such as \"now\"");
  if (!request.changes_plan() && !request.flush && !request.snapshot) return wrong(name, "asks for nothing");
  return request;
}

// "now", "now..", "now..+3", "now..40"; anything else as configs have it.
Result<StepSet> steps_from(std::string_view text, int64_t step) {
  if (!text.starts_with(kNow)) {
    auto steps = StepSet::parse(text);
    return steps.ok() ? steps : Result<StepSet>(steps.status().with_context("steps"));
  }
  StepSet steps;
  std::string_view rest = text.substr(kNow.size());
  int64_t last = step;
  if (rest == "..") {
    last = kLastStep;
  } else if (!rest.empty()) {
    const bool relative = rest.starts_with("..+");
    const bool is_range = relative || rest.starts_with("..");
    const std::string_view number = rest.substr(relative ? 3 : is_range ? 2 : 0);
    if (!is_range || !is_digits(number) || !parse_integer(number, last)) {
      return invalid_argument(concat("steps: ", quote(text), " names no steps", kHowToSteps));
    }
    if (relative) last = last < kLastStep - step ? last + step : kLastStep;
  }
  if (last < step) return invalid_argument(concat("steps: ", quote(text), " has ended: step ", step, " is the next"));
  steps.add(step, last);
  return steps;
}

// Members of groups ("limits") by themselves, others as a whole.
void lay_over(const Json& members, Json& config) {
  for (const auto& [key, value] : members.items()) {
    Json& target = config[key];
    if (target.is_object() && value.is_object() && key != "layout_options") {
      target.update(value);
    } else {
      target = value;
    }
  }
}

}  // namespace

std::string ControlRequest::plan_text() const {
  Json text = Json::object();
  if (!config.empty()) text["config"] = Json::parse(config, nullptr, false);
  if (!steps.empty()) text["steps"] = steps;
  if (on.has_value()) text["on"] = *on;
  if (then_back) text["then"] = "back";
  return to_json_text(text);
}

uint64_t sequence_of(std::string_view text) {
  const Result<Json> json = parse_json(text, "");
  if (!json.ok() || !json->is_object()) return 0;
  const auto found = json->find("seq");
  return found != json->end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

Result<ControlRequest> parse_control(std::string_view text, const std::string& name) {
  TENSORTAP_ASSIGN_OR_RETURN(const Json json, parse_json(text, name));
  TENSORTAP_ASSIGN_OR_RETURN(ControlRequest request, read_request(json, name));
  const auto before = json.find("before");
  if (before == json.end()) return request;
  if (!before->is_array() || before->size() > kMostBefore) {
    return wrong(name, concat("before must be a list of at most ", kMostBefore, " requests"));
  }
  for (const Json& earlier : *before) {
    TENSORTAP_ASSIGN_OR_RETURN(ControlRequest read, read_request(earlier, name));
    request.before.push_back(std::move(read));
  }
  return request;
}

Result<CaptureSpec> changed_spec(const ControlRequest& request, const CaptureSpec& asked, int64_t step) {
  CaptureSpec next = asked;
  if (!request.config.empty()) {
    // By itself first, so that messages are about what was written.
    TENSORTAP_RETURN_IF_ERROR(spec_from_json(request.config, "config").status());
    Json laid = spec_to_json(asked);
    lay_over(Json::parse(request.config, nullptr, false), laid);
    TENSORTAP_ASSIGN_OR_RETURN(next, spec_from_json(to_json_text(laid), "config"));
    next.notes = asked.notes;
  }
  if (!request.steps.empty()) {
    TENSORTAP_ASSIGN_OR_RETURN(next.steps, steps_from(request.steps, step));
  }
  if (!request.config.empty() || !request.steps.empty()) next.idle = false;
  if (request.on.has_value()) next.idle = !*request.on;
  // Steps that have all passed say nothing about what is asked for now.
  if (!next.idle && request.steps.empty() && next.steps.last() < step) next.steps = StepSet::all();
  return next;
}

}  // namespace tensortap
