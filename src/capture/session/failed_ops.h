// The ops that failed while the program ran, as run.json lists them.

#ifndef TENSORTAP_SESSION_FAILED_OPS_H_
#define TENSORTAP_SESSION_FAILED_OPS_H_

#include <tensortap/capture.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "plan/capture_spec.h"
#include "trace/op_info.h"
#include "trace/record_row.h"

namespace tensortap {

// Counts all of them and describes the one that counts: the one whose exception ended the program; else the last one after which its thread
// did nothing more; else, where all were caught, the first one. Thread-safe.
class FailedOps {
 public:
  FailedOps();
  ~FailedOps();
  // `event` holds the inputs of the op that failed. `row` is what its records share. Reads the event during the call only.
  void add(const tensortap_op_event& event, const RecordRow& row, const OpInfo& op, std::string_view error, ExceptionDetail detail);
  // The calling thread goes on: the exception of its op was caught. Costs one load if no op failed.
  void caught();
  // An exception that came through these source lines, the innermost last, ended the program. Returns whether an op failed at one of them.
  bool program_raised(std::string_view text, const std::vector<std::string>& lines);
  // The members "failed_op" (null, or the one that counts) and "failed_ops" (how many) of run.json.
  [[nodiscard]] Json report() const;

 private:
  mutable std::mutex mutex_;
  std::atomic<uint32_t> open_count_{0};
  // Under mutex_.
  std::unique_ptr<Json> first_;          // null = none
  std::unique_ptr<Json> ending_;         // the one that ended the program
  std::map<uint32_t, Json> open_;        // by thread: the last one, if the thread did nothing more
  std::map<std::string, Json> by_line_;  // the last one of each line of the program, of the first lines
  uint32_t last_thread_ = 0;
  uint64_t count_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_FAILED_OPS_H_
