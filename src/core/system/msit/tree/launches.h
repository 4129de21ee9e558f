// Describes how kernels were launched (-tiling). The real system stores the device's launch parameters; a CPU has none.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_LAUNCHES_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_LAUNCHES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "trace/record_row.h"

namespace tensortap::msit {

// Collects the tensors of executions. Thread-compatible.
class Launches {
 public:
  // `threads` of the runtime, 0 = not known.
  explicit Launches(uint32_t threads) : threads_(threads) {}

  // A tensor of an execution that has not ended.
  void see(OpId id, const RecordRow& row);
  // The execution ended, of the kernel of this name: one line of JSON, "" when it was not seen.
  std::string end(OpId id, std::string_view kernel, const RecordRow& event);

 private:
  using Key = std::pair<uint64_t, OpId>;  // run and op
  struct Seen {
    uint64_t numel = 0;  // of the first output, or of the first tensor without one
    bool has_output = false;
    uint64_t bytes = 0;  // of all tensors
    bool contiguous = true;
  };

  const uint32_t threads_;
  std::map<Key, Seen> seen_;
};

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_LAUNCHES_H_
