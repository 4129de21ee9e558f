#include "source/onnxruntime/run/capture_run.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/json.h"
#include "base/text.h"
#include "source/onnxruntime/run/caller_inputs.h"
#include "source/onnxruntime/run/last_bit.h"
#include "source/onnxruntime/run/run_summary.h"
#include "source/onnxruntime/taps/failure_finder.h"
#include "source/onnxruntime/taps/weight_sender.h"

namespace tensortap::onnxruntime {
namespace {

// Every error of a model, an input or a runtime is for the caller to fix.
Status as_usage(const Status& status) {
  if (status.ok() || status.code() == StatusCode::kIo || status.code() == StatusCode::kExhausted) return status;
  return invalid_argument(status.message());
}

uint64_t kind_of(const Api& api, const std::vector<NamedValue>& inputs) {
  std::vector<const abi::Value*> values;
  for (const NamedValue& input : inputs) values.push_back(input.value);
  return kind_of_inputs(api, values.data(), values.size());
}

bool wants_anything(tensortap_session* session, const OpTable& table, const OpIds& ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (table.entries[i].role == OpRole::kNode && tensortap_wants_op(session, ids[i]) != 0) return true;
  }
  return false;
}

}  // namespace

Status CaptureRun::run() {
  Status status = as_usage(prepare());
  if (status.ok() && request_.capture) status = open_capture();
  if (status.ok()) status = as_usage(open_sessions());
  if (status.ok()) status = run_steps();
  if (!status.ok()) {
    describe_failure(status);
    return status;
  }
  if (session_) tensortap_note(session_.get(), twin_account_.note().c_str());
  if (request_.overhead && request_.capture) measure();
  const bool has_session = session_ != nullptr;
  Json report = Json::object();
  if (has_session) status = end_session(std::move(session_), report);
  summarise(std::move(report), has_session);
  if (!status.ok()) report_["error"] = status.message();
  return status;
}

Status CaptureRun::prepare() {
  callbacks_.progress("loading");
  if (request_.model.empty()) return invalid_argument("run request: \"model\" is missing");
  TENSORTAP_ASSIGN_OR_RETURN(library_, load_runtime(request_.runtime));
  TENSORTAP_ASSIGN_OR_RETURN(model_, PreparedModel::prepare(library_, request_.model_options()));
  for (const auto& [output, input] : request_.carry) {
    const auto inputs = model_->inputs();
    if (std::ranges::find(model_->output_names(), output) == model_->output_names().end() ||
        std::ranges::find(inputs, input, &ValueInfo::name) == inputs.end()) {
      return invalid_argument(concat("carry: the model has no output ", quote(output), " or no input ", quote(input)));
    }
  }
  if (request_.noise > 0 &&
      std::ranges::none_of(model_->inputs(), [](const ValueInfo& info) { return moves_by_last_bit(info.element_type); })) {
    return invalid_argument("noise: no input of the model holds floating-point numbers, so there is nothing to move by its last bit");
  }
  InputOptions options{&model_->inputs(),
                       options_.inputs,
                       options_.input_count,
                       request_.dims,
                       request_.seed,
                       request_.range,
                       request_.ranges,
                       {},
                       {},
                       {},
                       {}};
  // The author's names come first; the graph that runs has functions inlined and tables folded.
  options.uses = merged(find_index_uses(model_->author()), find_index_uses(model_->executed()));
  options.all_from = request_.all_inputs_from;
  options.noise = request_.noise_seed;
  options.narrow = merged(find_narrow_reads(model_->author()), find_narrow_reads(model_->executed()));
  TENSORTAP_ASSIGN_OR_RETURN(inputs_, RunInputs::create(library_, options));
  style_ = request_.taps;
  return {};
}

Status CaptureRun::open_capture() {
  TENSORTAP_ASSIGN_OR_RETURN(session_, open_capture_session(request_, request_.config, *model_));
  OpIds ids = register_ops(session_.get(), model_->ops());
  TENSORTAP_RETURN_IF_ERROR(bind_capture_session(session_.get()));
  sender_ = std::make_unique<EventSender>(session_.get(), model_->ops(), std::move(ids), sender_options());
  return {};
}

Status CaptureRun::open_sessions() {
  if (sender_ && wants_anything(session_.get(), model_->ops(), sender_->ids())) {
    TENSORTAP_ASSIGN_OR_RETURN(tapped_, TappedSession::open(*model_, style_, "", tensortap_wants_reads(session_.get()) != 0));
  } else {
    TENSORTAP_ASSIGN_OR_RETURN(plain_, model_->open_plain(""));
  }
  if (request_.verify && tapped_) {
    TENSORTAP_ASSIGN_OR_RETURN(verification_, Verification::create(*model_));
  }
  if (!sender_) return {};
  if (tapped_ && tensortap_skips_steps(session_.get()) != 0) open_twin();
  if (tapped_) report_untapped(session_.get(), *model_, *tapped_, sender_->ids());
  send_weights(session_.get(), model_->ops(), sender_->ids(), model_->external_folder(), model_->author_weights());
  return {};
}

