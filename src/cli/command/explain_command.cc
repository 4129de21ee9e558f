// `tensortap explain`: what a configuration or selection captures, in words.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/command/capture_options.h"
#include "cli/command/command.h"
#include "cli/files/model_ops.h"
#include "cli/text/arguments.h"
#include "plan/capture_plan.h"

namespace tensortap::cli {
namespace {

struct ExplainOptions {
  CaptureArguments capture;
  std::string model;
  std::string runtime;
  std::vector<std::string> custom_ops;
};

// What the plan says, and with a model which of its ops match.
struct Explanation {
  std::vector<std::string> plan;
  std::vector<std::string> match;
  std::vector<std::string> config_notes;  // of reading the config
  std::vector<std::string> notes;         // of binding it to the model
  Json ops;                               // names of the ops that match; null without a model
};

Status match_model(const std::vector<OpInfo>& ops, CapturePlan& plan, Explanation& explanation) {
  TENSORTAP_ASSIGN_OR_RETURN(const auto decisions, plan.bind(ops));
  explanation.match = explain_match(ops, decisions);
  explanation.ops = Json::array();
  for (size_t i = 0; i < ops.size(); ++i) {
    if (decisions[i].wanted) explanation.ops.push_back(ops[i].name);
  }
  return {};
}

Result<Explanation> explain_all(const ExplainOptions& options) {
  TENSORTAP_ASSIGN_OR_RETURN(const CaptureSpec spec, make_spec(options.capture));
  ModelOps model;
  if (!options.model.empty()) {
    TENSORTAP_ASSIGN_OR_RETURN(model, ops_of_model(options.model, options.runtime, options.custom_ops));
  }
  PlanEnvironment environment;
  environment.modules = options.model.empty();  // a program may have them, an ONNX model has none
  environment.models = model.names;
  TENSORTAP_ASSIGN_OR_RETURN(const auto plan, CapturePlan::compile(spec, environment));
  Explanation explanation;
  explanation.plan = explain(plan->spec());
  explanation.config_notes = plan->spec().notes;
  if (!options.model.empty()) TENSORTAP_RETURN_IF_ERROR(match_model(model.ops, *plan, explanation));
  const auto notes = plan->notes();
  explanation.notes.assign(notes.begin(), notes.end());
  return explanation;
}

Result<ExitCode> print_explanation(const ExplainOptions& options, Terminal& terminal) {
  TENSORTAP_ASSIGN_OR_RETURN(const Explanation explanation, explain_all(options));
  for (const std::string& note : explanation.config_notes) terminal.note(printable(note));
  if (terminal.json) {
    std::vector<std::string> notes = explanation.config_notes;
    notes.insert(notes.end(), explanation.notes.begin(), explanation.notes.end());
    terminal.json_line({{"plan", explanation.plan}, {"match", explanation.match}, {"notes", notes}, {"ops", explanation.ops}});
    return ExitCode::kFine;
  }
  for (const auto* lines : {&explanation.plan, &explanation.match, &explanation.notes}) {
    for (const std::string& line : *lines) terminal.line(printable(line));
  }
  return ExitCode::kFine;
}

}  // namespace

Action declare_explain(CLI::App& app) {
  const auto options = std::make_shared<ExplainOptions>();
  app.add_option("config", options->capture.config, "A dump config; without one, the options are explained")->type_name(kFile);
  app.add_option("--model", options->model, "Also list the matching ops of this model")->type_name(kModel);
  app.add_option("--runtime", options->runtime, "The libonnxruntime to use with --model, or the folder that holds it")->type_name(kPath);
  add_repeated(app, "--custom-ops", options->custom_ops, "LIBRARY", "With --model: a library with custom operators of it; repeatable");
  add_selection_options(app, options->capture);
  add_step_at_option(app, options->capture.options);
  return [options](Terminal& terminal) { return print_explanation(*options, terminal); };
}

}  // namespace tensortap::cli
