// ONNX Runtime's own interface for a program that `tensortap exec` captures: the program's copy of the library's table of functions, in
// which the few that make, run and release sessions are ours. Everything else goes to the library, unseen.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_WATCHED_RUNTIME_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_WATCHED_RUNTIME_H_

#include <string_view>

#include "base/status.h"
#include "source/onnxruntime/runtime/ort_interface.h"

namespace tensortap::onnxruntime {

// What the program gets instead of `real`. One library of a process is watched, the first; `real` itself comes back for any other, for one
// that tensortap cannot use, and when this process is not to be captured; which is said once on stderr where it is not as asked. Lives as
// long as the process.
const abi::ApiBase* watch_runtime(const abi::ApiBase* real) noexcept;

// ModelDump::set_dump() for a session that the program has of the watched library. Nothing happens when none is watched, or when the
// session is not captured. Errors: kInvalidArgument for what is no session, and those of NamedOps::find().
Status set_dump_of_session(const void* session, std::string_view name, bool enabled);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_WATCHED_RUNTIME_H_
