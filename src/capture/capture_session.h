// CaptureSession: what stands behind tensortap_session. Takes events, decides, measures, copies, queues and writes; keeps the report.

#ifndef TENSORTAP_CAPTURE_CAPTURE_SESSION_H_
#define TENSORTAP_CAPTURE_CAPTURE_SESSION_H_

#include <tensortap/capture.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "capture/buffer_pool.h"
#include "capture/content_cache.h"
#include "capture/crash_recorder.h"
#include "capture/disk_guard.h"
#include "capture/first_nonfinite.h"
#include "capture/fork_guard.h"
#include "capture/governor.h"
#include "capture/losses.h"
#include "capture/op_table.h"
#include "capture/output_folder.h"
#include "capture/overflow_gate.h"
#include "capture/record_queue.h"
#include "capture/record_ring.h"
#include "capture/step_gate.h"
#include "capture/watch_list.h"
#include "layout/layout.h"
#include "plan/capture_plan.h"
#include "stats/digest.h"
#include "stats/stats.h"

namespace tensortap {

struct SessionOptions {
  CaptureSpec spec;
  const Layout* layout = nullptr;  // borrowed for the session's life
  std::string program;
  std::string source;
  int32_t rank = 0;
  int32_t world_size = 1;
  std::string model;
  uint32_t model_id = 0;
  int32_t device = 0;
  std::string timestamp;      // "" = now
  std::string graph;          // of the model
  bool kernels = false;       // whether what an op calls underneath is registered, too
  bool before_moment = true;  // whether the source reports events before an op, too
  bool content_known = true;  // whether equal storage and version mean equal bytes
};

// Thread-safe, but for open, close and discard. Its functions may throw what the standard library throws (no memory): callers in src/api go
// through guarded(), which switches the session off then.
class CaptureSession {
 public:
  // Compiles the plan, then creates the folder. Errors as tensortap_session_open() has them; nothing is left on the disk after one.
  static Result<std::unique_ptr<CaptureSession>> open(SessionOptions options);
  // A session that does nothing and makes no folder; its report says why.
  static std::unique_ptr<CaptureSession> disabled(std::string why);
  ~CaptureSession();
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;

  // Once each, and nothing after it. In a forked child both leave everything as it is.
  Status close();
  // Ends the session and removes what it wrote.
  void discard();

  [[nodiscard]] bool is_on() const { return off_.load(std::memory_order_relaxed) == 0; }
  [[nodiscard]] bool is_forked() const { return (off_.load(std::memory_order_relaxed) & kForked) != 0; }
  void enable(bool enabled);
  Status flush();
  // run.json's text so far. Flushes.
  std::string report();

  // Bits 1 << Level of what the spec asks for.
  [[nodiscard]] uint32_t levels() const;

  OpId register_op(OpInfo info);
  Status bind();
  void request_op(OpId op, bool enabled) noexcept;
  void not_captured(OpId op, std::string_view reason);
  bool wants_op(OpId op);
  [[nodiscard]] bool wants_reads() const { return takes_shown_reads_ && is_on(); }
  // Whether ops that make no values of their own matter to the overflow trigger in every execution.
  [[nodiscard]] bool wants_passed_on() const { return gate_.has_value() && gate_->keeps_passed_on(); }

  bool step_begin(int64_t step, uint64_t run);
  void step_end(int64_t step, uint64_t run);
  bool wants(OpId op, int64_t step);
  void on_op(const tensortap_op_event& event);
  void op_failed(const tensortap_op_event& event, std::string_view error);

  // Switches the session off for good, says so once on stderr and keeps it for the report.
  void fail(std::string_view why) noexcept;

 private:
  enum Off : uint32_t { kDisabled = 1U << 0, kForked = 1U << 1, kFailed = 1U << 2, kClosed = 1U << 3, kFromStart = 1U << 4 };
  static constexpr uint32_t kOffForGood = kForked | kFailed | kClosed | kFromStart;

