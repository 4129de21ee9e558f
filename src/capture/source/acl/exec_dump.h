// A program under `tensortap exec`: its request, in the form of a config that aclInit() was given.

#ifndef TENSORTAP_SOURCE_ACL_EXEC_DUMP_H_
#define TENSORTAP_SOURCE_ACL_EXEC_DUMP_H_

#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "exec/exec_request.h"
#include "source/acl/engine.h"

namespace tensortap::acl_source {

// The folders of the models' dumps. Thread-safe.
class ExecPlaces {
 public:
  explicit ExecPlaces(ExecRequest request) : request_(std::move(request)) {}

  [[nodiscard]] const ExecRequest& request() const { return request_; }
  // The config of the request with the folder for one more model of this process. Errors: kInvalidArgument.
  Result<std::string> config_for(const std::string& model);

 private:
  const ExecRequest request_;
  std::mutex mutex_;
  int process_ = 0;     // that the folder belongs to, 0 = none yet; a child of fork() gets another folder; guarded by mutex_
  std::string folder_;  // guarded by mutex_
};

// What `tensortap exec` asks of this process, without a timestamp. Null when it asks for nothing, or when this process is not under `exec`.
// A request that cannot be read is said once on stderr.
std::shared_ptr<DumpRequest> exec_dump_request();

}  // namespace tensortap::acl_source

#endif  // TENSORTAP_SOURCE_ACL_EXEC_DUMP_H_
