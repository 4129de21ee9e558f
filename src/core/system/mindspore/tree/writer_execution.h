// The execution of an op whose tensors are being written: in an asynchronous dump its files share their time.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_EXECUTION_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_EXECUTION_H_

#include <cstdint>
#include <set>
#include <utility>

#include "trace/op_info.h"
#include "trace/record_row.h"

namespace tensortap::mindspore {

// Value type.
class Execution {
 public:
  // The time of a tensor of an op's execution in a step; `event` is the record that is being added. A slot that comes again begins another
  // execution, as does anything of another op, and next_time() is asked then.
  template <class NextTime>
  uint64_t time_of(OpId op, int64_t step, bool is_input, uint32_t slot, const RecordRow& event, NextTime&& next_time) {
    const bool same = op == op_ && step == step_ && event.run == run_ && event.call == call_ && event.thread == thread_;
    if (!same || slots_.contains({is_input, slot})) {
      *this = {};
      op_ = op;
      step_ = step;
      run_ = event.run;
      call_ = event.call;
      thread_ = event.thread;
      time_us_ = next_time();
    }
    slots_.emplace(is_input, slot);
    return time_us_;
  }

  // Whether its overflow has not been written down yet; from now on it has.
  bool takes_overflow() { return !std::exchange(overflowed_, true); }

 private:
  OpId op_ = kNoOp;
  uint64_t run_ = 0;
  int64_t step_ = 0;
  uint32_t call_ = 0;
  uint32_t thread_ = 0;
  uint64_t time_us_ = 0;
  bool overflowed_ = false;
  std::set<std::pair<bool, uint32_t>> slots_;
};

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_EXECUTION_H_