  // What becomes of an execution's records where there is an overflow gate.
  enum class AtGate : uint8_t { kWaits, kPasses, kStops };
  // Ops all of whose outputs the overflow gate watches: what most events need to know of their op, without a look at it. Thread-safe but for assign().
  class WatchedWhole {
   public:
    void assign(const std::vector<bool>& whole);
    [[nodiscard]] bool serves(OpId op) const { return op < count_ && states_[op].load(std::memory_order_relaxed) != 0; }
    // True the first time.
    bool mark_captured(OpId op) { return states_[op].load(std::memory_order_relaxed) == 1 && states_[op].exchange(2) == 1; }

   private:
    size_t count_ = 0;
    std::unique_ptr<std::atomic<uint8_t>[]> states_;  // 0 = not whole, 1 = whole, 2 = captured once
  };
  // One event on its way through the session.
  struct Event {
    const tensortap_op_event& c;
    OpEntry& op;
    const OpDecision* decision;  // null for a failed op: everything is kept
    RecordRow row;               // what all of its records share
    Governor::Thinning thinning;
    uint64_t elements = 0;
    uint64_t skipped_elements = 0;
    uint64_t tensors = 0;              // wanted ones
    std::vector<QueuedRecord> held{};  // for the overflow gate
    Execution execution{};
    AtGate at_gate = AtGate::kWaits;
    bool ring_only = false;  // nothing is written before a trigger fires
    bool fires = false;      // a record met the condition that the ring waits for
  };
  // What is known of a tensor's content before it is looked at.
  struct Known {
    ContentKey key;
    Content content;
    bool found = false;
    bool learned = false;  // `content` holds something new
  };
  struct FailedOp {
    std::string name;
    std::string type;
    std::string source;  // line of the program, "" = not known
    std::string module;
    std::string error;
    int64_t step = 0;
    std::vector<std::string> inputs;
    Json details;  // as exception_detail asks
  };

  CaptureSession(SessionOptions options, OutputFolder folder, std::unique_ptr<CapturePlan> plan, std::unique_ptr<LayoutWriter> layout);
  CaptureSession();

  // session_events.cc: the way of an event.
  bool moment_wanted(const tensortap_op_event& event) const;
  [[nodiscard]] int64_t step_number(const tensortap_op_event& event) const;
  bool step_wanted(const tensortap_op_event& event, int64_t step, OpEntry& op, int64_t now_ns);
  // The execution's number and whether it is taken: of its first event's where this is the second.
  Execution admit(const tensortap_op_event& event, int64_t step, OpEntry& op, int64_t now_ns);
  void spend(const Event& taken, int64_t began_ns);
  uint32_t call_of_failed(const tensortap_op_event& event, int64_t step, OpEntry& op);
  static ExecutionKey key_of(const tensortap_op_event& event, int64_t step);
  void take(Event& event);
  // Whether a tensor of an event is looked at; sets the flags that its record has.
  bool looks_at(Event& event, const tensortap_tensor& tensor) const;
  void take_tensor(Event& event, const tensortap_tensor& tensor);
  bool describe(const Event& event, const tensortap_tensor& tensor, RecordRow& row, TensorView& view);
  // Memory of a tensor that had to be put into the order of its dims, which `view` is then a view of; null when it is in order, or stays.
  std::unique_ptr<std::byte[]> put_in_order(const Event& event, uint32_t block, RecordRow& row, TensorView& view);
  void take_head(TensorView& view, RecordRow& row) const;
  Known recall(const Event& event, const tensortap_tensor& tensor, const TensorView& view, const RecordRow& row);
  bool recall_reordered(const tensortap_tensor& tensor, const TensorView& view, Known& known);
  void check_content(const Event& event, const TensorView& view, const RecordRow& row, Known& known);
  void measure(Event& event, const TensorView& view, RecordRow& row, Known& known);
  void look_for_nonfinite(Event& event, const RecordRow& row);
  void add_digest(const TensorView& view, RecordRow& row, Known& known) const;
  bool passes_condition(const Event& event, const RecordRow& row) const;
  // Counts a record against limits.max_records; false, and a loss, when there are enough.
  bool counts_in(const RecordRow& row);
  // Digest and histogram, as far as they are asked for.
  std::unique_ptr<ExponentHistogram> look_closer(const Event& event, const TensorView& view, RecordRow& row, Known& known) const;
  void keep(Event& event, const TensorView& view, RecordRow& row, Known& known);
  void pass_gate(Event& event);
  [[nodiscard]] bool wants_data(const Event& event) const;

