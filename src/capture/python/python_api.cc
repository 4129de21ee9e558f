#include "python/python_api.h"

#include <atomic>
#include <cstdio>

namespace tensortap {
namespace {

constinit std::atomic<bool> interpreter_ends{false};

bool finalizing() {
  if (Py_IsFinalizing != nullptr) return Py_IsFinalizing() != 0;
  return _Py_IsFinalizing != nullptr && _Py_IsFinalizing() != 0;
}

}  // namespace

bool python_is_there() {
  return Py_IsInitialized != nullptr && !interpreter_ends.load(std::memory_order_relaxed) && Py_IsInitialized() != 0 && !finalizing();
}

void python_ends() { interpreter_ends.store(true, std::memory_order_relaxed); }

int python_minor() {
  int minor = 0;
  return Py_GetVersion != nullptr && std::sscanf(Py_GetVersion(), "3.%d", &minor) == 1 ? minor : 0;
}

GilGuard::GilGuard() : state_(PyGILState_Ensure()) {
  if (PyErr_Occurred() != nullptr) PyErr_Fetch(&type_, &value_, &traceback_);
}

GilGuard::~GilGuard() {
  if (type_ != nullptr) {
    PyErr_Restore(type_, value_, traceback_);
  } else if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
  }
  PyGILState_Release(state_);
}

}  // namespace tensortap
