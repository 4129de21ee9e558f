// Streams that are recorded into a graph of their device. Waiting for such a stream, or copying from it, breaks the recording.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_GRAPH_RECORDING_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_GRAPH_RECORDING_H_

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace tensortap::torch_adapter {

// Whether work on the stream is recorded instead of run. What a device cannot tell counts as no.
bool is_recorded(const c10::impl::VirtualGuardImpl& device, const c10::Stream& stream);

// As long as it lives, what the thread calls does not break what other threads record. Nothing on devices without such a mode.
class RecordingsOfOthers {
 public:
  explicit RecordingsOfOthers(c10::DeviceType type);
  ~RecordingsOfOthers();
  RecordingsOfOthers(const RecordingsOfOthers&) = delete;
  RecordingsOfOthers& operator=(const RecordingsOfOthers&) = delete;

 private:
  bool changed_ = false;
  int mode_ = 0;
};

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_GRAPH_RECORDING_H_
