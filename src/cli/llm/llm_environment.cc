#include "cli/llm/llm_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"

namespace tensortap::cli {
namespace {

constexpr std::array<std::string_view, 6> kLevels = {"debug", "info", "warning", "error", "fatal", "critical"};

std::string yes(bool value) { return value ? "1" : "0"; }

// A variable without a value is removed, even if it was inherited.
std::optional<std::string> or_nothing(const std::string& value) { return value.empty() ? std::optional<std::string>() : value; }

std::vector<std::string> types_of(const LlmWords& words) {
  const auto given = words.given.find("type");
  return given == words.given.end() ? std::vector<std::string>{"tensor", "model"} : given->second;
}

bool holds(const std::vector<std::string>& types, std::string_view type) { return std::ranges::find(types, type) != types.end(); }

void add_selection(const LlmWords& words, Variables& variables) {
  const std::string time = words.text("time", "3");
  variables.emplace_back("ATB_SAVE_TENSOR", words.has("sd") ? "2" : "1");
  variables.emplace_back("ATB_SAVE_TENSOR_IN_BEFORE_OUT_AFTER", yes(time == "3"));
  variables.emplace_back("ATB_SAVE_TENSOR_TIME", time == "3" ? "1" : time);
  variables.emplace_back("ATB_SAVE_TENSOR_IDS", or_nothing(words.text("ids")));
  variables.emplace_back("ATB_SAVE_TENSOR_RUNNER", or_nothing(to_lower(words.text("opname"))));
  variables.emplace_back("ATB_SAVE_TENSOR_RANGE", words.text("er", "0,0"));
  variables.emplace_back("ATB_SAVE_CHILD", yes(words.text("child", "true") == "true"));
  variables.emplace_back("ATB_SAVE_TENSOR_PART", words.text("stp", "2"));
  variables.emplace_back("ATB_DEVICE_ID", or_nothing(words.text("device")));
}

void add_types(const LlmWords& words, const std::string& output, Variables& variables) {
  std::vector<std::string> types = types_of(words);
  const bool statistics = holds(types, "stats") && holds(types, "tensor");
  variables.emplace_back("ATB_SAVE_TENSOR_STATISTICS", or_nothing(statistics ? "1" : ""));
  variables.emplace_back("ATB_SAVE_CPU_PROFILING", yes(holds(types, "cpu_profiling")));
  if (holds(types, "onnx")) {
    variables.emplace_back("ATB_DUMP_SUB_PROC_INFO_SAVE_PATH", concat(output, "/", getpid()));
    types.insert(types.end(), {"model", "op"});
  }
  variables.emplace_back("ATB_DUMP_TYPE", join(types, "|"));
  variables.emplace_back("ATB_SAVE_TILING", yes(words.has("tiling")));
  variables.emplace_back("ATB_SAVE_SYMLINK", yes(words.has("symlink")));
}

void add_seed(const LlmWords& words, Variables& variables) {
  if (!words.has("seed")) return;
  variables.emplace_back("LCCL_DETERMINISTIC", "1");
  variables.emplace_back("HCCL_DETERMINISTIC", "true");
  variables.emplace_back("ATB_MATMUL_SHUFFLE_K_ENABLE", "0");
  variables.emplace_back("ATB_LLM_LCOC_ENABLE", "0");
  variables.emplace_back("PYTHONHASHSEED", words.text("seed"));
}

}  // namespace

Variables llm_variables(const LlmWords& words, const std::string& output, const std::string& timestamp) {
  Variables variables;
  add_selection(words, variables);
  add_types(words, output, variables);
  add_seed(words, variables);
  if (words.has("config")) variables.emplace_back("ATB_DUMP_CONFIG", std::filesystem::absolute(words.text("config")).string());
  const auto level = std::ranges::find(kLevels, words.text("log-level", "info"));
  variables.emplace_back("ATB_AIT_LOG_LEVEL", to_text(level - kLevels.begin()));
  variables.emplace_back("ATB_OUTPUT_DIR", output.ends_with('/') ? output : output + "/");
  variables.emplace_back("ATB_TIMESTAMP", timestamp);
  variables.emplace_back("ATB_CUR_PID", to_text(getpid()));
  return variables;
}

Variables seeding_variables(const LlmWords& words, const std::string& python_package) {
  if (!words.has("seed") || python_package.empty()) return {};
  const std::string folder = join_path(python_package, "tensortap/_seeds");
  const std::optional<std::string> own = environment_value("PYTHONPATH");
  return {{"TENSORTAP_SEED", words.text("seed")}, {"PYTHONPATH", own ? concat(folder, ":", *own) : folder}};
}

}  // namespace tensortap::cli
