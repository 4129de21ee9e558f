#include "source/atb/dump_request.h"

#include <tensortap/capture.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/text.h"
#include "exec/exec_request.h"

namespace tensortap::atb {
namespace {

constexpr const char* kName = "the environment (ATB_*)";
constexpr std::array kStarts = {"ATB_DUMP_CONFIG", "ATB_DUMP_TYPE", "ATB_SAVE_TENSOR", "ATB_SAVE_TENSOR_RANGE"};
// Words of ATB_DUMP_TYPE that a config has, too.
constexpr std::array kTypes = {"model", "layer", "op", "kernel", "tensor"};

std::string variable(std::string_view name, const char* otherwise = "") { return environment_value(name).value_or(otherwise); }

bool is_set(std::string_view name, const char* otherwise = "0") { return variable(name, otherwise) == "1"; }

// Missing, the real library counts these.
bool has_type(std::string_view type) {
  const std::string types = variable("ATB_DUMP_TYPE", "layer|model|tensor");
  const auto words = split(types, '|');
  return std::ranges::find(words, type) != words.end();
}

// The same for every process of a job where msit said it.
std::string time_of_dump() {
  std::string digits = variable("ATB_TIMESTAMP");
  std::erase(digits, '_');
  if (digits.size() != 14 || !is_digits(digits)) {
    digits = wall_clock_iso();
    std::erase_if(digits, [](char c) { return c < '0' || c > '9'; });
    digits.resize(14, '0');
  }
  return concat(digits.substr(0, 8), "_", digits.substr(8));
}

// The keys of a config that the environment sets; with a config file, only those that the file leaves to the environment.
Json config_of_environment(bool has_file) {
  std::vector<std::string> types;
  for (const char* type : kTypes) {
    if (has_type(type)) types.emplace_back(type);
  }
  // With a config file, the config asks for tensors, whatever the types are. Tiling data and times alone also need a session.
  if (has_file && !has_type("tensor")) types.emplace_back("tensor");
  if (types.empty()) types.emplace_back("op");
  if (is_set("ATB_SAVE_TENSOR_STATISTICS")) types.emplace_back("stats");
  Json config = Json::object();
  config["type"] = join(types, ",");
  config["opname"] = variable("ATB_SAVE_TENSOR_RUNNER");
  config["time"] = is_set("ATB_SAVE_TENSOR_IN_BEFORE_OUT_AFTER") ? "3" : variable("ATB_SAVE_TENSOR_TIME", "3");
  config["stp"] = variable("ATB_SAVE_TENSOR_PART", "2");
  config["sd"] = is_set("ATB_SAVE_TENSOR", "1") ? "false" : "true";
  config["symlink"] = is_set("ATB_SAVE_SYMLINK") ? "true" : "false";
  if (has_file) return config;
  config["ids"] = variable("ATB_SAVE_TENSOR_IDS");
  config["child"] = is_set("ATB_SAVE_CHILD", "1") ? "true" : "false";
  config["er"] = variable("ATB_SAVE_TENSOR_RANGE", "none");
  config["device"] = variable("ATB_DEVICE_ID");
  return config;
}

// A config of any language in our own.
Result<Json> own_config(const std::string& text, const std::string& name, const char* dialect) {
  char* report = nullptr;
  const int code = tensortap_check_config(text.c_str(), name.c_str(), dialect, &report);
  const std::string answer = report == nullptr ? "{}" : report;
  tensortap_free(report);
  TENSORTAP_ASSIGN_OR_RETURN(Json json, parse_json(answer, name));
  const auto error = json.find("error");
  if (code != TENSORTAP_OK) return Status(static_cast<StatusCode>(code), error->is_string() ? error->get<std::string>() : "no memory");
  return json["spec"];
}

Result<Json> spec_of_environment() {
  const std::optional<std::string> file = environment_value("ATB_DUMP_CONFIG");
  const Json said = config_of_environment(file.has_value());
  Json config = said;
  config["dump_enable"] = file ? "false" : "true";
  TENSORTAP_ASSIGN_OR_RETURN(Json spec, own_config(to_json_text(config), kName, "msit"));
  if (file) spec["follow"] = {{"path", *file}, {"over", to_json_text(said)}};
  spec["out"] = variable("ATB_OUTPUT_DIR", ".");
  spec["mode"] = "shared";
  spec["layout_options"]["time"] = time_of_dump();
  return spec;
}

std::string member_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool has_word(const Json& list, std::string_view word) { return std::ranges::find(list, Json(word)) != list.end(); }

void wish(DumpRequest& request, std::initializer_list<std::pair<Wish, bool>> answers) {
  for (const auto& [one, wanted] : answers) {
    if (wanted) request.wishes |= 1U << static_cast<unsigned>(one);
  }
}

// Takes out of the spec what this source writes, so that the layout does not write it a second time.
void take_wishes(Json& spec, DumpRequest& request) {
  Json& options = spec["layout_options"];
  const std::string tables = member_text(options, "tables");
  const std::string topology = member_text(options, "topology");
  const std::string moment = member_text(spec, "moment");
  const std::string payload = member_text(spec, "payload");
  const bool tensors = member_text(options, "tensors") != "false";
  // Without any other type, the environment's config has the type "op", which opens a session.
  const bool asks_table = request.config_name != kName || has_type("op");
  const auto has = [](const std::string& text, std::string_view word) {
    const auto words = split(text, ',');
    return std::ranges::find(words, word) != words.end();
  };
  wish(request, {{Wish::kAnything, true},
                 {Wish::kTensors, tensors},
                 {Wish::kData, tensors && payload != "description"},
                 {Wish::kBefore, moment != "after"},
                 {Wish::kAfter, moment != "before"},
                 {Wish::kInputs, has_word(spec["slots"], "in")},
                 {Wish::kOutputs, has_word(spec["slots"], "out")},
                 {Wish::kChildren, is_set("ATB_SAVE_CHILD", "1")},
                 {Wish::kTopology, has(topology, "layer")},
                 {Wish::kModels, has(topology, "model")},
                 {Wish::kTimes, environment_value("ATB_DUMP_TYPE") && has_type("cpu_profiling")},
                 {Wish::kTiling, is_set("ATB_SAVE_TILING")},
                 {Wish::kOperationTable, has(tables, "op") && asks_table},
                 {Wish::kKernelTable, has(tables, "kernel")}});
  for (const char* ours : {"tables", "topology", "onnx", "times", "tiling", "kernels"}) options.erase(ours);
}

}  // namespace

Result<std::optional<DumpRequest>> read_dump_request() {
  DumpRequest request;
  Json spec;
  if (const std::optional<ExecRequest> exec = read_exec_request()) {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string text, config_with_folder(*exec, exec->shared_tree ? exec->out : process_folder(*exec)));
    TENSORTAP_ASSIGN_OR_RETURN(spec, own_config(text, exec->config_name, "tensortap"));
    request.config_name = exec->config_name;
    request.program = exec->program;
  } else {
    if (std::ranges::none_of(kStarts, [](const char* name) { return environment_value(name).has_value(); }))
      return std::optional<DumpRequest>();
    request.config_name = kName;
    TENSORTAP_ASSIGN_OR_RETURN(spec, spec_of_environment());
  }
  take_wishes(spec, request);
  request.time = member_text(spec["layout_options"], "time");
  if (request.time.empty()) request.time = time_of_dump();
  request.out = member_text(spec, "out");
  request.follows = !member_text(spec["follow"], "path").empty();
  request.config = to_json_text(spec);
  return std::optional(std::move(request));
}

}  // namespace tensortap::atb
