// What an op read that failed in a session of the program. Its values are gone when the run has ended, and so is the model. So the run is
// made once more, for the taps to keep them.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_FAILED_READS_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_FAILED_READS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/onnx_tensor/tensor_proto.h"
#include "source/onnxruntime/taps/event_sender.h"
#include "source/onnxruntime/taps/value_keeper.h"

namespace tensortap::onnxruntime {

// The inputs of an op, with what they borrow from.
struct KeptReads {
  std::vector<OwnedValue> copies;
  std::vector<ReadValue> inputs;  // as many as the node has
};

// Who makes what each node of a model reads. Holds nothing of the model that it was made of. Immutable after keep_weights().
class FailedReads {
 public:
  FailedReads(const OpTable& ops, const BlockedGraph& blocks);
  // Keeps the weights that nodes read: small ones with their values, up to a limit for all of them, the others with type and shape alone.
  // Weights that cannot be read are left out.
  void keep_weights(const OpTable& ops, const BlockedGraph& blocks, const std::string& folder);

  // For the run that is made once more: keeps what the entry's node reads. `numbers` must outlive it.
  [[nodiscard]] std::unique_ptr<ValueKeeper> keeper_for(uint32_t entry, const OpTable& numbers) const;
  // What the node read. `keeper` as it was after that run; null = there was none, and the weights alone are known.
  [[nodiscard]] KeptReads reads_of(uint32_t entry, ValueKeeper* keeper) const;

 private:
  struct Read {
    uint32_t producer = kNoEntry;
    uint32_t slot = 0;
    int64_t channels = kNotBlocked;
  };
  struct Weight {
    std::string values;
    std::vector<int64_t> dims;
    tensortap_tensor tensor{};  // views the two
  };
  void keep(uint32_t entry, const TensorProto& data, uint64_t& room);

  std::vector<std::vector<Read>> reads_;  // by entry
  std::unordered_map<uint32_t, Weight> weights_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_FAILED_READS_H_
