#include "source/onnxruntime/run/loaded_model.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/json_members.h"
#include "base/text.h"
#include "source/onnxruntime/run/caller_inputs.h"
#include "source/onnxruntime/taps/executed_graph.h"
#include "source/onnxruntime/taps/failure_finder.h"
#include "source/onnxruntime/taps/model_description.h"
#include "source/onnxruntime/taps/weight_sender.h"

namespace tensortap::onnxruntime {
namespace {

bool is_open(const ValueInfo& info) {
  return !info.has_shape || std::ranges::any_of(info.dims, [](const Dimension& dim) { return dim.size < 0; });
}

Status session_status(int code) {
  if (code == TENSORTAP_OK) return {};
  return {static_cast<StatusCode>(code), "the capture session failed; its report says why"};
}

bool wants_any_node(tensortap_session* session, const OpTable& table, const OpIds& ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (table.entries[i].role == OpRole::kNode && tensortap_wants_op(session, ids[i]) != 0) return true;
  }
  return false;
}

// The caller may be of any version: members beyond its structure are zero.
tensortap_tensor tensor_at(const tensortap_tensor* tensors, uint64_t index) {
  const size_t stride = tensors->size;
  tensortap_tensor tensor{};
  std::memcpy(&tensor, reinterpret_cast<const char*>(tensors) + index * stride, std::min(stride, sizeof tensor));
  return tensor;
}

}  // namespace

LoadedModel::Memory::~Memory() {
  if (fd >= 0) close(fd);
}

Status LoadedModel::take_bytes(const tensortap_onnxruntime_model_options& options) {
  memory_.fd = memfd_create("tensortap-model", MFD_CLOEXEC);
  if (memory_.fd < 0) return errno_status("a file in memory for the model", errno);
  const auto* data = static_cast<const char*>(options.bytes);
  for (uint64_t done = 0; done < options.byte_count;) {
    const ssize_t count = write(memory_.fd, data + done, options.byte_count - done);
    if (count < 0 && errno != EINTR) return errno_status("a file in memory for the model", errno);
    if (count > 0) done += static_cast<uint64_t>(count);
  }
  request_.model = concat("/proc/self/fd/", memory_.fd);
  return {};
}

Result<std::unique_ptr<LoadedModel>> LoadedModel::open(const tensortap_onnxruntime_model_options& options) {
  std::unique_ptr<LoadedModel> model(new LoadedModel());
  TENSORTAP_ASSIGN_OR_RETURN(model->request_, parse_request(options.request));
  if (options.bytes != nullptr) TENSORTAP_RETURN_IF_ERROR(model->take_bytes(options));
  if (model->request_.model.empty()) return invalid_argument("there is neither a path nor bytes of a model");
  TENSORTAP_ASSIGN_OR_RETURN(model->library_, load_runtime(model->request_.runtime));
  TENSORTAP_ASSIGN_OR_RETURN(model->file_, ModelFile::open(model->request_.model));
  model->name_ = options.name != nullptr ? options.name : "";
  if (model->request_.capture) model->drop_capture(model->open_capture(options));
  if (!model->prepared_) TENSORTAP_RETURN_IF_ERROR(model->read_interface());
  if (!model->tapped_) TENSORTAP_RETURN_IF_ERROR(model->open_plain());
  return model;
}

// A model that cannot be captured still runs. An error of the model itself is reported again when the model is opened plain.
void LoadedModel::drop_capture(const Status& reason) {
  if (reason.ok()) return;
  capture_error_ = reason.message();
  tapped_.reset();
  sender_.reset();
  if (session_) tensortap_session_discard(session_.release());
  prepared_.reset();
}

Status LoadedModel::read_interface() {
  const bool is_ort = file_.is_ort_format();
  if (!is_ort) {
    TENSORTAP_ASSIGN_OR_RETURN(interface_, read_model(file_.bytes(), name_.empty() ? "the model" : name_));
  }
  if (is_ort || std::ranges::any_of(interface_.graph.outputs, is_open)) {
    TENSORTAP_ASSIGN_OR_RETURN(
        inferred_, optimize_model(library_, file_, {abi::kOptimizeBasic, request_.threads, request_.extras, PassWeights::kForgotten}));
    TENSORTAP_ASSIGN_OR_RETURN(interface_, read_executed_model(inferred_.bytes, interface_));
    release_free_memory();
  }
  file_.release_memory();
  if (name_.empty()) name_ = interface_.graph.name;
  for (const ValueInfo& output : interface_.graph.outputs) output_names_.emplace_back(output.name);
  return {};
}

