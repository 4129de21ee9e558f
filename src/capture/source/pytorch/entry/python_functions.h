// The functions that Python's side of this library calls.

#ifndef TENSORTAP_SOURCE_PYTORCH_ENTRY_PYTHON_FUNCTIONS_H_
#define TENSORTAP_SOURCE_PYTORCH_ENTRY_PYTHON_FUNCTIONS_H_

#include "python/python_api.h"

namespace tensortap::pytorch {

// A new dict from their names to built-in functions; null with an exception set. With the GIL. python/tensortap/_torch/_functions.py says
// what each takes and gives.
PyObject* python_functions();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_ENTRY_PYTHON_FUNCTIONS_H_