void CaptureRun::open_twin() {
  skips_steps_ = true;
  auto twin = PlainTwin::open(*model_);
  twin_account_.set_reason(twin.status().message());
  if (twin.ok()) twin_ = *std::move(twin);
}

Status CaptureRun::run_steps() {
  for (int64_t step = 0; step < request_.runs; ++step) {
    callbacks_.progress("running", static_cast<uint64_t>(step), static_cast<uint64_t>(request_.runs));
    if (callbacks_.should_stop()) return internal_error(concat("interrupted before step ", step, "; the dump holds what came before"));
    TENSORTAP_RETURN_IF_ERROR(run_step(step));
  }
  return {};
}

RunOutcome CaptureRun::execute(int64_t step, const std::vector<NamedValue>& inputs, EventSender* sender) {
  Run run;
  run.step = step;
  run.number = static_cast<uint64_t>(step);
  if (skips_steps_) run.kind = kind_of(library_->api(), inputs);
  const bool active = sender != nullptr && sender->begin(run);
  if (active) sender->send_inputs(library_->api(), inputs, run, tapped_.get());
  const bool by_twin = !active && twin_ != nullptr;
  if (!active && tapped_) twin_account_.count(by_twin);
  RunOutcome outcome;
  if (tapped_ && !by_twin) {
    run.listener = active ? sender : nullptr;
    outcome = tapped_->run(inputs, run);
  } else {
    auto outputs = by_twin ? twin_->run(inputs) : plain_->run(inputs, model_->output_names());
    outcome.status = outputs.status();
    if (outputs.ok()) outcome.outputs = *std::move(outputs);
  }
  if (sender != nullptr) sender->end(run);
  return outcome;
}

Status CaptureRun::run_step(int64_t step) {
  const std::vector<NamedValue> inputs = inputs_.of_step(step);
  RunOutcome outcome = execute(step, inputs, sender_.get());
  if (!outcome.status.ok()) return fail(step, inputs, outcome);
  callbacks_.outputs(library_->api(), step, model_->output_names(), outcome.outputs);
  if (step == 0) note_empty_outputs(outcome.outputs);
  if (verification_) TENSORTAP_RETURN_IF_ERROR(verify_step(step, inputs, outcome.outputs));
  if (!outcome.run.in_order && style_ == TapStyle::kSide && !request_.as_written) TENSORTAP_RETURN_IF_ERROR(leave_side_taps());
  ++steps_done_;
  return step + 1 < request_.runs ? carry_outputs(step + 1, outcome.outputs) : Status();
}

// No file is written for such an output.
void CaptureRun::note_empty_outputs(const std::vector<OwnedValue>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string_view why = emptiness(library_->api(), outputs[i].get());
    if (!why.empty()) notes_.push_back(concat("output ", quote(model_->output_names()[i]), " ", why));
  }
}

Status CaptureRun::verify_step(int64_t step, const std::vector<NamedValue>& inputs, const std::vector<OwnedValue>& outputs) {
  callbacks_.progress("verifying", static_cast<uint64_t>(step), static_cast<uint64_t>(request_.runs));
  TENSORTAP_RETURN_IF_ERROR(verification_->check_outputs(step, inputs, outputs).with_context("verifying"));
  if (step == 0 && !request_.as_written) TENSORTAP_RETURN_IF_ERROR(verification_->check_kernels(style_, inputs).with_context("verifying"));
  return {};
}

// Side taps rely on the runtime serving them in the order of their listing. Their records are right in any order; only memory and durations
// suffer. Alias taps are part of the data flow, which forces the order.
Status CaptureRun::leave_side_taps() {
  style_ = TapStyle::kAlias;
  notes_.emplace_back("side taps did not fire in the order of the nodes; alias taps are used from the second step on");
  TENSORTAP_ASSIGN_OR_RETURN(tapped_, TappedSession::open(*model_, style_, ""));
  return {};
}

// An output that its input does not take ends the run here: no step begins that the runtime would refuse.
Status CaptureRun::carry_outputs(int64_t step, std::vector<OwnedValue>& outputs) {
  for (const auto& [output, input] : request_.carry) {
    const auto name = std::ranges::find(model_->output_names(), output);
    OwnedValue& value = outputs[static_cast<size_t>(name - model_->output_names().begin())];
    const auto info = std::ranges::find(model_->inputs(), input, &ValueInfo::name);
    TensorScratch scratch;
    tensortap_tensor tensor{};
    if (info->kind == ValueKind::kTensor && view_tensor(library_->api(), value.get(), scratch, tensor).ok()) {
      TENSORTAP_RETURN_IF_ERROR(check_tensor(*info, tensor).with_context(concat("carrying output ", quote(output))));
    }
    TENSORTAP_RETURN_IF_ERROR(
        inputs_.carry(library_->api(), input, step, std::move(value)).with_context(concat("carrying output ", quote(output))));
  }
  return {};
}

