// Failures of what a layout writes beside a record, returned by the next call that can return one.

#ifndef TENSORTAP_TREE_NOTED_FAILURES_H_
#define TENSORTAP_TREE_NOTED_FAILURES_H_

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/text.h"

namespace tensortap {

// Not thread-safe.
class NotedFailures {
 public:
  // `others` is the message's word for the objects of further failures: "files".
  explicit NotedFailures(std::string_view others) : others_(others) {}

  void note(const Status& status) {
    if (status.ok()) return;
    if (count_++ == 0) first_ = status;
  }

  // The first failure since the last call, with the number of further ones; ok without any.
  Status take() {
    const uint64_t count = std::exchange(count_, 0);
    Status status = std::exchange(first_, Status());
    if (count <= 1) return status;
    return Status(status.code(), concat(status.message(), " (and ", count - 1, " more ", others_, ")"))
        .with_system_error(status.system_error());
  }

 private:
  const std::string_view others_;
  Status first_;
  uint64_t count_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_TREE_NOTED_FAILURES_H_
