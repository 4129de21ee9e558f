// Which entry into ONNX Runtime is ours, where a program's sessions are watched: our own sessions take the runtime's.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_WATCHED_BASE_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_WATCHED_BASE_H_

#include "source/onnxruntime/runtime/ort_interface.h"

namespace tensortap::onnxruntime {

// Says that programs get `ours` instead of `real`; both stay for good. Once. Any thread.
void set_watched_base(const abi::ApiBase* ours, const abi::ApiBase* real) noexcept;

// The runtime's own entry for ours, any other as it is. Any thread, no lock.
const abi::ApiBase* unwatched_base(const abi::ApiBase* base) noexcept;

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_RUNTIME_WATCHED_BASE_H_