Status CaptureRun::fail(int64_t step, const std::vector<NamedValue>& inputs, const RunOutcome& outcome) {
  const std::string message = concat("step ", step, ": ", outcome.status.message());
  if (!tapped_) {
    auto tapped = TappedSession::open(*model_, style_, "");
    if (tapped.ok()) tapped_ = *std::move(tapped);
  }
  Run again;
  const Run run = outcome.run.last_tap != UINT32_MAX || !tapped_ ? outcome.run : tapped_->run(inputs, again).run;
  const uint32_t entry = tapped_ ? find_failed_op(*model_, *tapped_, run, outcome.status.message()) : kNoEntry;
  if (entry != kNoEntry) {
    const FailedOp failed = collect_failed_inputs(*model_, *tapped_, entry, inputs);
    failed_op_ = onnxruntime::describe_failure(*model_, failed, outcome.status.message());
    Run failing;
    failing.step = step;
    failing.number = static_cast<uint64_t>(step);
    if (sender_) sender_->send_failure(library_->api(), entry, failed.inputs, failing, outcome.status.message());
  }
  return internal_error(inputs_.any_made() ? concat(message, " (inputs were made up: give real ones, or sizes for open dimensions)")
                                           : message);
}

Result<Overhead> CaptureRun::measure_with(EventSender& sender) {
  std::unique_ptr<InferenceSession> plain;
  TENSORTAP_ASSIGN_OR_RETURN(plain, model_->open_plain(""));
  int64_t next = 0;
  const auto step = [&] { return next++ % std::max<int64_t>(1, request_.runs); };
  const auto run_plain = [&] { return plain->run(inputs_.of_step(step()), model_->output_names()).status(); };
  const auto run_captured = [&] {
    const int64_t number = step();
    return execute(number, inputs_.of_step(number), &sender).status;
  };
  OverheadOptions options;
  options.captured_runs = tensortap_skips_steps(sender.session()) != 0 ? static_cast<uint64_t>(request_.runs) : 0;
  options.may_go_on = [&] {
    callbacks_.progress("measuring");
    return !callbacks_.should_stop() && written_bytes(sender.session()) < kMaxMeasuredBytes;
  };
  return measure_overhead(run_plain, run_captured, options);
}

// The measured runs go to a separate dump beside the real one, which is removed afterwards.
void CaptureRun::measure() {
  callbacks_.progress("measuring");
  const std::string folder = concat(dump_path(session_.get()), ".measuring");
  const auto measured = [&]() -> Result<Overhead> {
    TENSORTAP_ASSIGN_OR_RETURN(const std::string config, config_with_out(request_.config, folder));
    TENSORTAP_ASSIGN_OR_RETURN(const OwnedSession session, open_capture_session(request_, config, *model_));
    OpIds ids = register_ops(session.get(), model_->ops());
    TENSORTAP_RETURN_IF_ERROR(bind_capture_session(session.get()));
    EventSender sender(session.get(), model_->ops(), std::move(ids), sender_options());
    TENSORTAP_ASSIGN_OR_RETURN(Overhead overhead, measure_with(sender));
    const Json governor = session_report(session.get()).value("governor", Json());
    const auto reported = governor.find("measured_overhead");
    if (governor.is_object() && reported != governor.end() && reported->is_number()) overhead.reported = reported->get<double>();
    return overhead;
  }();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (measured.ok()) {
    overhead_ = *measured;
  } else {
    notes_.push_back(concat("overhead not measured: ", measured.status().message()));
  }
}

void CaptureRun::summarise(Json report, bool has_session) {
  SummaryFacts facts;
  facts.source = concat("onnxruntime ", library_->version());
  facts.steps = steps_done_;
  facts.inputs = inputs_.description();
  facts.tap_kind = !tapped_ ? "none" : request_.as_written ? "side, as written" : style_ == TapStyle::kSide ? "side" : "alias";
  facts.notes = notes_;
  if (!library_->warning().empty()) facts.notes.push_back(library_->warning());
  if (request_.as_written)
    facts.notes.emplace_back("as written: taps before optimisation keep the runtime from fusing nodes, so this is a different execution");
  if (verification_) {
    facts.identical = verification_->identical();
    facts.kernels_equal = verification_->kernels_equal();
    facts.notes.insert(facts.notes.end(), verification_->notes().begin(), verification_->notes().end());
  } else if (request_.verify && has_session) {
    facts.identical = true;
    facts.notes.emplace_back("nothing was selected, so no taps were placed: the captured run is the plain run");
  }
  facts.overhead = overhead_;
  report_ = make_summary(std::move(report), facts);
}

void CaptureRun::describe_failure(const Status& status) {
  report_ = {{"error", status.message()}, {"failed_op", failed_op_}, {"dump", nullptr}};
  if (session_ && (!failed_op_.is_null() || steps_done_ > 0)) report_["dump"] = dump_path(session_.get());
}

}  // namespace tensortap::onnxruntime
