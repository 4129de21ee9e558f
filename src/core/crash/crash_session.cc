#include "crash/crash_session.h"

#include <limits>

#include "base/json.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr std::string_view kSessionName = "the session in a crash file";
constexpr std::string_view kNativeLayout = "tap";

std::string text_in(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int32_t number_in(const Json& json, const char* key, int32_t otherwise) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) return otherwise;
  const auto number = found->get<int64_t>();
  return number < 0 || number > std::numeric_limits<int32_t>::max() ? otherwise : static_cast<int32_t>(number);
}

}  // namespace

std::string crash_session_text(const DumpInfo& info, const CaptureSpec& spec) {
  return to_json_text(Json{{"layout", spec.layout},
                           {"program", info.program},
                           {"source", info.source},
                           {"rank", info.rank},
                           {"world_size", info.world_size},
                           {"model", info.model},
                           {"model_id", info.model_id},
                           {"device", info.device},
                           {"timestamp", info.timestamp},
                           {"spec", spec_to_json(spec)}});
}

Result<CrashSessionContent> parse_crash_session(std::string_view text) {
  const Result<Json> json = parse_json(text, kSessionName);
  if (!json.ok()) return corrupt(json.status().message());
  if (!json->is_object() || !json->contains("spec")) return corrupt(concat(kSessionName, ": no config"));
  Result<CaptureSpec> spec = spec_from_json(to_json_text((*json)["spec"]), kSessionName);
  if (!spec.ok()) return corrupt(spec.status().message());
  CrashSessionContent content;
  content.spec = *std::move(spec);
  content.info.program = text_in(*json, "program");
  content.info.source = text_in(*json, "source");
  content.info.rank = number_in(*json, "rank", 0);
  content.info.world_size = number_in(*json, "world_size", 1);
  content.info.model = text_in(*json, "model");
  content.info.model_id = static_cast<uint32_t>(number_in(*json, "model_id", 0));
  content.info.device = number_in(*json, "device", 0);
  content.info.timestamp = text_in(*json, "timestamp");
  return content;
}

std::string crash_session_layout(std::string_view text) {
  const Result<Json> json = parse_json(text, kSessionName);
  const std::string layout = json.ok() && json->is_object() ? text_in(*json, "layout") : std::string();
  return layout.empty() ? std::string(kNativeLayout) : layout;
}

}  // namespace tensortap
