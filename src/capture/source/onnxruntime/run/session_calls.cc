#include "source/onnxruntime/run/session_calls.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "source/onnxruntime/run/session_facts.h"
#include "tensortap/asking.h"

namespace tensortap::onnxruntime {
namespace {

Status status_of(int code, const char* message) {
  if (code == TENSORTAP_OK) return {};
  return {static_cast<StatusCode>(code), *message != '\0' ? message : "the capture session failed"};
}

// The object of a report, whose text is freed; an empty one when there is none.
Json taken_report(char* text) {
  Json report = text != nullptr ? Json::parse(text, nullptr, false) : Json::object();
  tensortap_free(text);
  return report.is_object() ? report : Json::object();
}

// What changes numbers beside the model, as docs/layouts/tap.md has it.
std::string settings_text_of(int32_t level, int threads) {
  const std::string count = threads > 0 ? std::to_string(threads) : quote("chosen by the runtime");
  return concat("{\"graph_optimization\": ", quote(level_name(level)), ", \"threads\": ", count,
                ", \"providers\": [\"CPUExecutionProvider\"]}");
}

}  // namespace

Result<OwnedSession> open_capture_session(const RunRequest& request, const std::string& config, const PreparedModel& model,
                                          const CaptureIdentity& identity) {
  const std::string source = concat("onnxruntime ", model.library()->version());
  const std::string name = identity.model.empty() ? std::filesystem::path(request.model).stem().string() : identity.model;
  const std::string graph(model.executed().graph.name);
  tensortap_session_options options{};
  options.size = sizeof(options);
  options.version = TENSORTAP_CAPTURE_VERSION;
  options.config = config.c_str();
  options.config_name = request.config_name.empty() ? nullptr : request.config_name.c_str();
  options.source = source.c_str();
  options.program = request.program.empty() ? request.model.c_str() : request.program.c_str();
  options.flags = TENSORTAP_SESSION_AFTER_ONLY;
  options.model = name.c_str();
  options.model_id = identity.model_id;
  options.device = identity.device;
  options.threads = static_cast<uint32_t>(std::max(request.threads, 0));
  options.timestamp = identity.timestamp.empty() ? nullptr : identity.timestamp.c_str();
  options.graph = graph.c_str();
  options.rank = identity.rank;
  options.world_size = identity.world_size;
  tensortap_session* session = nullptr;
  std::array<char, 4096> message{};
  const int code = tensortap_session_open(&options, &session, message.data(), message.size());
  if (code != TENSORTAP_OK) return status_of(code, message.data());
  RuntimeFacts facts = runtime_facts(model.executed(), model.library()->path(), request.extras.custom_ops);
  // Other graphs are optimised already when they are loaded.
  if (model.options().as_written) facts.emplace_back("optimization", quote(level_name(model.options().level)));
  facts.emplace_back("settings", settings_text_of(model.options().level, request.threads));
  add_facts(session, facts);
  return OwnedSession(session);
}

Status bind_capture_session(tensortap_session* session) {
  std::array<char, 4096> message{};
  const int code = tensortap_bind(session, message.data(), message.size());
  return status_of(code, message.data());
}

Json session_report(tensortap_session* session) { return taken_report(tensortap_session_report(session)); }

Status end_session(OwnedSession session, Json& report) {
  char* text = nullptr;
  const auto code = static_cast<StatusCode>(tensortap_session_end(session.release(), &text));
  report = taken_report(text);
  // The losses count records that the layout cannot store.
  if (code == StatusCode::kOk || code == StatusCode::kUnsupported) return {};
  const std::string first_error = text_in(report, "first_error");
  return io_error(first_error.empty() ? "the dump could not be ended; it is not complete" : first_error);
}

std::string dump_path(tensortap_session* session) {
  const Json report = session_report(session);
  const auto dump = report.find("dump");
  return dump != report.end() && dump->is_string() ? dump->get<std::string>() : "";
}

uint64_t written_bytes(tensortap_session* session) {
  const Json report = session_report(session);
  const auto bytes = report.find("bytes");
  return bytes != report.end() && bytes->is_number_unsigned() ? bytes->get<uint64_t>() : 0;
}

void report_untapped(tensortap_session* session, const PreparedModel& model, const TappedSession& tapped, const OpIds& ids) {
  for (const UntappedValue& value : tapped.untapped()) {
    tensortap_not_captured(session, ids[model.ops().by_node[value.node]], value.reason.c_str());
  }
}

Result<std::string> config_with_out(const std::string& config, const std::string& folder) {
  Json json = Json::object();
  if (!config.empty()) {
    TENSORTAP_ASSIGN_OR_RETURN(json, parse_json(config, "config"));
  }
  if (!json.is_object() || json.contains("common_dump_settings") || json.contains("dump")) {
    return unsupported("only with tensortap's own config");
  }
  json["tensortap"] = 1;
  json["out"] = folder;
  return to_json_text(json);
}

}  // namespace tensortap::onnxruntime
