// Reports firing taps to a capture session.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_EVENT_SENDER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_EVENT_SENDER_H_

#include <atomic>
#include <memory>
#include <vector>

#include "source/onnxruntime/runtime/inference_session.h"
#include "source/onnxruntime/taps/captured_model.h"
#include "source/onnxruntime/taps/registered_ops.h"
#include "source/onnxruntime/taps/tap_operator.h"

namespace tensortap::onnxruntime {

struct SenderOptions {
  bool parallel = false;       // the runtime has threads to share: big tensors are split over them
  uint32_t channel_block = 0;  // of the library (channel_block.h)
};

// What an op read.
struct ReadValue {
  const abi::Value* value = nullptr;         // null = not known
  int64_t channels = kNotBlocked;            // of an image in blocks: how many are the author's
  const tensortap_tensor* weight = nullptr;  // in the place of a value
};

// `tensor` holds int8, uint8 (for 2 and 4 bit integers) or float32 (for float8_e8m0) elements cast from ONNX's `element_type`. Makes it the
// original type again, with its bits in `memory`. Leaves it as it is when the original type is none of these.
void repack(int32_t element_type, std::vector<unsigned char>& memory, tensortap_tensor& tensor);

// Thread-safe after construction. Session and table must outlive it; of the table, on_tap() needs only the lists of numbers.
class EventSender : public TapListener {
 public:
  EventSender(tensortap_session* session, const OpTable& table, OpIds ids, const SenderOptions& options);

  bool wants(const Tap& tap, const Run& run) override;
  void on_tap(const FiredTap& fired, const Run& run) override;

  // Begins a run: whether anything will be captured in it.
  bool begin(const Run& run);
  void end(const Run& run);

  // The inputs of a run, reported as outputs of the pseudo-ops "Input". `tapped` is the session that runs, null = one without taps.
  void send_inputs(const Api& api, const std::vector<NamedValue>& inputs, const Run& run, const TappedSession* tapped);

  // An op that failed with the inputs that it had; unknown values are left out.
  void send_failure(const Api& api, uint32_t entry, const std::vector<ReadValue>& inputs, const Run& run, const std::string& message);

  [[nodiscard]] tensortap_session* session() const { return session_; }
  [[nodiscard]] const OpIds& ids() const { return ids_; }

 private:
  [[nodiscard]] uint32_t entry_of(const Tap& tap) const { return tap.graph_input ? table_.by_input[tap.node] : table_.by_node[tap.node]; }
  [[nodiscard]] bool has_news(const Tap& tap) const { return every_tap_ || !tap.no_news; }
  [[nodiscard]] tensortap_op_id id_of(const Tap& tap) const { return ids_[entry_of(tap)]; }

  tensortap_session* session_;
  const OpTable& table_;
  OpIds ids_;
  std::unique_ptr<std::atomic<bool>[]> told_;  // by entry: of taps that have no news after their first
  bool every_tap_;                             // the session also wants events of those
  bool parallel_;
  uint32_t channel_block_;
};

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_TAPS_EVENT_SENDER_H_
