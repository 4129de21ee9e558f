// The times of operations (cpu_profiling): a row for each operation that ran in a round.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_TIMES_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "system/msit/tree/msit_options.h"
#include "trace/record_row.h"

namespace tensortap::msit {

// An operation as its times name it.
struct TimedOp {
  std::string_view process;  // "0_22377"
  std::string_view name;     // "LinearOperation_1_0"
  OpId parent = kNoOp;
  bool is_operator = false;  // not a module, which has operators inside
};

// Collects executions, those inside of an operation before its own, and writes the rows of a round when another one begins. Of an operation
// that ran twice in a round the last execution counts. Thread-compatible. `options` outlives it.
class Times {
 public:
  explicit Times(const WriterOptions& options) : options_(options) {}

  [[nodiscard]] bool wanted() const { return options_.times; }
  // Takes an execution that ended. If rows cannot be written, returns kIo or kExhausted, and the rows stay for the next try.
  Status see(OpId id, const TimedOp& op, const RecordRow& event);
  // Writes the rows of all rounds so far.
  Status finish();

 private:
  // In nanoseconds, -1 = not measured.
  struct Spent {
    int64_t total = -1;
    int64_t operators = -1;
  };
  struct Round {
    int64_t number = 0;
    std::string process;
    std::vector<std::pair<std::string, Spent>> rows;  // in the order in which operations ended first
    std::map<std::string, size_t, std::less<>> places;
    std::map<OpId, int64_t> operators;  // of what ran inside an operation that has not ended
  };

  // Its rows wait to be written.
  void take_rows(Round& round);
  Status write(const std::string& name, const std::string& rows);
  Status write_waiting();

  const WriterOptions& options_;
  std::map<uint64_t, Round> rounds_;            // by run
  std::map<std::string, std::string> waiting_;  // rows by the name of the file, below the dump
  std::set<std::string> begun_;                 // files that have their header
};

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_TIMES_H_
