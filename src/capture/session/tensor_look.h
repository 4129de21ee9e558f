// TensorLook: what a session does with one tensor: describe it, put it in order, measure it, and hand its record on.

#ifndef TENSORTAP_SESSION_TENSOR_LOOK_H_
#define TENSORTAP_SESSION_TENSOR_LOOK_H_

#include <tensortap/capture.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "session/content_cache.h"
#include "session/device_reads.h"
#include "session/first_nonfinite.h"
#include "session/governor.h"
#include "session/last_ops.h"
#include "session/late_contents.h"
#include "session/record_sink.h"
#include "session/taken_event.h"

namespace tensortap {

// Whether a tensor of a device has elements that a copy could bring.
bool can_be_copied(const tensortap_tensor& tensor, const RecordRow& row, const TensorView& view);

// Borrows the parts that it is given. Thread-safe; an event belongs to one thread.
class TensorLook {
 public:
  struct Parts {
    ContentCache& contents;
    RecordSink& sink;
    LastOps& last_ops;
    Governor& governor;
    DeviceReads& devices;
  };
  // `gated`: an overflow gate decides what is written.
  TensorLook(const Parts& parts, bool gated);
  TensorLook(const TensorLook&) = delete;
  TensorLook& operator=(const TensorLook&) = delete;

  // Takes all tensors of an event that are wanted.
  void take_all(TakenEvent& event);
  // Describes the tensors of an event to the layout; `row` has the fields that they share.
  void describe_all(const tensortap_op_event& event, RecordRow row);
  // Takes one tensor: its record goes to the ring, into event.held for the gate, to the sink, or nowhere.
  void take(TakenEvent& event, const tensortap_tensor& tensor);

  // The single steps of take(), for the overflow trigger.
  // Whether a tensor of an event is looked at; sets the flags that its record has.
  bool looks_at(TakenEvent& event, const tensortap_tensor& tensor) const;
  // Fills in row and view. False for a malformed tensor, which is counted as lost.
  bool describe(const TakenEvent& event, const tensortap_tensor& tensor, RecordRow& row, TensorView& view);
  // The block of channels of a tensor that has to be put into the order of its dims, 0 = none.
  [[nodiscard]] static uint32_t block_of(const TakenEvent& event, const tensortap_tensor& tensor, const TensorView& view);
  // Memory of a tensor put into the order of its dims, which `view` is then a view of; null where the order does not matter or there is no
  // memory.
  std::unique_ptr<std::byte[]> put_in_order(const TakenEvent& event, uint32_t block, RecordRow& row, TensorView& view);
  void measure(TakenEvent& event, const TensorView& view, RecordRow& row, KnownContent& known);
  // Digest and histogram, as far as they are asked for.
  std::unique_ptr<ExponentHistogram> look_closer(const TakenEvent& event, const TensorView& view, RecordRow& row,
                                                 KnownContent& known) const;

  // The number of the next record; take() numbers its records itself.
  [[nodiscard]] uint64_t next_sequence() { return sequence_.fetch_add(1, std::memory_order_relaxed); }
  // For crashes; valid as long as this object.
  [[nodiscard]] std::atomic<uint64_t>* sequence() { return &sequence_; }
  [[nodiscard]] const FirstNonFinite& first_nonfinite() const { return first_nonfinite_; }
  // Whether any record is one that `find` has to judge: it holds NaN or Inf, wherever they come from, or was not counted, or its op read
  // memory that nothing was written to. Where there is none, `find` finds none.
  [[nodiscard]] bool has_news() const { return has_news_.load(std::memory_order_relaxed); }
  // Tensors that may hold NaN or Inf and were not looked at, or only in part.
  [[nodiscard]] uint64_t not_counted() const { return not_counted_.load(std::memory_order_relaxed); }
  // Records that the condition left out.
  [[nodiscard]] uint64_t filtered() const { return filtered_.load(); }
  // Tensors with elements in memory that the host cannot read; their records have kValueNotLookedAt.
  [[nodiscard]] uint64_t not_looked_at() const { return not_looked_at_.load(std::memory_order_relaxed); }
  [[nodiscard]] const DeviceReads& devices() const { return parts_.devices; }
  // Whether channels were asked for, and every tensor lacked the axis.
  [[nodiscard]] bool found_no_channels() const { return without_axis_.load() && !with_axis_.load(); }

 private:
  // Whether `view` and `row` are now of the first elements alone.
  static bool take_head(const TakenEvent& event, TensorView& view, RecordRow& row);

  // A tensor between the two halves of take(): it is described, and its elements may still come.
  struct Described {
    RecordRow row;
    TensorView view;
    KnownContent known;
    uint32_t flags = 0;        // of tensortap_tensor
    uint32_t block = 0;        // block_of()
    bool is_ordered = false;   // put_in_order() made the memory of `view`
    bool in_part = false;      // take_head()
    bool is_due = false;       // the known facts are compared with the memory
    bool is_needless = false;  // all that the plan asks for is known
  };
  // The second half: looks at the elements that came, and hands the record on.
  void look(TakenEvent& event, Described& it);
  // Whether a record of the event may wait for its elements: nothing needs the answer at once.
  [[nodiscard]] bool may_be_late(const TakenEvent& event) const;
  enum class Begun : uint8_t { kDone, kFetch, kMissed };
  // Begins to look at a remote tensor without waiting. kDone: nothing is left to do; kFetch: fetch() is needed.
  Begun begin_late(TakenEvent& event, const tensortap_tensor& tensor, Described& it);
  class LateLook;
  class LateNews;
  [[nodiscard]] bool only_measures(const TakenEvent& event) const;
  struct Fetched {
    const void* data = nullptr;
    bool is_needless = false;
  };
  // Where the tensor is in memory of a device, `view` becomes one of its elements in host memory, as far as they are needed and can be had.
  Fetched fetch(const TakenEvent& event, const tensortap_tensor& tensor, const RecordRow& row, TensorView& view, bool is_measured);
  void note_not_looked_at(uint32_t tensor_flags, RecordRow& row);
  KnownContent recall(const TakenEvent& event, const tensortap_tensor& tensor, const TensorView& view, const RecordRow& row);
  bool recall_reordered(const TakenEvent& event, const tensortap_tensor& tensor, const TensorView& view, KnownContent& known);
  void check_content(const TakenEvent& event, const TensorView& view, const RecordRow& row, KnownContent& known);
  std::unique_ptr<SketchBuilder> begin_sketch(const TakenEvent& event, const TensorView& view, RecordRow& row);
  void look_for_nonfinite(TakenEvent& event, const RecordRow& row);
  void look_for_news(const TakenEvent& event, const RecordRow& row);
  static void add_digest(const TakenEvent& event, const TensorView& view, RecordRow& row, KnownContent& known);
  [[nodiscard]] bool passes_condition(const TakenEvent& event, const RecordRow& row) const;
  void keep(TakenEvent& event, const TensorView& view, RecordRow& row, KnownContent& known);

  const Parts parts_;
  const bool gated_;
  std::atomic<uint64_t> sequence_{0};
  std::atomic<uint64_t> filtered_{0};
  std::atomic<uint64_t> not_counted_{0};
  std::atomic<uint64_t> not_looked_at_{0};
  std::atomic<bool> with_axis_{false};
  std::atomic<bool> without_axis_{false};
  std::atomic<bool> has_news_{false};
  FirstNonFinite first_nonfinite_;
  LateContents late_contents_;
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_TENSOR_LOOK_H_
