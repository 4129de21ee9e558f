#include "source/acl/engine.h"

#include "base/job_rank.h"
#include "base/json.h"
#include "base/text.h"
#include "source/acl/chunk_delivery.h"
#include "source/acl/exec_dump.h"
#include "source/acl/failure.h"

namespace tensortap::acl_source {
namespace {

// The text of a report, freed.
Json take_report(char* report) {
  Json json = report != nullptr ? Json::parse(report, nullptr, false) : Json::object();
  tensortap_free(report);
  return json.is_object() ? json : Json::object();
}

std::string error_in(const Json& report) { return report.value("error", "the ONNX Runtime source gives no reason"); }

Result<std::string> request_text(const EngineRequest& request) {
  Json json = {{"capture", request.dump != nullptr}};
  if (!request.path.empty()) json["model"] = request.path;
  if (request.dump != nullptr) {
    json["config"] = request.dump->config;
    json["config_name"] = request.dump->config_name;
    json["program"] = request.path.empty() ? request.name : request.path;
    if (request.dump->places) {
      TENSORTAP_ASSIGN_OR_RETURN(json["config"], request.dump->places->config_for(request.name.empty() ? "model" : request.name));
      json["program"] = request.dump->places->request().program;
    }
  }
  // One op is too little work to share.
  if (request.single_op) json["threads"] = 1;
  return to_json_text(json);
}

// The names of files are made of the ops' names, and the vendor's tools pass over those that have other characters.
void warn_about_names(const std::string& model, const Json& ops) {
  constexpr std::string_view kTaken = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./\\ ";
  for (const Json& op : ops) {
    const std::string name = op.value("name", "");
    if (name.find_first_not_of(kTaken) == std::string::npos) continue;
    warn_once(concat("model ", quote(model), ": the vendor's tools pass over files of ops with names such as ", quote(name),
                     ". Run the program by `tensortap exec`, which gives files names that they take"));
    return;
  }
}

// What on_output() gets through the C interface. Nothing thrown may pass it.
struct OutputReceiver {
  const std::function<void(const tensortap_tensor&)>* on_output;
  std::exception_ptr thrown;
};

void receive_output(void* user, int64_t /*step*/, const tensortap_tensor* output) {
  auto* const receiver = static_cast<OutputReceiver*>(user);
  try {
    if (!receiver->thrown) (*receiver->on_output)(*output);
  } catch (...) {
    receiver->thrown = std::current_exception();
  }
}

}  // namespace

EngineModel::EngineModel() = default;

Result<std::unique_ptr<EngineModel>> EngineModel::open(const EngineRequest& given) {
  std::unique_ptr<EngineModel> model(new EngineModel());
  EngineRequest request = given;
  // What `tensortap exec` asked for is read on the disk when the program has ended.
  if (request.dump != nullptr && !request.dump->places && has_chunk_callback()) {
    TENSORTAP_ASSIGN_OR_RETURN(model->delivery_, ChunkDelivery::begin(*request.dump));
    request.dump = &model->delivery_->request();
  }
  TENSORTAP_ASSIGN_OR_RETURN(const std::string text, request_text(request));
  tensortap_onnxruntime_model_options options{};
  options.size = sizeof(options);
  options.model_id = request.model_id;
  options.request = text.c_str();
  options.bytes = request.bytes.empty() ? nullptr : request.bytes.data();
  options.byte_count = request.bytes.size();
  options.name = request.name.empty() ? nullptr : request.name.c_str();
  options.device = request.device;
  options.op_flags = request.single_op ? TENSORTAP_OP_SINGLE : 0;
  options.timestamp = request.dump != nullptr ? request.dump->timestamp.c_str() : nullptr;
  if (request.dump != nullptr && request.dump->places) {
    const JobRank job = job_rank();
    options.rank = job.rank;
    options.world_size = job.world_size;
  }
  char* report = nullptr;
  const int code = tensortap_onnxruntime_model_open(&options, &model->model_, &report);
  model->description_ = std::make_unique<Json>(take_report(report));
  const Json& description = *model->description_;
  if (code != TENSORTAP_OK) return Status(static_cast<StatusCode>(code), error_in(description));
  const auto problem = description.find("capture_error");
  if (problem != description.end() && problem->is_string()) {
    warn_once(concat(request.path.empty() ? request.name : request.path, " runs without dump: ", problem->get<std::string>()));
  }
  const bool own_tree = request.dump != nullptr && !request.dump->places && !model->delivery_;
  if (own_tree) warn_about_names(description.value("name", request.name), description.value("ops", Json::array()));
  return model;
}

// The dump ends before the rest of it is delivered.
EngineModel::~EngineModel() { tensortap_onnxruntime_model_close(model_); }

Status EngineModel::run(std::span<const tensortap_tensor> inputs, const std::function<void(const tensortap_tensor&)>& on_output,
                        Json& failed_op) {
  ++runs_;
  const std::unique_ptr<std::atomic<int>, void (*)(std::atomic<int>*)> one_less(&runs_, [](std::atomic<int>* runs) { --*runs; });
  if (!delivery_) return run_once(inputs, on_output, failed_op);
  const std::lock_guard lock(delivery_->runs());
  const Status status = run_once(inputs, on_output, failed_op);
  flush();
  delivery_->deliver();
  return status;
}

Status EngineModel::run_once(std::span<const tensortap_tensor> inputs, const std::function<void(const tensortap_tensor&)>& on_output,
                             Json& failed_op) {
  OutputReceiver receiver{&on_output, nullptr};
  char* report = nullptr;
  const int code = tensortap_onnxruntime_model_run(model_, inputs.data(), inputs.size(), &receive_output, &receiver, &report);
  if (code != TENSORTAP_OK) {
    const Json json = take_report(report);
    failed_op = json.value("failed_op", Json());
    return {static_cast<StatusCode>(code), error_in(json)};
  }
  if (receiver.thrown) std::rethrow_exception(receiver.thrown);
  return {};
}

void EngineModel::flush() {
  if (tensortap_onnxruntime_model_flush(model_) != TENSORTAP_OK) warn_once("a dump could not be written as a whole; its report says why");
}

void EngineModel::finish_at_exit() {
  if (runs_ == 0) {
    end_capture();
  } else {
    flush();
  }
}

void EngineModel::end_capture() {
  if (tensortap_onnxruntime_model_end_capture(model_) != TENSORTAP_OK) warn_once("a dump could not be finished; its report says why");
  if (delivery_) delivery_->deliver();
}

}  // namespace tensortap::acl_source
