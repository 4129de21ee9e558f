// The runs of a Python program's sessions without any Python code of ours in between.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_RUN_SHORTCUT_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_RUN_SHORTCUT_H_

#include <span>

#include "python/python_api.h"

namespace tensortap::onnxruntime {

// The functions for Python's side:
//   follow_runs(function, before, after)
//     as follow() (python/followed_method.h). Runs of noted sessions go past `before`, and past `after` unless they fail: then `after` gets
//     (run, function, session, the other arguments).
//   note_session(native, twin, handle, kind_of)
//     the runtime's object of a session; that of its twin, or else `native` again; what tensortap_onnxruntime_capture() gave; and
//     kind_of(arguments, named) -> the kind of a run (tensortap_step_begin_kind()), which is called where a budget needs it. `native` keeps
//     them all alive.
//   forget_session(number)
//     before the object at this address, and the handle, are gone.
std::span<PyMethodDef> python_run_shortcut_methods();

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_PROGRAM_RUN_SHORTCUT_H_
