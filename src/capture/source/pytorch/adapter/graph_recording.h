// Streams that are recorded into a graph of their device. Waiting for such a stream, or copying from it, breaks the recording.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_GRAPH_RECORDING_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_GRAPH_RECORDING_H_

#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace tensortap::torch_adapter {

// Whether work on the stream is recorded instead of run. False if the device cannot report it.
bool is_recorded(const c10::impl::VirtualGuardImpl& device, const c10::Stream& stream);

// The driver's handle of a stream. False if torch does not report it.
bool find_native_stream(const c10::impl::VirtualGuardImpl& device, const c10::Stream& stream, void*& handle);

// While it lives, calls of this thread do not break recordings of other threads. Does nothing on devices without such a mode.
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
