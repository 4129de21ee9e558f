#include "source/acl/lifecycle.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <ctime>

#include "acl/acl_dump.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "source/acl/exec_dump.h"
#include "source/acl/failure.h"
#include "source/acl/missed_ops.h"
#include "source/acl/models.h"
#include "source/acl/single_op.h"

namespace tensortap::acl_source {
namespace {

// The folder of a dump is named after the second; no two dumps of a process may have the same one.
std::string next_timestamp() {
  static time_t last = 0;  // called under the lifecycle's lock
  last = std::max(last + 1, time(nullptr));
  tm parts{};
  localtime_r(&last, &parts);
  std::array<char, 32> text{};
  const size_t size = strftime(text.data(), text.size(), "%Y%m%d%H%M%S", &parts);
  return {text.data(), size};
}

// A program may end without aclFinalize(). Its dumps are still written.
void write_at_exit() {
  answer([]() -> aclError {
    for (const auto& model : Models::of_process().all()) model->engine().finish_at_exit();
    single_ops::finish_at_exit();
    if (const auto dump = Lifecycle::of_process().dump()) missed_ops::dump_ended(*dump);
    return ACL_SUCCESS;
  });
}

aclError not_begun() { return fail(ACL_ERROR_UNINITIALIZE, "call aclInit() first"); }
aclError dump_not_begun() { return fail(ACL_ERROR_DUMP_NOT_RUN, "call aclmdlInitDump() first"); }

}  // namespace

Lifecycle& Lifecycle::of_process() {
  static auto* const lifecycle = new Lifecycle;
  return *lifecycle;
}

aclError Lifecycle::init(const char* config_path) {
  const std::lock_guard lock(mutex_);
  if (users_ > 0) {
    ++users_;
    return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit() was called already; this call counts");
  }
  ConfigOutcome outcome;
  if (config_path != nullptr && *config_path != '\0') outcome = read_dump_config(config_path, ConfigReader::kInit);
  if (outcome.code != ACL_SUCCESS) return outcome.code;
  if (first_config_ && *first_config_ != outcome.text) {
    return fail(ACL_ERROR_INVALID_PARAM, "a process has one config: this one differs from that of the first aclInit()");
  }
  first_config_ = outcome.text;
  users_ = 1;
  if (auto asked = exec_dump_request()) {
    if (outcome.request) warn_once(concat(config_path, ": its dump is not made; `tensortap exec` asks for another"));
    outcome.request = std::move(asked);
  }
  if (outcome.request) take(std::move(outcome.request));
  return ACL_SUCCESS;
}

void Lifecycle::take(std::shared_ptr<DumpRequest> request) {
  end_dump();
  request->timestamp = next_timestamp();
  dump_ = std::move(request);
  ++generation_;
  static const int registered = std::atexit(&write_at_exit);
  if (registered != 0) warn_once("no function can be registered for the end of the program: call aclFinalize() to have dumps whole");
}

void Lifecycle::end_dump() {
  if (dump_) missed_ops::dump_ended(*dump_);
  dump_.reset();
}

aclError Lifecycle::finalize(bool all, uint64_t* left) {
  const std::lock_guard lock(mutex_);
  if (users_ == 0) return fail(ACL_ERROR_REPEAT_FINALIZE, "nothing is to be ended");
  users_ = all ? 0 : users_ - 1;
  if (left != nullptr) *left = users_;
  if (users_ > 0) return ACL_SUCCESS;
  dump_initialized_ = false;
  end_dump();
  arguments_.reset();
  ++generation_;
  single_ops::forget();
  for (const auto& model : Models::of_process().all()) model->engine().end_capture();
  return ACL_SUCCESS;
}

aclError Lifecycle::init_dump() {
  const std::lock_guard lock(mutex_);
  if (users_ == 0) return not_begun();
  if (dump_initialized_) return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclmdlInitDump() was called already");
  dump_initialized_ = true;
  return ACL_SUCCESS;
}

aclError Lifecycle::set_dump(const char* config_path) {
  const std::lock_guard lock(mutex_);
  if (users_ == 0) return not_begun();
  if (!dump_initialized_) return dump_not_begun();
  if (config_path == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "the path of the config is null");
  ConfigOutcome outcome = read_dump_config(config_path, ConfigReader::kSetDump);
  if (outcome.code == ACL_SUCCESS && outcome.request) take(std::move(outcome.request));
  return outcome.code;
}

aclError Lifecycle::finalize_dump() {
  const std::lock_guard lock(mutex_);
  if (users_ == 0) return not_begun();
  if (!dump_initialized_) return dump_not_begun();
  dump_initialized_ = false;
  end_dump();
  ++generation_;
  single_ops::forget();
  for (const auto& model : Models::of_process().all()) model->engine().flush();
  return ACL_SUCCESS;
}

aclError Lifecycle::start_dump_args(uint32_t type, const char* path) {
  const std::lock_guard lock(mutex_);
  if ((type & ACL_OP_DUMP_OP_AICORE_ARGS) == 0 || path == nullptr || *path == '\0')
    return fail(ACL_ERROR_FAILURE, "no such dump, or no path");
  if (arguments_) return fail(ACL_ERROR_FAILURE, "the dump of arguments was started already");
  const Status made = make_directories(path);
  if (!made.ok() || !is_directory(path) || access(path, R_OK | W_OK) != 0) {
    return fail(ACL_ERROR_FAILURE, concat(path, " is no folder that can be written to"));
  }
  char buffer[PATH_MAX];
  auto request = std::make_shared<DumpRequest>();
  request->folder = realpath(path, buffer) != nullptr ? buffer : path;
  const Json dump = {{"dump_path", request->folder}, {"dump_op_switch", "on"}, {"dump_mode", "all"}, {"dump_level", "op"}};
  request->config = to_json_text({{"dump", dump}});
  request->config_name = "aclopStartDumpArgs()";
  request->kind = "single-op";
  request->models = false;
  request->operators = true;
  request->timestamp = next_timestamp();
  arguments_ = std::move(request);
  ++generation_;
  return ACL_SUCCESS;
}

aclError Lifecycle::stop_dump_args(uint32_t type) {
  const std::lock_guard lock(mutex_);
  if ((type & ACL_OP_DUMP_OP_AICORE_ARGS) == 0 || !arguments_) return ACL_SUCCESS;
  arguments_.reset();
  ++generation_;
  single_ops::forget();
  return ACL_SUCCESS;
}

std::shared_ptr<const DumpRequest> Lifecycle::dump() const {
  const std::lock_guard lock(mutex_);
  return dump_;
}

std::shared_ptr<const DumpRequest> Lifecycle::dump_of_operators() const {
  const std::lock_guard lock(mutex_);
  if (arguments_) return arguments_;
  return dump_ && dump_->operators ? dump_ : nullptr;
}

uint64_t Lifecycle::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

}  // namespace tensortap::acl_source