Status LoadedModel::open_plain() {
  SessionSettings settings;
  settings.level = request_.level;
  settings.threads = request_.threads;
  settings.extras = request_.extras;
  settings.entries.emplace_back("session.load_model_format", file_.is_ort_format() ? "ORT" : "ONNX");
  TENSORTAP_ASSIGN_OR_RETURN(plain_, InferenceSession::open(library_, file_.path(), {}, settings));
  return {};
}

Status LoadedModel::open_capture(const tensortap_onnxruntime_model_options& options) {
  TENSORTAP_ASSIGN_OR_RETURN(prepared_, PreparedModel::prepare(library_, request_.model_options()));
  if (name_.empty()) name_ = prepared_->author().graph.name;
  CaptureIdentity identity;
  identity.model = name_;
  identity.model_id = options.model_id;
  identity.device = options.device;
  identity.timestamp = options.timestamp != nullptr ? options.timestamp : "";
  identity.rank = options.rank;
  identity.world_size = options.world_size;
  TENSORTAP_ASSIGN_OR_RETURN(session_, open_capture_session(request_, request_.config, *prepared_, identity));
  OpIds ids = register_ops(session_.get(), prepared_->ops(), options.op_flags);
  TENSORTAP_RETURN_IF_ERROR(bind_capture_session(session_.get()));
  const bool wanted = wants_any_node(session_.get(), prepared_->ops(), ids);
  sender_ = std::make_unique<EventSender>(session_.get(), prepared_->ops(), std::move(ids),
                                          SenderOptions{request_.threads != 1, prepared_->blocks().block});
  if (wanted) {
    TENSORTAP_ASSIGN_OR_RETURN(tapped_, TappedSession::open(*prepared_, style_, "", tensortap_wants_reads(session_.get()) != 0));
    report_untapped(session_.get(), *prepared_, *tapped_, sender_->ids());
  }
  send_weights(session_.get(), prepared_->ops(), sender_->ids(), prepared_->external_folder(), prepared_->author_weights());
  output_names_ = prepared_->output_names();
  return {};
}

void LoadedModel::add_unmatched(Json& description) const {
  char* text = session_ ? tensortap_session_report(session_.get()) : nullptr;
  const Json report = text != nullptr ? Json::parse(text, nullptr, false) : Json();
  tensortap_free(text);
  for (const char* key : {"unmatched", "other_models"}) description[key] = list_in(report, key);
}

Json LoadedModel::describe() const {
  Json description = {
      {"name", name_},        {"inputs", Json::array()},        {"outputs", Json::array()},
      {"ops", Json::array()}, {"capture", session_ != nullptr}, {"capture_error", capture_error_.empty() ? Json() : Json(capture_error_)}};
  description["source"] = concat("onnxruntime ", library_->version());
  add_unmatched(description);
  description["runtime_warning"] = library_->warning().empty() ? Json() : Json(library_->warning());
  const Graph& graph = prepared_ ? prepared_->executed().graph : interface_.graph;
  for (const ValueInfo& info : required_inputs(graph)) description["inputs"].push_back(describe_value(info));
  for (const ValueInfo& info : graph.outputs) description["outputs"].push_back(describe_value(info));
  if (!prepared_) return description;
  for (const OpEntry& entry : prepared_->ops().entries) description["ops"].push_back(describe_op(entry));
  return description;
}

std::shared_ptr<TappedSession> LoadedModel::tapped() const {
  const std::lock_guard lock(tapped_mutex_);
  return tapped_;
}

Result<const ValueInfo*> LoadedModel::input_of(const tensortap_tensor& tensor) const {
  const Graph& graph = prepared_ ? prepared_->executed().graph : interface_.graph;
  if (tensor.name != nullptr && *tensor.name != '\0') {
    const auto info = std::ranges::find(graph.inputs, std::string_view(tensor.name), &ValueInfo::name);
    if (info != graph.inputs.end()) return &*info;
    return invalid_argument(concat("the model has no input ", quote(tensor.name)));
  }
  uint32_t index = 0;
  for (const ValueInfo& info : graph.inputs) {
    if (std::ranges::find(graph.initializers, info.name, &Initializer::name) != graph.initializers.end()) continue;
    if (index++ == tensor.slot_index) return &info;
  }
  return invalid_argument(concat("the model has no input number ", tensor.slot_index));
}

