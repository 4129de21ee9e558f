// The dump of one model of a program: its capture session, and the numbers that the session gave to the model's ops.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_MODEL_DUMP_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_MODEL_DUMP_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "source/onnxruntime/origins/author_weights.h"
#include "source/onnxruntime/run/session_calls.h"
#include "source/onnxruntime/taps/event_sender.h"
#include "source/onnxruntime/taps/failed_reads.h"
#include "source/onnxruntime/taps/named_ops.h"
#include "source/onnxruntime/taps/plain_twin.h"
#include "source/onnxruntime/taps/registered_ops.h"

namespace tensortap::onnxruntime {

// Sessions of the same model share one: their runs are its steps, counted together in the order in which they begin. Thread-safe. May be
// closed while runs are under way; their later reports are ignored.
class ModelDump final : public EventSender {
 public:
  // Registers the ops. Keeps nothing of the models that the table was made from.
  static std::shared_ptr<ModelDump> create(OwnedSession session, const OpTable& ops, const BlockedGraph& blocks);

  // Whether a model has the same ops in the same places, so that its taps can report here.
  [[nodiscard]] bool has_ops(const OpTable& ops) const;
  [[nodiscard]] bool wants_anything() const;
  // `why`: a short class of reasons.
  void nothing_captured(const std::string& why);
  void value_not_captured(const UntappedValue& value);
  // Sends the weights of the executed graph, once, from the bytes that the table was made from. Keeps those that failed_reads.h needs.
  void send_weights(const OpTable& ops, const BlockedGraph& blocks, const std::string& external_folder, AuthorWeights author);

  bool wants(const Tap& tap, const Run& run) override;
  void on_tap(const FiredTap& fired, const Run& run) override;
  // Gives the run its step; turns it off when nothing of the step is wanted.
  void run_begins(Run& run) override;
  void run_ends(const Run& run) override;
  // The runtime refused a run that had begun: the next run takes its step.
  void run_refused(const Run& run);
  // The op that failed when the runtime ended a run with a message; `last_node` (Node::index) is the last that ran, UINT32_MAX = none.
  // kNoEntry for messages that name no node.
  [[nodiscard]] uint32_t failed_entry(uint32_t last_node, std::string_view message) const;
  // For a run that is repeated to keep the inputs of that op. Null from the second failure of the op on, and when the dump is closed.
  std::unique_ptr<ValueKeeper> keeper_for_failed(uint32_t entry);
  // Reports the op. `keeper` null = its inputs are not known, except for weights; `why_not` is the reason, reported once in the dump's
  // notes; "" = nothing of this failure is kept.
  void op_failed(const Run& run, uint32_t entry, std::string_view message, ValueKeeper* keeper, std::string_view why_not);

  // Turns the capture of ops on or off on behalf of the program, by a name as NamedOps knows them. Errors: NamedOps::find().
  Status set_dump(std::string_view name, bool enabled);

  // Which session takes the runs that are not captured.
  [[nodiscard]] TwinAccount& twins() { return twins_; }

  // Ends the session once the threads that are inside have left; waits two seconds for them at most, then the dump lacks its end.
  void close();

 private:
  struct NodeOp {
    std::string type;
    std::string name;  // the node's own
    uint32_t node = 0;
    tensortap_op_id id = TENSORTAP_NO_OP;
  };
  struct Parts {
    OwnedSession session;
    OpTable numbers;                 // the lists of numbers alone
    std::vector<std::string> names;  // of all ops, with their types
    std::vector<NodeOp> nodes;
    NamedOps named;
    FailedReads reads;
  };
  class Inside;

  ModelDump(std::unique_ptr<Parts> parts, OpIds ids, const SenderOptions& options);

  std::unique_ptr<Parts> parts_;
  TwinAccount twins_;
  std::mutex failed_mutex_;
  std::set<uint32_t> failed_;  // guarded by failed_mutex_: entries that failed before
  bool said_why_not_ = false;  // guarded by failed_mutex_
  std::atomic<int64_t> next_step_{0};
  std::atomic<int64_t> refused_step_{-1};  // that the next run takes, -1 = none
  std::atomic<bool> open_{true};
  std::atomic<int> inside_{0};
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_MODEL_DUMP_H_
