// Which call of which operation runs on a thread, for layouts that distinguish calls (TENSORTAP_IDENTITY_CALL).

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_RUNNING_OPERATIONS_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_RUNNING_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tensortap::pytorch {

struct OpIdentity;

// A call of a model in its phase.
struct Round {
  uint64_t number = 0;       // of all rounds of the program, in their order
  uint32_t model_phase = 0;  // enum tensortap_model_phase
};

// Where a call stands among the others of its round.
struct CallPlace {
  const OpIdentity* parent = nullptr;  // the operation that made it, null of a root operation
  uint32_t occurrence = 0;             // which call of its op within one call of the parent, from 0
  uint32_t model_phase = 0;            // enum tensortap_model_phase
  uint32_t pass = 0;                   // TENSORTAP_PHASE_BACKWARD or _UPDATE for ops that no operation calls, otherwise 0
  friend bool operator==(const CallPlace&, const CallPlace&) = default;
};

// Of one thread.
class RunningOperations {
 public:
  // The place of a call that begins now. `op` is the same number for all calls of an op. Calls outside of every operation are counted in
  // the round; so are those of a `pass`, whatever runs.
  CallPlace next_call(uint64_t op, const Round& round, uint32_t pass = 0);
  // An operation begins; null = a module that is no operation: its calls are root operations. Returns how many ran before.
  size_t begin(OpIdentity* operation);
  // Ends all but the first `before` operations, including those that an exception left.
  void end(size_t before);
  // The innermost operation, null when none runs.
  [[nodiscard]] OpIdentity* innermost() const { return depth_ == 0 ? nullptr : frames_[depth_ - 1].operation; }
  // When the innermost operation began its own work, by the caller's clock; -1 = not reported.
  [[nodiscard]] int64_t began_ns() const { return depth_ == 0 ? -1 : frames_[depth_ - 1].began_ns; }
  void begins_now(int64_t now_ns) {
    if (depth_ > 0) frames_[depth_ - 1].began_ns = now_ns;
  }

 private:
  using Counts = std::unordered_map<uint64_t, uint32_t>;
  struct Frame {
    OpIdentity* operation = nullptr;
    int64_t began_ns = -1;
    Counts calls;
  };

  std::vector<Frame> frames_;  // those beyond depth_ keep their memory
  size_t depth_ = 0;
  Counts outside_;
  uint64_t round_ = 0;
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_RUNNING_OPERATIONS_H_
