// OverflowWatch: the trigger "overflow" of a session: which ops it watches whole, what waits at the gate, and reads shown after an op ran.

#ifndef TENSORTAP_SESSION_OVERFLOW_WATCH_H_
#define TENSORTAP_SESSION_OVERFLOW_WATCH_H_

#include <tensortap/capture.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/json_fwd.h"
#include "session/admission.h"
#include "session/content_cache.h"
#include "session/last_ops.h"
#include "session/op_registry.h"
#include "session/overflow_gate.h"
#include "session/record_sink.h"
#include "session/taken_event.h"
#include "session/tensor_look.h"

namespace tensortap {

// Where the source shows the inputs of an op after it ran, nothing is copied or measured before an op has made NaN or Inf, except the
// inputs that the op may overwrite. Otherwise every value waits at the gate until its readers have run. Borrows all parts. Thread-safe
// except for bind(), which comes before the first event of a graph.
class OverflowWatch {
 public:
  struct Parts {
    TensorLook& look;
    RecordSink& sink;
    LastOps& last_ops;
    OpRegistry& ops;
    Admission& admission;
    ContentCache& contents;
    PoolAccount& pool;
    DeviceReads& devices;
  };
  OverflowWatch(const Parts& parts, const CaptureSpec& spec);
  OverflowWatch(const OverflowWatch&) = delete;
  OverflowWatch& operator=(const OverflowWatch&) = delete;

  // What tensortap_wants_reads() returns.
  [[nodiscard]] uint32_t wanted_reads() const;
  // Whether all outputs of the op are watched, as bind() found.
  [[nodiscard]] bool watches_whole(OpId op) const { return op < whole_count_ && whole_[op].load(std::memory_order_relaxed) != kNotWhole; }
  // For the event of such an op: true when all that it shows is finite and will be shown again. Then nothing more is done with it.
  bool passes_by_whole(const tensortap_op_event& event);
  // The same for an op that became known later.
  bool passes_by(const tensortap_op_event& event, OpEntry& op, const OpDecision& decision);
  // Takes an event: its records wait, are written, or are forgotten.
  void take(TakenEvent& event);
  // The execution came to no end.
  void failed(const TakenEvent& event) { gate_.forget_begun(key_of(event)); }
  // All ops of a graph, in the order of execution.
  void bind(std::span<const OpInfo> ops);
  // Lets the values of a run go. Returns whether anything of it was written.
  bool end_step(uint64_t run) { return gate_.end_step(run); }

  // {"fired", "over_limit"}
  [[nodiscard]] Json report() const;

 private:
  enum Whole : uint8_t { kNotWhole = 0, kWhole = 1, kWholeAndCaptured = 2 };

  static OverflowGate::Execution key_of(const TakenEvent& event) { return {event.row.run, event.c.op, event.row.call}; }
  bool is_finite_and_shown_again(const tensortap_op_event& event);
  // True when the event is dealt with.
  bool take_at_shown_gate(TakenEvent& event);
  void pass_gate(TakenEvent& event);
  // What was reported before the op runs: a verdict, and copies unless the op cannot fire.
  void take_read_first(TakenEvent& event);
  void copy_before_write(TakenEvent& event, const tensortap_tensor& tensor, OverflowGate::ReadFirst& read);
  void measure_without_copy(TakenEvent& event, const TensorView& view, RecordRow& row);
  void take_shown(TakenEvent& event, OverflowGate::ReadFirst& read);
  // One of the shown reads, in host memory if it can be had there.
  tensortap_tensor read_at(const TakenEvent& event, const tensortap_tensor* reads, uint64_t index);
  void take_shown_reads(TakenEvent& event, OverflowGate::ReadFirst& read);
  bool was_nonfinite(const TakenEvent& event, const tensortap_tensor& tensor);
  void write_read(TakenEvent& event, const tensortap_tensor& tensor);
  void write_as_made(TakenEvent& event, const OpInput& input, tensortap_tensor tensor);
  void write_copy(TakenEvent& event, QueuedRecord record);

  const Parts parts_;
  const bool takes_shown_reads_;  // the gate can do without holding values
  size_t whole_count_ = 0;
  std::unique_ptr<std::atomic<uint8_t>[]> whole_;  // by op: Whole
  OverflowGate gate_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_OVERFLOW_WATCH_H_
