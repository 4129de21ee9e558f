#include "source/acl/exec_dump.h"

#include <unistd.h>

#include "base/text.h"
#include "source/acl/dump_config.h"
#include "source/acl/failure.h"

namespace tensortap::acl_source {
namespace {

bool flag_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_boolean() || found->get<bool>();
}

// The scene of AscendCL that a depth of exception dumps is.
std::string scene_of(const Json& config) {
  const std::string detail = text_member(config, "exception_detail");
  return detail == "brief" ? "aic_err_brief_dump" : detail == "detail" ? "aic_err_detail_dump" : "aic_err_norm_dump";
}

Result<std::shared_ptr<DumpRequest>> request_from(ExecRequest&& exec) {
  TENSORTAP_ASSIGN_OR_RETURN(const bool one_tree, config_has_shared_tree(exec));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string text, config_with_folder(exec, exec.out));
  TENSORTAP_ASSIGN_OR_RETURN(const Json config, parse_json(text, exec.config_name));
  const Json report = check_config(text, exec.config_name, "tensortap");
  if (report["status"] != TENSORTAP_OK) return invalid_argument(text_member(report, "error"));
  auto request = std::make_shared<DumpRequest>();
  if (!report.value("captures", false)) return request;
  request->config_name = exec.config_name;
  request->folder = exec.out;
  request->kind = text_member(report, "kind");
  if (request->kind == "exception") request->scene = scene_of(config);
  request->models = flag_in(config, "model_ops");
  request->operators = flag_in(config, "single_ops");
  request->places = std::make_shared<ExecPlaces>(std::move(exec), one_tree);
  return request;
}

}  // namespace

Result<std::string> ExecPlaces::config_for(const std::string& model) {
  if (one_tree_) return config_with_folder(request_, request_.out);
  const std::lock_guard lock(mutex_);
  if (process_ != getpid()) {
    process_ = getpid();
    folder_ = process_folder(request_);
    return config_with_folder(request_, folder_);
  }
  return config_with_folder(request_, model_folder(request_, folder_, model));
}

std::shared_ptr<DumpRequest> exec_dump_request() {
  auto exec = read_exec_request();
  if (!exec) return nullptr;
  auto request = request_from(*std::move(exec));
  if (!request.ok()) {
    warn_once(concat("nothing is captured in this process: ", request.status().message()));
    return nullptr;
  }
  return (*request)->places ? *std::move(request) : nullptr;
}

}  // namespace tensortap::acl_source