  // session_overflow.cc: executions whose inputs are shown with their outputs, of which only what the op may write over waits at the gate.
  // Whether all that the event of an op whose outputs are all watched has is finite and will be shown again: then nothing more is done with it.
  bool passes_by(const tensortap_op_event& event);
  static bool watches_whole(const OpDecision& decision);
  void find_watched_whole();
  // True when the event is dealt with.
  bool take_at_shown_gate(Event& event);
  [[nodiscard]] bool is_shown(const Event& event) const;
  // What is told before the op runs: a verdict, and copies unless it is that the op can not fire.
  void take_read_first(Event& event);
  void copy_before_write(Event& event, const tensortap_tensor& tensor, OverflowGate::ReadFirst& read);
  void measure_without_copy(Event& event, const TensorView& view, RecordRow& row);
  void take_shown(Event& event, OverflowGate::ReadFirst& read);
  void take_shown_reads(Event& event, OverflowGate::ReadFirst& read);
  bool was_nonfinite(const tensortap_op_event& event, const tensortap_tensor& tensor);
  void write_read(Event& event, const tensortap_tensor& tensor);
  void write_as_made(Event& event, const OpInput& input, tensortap_tensor tensor);
  void write_copy(Event& event, QueuedRecord record);

  // session_triggers.cc: watched tensors and the ring of the last ops.
  void watch(Event& event);
  static Digest watched_digest(const tensortap_tensor& tensor);
  // Takes what lies in the watched memory now. True when that changed.
  bool look_again(const Event& event, const WatchList::Watched& watched);
  OpId look_op(OpId watcher, OpId watched);
  // [name, [...]] of each look's op, by output: whether the watched tensor was still to be read then; null = not known.
  Json still_read();
  [[nodiscard]] bool ring_only(const tensortap_op_event& event, const OpEntry& op, const OpDecision& decision) const;
  void add_to_ring(const RecordRow& row, const TensorView& view);
  void fire_ring();
  // For crashes: the op that begins on this thread, or ends.
  void note_running(const tensortap_op_event& event);
  Status open_crash_recorder(const DumpInfo& info);
  // What run.json says of an op that failed, besides its inputs.
  [[nodiscard]] Json failure_details(const tensortap_op_event& event, const OpInfo& op) const;

  // session_records.cc: the way of a record to the layout.
  bool room_for_data(const RecordRow& row, uint64_t bytes);
  // `counted`: a loss of this record is counted already.
  bool room_for_row(const RecordRow& row, bool counted = false);
  void keep_data(const RecordRow& row, const TensorView& view, std::unique_ptr<ExponentHistogram> histogram, Known& known);
  void share_data(QueuedRecord& record, const TensorView& data, Known& known);
  // Of a record whose elements an earlier one has.
  void keep_reference(const RecordRow& row, std::unique_ptr<ExponentHistogram> histogram, const Content& content);
  // For the overflow gate: a copy that never waits for memory; without one the record says that its data is lost.
  QueuedRecord held_copy(const RecordRow& row, const TensorView& view, bool with_data, std::unique_ptr<ExponentHistogram> histogram);
  void write_passed(QueuedRecord record);
  void write_at_once(QueuedRecord& record, const TensorView& view);
  void keep_row(RecordRow& row, std::unique_ptr<ExponentHistogram> histogram, bool counted = false);
  void write_queued(QueuedRecord& record);
  void write_data(QueuedRecord& record, const TensorView* data);
  void write_reference(QueuedRecord& record);
  void write_record(RecordRow& row, const TensorView* data, const ExponentHistogram* histogram, bool counted);
  void end_step_of_layout(const RecordRow& row);
  void lose_earlier(const Status& status);
  void lose(std::string_view reason, const RecordRow& row);
  void lose_to_full_disk(const RecordRow& row);
  void count_record(const RecordRow& row);

