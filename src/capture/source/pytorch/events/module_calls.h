// The calls of modules. Each is on the stack of its thread while it runs. The Python side is notified if calls are captured.

#ifndef TENSORTAP_SOURCE_PYTORCH_EVENTS_MODULE_CALLS_H_
#define TENSORTAP_SOURCE_PYTORCH_EVENTS_MODULE_CALLS_H_

#include <string>

#include "python/python_api.h"

namespace tensortap::pytorch {

// Whether the calls of a module are steps, where those of some modules are. `path` is its own. With the GIL.
bool is_step_module(PyObject* module, const std::string& path);

// Whether the Python side has installed itself.
bool python_side_installed();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_EVENTS_MODULE_CALLS_H_
