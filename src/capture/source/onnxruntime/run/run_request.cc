#include "source/onnxruntime/run/run_request.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace tensortap::onnxruntime {
namespace {

constexpr int64_t kMaxRuns = 1'000'000'000;
constexpr int64_t kMaxThreads = 4096;
constexpr int64_t kMaxNoise = 1000;

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

struct LevelName {
  std::string_view name;
  int32_t level;
};
constexpr std::array<LevelName, 4> kLevelNames = {
    {{"none", abi::kOptimizeNone}, {"basic", abi::kOptimizeBasic}, {"extended", abi::kOptimizeExtended}, {"all", abi::kOptimizeAll}}};

Status read_level(const Json& value, std::string_view key, int32_t& level) {
  for (const LevelName& name : kLevelNames) {
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

Status read_range(const Json& value, std::string_view key, NumberRange& range) {
  const auto number = [](const Json& end) {
    if (end.is_number_unsigned()) return static_cast<long double>(end.get<uint64_t>());
    return end.is_number_integer() ? static_cast<long double>(end.get<int64_t>()) : static_cast<long double>(end.get<double>());
  };
  if (!value.is_array() || value.size() != 2 || !value[0].is_number() || !value[1].is_number())
    return expected(key, "two numbers: [low, high]");
  range = {number(value[0]), number(value[1])};
  if (!std::isfinite(range.low) || !std::isfinite(range.high)) return expected(key, "two finite numbers");
  if (range.low > range.high) return expected(key, "two numbers, the lower one first");
  return {};
}

Status read_ranges(const Json& value, std::string_view key, std::map<std::string, NumberRange>& ranges) {
  if (!value.is_object()) return expected(key, "an object of ranges");
  for (const auto& [name, range] : value.items()) TENSORTAP_RETURN_IF_ERROR(read_range(range, concat(key, ".", name), ranges[name]));
  return {};
}

Status read_libraries(const Json& value, std::string_view key, std::vector<std::string>& libraries) {
  if (!value.is_array()) return expected(key, "a list of paths");
  for (const Json& path : value) TENSORTAP_RETURN_IF_ERROR(read_text(path, key, libraries.emplace_back()));
  return {};
}

// The capture itself chooses where the model and its weights come from and where the optimised graph goes.
constexpr std::array<std::string_view, 6> kOwnEntries = {"session.load_model_format",
                                                         "session.save_model_format",
                                                         "session.model_external_initializers_file_folder_path",
                                                         "session.optimized_model_external_initializers_file_name",
                                                         "session.optimized_model_external_initializers_min_size_in_bytes",
                                                         "optimization.minimal_build_optimizations"};

Status read_session_config(const Json& value, std::string_view key, std::vector<std::pair<std::string, std::string>>& entries) {
  if (!value.is_object()) return expected(key, "an object of texts");
  for (const auto& [name, text] : value.items()) {
    if (std::ranges::find(kOwnEntries, name) != kOwnEntries.end())
      return invalid_argument(concat("session config: ", quote(name), " cannot be set: capturing needs its own value for it"));
    std::string entry;
    TENSORTAP_RETURN_IF_ERROR(read_text(text, concat(key, ".", name), entry));
    entries.emplace_back(name, std::move(entry));
  }
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
      {"noise", number(request.noise, kMaxNoise)},
      {"seed", number(request.seed, INT64_MAX)},
      {"runs", number(request.runs, kMaxRuns)},
      {"threads", number(request.threads, kMaxThreads)},
      {"optimize", [&](const Json& v, std::string_view key) { return read_level(v, key, request.level); }},
      {"taps", [&](const Json& v, std::string_view key) { return read_taps(v, key, request.taps); }},
      {"dims", [&](const Json& v, std::string_view key) { return read_dims(v, key, request.dims); }},
      {"range", [&](const Json& v, std::string_view key) { return read_range(v, key, request.range.emplace()); }},
      {"ranges", [&](const Json& v, std::string_view key) { return read_ranges(v, key, request.ranges); }},
      {"all_inputs_from", text(request.all_inputs_from)},
      {"custom_ops", [&](const Json& v, std::string_view key) { return read_libraries(v, key, request.extras.custom_ops); }},
      {"session_config", [&](const Json& v, std::string_view key) { return read_session_config(v, key, request.extras.config); }},
      {"carry", [&](const Json& v, std::string_view key) { return read_carry(v, key, request.carry); }},
  };
}

}  // namespace

std::string_view level_name(int32_t level) {
  const auto* const found = std::ranges::find(kLevelNames, level, &LevelName::level);
  return found == kLevelNames.end() ? kLevelNames.back().name : found->name;
}

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