  // session.cc
  const OpDecision* decision_of(OpId id, OpEntry& entry);
  void decide(OpId id, OpDecision decision);
  void note_error(const Status& status);
  // Of one record: what the layout has no place for is no error of the session.
  void note_failure(const Status& status);
  void note_problem(const Status& status);
  void check_folder();

  // session_report.cc
  [[nodiscard]] Json manifest(bool ended);
  [[nodiscard]] Json coverage(bool ended);

  SessionOptions options_;
  OutputFolder folder_;
  std::unique_ptr<CapturePlan> plan_;
  std::unique_ptr<LayoutWriter> layout_;
  std::optional<ForkGuard> fork_guard_;

  // Fixed at open.
  StatsOptions stats_options_;
  DigestKind digest_ = DigestKind::kNone;
  bool keeps_data_ = false;
  bool measures_ = false;
  bool failed_only_ = false;
  bool statistics_at_once_ = false;
  bool keeps_rows_ = false;  // a record without its values is worth writing
  bool on_request_ = false;
  std::string why_disabled_;
  std::atomic<bool> requested_in_vain_{false};  // the program asked for ops, and the config does not wait for that
  int most_dimensions_ = kRowDims;              // of a tensor that is looked into
  bool takes_shown_reads_ = false;              // the overflow gate can do without holding values
  bool writing_fires_ = false;                  // a record that is written fires the ring
  bool shares_statistics_ = false;              // of equal contents
  bool shares_data_ = false;
  uint64_t least_shared_ = 0;  // elements of a tensor that is worth looking up
  bool follows_steps_ = false;
  int64_t opened_ns_ = 0;
  std::string started_;

  std::atomic<uint32_t> off_{0};
  Governor governor_;
  StepGate steps_;
  OpTable ops_;
  DiskGuard disk_;
  DiskGuard disk_for_rows_;
  BufferPool pool_;
  ContentCache contents_;
  RecordQueue queue_;
  Losses losses_;
  std::optional<OverflowGate> gate_;
  WatchedWhole watched_whole_;
  std::optional<WatchList> watch_;
  std::optional<RecordRing> ring_;
  std::unique_ptr<CrashRecorder> crash_;
  FirstNonFinite first_nonfinite_;
  std::atomic<uint64_t> sequence_{0};
  std::atomic<uint64_t> records_{0};
  std::atomic<uint64_t> bytes_{0};     // of data, written
  std::atomic<uint64_t> promised_{0};  // of data, for max_bytes
  std::atomic<uint64_t> taken_{0};     // records let through, for max_records
  std::atomic<uint64_t> filtered_{0};  // records that the condition left out

  std::mutex registration_;  // guards adding and deciding ops
  bool bound_ = false;
  bool bind_failed_ = false;
  std::vector<std::string> matches_;  // explain_match() of bind
  std::vector<FailedOp> failed_ops_;
  uint64_t failed_count_ = 0;

  std::atomic<bool> disk_error_noted_{false};
  std::mutex error_mutex_;
  Status first_error_;
  std::vector<std::string> problems_;
};

// Runs `call` for the C interface: what it throws switches the session off, and `otherwise` is returned.
template <class T, class Call>
T guarded(CaptureSession* session, T otherwise, Call&& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    if (session != nullptr) session->fail("no memory");
  } catch (const std::exception& error) {
    if (session != nullptr) session->fail(error.what());
  } catch (...) {
    if (session != nullptr) session->fail("unknown exception");
  }
  return otherwise;
}

}  // namespace tensortap

#endif  // TENSORTAP_CAPTURE_CAPTURE_SESSION_H_
