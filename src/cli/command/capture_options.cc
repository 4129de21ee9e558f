#include "cli/command/capture_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/text/arguments.h"
#include "registry/registry.h"

namespace tensortap::cli {

namespace {

constexpr uint64_t kMostConfigBytes = uint64_t{64} << 20;

}  // namespace

void add_payload_options(CLI::App& app, CaptureOptions& options) {
  const char* group = "What to keep";
  CLI::Option* stats = app.add_flag("--stats", options.stats, "Statistics of each tensor (the default)")->group(group);
  CLI::Option* tensors = app.add_flag("--tensors", options.tensors, "The tensors themselves")->group(group);
  CLI::Option* full = app.add_flag("--full", options.full, "Statistics and tensors")->group(group);
  CLI::Option* describe = app.add_flag("--describe", options.describe, "Only dtype and shape")->group(group);
  const std::vector<CLI::Option*> payloads = {stats, tensors, full, describe};
  app.add_option("--statistics", options.statistics,
                 "Only these statistics, such as min,max,mean_abs; all adds mean_abs and subnormal to the usual ones")
      ->type_name("A,B")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--channels", options.channels,
                 "Also absmax, sum of squares and zeros of each channel along this axis; -1 is the last one")
      ->type_name("AXIS")
      ->group(group);
  app.add_option("--blocks", options.blocks,
                 "Also counts of blocks of 16, 32 or 128 elements of the last axis: what scaling them to fp8 or fp4 would lose")
      ->type_name("SIZE")
      ->group(group);
  for (CLI::Option* one : payloads) {
    for (CLI::Option* other : payloads) {
      if (one != other) one->excludes(other);
    }
  }
}

void add_op_options(CLI::App& app, CaptureOptions& options) {
  const char* group = "Which tensors";
  add_repeated(app, "--ops", options.ops, "REGEX", "Ops whose name, original node or output matches this; repeatable: any of them")
      ->group(group);
  app.add_option("--types", options.types, "Ops of these types, such as Conv,Gemm")
      ->type_name("A,B")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--modules", options.modules,
                 "Ops of these PyTorch modules and of those inside them, such as \"model.layers.3.*\"; not with --ops")
      ->type_name("GLOB")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
}

void add_step_at_option(CLI::App& app, CaptureOptions& options) {
  app.add_option("--step-at", options.step_at,
                 "In PyTorch programs a step begins with each call of a module whose path or class matches this, such as ^Engine[.]model$")
      ->type_name("REGEX")
      ->group("Which tensors");
}

namespace {

void add_choosing_options(CLI::App& app, CaptureOptions& options, const std::string& default_slots) {
  const char* group = "Which tensors";
  add_op_options(app, options);
  app.add_option("--steps", options.steps, "Steps, such as 0,3-5 or 10-")->type_name("STEPS")->group(group);
  app.add_option("--slots", options.slots, fmt::format("in, out or both: in,out ({})", default_slots))->type_name("SLOTS")->group(group);
  app.add_option("--levels", options.levels,
                 "op, kernel (what ops call underneath), api (what the program calls), module, model (calls of modules), or several (op)")
      ->type_name("LEVELS")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  add_choice(
      app, "--device-stats", options.device_stats, {"auto", "host", "kernel", "operators", "wait", "off"},
      "How to read tensors on devices such as GPUs: as copies, without waiting where that is possible (auto), never waiting (host), always "
      "waiting (wait); by a kernel, or by operators, that compute the statistics on the device (kernel, operators); or not at all (off)")
      ->group(group);
  app.add_option("--where", options.where, "Keep a record only if this holds, such as \"nan > 0 or absmax > 6e4\"")
      ->type_name("EXPR")
      ->group(group);
}

void add_place_options(CLI::App& app, CaptureOptions& options) {
  const char* group = "Where it goes, and limits";
  app.add_option("--layout", options.layout, "Directory tree of the dump (tap)")->type_name(join(written_layouts(), "|"))->group(group);
  app.add_option("--out", options.out, "Folder of the dump, new or empty (tensortap_dump/TIME)")->type_name(kDirectory)->group(group);
  add_choice(app, "--mode", options.mode, {"private", "shared"},
             "Who may read the dump: its owner only (private), or as the umask allows (shared)")
      ->group(group);
  app.add_option("--budget", options.budget, "The most the run may slow down, such as 3%; the capture skips steps to stay below it")
      ->type_name("PERCENT")
      ->group(group);
  app.add_option("--max-bytes", options.max_bytes, "The most the dump may take, such as 4GiB")->type_name("SIZE")->group(group);
  app.add_option("--keep-free", options.keep_free, "Leave this much of the disk free (2GiB; of statistics alone 64MiB)")
      ->type_name("SIZE")
      ->group(group);
  app.add_option("--stop-after", options.stop_after, "Stop capturing after this many steps")->type_name("STEPS")->group(group);
  app.add_flag("--strict", options.strict, "Exit code 1 if a selected record was not captured")->group(group);
}

}  // namespace

