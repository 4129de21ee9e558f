#include "source/acl/models.h"

#include <sys/stat.h>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "source/acl/devices.h"
#include "source/acl/failure.h"
#include "source/acl/lifecycle.h"
#include "source/acl/missed_ops.h"
#include "source/acl/model_name.h"

namespace tensortap::acl_source {
namespace {

aclError load_failed(const ModelSource& source, const Status& status) {
  const std::string message = concat(source.path.empty() ? "a model in memory" : source.path, ": ", status.message());
  warn_once(message);
  switch (status.code()) {
    case StatusCode::kIo:
      return fail(ACL_ERROR_READ_MODEL_FAILURE, message);
    case StatusCode::kCorrupt:
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnsupported:
      return fail(ACL_ERROR_PARSE_MODEL, message);
    default:
      return fail(ACL_ERROR_INTERNAL_ERROR, message);
  }
}

aclError check_source(const ModelSource& source) {
  if (source.path.empty()) return source.bytes.empty() ? fail(ACL_ERROR_INVALID_PARAM, "the model has no bytes") : ACL_SUCCESS;
  struct stat facts {};
  if (stat(source.path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode)) return ACL_SUCCESS;
  return fail(ACL_ERROR_READ_MODEL_FAILURE, concat("there is no model ", source.path));
}

EngineRequest engine_request(const ModelSource& source) {
  EngineRequest request;
  request.path = source.path;
  request.bytes = source.bytes;
  if (!source.path.empty()) request.name = model_name_of(source.path);
  return request;
}

void warn_about(const ShapeOptions& options) {
  if (options.not_followed.empty()) return;
  warn_once(concat("TENSORTAP_ACL_ATC: --", join(options.not_followed, ", --"), options.not_followed.size() == 1 ? " is" : " are",
                   " not followed: inputs and outputs are those of the ONNX model itself"));
}

Result<std::shared_ptr<const ModelInterface>> interface_of(const EngineModel& engine) {
  const std::string text = environment_value("TENSORTAP_ACL_ATC").value_or("");
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<ShapeOptions> commands, parse_atc_commands(text));
  const std::string name = engine.description().value("name", "");
  std::vector<std::string> inputs;
  for (const Json& input : engine.description().at("inputs")) inputs.push_back(input.value("name", ""));
  const ShapeOptions* const found = options_of_model(commands, name, inputs);
  if (found != nullptr) warn_about(*found);
  if (found == nullptr && !commands.empty()) {
    warn_once(concat("TENSORTAP_ACL_ATC: no command line in it is about model ", quote(name), " (by --model, --output or --input_shape)"));
  }
  TENSORTAP_ASSIGN_OR_RETURN(ModelInterface interface,
                             ModelInterface::create(engine.description(), found != nullptr ? *found : ShapeOptions()));
  return std::make_shared<const ModelInterface>(std::move(interface));
}

}  // namespace

Shapes Model::current_outputs() const {
  const std::lock_guard lock(mutex_);
  return current_outputs_;
}

void Model::set_current_outputs(Shapes shapes) {
  const std::lock_guard lock(mutex_);
  current_outputs_ = std::move(shapes);
}

Models& Models::of_process() {
  static auto* const models = new Models;
  return *models;
}

aclError Models::load(const ModelSource& source, uint32_t* id) {
  if (id == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the pointer for the model's number is null");
  const aclError checked = check_source(source);
  if (checked != ACL_SUCCESS) return checked;
  const auto dump = Lifecycle::of_process().dump();
  EngineRequest request = engine_request(source);
  request.model_id = last_id_.fetch_add(1) + 1;
  request.device = std::max(0, devices::current_device());
  request.dump = dump && dump->models ? dump.get() : nullptr;
  auto engine = EngineModel::open(request);
  if (!engine.ok()) return load_failed(source, engine.status());
  auto interface = interface_of(**engine);
  if (!interface.ok()) return load_failed(source, interface.status());
  if (request.dump != nullptr) missed_ops::model_loaded(*request.dump, (*engine)->description());
  const std::unique_lock lock(mutex_);
  models_[request.model_id] = std::make_shared<Model>(request.model_id, *std::move(interface), *std::move(engine));
  *id = request.model_id;
  return ACL_SUCCESS;
}

aclError Models::unload(uint32_t id) {
  std::shared_ptr<Model> gone;  // closed without the lock
  const std::unique_lock lock(mutex_);
  const auto model = models_.find(id);
  if (model == models_.end()) return no_such_model(id);
  gone = std::move(model->second);
  models_.erase(model);
  return ACL_SUCCESS;
}

std::shared_ptr<Model> Models::find(uint32_t id) const {
  const std::shared_lock lock(mutex_);
  const auto model = models_.find(id);
  return model == models_.end() ? nullptr : model->second;
}

std::vector<std::shared_ptr<Model>> Models::all() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<Model>> models;
  for (const auto& [id, model] : models_) models.push_back(model);
  return models;
}

aclError no_such_model(uint32_t id) { return fail(ACL_ERROR_INVALID_MODEL_ID, concat("no model ", id, " is loaded")); }

aclError read_interface(const ModelSource& source, std::shared_ptr<const ModelInterface>& interface) {
  const aclError checked = check_source(source);
  if (checked != ACL_SUCCESS) return checked;
  const auto engine = EngineModel::open(engine_request(source));
  if (!engine.ok()) return load_failed(source, engine.status());
  auto read = interface_of(**engine);
  if (!read.ok()) return load_failed(source, read.status());
  interface = *std::move(read);
  return ACL_SUCCESS;
}

aclError model_bytes(const ModelSource& source, uint64_t& bytes) {
  const aclError checked = check_source(source);
  if (checked != ACL_SUCCESS) return checked;
  struct stat facts {};
  bytes = source.bytes.size();
  if (!source.path.empty() && stat(source.path.c_str(), &facts) == 0) bytes = static_cast<uint64_t>(facts.st_size);
  return ACL_SUCCESS;
}

}  // namespace tensortap::acl_source
