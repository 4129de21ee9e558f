// The ops of a session: found by number without a lock, added under the session's registration lock, never moved.

#ifndef TENSORTAP_SESSION_OP_TABLE_H_
#define TENSORTAP_SESSION_OP_TABLE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "plan/op_decision.h"
#include "session/execution_pairs.h"
#include "trace/op_info.h"

namespace tensortap {

// Counts how many times an op has run in its step, for each run and moment apart. Thread-safe; the lock is the op's own.
class CallCounter {
 public:
  struct Key {
    uint64_t run;
    uint8_t moment;
    uint8_t phase;
    friend bool operator==(const Key&, const Key&) = default;
  };
  // 0 for the first execution of a step.
  uint32_t next(const Key& key, int64_t step);
  // The number of the last execution of the step, 0 when there was none.
  uint32_t last(const Key& key, int64_t step);

 private:
  // Runs in flight at the same time; beyond that the one unused for longest is forgotten.
  static constexpr size_t kMostRuns = 64;
  struct Count {
    Key key;
    int64_t step;
    uint32_t calls;
  };
  std::atomic_flag lock_;
  std::vector<Count> counts_;  // most recently used first
};

// What has happened to an op so far.
enum OpState : uint32_t {
  kOpRan = 1U << 0,              // an event came in a captured step
  kOpCaptured = 1U << 1,         // a tensor of it was looked at, or its description was all that was asked for
  kOpDescriptionOnly = 1U << 2,  // a tensor came without host data
  kOpNoTensor = 1U << 3,         // an event came without a tensor that was asked for
  kOpFailed = 1U << 4,
  kOpLost = 1U << 5,          // a record of it was lost
  kOpLeftOut = 1U << 6,       // the governor left out an execution
  kOpOutsideSteps = 1U << 7,  // ran in a step that was not captured
  kOpRequested = 1U << 8,     // the program asked for it, once at least
};

// What every event looks at comes first, in one line of the processor's cache: between two events of an op a program has used all of it for
// other things.
struct alignas(64) OpEntry {
  // By generation of the plan (StepGate): what each of the two that may be alive decided; null = not decided yet.
  std::array<std::atomic<const OpDecision*>, 2> decisions{};
  std::atomic<uint32_t> state{0};      // OpState bits
  std::atomic<bool> requested{false};  // by the program, now
  uint32_t place = 0;                  // in the order of execution: how many ops that run were added before
  bool is_look = false;                // a pseudo-op for looks at watched tensors, not an op of the program
  bool intended_infinities = false;    // its purpose is to make them, as a mask does
  uint64_t overwritten = 0;            // bit per input below 64: written and not read
  ExecutionPairs pairs;
  CallCounter calls;
  OpInfo info;
  std::vector<std::string> reasons;  // of tensortap_not_captured(); guarded by the registration lock
  // Bit per output: an op that the program asked for reads it; the last bit represents all outputs from 63 on.
  std::atomic<uint64_t> requested_outputs{0};

  void mark(uint32_t bits) {
    if ((state.load(std::memory_order_relaxed) & bits) != bits) state.fetch_or(bits, std::memory_order_relaxed);
  }
  // Whether the op reads the value in the slot. A value that it is about to overwrite does not count.
  [[nodiscard]] bool reads(SlotKind kind, uint32_t slot) const {
    return kind != SlotKind::kInput || slot >= 64 || (overwritten >> slot & 1U) == 0;
  }
  // Whether a record of the op is kept on behalf of the program: the op itself or, where inputs are kept, a value for an op that reads it.
  [[nodiscard]] bool is_requested(bool inputs) const {
    return requested.load(std::memory_order_relaxed) || (inputs && requested_outputs.load(std::memory_order_relaxed) != 0);
  }
  static constexpr uint64_t output_bit(uint32_t slot) { return uint64_t{1} << (slot < 63 ? slot : 63); }
  [[nodiscard]] bool has(uint32_t bits) const { return (state.load(std::memory_order_relaxed) & bits) != 0; }
};

// find() is thread-safe at any time; the others need the registration lock.
class OpTable {
 public:
  OpTable() = default;
  ~OpTable();
  OpTable(const OpTable&) = delete;
  OpTable& operator=(const OpTable&) = delete;

  // Null for an unknown id.
  [[nodiscard]] OpEntry* find(OpId id) const {
    if (id >= count_.load(std::memory_order_acquire)) return nullptr;
    return &chunks_[id / kChunk].load(std::memory_order_relaxed)[id % kChunk];
  }
  [[nodiscard]] OpId size() const { return count_.load(std::memory_order_acquire); }

  // Adds an op, "#2" and so on appended to a name that is taken. kNoOp when the table is full.
  OpId add(OpInfo info);
  // Decides for an op. Equal decisions are one object; none goes before the table does, since threads may still read it.
  void decide(OpEntry& entry, uint8_t generation, OpDecision decision);

 private:
  static constexpr size_t kChunk = 256;
  static constexpr size_t kChunks = 16384;

  std::array<std::atomic<OpEntry*>, kChunks> chunks_{};
  std::atomic<uint32_t> count_{0};
  uint32_t next_place_ = 0;
  std::unordered_set<std::string> names_;
  struct Before {
    bool operator()(const OpDecision& a, const OpDecision& b) const;
  };
  std::set<OpDecision, Before> decisions_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_OP_TABLE_H_