void add_selection_options(CLI::App& app, CaptureArguments& arguments) {
  std::vector<std::string> names;
  for (const Dialect& dialect : dialects()) names.emplace_back(dialect.name);
  add_choice(app, "--dialect", arguments.dialect, names, "Language of the config, when its content does not show it")
      ->group("What to keep");
  app.add_option("--profile", arguments.profile,
                 "Read the config and write the dump as this version of the other system does, such as mindspore-2.7.0/gpu")
      ->type_name("SYSTEM-VERSION[/DEVICE]")
      ->group("What to keep");
  app.add_flag("--profile-strict", arguments.profile_strict, "Also reject settings that this version rejects on this device")
      ->group("What to keep");
  add_payload_options(app, arguments.options);
  add_choosing_options(app, arguments.options, arguments.default_slots);
  add_place_options(app, arguments.options);
}

void add_capture_options(CLI::App& app, CaptureArguments& arguments) {
  app.add_option("--config", arguments.config, "A dump config; the other options go on top of it")->type_name(kFile)->group("What to keep");
  add_selection_options(app, arguments);
}

namespace {

// Which config is read.
struct ChosenConfig {
  std::string path;      // "" = none
  std::string dialect;   // "" = what its content says
  std::string variable;  // where the path comes from, "" = the command line
};

ChosenConfig choose_config(const CaptureArguments& arguments) {
  if (!arguments.config.empty()) return {arguments.config, arguments.dialect, ""};
  for (const Dialect& dialect : dialects()) {
    if (dialect.variable.empty()) continue;
    const auto path = environment_value(dialect.variable);
    if (path) return {*path, arguments.dialect.empty() ? std::string(dialect.name) : arguments.dialect, std::string(dialect.variable)};
  }
  return {"", arguments.dialect, ""};
}

// Some systems also look at the name: that of the file itself, not of a link to it.
Status check_suffix(const ChosenConfig& config, std::string_view text) {
  const Dialect* dialect = config.dialect.empty() ? recognise_dialect(text) : find_dialect(config.dialect);
  if (dialect == nullptr || dialect->file_suffix.empty()) return {};
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(config.path, error);
  if (error || path.extension() == dialect->file_suffix) return {};
  return invalid_argument(
      fmt::format("{}: the name of a config of {} has to end in {}; rename the file", path.string(), dialect->name, dialect->file_suffix));
}

Result<CaptureSpec> read_chosen(const ChosenConfig& config, const CaptureArguments& arguments) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string text, read_file(config.path, kMostConfigBytes));
  TENSORTAP_RETURN_IF_ERROR(check_suffix(config, text));
  return read_config(text, config.path, config.dialect, {arguments.profile, arguments.profile_strict});
}

// Without a config a profile is for the layout only.
Status use_profile(const CaptureArguments& arguments, CaptureOptions& options) {
  if (arguments.profile_strict)
    return invalid_argument("--profile-strict: there is no config that could be refused; give one, or leave it out");
  if (arguments.profile.empty()) return {};
  Result<std::string> profile = complete_profile(arguments.profile);
  if (!profile.ok()) return profile.status().with_context("--profile");
  options.profile = *std::move(profile);
  return {};
}

}  // namespace

Result<CaptureSpec> make_spec(const CaptureArguments& arguments) {
  CaptureOptions options = arguments.options;
  const ChosenConfig config = choose_config(arguments);
  if (config.path.empty()) {
    TENSORTAP_RETURN_IF_ERROR(use_profile(arguments, options));
    if (!options.slots && arguments.default_slots != "out") options.slots = arguments.default_slots;
  } else {
    Result<CaptureSpec> spec = read_chosen(config, arguments);
    if (!spec.ok()) return config.variable.empty() ? spec.status() : spec.status().with_context(config.variable);
    options.config = *std::move(spec);
  }
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, spec_from_options(options));
  if (options.config && options.config->layout != spec.layout) leave_layout(spec);
  TENSORTAP_RETURN_IF_ERROR(check_target(spec));
  // The vendor's tools silently skip other names, and then compare only a part of the dump.
  const std::span<const LayoutOption> options_of_layout = find_layout(spec.layout)->options;
  if (std::ranges::find(options_of_layout, "portable_names", &LayoutOption::name) != options_of_layout.end())
    spec.layout_options.try_emplace("portable_names", "true");
  return spec;
}

std::string config_name(const CaptureArguments& arguments) {
  const ChosenConfig config = choose_config(arguments);
  return config.path.empty() ? "the command line" : config.path;
}

}  // namespace tensortap::cli
