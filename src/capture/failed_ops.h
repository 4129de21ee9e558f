// The ops that failed while the program ran, as run.json lists them.

#ifndef TENSORTAP_CAPTURE_FAILED_OPS_H_
#define TENSORTAP_CAPTURE_FAILED_OPS_H_

#include <tensortap/capture.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/json_fwd.h"
#include "plan/capture_spec.h"
#include "trace/op_info.h"
#include "trace/record_row.h"

namespace tensortap {

// Describes the first one and counts all of them. Thread-safe.
class FailedOps {
 public:
  FailedOps();
  ~FailedOps();
  // `event` holds the inputs of the op that failed. `row` is what its records share. Reads the event during the call only.
  void add(const tensortap_op_event& event, const RecordRow& row, const OpInfo& op, std::string_view error, ExceptionDetail detail);
  // The members "failed_op" (the first one, or null) and "failed_ops" (how many) of run.json.
  [[nodiscard]] Json report() const;

 private:
  mutable std::mutex mutex_;
  std::unique_ptr<Json> first_;  // null = none
  uint64_t count_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_CAPTURE_FAILED_OPS_H_
