// RuntimeFacts: what a source knows of its runtime and its job, for the member "runtime" of run.json; and the lines of calls.jsonl.

#ifndef TENSORTAP_SESSION_RUNTIME_FACTS_H_
#define TENSORTAP_SESSION_RUNTIME_FACTS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/status.h"
#include "trace/op_info.h"

namespace tensortap {

// Thread-safe.
class RuntimeFacts {
 public:
  // Keeps a JSON value under a name and replaces an earlier one. Errors: kInvalidArgument for a text that is not JSON or exceeds 64 KiB.
  Status add(std::string_view name, std::string_view json);
  // Notes that the arguments of calls other than tensors, or the requests of an engine, are missing from this step on: the first time it is
  // called.
  void miss_arguments(int64_t step) { miss("arguments_missing_from_step", step); }
  void miss_requests(int64_t step) { miss("requests_missing_from_step", step); }
  // An object with all values; empty when there are none.
  [[nodiscard]] Json to_json() const;
  // The value of this name; "" when it does not exist or is not a text.
  [[nodiscard]] std::string text(std::string_view name) const;

 private:
  void miss(const char* name, int64_t step);

  static constexpr size_t kMost = 64;
  static constexpr size_t kLongest = 64U << 10U;

  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> facts_;  // guarded by mutex_
};

// A line of kCallsDocument. `json` is the text of an object. Errors: kInvalidArgument for other text.
Result<std::string> arguments_line(OpId op, int64_t step, uint32_t call, std::string_view json);

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_RUNTIME_FACTS_H_