Status LoadedModel::make_inputs(const tensortap_tensor* inputs, uint64_t count, std::vector<OwnedValue>& values,
                                std::vector<NamedValue>& named) const {
  for (uint64_t i = 0; i < count; ++i) {
    const tensortap_tensor tensor = tensor_at(inputs, i);
    TENSORTAP_ASSIGN_OR_RETURN(const ValueInfo* info, input_of(tensor));
    TENSORTAP_RETURN_IF_ERROR(check_tensor(*info, tensor));
    auto value = make_value(library_->api(), tensor);
    if (!value.ok()) return value.status().with_context(concat("input ", quote(info->name)));
    values.push_back(*std::move(value));
    named.push_back({std::string(info->name), values.back().get()});
  }
  for (const ValueInfo& info : required_inputs(prepared_ ? prepared_->executed().graph : interface_.graph)) {
    const bool may_miss = info.kind == ValueKind::kOptionalTensor || info.kind == ValueKind::kOptionalSequence;
    if (!may_miss && std::ranges::find(named, info.name, &NamedValue::name) == named.end())
      return invalid_argument(concat("input ", quote(info.name), " is missing"));
  }
  return {};
}

RunOutcome LoadedModel::execute(const std::vector<NamedValue>& inputs, int64_t step) {
  Run run;
  run.step = step;
  run.number = static_cast<uint64_t>(step);
  const bool active = sender_ && sender_->begin(run);
  const std::shared_ptr<TappedSession> taps = tapped();
  if (active) sender_->send_inputs(library_->api(), inputs, run, taps.get());
  RunOutcome outcome{{}, {}, run};
  if (taps) {
    run.listener = active ? sender_.get() : nullptr;
    outcome = taps->run(inputs, run);
  } else {
    auto outputs = plain_->run(inputs, output_names_);
    outcome.status = outputs.status();
    if (outputs.ok()) outcome.outputs = *std::move(outputs);
  }
  return outcome;
}

Status LoadedModel::run(const tensortap_tensor* inputs, uint64_t count, const RunCallbacks& callbacks, Json& failed_op) {
  std::vector<OwnedValue> values;
  std::vector<NamedValue> named;
  TENSORTAP_RETURN_IF_ERROR(make_inputs(inputs, count, values, named));
  const std::shared_lock lock(capture_mutex_);
  const int64_t step = next_step_.fetch_add(1);
  RunOutcome outcome = execute(named, step);
  if (!outcome.status.ok()) failed_op = report_failure(named, step, outcome);
  if (sender_) sender_->end(outcome.run);
  if (!outcome.status.ok()) {
    // The program may end itself now.
    if (session_) tensortap_session_flush(session_.get());
    return internal_error(outcome.status.message());
  }
  callbacks.outputs(library_->api(), step, output_names_, outcome.outputs);
  if (!outcome.run.in_order && !request_.as_written) leave_side_taps();
  return {};
}

// As CaptureRun does; runs that have begun go on with the session that they have.
void LoadedModel::leave_side_taps() {
  const std::lock_guard lock(tapped_mutex_);
  if (!tapped_ || style_ == TapStyle::kAlias) return;
  auto aliased = TappedSession::open(*prepared_, TapStyle::kAlias, "");
  style_ = TapStyle::kAlias;
  if (aliased.ok()) tapped_ = *std::move(aliased);
}

Json LoadedModel::report_failure(const std::vector<NamedValue>& inputs, int64_t step, const RunOutcome& outcome) {
  if (!prepared_) return {};
  std::shared_ptr<TappedSession> taps = tapped();
  Run last = outcome.run;
  if (!taps) {
    auto opened = TappedSession::open(*prepared_, TapStyle::kSide, "");
    if (!opened.ok()) return {};
    taps = *std::move(opened);
    last = taps->run(inputs, Run{}).run;
  }
  const std::string& message = outcome.status.message();
  const uint32_t entry = find_failed_op(*prepared_, *taps, last, message);
  if (entry == kNoEntry) return {};
  const FailedOp failed = collect_failed_inputs(*prepared_, *taps, entry, inputs);
  Run failing;
  failing.step = step;
  failing.number = static_cast<uint64_t>(step);
  if (sender_) sender_->send_failure(library_->api(), entry, failed.inputs, failing, message);
  return onnxruntime::describe_failure(*prepared_, failed, message);
}

Status LoadedModel::flush() {
  const std::shared_lock lock(capture_mutex_);
  return session_ ? session_status(tensortap_session_flush(session_.get())) : Status();
}

Status LoadedModel::end_capture() {
  const std::unique_lock lock(capture_mutex_);
  sender_.reset();
  return session_ ? session_status(tensortap_session_close(session_.release())) : Status();
}

}  // namespace tensortap::onnxruntime
