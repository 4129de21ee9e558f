// `tensortap doctor`: what works on this machine.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command/command.h"
#include "cli/launch/acl_home.h"
#include "cli/launch/installed_files.h"
#include "cli/launch/torch_check.h"
#include "cli/text/arguments.h"
#include "registry/registry.h"
#include "stats/stats.h"
#include "stats/stats_target.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::cli {
namespace {

constexpr uint64_t kLittleDisk = uint64_t{2} << 30;  // the default of --keep-free

struct DoctorOptions {
  std::string runtime;
  std::string python = "python3";
  bool all = false;
  bool acl_home = false;
};

Result<Json> ask_runtimes(const DoctorOptions& options) {
  Json request = Json::object();
  if (!options.runtime.empty()) request["runtime"] = options.runtime;
  char* text = nullptr;
  const int code = tensortap_onnxruntime_doctor(to_json_text(request).c_str(), &text);
  const std::string report = text == nullptr ? "{}" : text;
  tensortap_free(text);
  TENSORTAP_ASSIGN_OR_RETURN(Json answer, parse_json(report, "the report of the ONNX Runtime source"));
  if (code == TENSORTAP_OK) return answer;
  return Status(static_cast<StatusCode>(code), answer.value("error", "the ONNX Runtime source failed"));
}

// The statistics of eight numbers by the kernel in use and by the plain loop.
bool kernels_agree() {
  const float values[] = {1.5F, -2.0F, 0.0F, 3.25F, -0.0F, 7.0F, -1.0F, 2.5F};
  TensorView view;
  view.desc = {DType::kFloat32, Shape{8}};
  view.data = values;
  const TensorStats fast = compute_stats(view, {});
  const TensorStats plain = compute_stats_reference(view, {});
  return fast.min == plain.min && fast.max == plain.max && fast.zero == plain.zero && fast.positive == plain.positive &&
         fast.negative == plain.negative;
}

template <class Rows>
Json names_json(const Rows& rows) {
  Json names = Json::array();
  for (const auto& row : rows) names.push_back(std::string(row.name));
  return names;
}

// The system's loader is asked where no runtime was found.
bool found_none(const Json& report) {
  return std::ranges::all_of(report["runtimes"], [](const Json& runtime) {
    return runtime.value("origin", "") == "system loader" && !runtime.value("usable", false);
  });
}

// PyTorch programs need no ONNX Runtime.
bool lacks_runtime_only(const Json& report) { return found_none(report) && !report["pytorch"]["torch"].is_null(); }

Json examine(const DoctorOptions& options) {
  Json report = Json::object();
  report["version"] = TENSORTAP_VERSION;
  const Result<Json> runtimes = ask_runtimes(options);
  report["runtimes"] = runtimes.ok() ? runtimes->value("runtimes", Json::array()) : Json::array();
  if (!runtimes.ok()) report["runtimes_error"] = runtimes.status().message();
  report["pytorch"] = examine_torch(options.python);
  const AclFiles acl = find_acl_files();
  report["acl"] = {{"library", acl.library.empty() ? Json() : Json(acl.library)},
                   {"headers", acl.headers.empty() ? Json() : Json(acl.headers)}};
  const AtbFiles atb = find_atb_files();
  report["atb"] = {{"library", atb.library.empty() ? Json() : Json(atb.library)},
                   {"library_abi0", atb.library_abi0.empty() ? Json() : Json(atb.library_abi0)}};
  Json kernels = {{"in_use", std::string(stats_target())}, {"available", Json::array()}, {"self_test", kernels_agree()}};
  for (const std::string_view target : stats_targets()) kernels["available"].push_back(std::string(target));
  report["kernels"] = std::move(kernels);
  const auto disk = free_disk_bytes(".");
  report["free_disk"] = disk.ok() ? Json(*disk) : Json();
  report["layouts"] = names_json(layouts());
  report["dialects"] = names_json(dialects());
  report["formats"] = names_json(formats());
  bool usable = false;
  for (const Json& runtime : report["runtimes"]) usable = usable || (runtime.is_object() && runtime.value("usable", false));
  const bool needs_none = lacks_runtime_only(report) && options.runtime.empty();
  report["ok"] = (usable || needs_none) && kernels_agree();
  return report;
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  return found->is_string() ? printable(found->get<std::string>()) : to_json_text(*found);
}

enum class State : uint8_t { kGood, kAbsent, kBad };

struct Check {
  State state;
  bool notable;  // also printed without --all
  std::string name;
  std::string text;
};

State state_of(bool good) { return good ? State::kGood : State::kBad; }

std::string mark_of(State state, const Palette& palette) {
  if (state == State::kAbsent) return "-   ";
  return state == State::kGood ? palette.green("ok  ") : palette.red("FAIL");
}

void add_runtimes(const Json& report, std::vector<Check>& checks) {
  if (found_none(report)) {
    const std::string reason = report.contains("runtimes_error") ? text_of(report, "runtimes_error") : "none found";
    const bool is_fine = report["ok"].get<bool>();
    checks.push_back({is_fine ? State::kAbsent : State::kBad, true, "runtime",
                      reason + "; for ONNX models `pip install onnxruntime`, or name one with --runtime or TENSORTAP_ONNXRUNTIME"});
    return;
  }
  for (const Json& runtime : report["runtimes"]) {
    const bool usable = runtime.value("usable", false);
    const std::string version = text_of(runtime, "version");
    std::string text = fmt::format("ONNX Runtime {}{}at {}", version, version.empty() ? "" : " ", text_of(runtime, "path"));
    const std::string test = text_of(runtime, "self_test");
    if (!test.empty()) text += fmt::format(", self-test: {}", test == "true" ? "passed" : test == "false" ? "failed" : test);
    if (!usable) text += fmt::format(", not usable: {}", text_of(runtime, "reason"));
    checks.push_back({state_of(usable), true, "runtime", text});
  }
}

// A machine without torch is fine; so is one with torch and without an adapter: `exec` makes one.
void add_torch(const Json& pytorch, std::vector<Check>& checks) {
  const std::string problem = text_of(pytorch, "problem");
  const std::string files = fmt::format("{}, {}, {}, {}", text_of(pytorch, "preload"), text_of(pytorch, "library"),
                                        text_of(pytorch, "onnxruntime_library"), text_of(pytorch, "ggml_library"));
  checks.push_back({state_of(problem.empty()), false, "exec", problem.empty() ? files : problem});
  const std::string releases = text_of(pytorch, "releases");
  std::string adapters = releases.empty() ? "" : fmt::format("torch {} (prebuilt)", releases);
  const std::string prebuilt = join_path(parent_path(text_of(pytorch, "library")), "adapters");
  for (const Json& one : pytorch["adapters"]) {
    if (text_of(one, "folder") == prebuilt) continue;
    adapters += (adapters.empty() ? "" : ", ") + text_of(one, "folder") + "/" + text_of(one, "file");
  }
  checks.push_back({State::kGood, !releases.empty(), "adapters", adapters.empty() ? "none yet" : adapters});
  const Json& torch = pytorch["torch"];
  if (torch.is_null()) {
    checks.push_back({State::kAbsent, true, "torch", text_of(pytorch, "torch_problem")});
    return;
  }
  const std::string command = text_of(torch, "command");
  const std::string refused = text_of(torch, "adapter_problem");
  const std::string adapter = !refused.empty()  ? refused
                              : command.empty() ? "an adapter fits"
                                                : fmt::format("no adapter yet: `{}`, or `exec` does it", command);
  checks.push_back({state_of(refused.empty()), true, "torch",
                    fmt::format("{} of {}, {}", text_of(torch, "version"), text_of(torch, "python"), adapter)});
}

void add_devices(const Json& torch, std::vector<Check>& checks) {
  const auto devices = torch.is_object() ? torch.find("devices") : torch.end();
  if (devices == torch.end()) return;
  if (!devices->is_array()) {
    checks.push_back({State::kBad, true, "devices", "this torch cannot be imported"});
    return;
  }
  for (const Json& one : *devices) {
    const std::string how =
        "`exec` copies its tensors to the host (--device-stats auto, host, wait) or measures them there (kernel, operators)";
    checks.push_back({State::kGood, true, "device", fmt::format("{}, {}: {}", text_of(one, "device"), text_of(one, "name"), how)});
  }
}

// The libraries' word for a kernel is not everybody's.
std::string kernel_name(const std::string& target) { return target == "AVX3" ? "AVX-512" : target; }

void add_kernels(const Json& kernels, std::vector<Check>& checks) {
  std::string available;
  for (const Json& name : kernels["available"]) available += (available.empty() ? "" : ", ") + kernel_name(name.get<std::string>());
  checks.push_back({state_of(kernels["self_test"].get<bool>()), false, "statistics",
                    fmt::format("{} in use; {} available", kernel_name(text_of(kernels, "in_use")), available)});
}

std::vector<Check> checks_of(const Json& report) {
  std::vector<Check> checks;
  add_runtimes(report, checks);
  add_torch(report["pytorch"], checks);
  add_devices(report["pytorch"]["torch"], checks);
  const std::string acl = text_of(report["acl"], "library");
  checks.push_back({acl.empty() ? State::kAbsent : State::kGood, false, "AscendCL",
                    acl.empty() ? "not installed" : fmt::format("{}, headers in {}", acl, text_of(report["acl"], "headers"))});
  const std::string atb = text_of(report["atb"], "library");
  checks.push_back({atb.empty() ? State::kAbsent : State::kGood, false, "ATB",
                    atb.empty() ? "not installed" : fmt::format("{}, {}", atb, text_of(report["atb"], "library_abi0"))});
  add_kernels(report["kernels"], checks);
  const uint64_t disk = report["free_disk"].is_null() ? 0 : report["free_disk"].get<uint64_t>();
  checks.push_back({state_of(disk > kLittleDisk), false, "disk", fmt::format("{} free in this folder", bytes_text(disk))});
  for (const char* key : {"layouts", "dialects", "formats"}) {
    std::string names;
    for (const Json& name : report[key]) names += (names.empty() ? "" : ", ") + name.get<std::string>();
    checks.push_back({state_of(!names.empty()), false, key, names});
  }
  return checks;
}

// Folds all checks that pass and are not notable into one line.
void print_findings(Terminal& terminal, const Json& report, bool all) {
  const Palette& palette = terminal.out_palette();
  terminal.line(fmt::format("tensortap {}", TENSORTAP_VERSION));
  std::string folded;
  for (const Check& check : checks_of(report)) {
    if (check.state == State::kGood && !check.notable && !all) {
      folded += (folded.empty() ? "" : ", ") + check.name;
    } else {
      terminal.line(fmt::format("{} {:<12}{}", mark_of(check.state, palette), check.name, check.text));
    }
  }
  if (!folded.empty()) terminal.line(fmt::format("{} {} (--all says more)", palette.green("ok  "), folded));
}

Result<ExitCode> print_acl_home(Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string home, make_acl_home(find_acl_files()));
  if (terminal.json) {
    terminal.json_line({{"acl_home", home}});
  } else {
    terminal.line(home);
  }
  return ExitCode::kFine;
}

}  // namespace

Action declare_doctor(CLI::App& app) {
  const auto options = std::make_shared<DoctorOptions>();
  app.add_option("--runtime", options->runtime, "Look at this libonnxruntime, or the folder that holds it, only")->type_name(kPath);
  app.add_option("--python", options->python, "Look at the torch of this interpreter (python3)")->type_name(kPath);
  app.add_flag("--all", options->all, "List everything, including checks that passed");
  app.add_flag(
      "--acl-home", options->acl_home,
      "Make a folder with AscendCL's headers and libraries under CANN's names, for build files that expect them, and print its path alone");
  return [options](Terminal& terminal) -> Result<ExitCode> {
    if (options->acl_home) return print_acl_home(terminal);
    const Json report = examine(*options);
    if (terminal.json) {
      terminal.json_line(report);
    } else {
      print_findings(terminal, report, options->all);
    }
    return report["ok"].get<bool>() ? ExitCode::kFine : ExitCode::kFailed;
  };
}

}  // namespace tensortap::cli
