// Runs recorded ops again, from their recorded inputs, and compares the outputs with the recorded ones. docs/replay.md.

#ifndef TENSORTAP_REPLAY_REPLAY_H_
#define TENSORTAP_REPLAY_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compare/difference.h"
#include "replay/recorded_op.h"
#include "replay/replay_model.h"
#include "tensor/tensor.h"

namespace tensortap {

// A value of a model, borrowed for a call.
struct NamedView {
  std::string name;
  TensorView view;
};
using TakeOutput = std::function<void(std::string_view name, const TensorView& view)>;

// Something that runs ONNX models. Used by one thread.
class ReplayRuntime {
 public:
  virtual ~ReplayRuntime() = default;
  // Loads the model without optimising it and runs it once. Errors: the runtime's message.
  virtual Status run(std::string_view model, std::span<const NamedView> inputs, const TakeOutput& take) = 0;
};

enum class ReplayOutcome : uint8_t { kEqual, kDiffers, kNotReplayed };
std::string_view outcome_name(ReplayOutcome outcome);  // "equal", "differs", "not replayed"

// One output of an execution, or an execution that could not be replayed.
struct ReplayedValue {
  const RecordedOp* op = nullptr;
  std::optional<uint32_t> row;  // of the recorded output; nothing of an op without any
  ReplayOutcome outcome = ReplayOutcome::kNotReplayed;
  std::optional<Difference> difference;  // the runtime's value (a) beside the recorded one (b)
  std::string reason;                    // why it was not replayed, or what differs besides values
};

struct ReplayOptions {
  uint64_t group_bytes = uint64_t{256} << 20;  // inputs of one model; an op that reads more has a model to itself
  std::function<void(size_t done, size_t all)> progress;
};

struct ReplayCounts {
  uint64_t ops = 0;                   // executions
  uint64_t equal = 0, differing = 0;  // outputs
  uint64_t not_replayed = 0;          // executions
};

// Shows each output, in the order in which the models run; an op that cannot be replayed is shown once. A group of ops that the runtime
// does not take is split in two until the ops at fault are alone.
ReplayCounts replay_ops(const DumpIndex& dump, std::span<const RecordedOp> ops, ReplayRuntime& runtime, const ReplayOptions& options,
                        const std::function<void(const ReplayedValue&)>& show);

}  // namespace tensortap

#endif  // TENSORTAP_REPLAY_REPLAY_H_
