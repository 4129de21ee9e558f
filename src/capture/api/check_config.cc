// tensortap_check_config(): what a dump config asks for, without a session.

#include <tensortap/capture.h>

#include <cstring>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "plan/capture_plan.h"
#include "plan/spec_keys.h"
#include "registry/registry.h"
#include "session/capture_session.h"

namespace tensortap {
namespace {

std::string_view view_of(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

Result<CaptureSpec> read_and_compile(std::string_view text, const std::string& name, std::string_view dialect, bool at_start) {
  DialectOptions options;
  options.at_start = at_start;
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, read_config(text, name, dialect, options));
  // Which source it is for is not known: what one of them can report is not refused.
  PlanEnvironment environment;
  environment.kernels = environment.modules = true;
  if (Result<std::unique_ptr<CapturePlan>> plan = CapturePlan::compile(spec, environment); !plan.ok())
    return plan.status().with_context(name);
  return spec;
}

std::string_view kind_of(const CaptureSpec& spec) {
  switch (spec.trigger) {
    case Trigger::kOverflow:
      return "overflow";
    case Trigger::kException:
      return "exception";
    case Trigger::kWatch:
      return "watch";
    case Trigger::kAlways:
    case Trigger::kOnRequest:
      break;
  }
  if (spec.steps.is_never()) return "none";
  return spec.model_ops ? "model" : "single-op";
}

Json report_of(const CaptureSpec& spec) {
  const std::string_view kind = kind_of(spec);
  return {{"error", nullptr},
          {"code", 0},
          {"init_code", 0},
          {"dialect", spec.dialect},
          {"captures", kind != "none"},
          {"kind", kind},
          {"spec", spec_to_json(spec)},
          {"models", spec.model_ops},
          {"operators", spec.single_ops},
          {"scene", kind == "exception" ? exception_detail_name(spec.exception_detail) : ""},
          {"layout", spec.layout},
          {"out", spec.out}};
}

Status check_config(std::string_view text, const std::string& name, std::string_view dialect, Json& report) {
  const Result<CaptureSpec> spec = read_and_compile(text, name, dialect, false);
  if (spec.ok()) {
    report = report_of(*spec);
    return {};
  }
  const Dialect* recognised = dialect.empty() ? recognise_dialect(text) : nullptr;
  const Result<CaptureSpec> at_start = read_and_compile(text, name, dialect, true);
  report = {{"error", spec.status().message()},
            {"code", spec.status().foreign_code()},
            {"init_code", at_start.status().foreign_code()},
            {"dialect", recognised == nullptr ? dialect : recognised->name},
            {"captures", false},
            {"kind", "none"},
            {"models", false},
            {"operators", false},
            {"scene", ""},
            {"layout", ""},
            {"out", ""}};
  return spec.status();
}

}  // namespace
}  // namespace tensortap

int tensortap_check_config(const char* text, const char* name, const char* dialect, char** report) noexcept {
  if (report != nullptr) *report = nullptr;
  const int code = tensortap::guarded<int>(nullptr, TENSORTAP_INTERNAL, [&]() -> int {
    tensortap::Json json;
    const std::string called = name == nullptr || *name == '\0' ? "config" : name;
    const tensortap::Status status = tensortap::check_config(tensortap::view_of(text), called, tensortap::view_of(dialect), json);
    if (report != nullptr) *report = strdup(tensortap::to_json_text(json).c_str());
    return static_cast<int>(status.code());
  });
  if (report != nullptr && *report == nullptr) {
    *report = strdup(R"({"error": "no memory to check the config", "code": 0, "init_code": 0, "dialect": "", "captures": false, )"
                     R"("kind": "none", "models": false, "operators": false, "scene": "", "layout": "", "out": ""})");
  }
  return code;
}
