// `tensortap run`: an ONNX model under capture.

#include <fmt/format.h>

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <atomic>

#include <csignal>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command/capture_options.h"
#include "cli/command/command.h"
#include "cli/files/input_files.h"
#include "cli/files/run_outputs.h"
#include "cli/files/run_ranges.h"
#include "cli/launch/child_process.h"
#include "cli/text/arguments.h"
#include "cli/text/failure_text.h"
#include "cli/text/find_verdict.h"
#include "cli/text/member_text.h"
#include "cli/text/summary_text.h"
#include "read/open_dump.h"
#include "read/repair_dump.h"
#include "registry/registry.h"
#include "tensortap/onnxruntime.h"

namespace tensortap::cli {
namespace {

struct RunOptions {
  std::string model;
  CaptureArguments capture;
  std::vector<std::string> inputs;
  std::string input_folder;
  std::vector<std::string> carry;
  std::vector<std::string> dims;
  std::vector<std::string> ranges;
  int64_t seed = 0;
  int64_t runs = 0;  // 0 = one for each step that has inputs
  int64_t threads = 0;
  std::string optimize;
  bool as_written = false;
  std::string runtime;
  std::vector<std::string> custom_ops;
  std::vector<std::string> session_config;
  bool verify = false;
  bool overhead = false;
  int64_t noise = 0;
  std::string save_outputs;
};

// Set by Ctrl-C; the second Ctrl-C finds the default handler and kills.
volatile std::sig_atomic_t interrupted = 0;

volatile std::sig_atomic_t quiet = 0;  // --quiet

void on_interrupt(int /*signal*/) {
  interrupted = 1;
  if (quiet != 0) return;
  constexpr std::string_view kText = "\nfinishing the dump; press Ctrl-C again to end at once\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText.data(), kText.size());
}

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

Status add_pairs(const std::vector<std::string>& pairs, const char* option, const char* form, Json& object) {
  for (const std::string& pair : pairs) {
    std::string name;
    std::string value;
    if (!split_pair(pair, name, value)) return invalid_argument(fmt::format("{} {}: write it as {}", option, pair, form));
    if (object.contains(name)) return invalid_argument(fmt::format("{} {}: {} is given twice; give it once", option, pair, quote(name)));
    object[name] = value;
  }
  return {};
}

Result<Json> dims_json(const std::vector<std::string>& dims) {
  Json texts = Json::object();
  TENSORTAP_RETURN_IF_ERROR(add_pairs(dims, "--dim", "NAME=N", texts));
  Json numbers = Json::object();
  for (const auto& [name, text] : texts.items()) {
    int64_t size = 0;
    if (!parse_integer(text.get<std::string>(), size) || size < 0) {
      return invalid_argument(fmt::format("--dim {}={}: not a size", name, text.get<std::string>()));
    }
    numbers[name] = size;
  }
  return numbers;
}

Result<Json> make_request(const RunOptions& options, const CaptureSpec& spec, const LoadedInputs& inputs) {
  Json request = {{"model", options.model}, {"config", to_json_text(spec_to_json(spec))}, {"config_name", config_name(options.capture)}};
  if (!options.runtime.empty()) request["runtime"] = options.runtime;
  TENSORTAP_ASSIGN_OR_RETURN(Json dims, dims_json(options.dims));
  if (!dims.empty()) request["dims"] = std::move(dims);
  Json carry = Json::object();
  TENSORTAP_RETURN_IF_ERROR(add_pairs(options.carry, "--carry", "OUTPUT=INPUT", carry));
  if (!carry.empty()) request["carry"] = std::move(carry);
  request["seed"] = options.seed;
  TENSORTAP_RETURN_IF_ERROR(add_ranges(options.ranges, request));
  if (!inputs.all_from.empty()) request["all_inputs_from"] = inputs.all_from;
  if (!options.custom_ops.empty()) request["custom_ops"] = options.custom_ops;
  Json entries = Json::object();
  TENSORTAP_RETURN_IF_ERROR(add_pairs(options.session_config, "--session-config", "KEY=VALUE", entries));
  if (!entries.empty()) request["session_config"] = std::move(entries);
  request["runs"] = options.runs > 0 ? options.runs : inputs.steps;
  request["threads"] = options.threads;
  if (!options.optimize.empty()) request["optimize"] = options.optimize;
  request["as_written"] = options.as_written;
  request["verify"] = options.verify;
  request["overhead"] = options.overhead;
  if (options.noise > 0) request["noise"] = options.noise;
  request["program"] = options.model;
  return request;
}

// What the callbacks of a run work on.
struct Callbacks {
  Progress progress;
  std::optional<OutputFiles> outputs;
};

void on_output(void* user, int64_t step, const tensortap_tensor* output) {
  auto& callbacks = *static_cast<Callbacks*>(user);
  if (callbacks.outputs) callbacks.outputs->save(step, *output);
}

void on_progress(void* user, const char* stage, uint64_t done, uint64_t total) {
  static_cast<Callbacks*>(user)->progress.update(stage, done, total);
}

int should_stop(void* /*user*/) { return interrupted != 0 ? 1 : 0; }

// The failure for people: the message, the op that failed with the inputs it had, the dump that holds them.
Result<ExitCode> report_failure(Terminal& terminal, int code, const Json& report) {
  // The model ran but its capture failed: print the summary of the records that exist.
  if (report.contains("records")) terminal.note(trim(summary_text(report, terminal.error_palette())));
  terminal.error(report.value("error", "the run failed"));
  if (const auto op = report.find("failed_op"); op != report.end() && op->is_object()) {
    terminal.note(fmt::format("failed op: {} ({})", printable(op->value("name", "?")), printable(op->value("type", "?"))));
    for (const Json& input : op->value("inputs", Json::array())) terminal.note("  input " + printable(to_json_text(input)));
  }
  if (const auto dump = report.find("dump"); !report.contains("records") && dump != report.end() && dump->is_string()) {
    terminal.note(fmt::format("dump: {}", dump->get<std::string>()));
  }
  if (terminal.json) terminal.json_line(report);
  return exit_code_of(static_cast<StatusCode>(code));
}

// Judges what the session saw by the rules of find.
void judge(Json& report) {
  const bool to_judge = report.is_object() && is_to_judge(report);
  if (report.is_object()) report.erase("to_judge");
  const std::string folder = to_judge ? member_text(report, "dump") : "";
  const auto dump = folder.empty() ? Result<std::unique_ptr<DumpIndex>>(not_found("no dump")) : open_dump(folder);
  if (dump.ok()) add_verdict(**dump, report);
}

ExitCode verdict(const RunOptions& options, const Json& report, const Terminal& terminal) {
  if (const std::string failed = failed_losses_text(report); !failed.empty()) {
    terminal.error("records that were asked for are not in the dump: " + failed);
    return ExitCode::kFailed;
  }
  if (const auto identical = report.find("identical"); identical != report.end() && *identical == false) return ExitCode::kFound;
  const bool strict = options.capture.options.strict;
  const Json ops = report.value("ops", Json::object());
  const bool gaps = ops.is_object() && ops.contains("not_captured") && !ops["not_captured"].empty();
  const bool losses = report.contains("lost") && report["lost"].is_number() && report["lost"] != 0;
  return strict && (gaps || losses) ? ExitCode::kFound : ExitCode::kFine;
}

// Whether a crash would leave data that another process must write into the tree.
bool needs_survivor(const CaptureSpec& spec) {
  const Layout* layout = find_layout(spec.layout);
  return layout != nullptr && layout->settles_crashes && (spec.trigger == Trigger::kException || spec.limits.ring_ops > 0);
}

Result<ExitCode> run_here(const RunOptions& options, const CaptureSpec& spec, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto inputs, load_inputs(options.inputs, options.input_folder));
  TENSORTAP_ASSIGN_OR_RETURN(const Json request, make_request(options, spec, inputs));
  Callbacks callbacks{Progress(terminal), std::nullopt};
  if (!options.save_outputs.empty()) {
    TENSORTAP_ASSIGN_OR_RETURN(callbacks.outputs, OutputFiles::open(options.save_outputs));
  }
  quiet = terminal.quiet ? 1 : 0;
  install_interrupt_handler();
  // Beyond `ulimit -f` writes fail, also those of the runtime; the process is ours.
  (void)std::signal(SIGXFSZ, SIG_IGN);
  const auto borrowed = borrow_inputs(inputs);
  const std::string request_text = to_json_text(request);
  tensortap_onnxruntime_run_options run_options{};
  run_options.size = sizeof run_options;
  run_options.request = request_text.c_str();
  run_options.inputs = borrowed.data();
  run_options.input_count = borrowed.size();
  run_options.on_output = on_output;
  run_options.on_progress = on_progress;
  run_options.should_stop = should_stop;
  run_options.user = &callbacks;
  char* text = nullptr;
  const int code = tensortap_onnxruntime_run(&run_options, &text);
  callbacks.progress.finish();
  const std::string report_text = text == nullptr ? "{}" : text;
  tensortap_free(text);
  TENSORTAP_ASSIGN_OR_RETURN(Json report, parse_json(report_text, "the report of the run"));
  if (spec.steps.is_never() && report.is_object() && report["notes"].is_array()) report["notes"].push_back(kNothingAsked);
  if (code != TENSORTAP_OK) return report_failure(terminal, code, report);
  judge(report);
  terminal.note(trim(summary_text(report, terminal.error_palette())));
  if (terminal.json) terminal.json_line(report);
  if (callbacks.outputs) TENSORTAP_RETURN_IF_ERROR(callbacks.outputs->status());
  return verdict(options, report, terminal);
}

Result<ExitCode> run(const RunOptions& options, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(CaptureSpec spec, make_spec(options.capture));
  if (options.noise > 0 && spec.payload != Payload::kTensor && spec.payload != Payload::kFull) {
    return invalid_argument("--noise: differences are measured on tensors, and none are captured: add --full");
  }
  for (const std::string& note : spec.notes) terminal.note(printable(note));
  if (!needs_survivor(spec)) return run_here(options, spec, terminal);
  if (spec.out.empty()) spec.out = join_path("tensortap_dump", wall_clock_name());
  TENSORTAP_ASSIGN_OR_RETURN(const std::optional<ProgramEnd> end, continue_in_child());
  if (!end.has_value()) return run_here(options, spec, terminal);
  if (end->signal != 0) tell_crashes(settle_crashes(spec.out, false), terminal);
  return static_cast<ExitCode>(end->exit_code);
}

void add_input_options(CLI::App& app, RunOptions& options) {
  const char* group = "Inputs";
  add_repeated(app, "--input", options.inputs, kNamedFile,
               "An input, from a file of NumPy or ONNX; or FILE, an npz that holds all inputs by their names; repeatable")
      ->group(group);
  app.add_option("--inputs", options.input_folder, "A test_data_set with input_N.pb; a folder of test_data_set_N runs one step for each")
      ->type_name(kDirectory)
      ->group(group);
  add_repeated(app, "--carry", options.carry, "OUT=IN", "This output of a step is that input of the next; repeatable")->group(group);
  add_repeated(app, "--dim", options.dims, "NAME=N", "Size of a dimension that the model leaves open; repeatable")->group(group);
  add_repeated(app, "--range", options.ranges, "[NAME=]LOW:HIGH",
               "Fill this input, or all that are not given, with these numbers; repeatable")
      ->group(group);
  app.add_option("--seed", options.seed, "The seed for inputs that are not given (0)")
      ->type_name("N")
      ->check(in_range(0, std::numeric_limits<int64_t>::max()))
      ->group(group);
}

void add_execution_options(CLI::App& app, RunOptions& options) {
  const char* group = "Execution";
  app.add_option("--runs", options.runs, "Run this many times; each run is a step (1, or as many as --inputs has)")
      ->type_name("N")
      ->check(in_range(1, int64_t{1} << 40))
      ->group(group);
  app.add_option("--threads", options.threads, "Threads of the runtime (0: its own choice)")
      ->type_name("N")
      ->check(in_range(0, 4096))
      ->group(group);
  add_choice(app, "--optimize", options.optimize, {"none", "basic", "extended", "all"}, "How far the runtime optimises the graph (all)")
      ->group(group);
  app.add_flag("--as-written", options.as_written, "Capture the ops of the model file, before optimisation: a different execution")
      ->group(group);
  app.add_option("--runtime", options.runtime, "The libonnxruntime to use, or the folder that holds it")->type_name(kPath)->group(group);
  add_repeated(app, "--custom-ops", options.custom_ops, "LIBRARY", "A library with custom operators of the model; repeatable")
      ->group(group);
  add_repeated(app, "--session-config", options.session_config, "KEY=VALUE", "A configuration entry of the runtime's session; repeatable")
      ->group(group);
  app.add_option("--save-outputs", options.save_outputs, "Write the model's outputs there: NAME.npy, NAME@STEP.npy for later steps")
      ->type_name(kDirectory)
      ->group(group);
  const char* checks = "Checks";
  app.add_flag("--verify", options.verify,
               "Also run the model without capture; exit code 1 unless the outputs are the same bits and the same nodes ran")
      ->group(checks);
  app.add_flag("--overhead", options.overhead, "Measure plain and captured runs and print the ratio")->group(checks);
  app.add_option("--noise", options.noise,
                 "Capture this many further runs of inputs moved by their last bit, by which `compare` measures differences by")
      ->type_name("N")
      ->check(in_range(1, 1000))
      ->group(checks);
}

}  // namespace

Action declare_run(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  app.add_option("model", options->model, "The ONNX model")->type_name(kModel)->required();
  add_capture_options(app, options->capture);
  add_input_options(app, *options);
  add_execution_options(app, *options);
  return [options](Terminal& terminal) { return run(*options, terminal); };
}

}  // namespace tensortap::cli
