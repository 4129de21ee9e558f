// What the tracker wants to learn from Python: kept where the functions for Python find it.

#ifndef TENSORTAP_SOURCE_PYTORCH_PYTHON_PYTHON_EVENTS_H_
#define TENSORTAP_SOURCE_PYTORCH_PYTHON_PYTHON_EVENTS_H_

#include "source/pytorch/python/python_bridge.h"

namespace tensortap::pytorch {

// What set_python_events() was last called with; all null before. Any thread, no lock; stays valid.
const PythonEvents& python_events();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_PYTHON_PYTHON_EVENTS_H_
