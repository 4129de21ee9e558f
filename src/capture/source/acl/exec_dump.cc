#include "source/acl/exec_dump.h"

#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "source/acl/dump_config.h"
#include "source/acl/failure.h"

namespace tensortap::acl_source {
namespace {

Result<std::shared_ptr<DumpRequest>> request_from(ExecRequest&& exec) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string text, config_with_folder(exec, exec.out));
  const Json report = check_config(text, exec.config_name, "tensortap");
  if (report["status"] != TENSORTAP_OK) return invalid_argument(text_member(report, "error"));
  auto request = std::make_shared<DumpRequest>();
  if (!report.value("captures", false)) return request;
  request->config_name = exec.config_name;
  request->folder = exec.out;
  request->kind = text_member(report, "kind");
  request->scene = text_member(report, "scene");
  request->models = report.value("models", false);
  request->operators = report.value("operators", false);
  request->places = std::make_shared<ExecPlaces>(std::move(exec));
  return request;
}

}  // namespace

Result<std::string> ExecPlaces::config_for(const std::string& model) {
  if (request_.shared_tree) return config_with_folder(request_, request_.out);
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
