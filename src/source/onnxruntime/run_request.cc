#include "source/onnxruntime/run_request.h"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace tensortap::onnxruntime {
namespace {

constexpr int64_t kMaxRuns = 1'000'000'000;
constexpr int64_t kMaxThreads = 4096;

Status expected(std::string_view key, std::string_view what) {
  return invalid_argument(concat("run request: ", quote(key), " must be ", what));
}

Status read_text(const Json& value, std::string_view key, std::string& target) {
  if (!value.is_string()) return expected(key, "text");
  target = value.get<std::string>();
  return {};
}

Status read_flag(const Json& value, std::string_view key, bool& target) {
  if (!value.is_boolean()) return expected(key, "true or false");
  target = value.get<bool>();
  return {};
}

template <class T>
Status read_number(const Json& value, std::string_view key, int64_t limit, T& target) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > limit) {
    return expected(key, concat("a whole number from 0 to ", limit));
  }
  target = static_cast<T>(value.get<int64_t>());
  return {};
}

Status read_level(const Json& value, std::string_view key, int32_t& level) {
  struct Name {
    std::string_view name;
    int32_t level;
  };
  constexpr std::array<Name, 4> kNames = {
      {{"none", abi::kOptimizeNone}, {"basic", abi::kOptimizeBasic}, {"extended", abi::kOptimizeExtended}, {"all", abi::kOptimizeAll}}};
  for (const Name& name : kNames) {
    if (!value.is_string() || value.get<std::string>() != name.name) continue;
    level = name.level;
    return {};
  }
  return expected(key, "one of none, basic, extended, all");
}

Status read_taps(const Json& value, std::string_view key, TapStyle& style) {
  const std::string name = value.is_string() ? value.get<std::string>() : "";
  if (name != "side" && name != "alias") return expected(key, "side or alias");
  style = name == "alias" ? TapStyle::kAlias : TapStyle::kSide;
  return {};
}

Status read_dims(const Json& value, std::string_view key, std::map<std::string, int64_t>& dims) {
  if (!value.is_object()) return expected(key, "an object of sizes");
  for (const auto& [name, size] : value.items())
    TENSORTAP_RETURN_IF_ERROR(read_number(size, concat(key, ".", name), int64_t{1} << 40, dims[name]));
  return {};
}

Status read_carry(const Json& value, std::string_view key, std::map<std::string, std::string>& carry) {
  if (!value.is_object()) return expected(key, "an object of output and input names");
  for (const auto& [output, input] : value.items()) TENSORTAP_RETURN_IF_ERROR(read_text(input, concat(key, ".", output), carry[output]));
  return {};
}

struct Key {
  std::string name;
  std::function<Status(const Json&, std::string_view)> read;
};

std::vector<Key> keys_of(RunRequest& request) {
  const auto text = [](std::string& target) {
    return [&target](const Json& v, std::string_view key) { return read_text(v, key, target); };
  };
  const auto flag = [](bool& target) { return [&target](const Json& v, std::string_view key) { return read_flag(v, key, target); }; };
  const auto number = [](auto& target, int64_t limit) {
    return [&target, limit](const Json& v, std::string_view key) { return read_number(v, key, limit, target); };
  };
  return {
      {"model", text(request.model)},
      {"runtime", text(request.runtime)},
      {"config", text(request.config)},
      {"config_name", text(request.config_name)},
      {"program", text(request.program)},
      {"capture", flag(request.capture)},
      {"as_written", flag(request.as_written)},
      {"verify", flag(request.verify)},
      {"overhead", flag(request.overhead)},
      {"seed", number(request.seed, INT64_MAX)},
      {"runs", number(request.runs, kMaxRuns)},
      {"threads", number(request.threads, kMaxThreads)},
      {"optimize", [&](const Json& v, std::string_view key) { return read_level(v, key, request.level); }},
      {"taps", [&](const Json& v, std::string_view key) { return read_taps(v, key, request.taps); }},
      {"dims", [&](const Json& v, std::string_view key) { return read_dims(v, key, request.dims); }},
      {"carry", [&](const Json& v, std::string_view key) { return read_carry(v, key, request.carry); }},
  };
}

}  // namespace

Result<RunRequest> parse_request(const char* text) {
  TENSORTAP_ASSIGN_OR_RETURN(const Json json, parse_json(text != nullptr ? text : "", "run request"));
  if (!json.is_object()) return invalid_argument("run request: it must be a JSON object");
  RunRequest request;
  const std::vector<Key> keys = keys_of(request);
  for (const auto& [name, value] : json.items()) {
    const auto key = std::ranges::find(keys, name, &Key::name);
    if (key == keys.end()) {
      std::vector<std::string> names;
      for (const Key& known : keys) names.push_back(known.name);
      return invalid_argument(concat("run request: unknown key ", quote(name), ".", did_you_mean(name, names)));
    }
    if (!value.is_null()) TENSORTAP_RETURN_IF_ERROR(key->read(value, name));
  }
  return request;
}

}  // namespace tensortap::onnxruntime
