// The C function of the bridge to Python.

#include <tensortap/pytorch.h>

#include "python/python_api.h"
#include "source/pytorch/entry/python_functions.h"

void* tensortap_pytorch_python_functions(void) noexcept {
  return tensortap::python_is_there() ? tensortap::pytorch::python_functions() : nullptr;
}
