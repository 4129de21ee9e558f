// The built-in functions that Python's side calls, in one list for each part.

#ifndef TENSORTAP_SOURCE_PYTORCH_PYTHON_PYTHON_PARTS_H_
#define TENSORTAP_SOURCE_PYTORCH_PYTHON_PYTHON_PARTS_H_

#include <span>

#include "python/python_api.h"

namespace tensortap::pytorch {

// The functions for calls of modules, for runs of graphs that Inductor compiled, for graphs of torch.compile, for graphs that have separate
// sessions, and for what the program does by itself.
std::span<PyMethodDef> python_call_methods();
std::span<PyMethodDef> python_followed_graph_methods();
std::span<PyMethodDef> python_graph_methods();
std::span<PyMethodDef> python_model_methods();
std::span<PyMethodDef> python_program_methods();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_PYTHON_PYTHON_PARTS_H_
