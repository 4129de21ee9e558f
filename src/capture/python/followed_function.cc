#include "python/followed_function.h"

#include <cstring>

namespace tensortap {
namespace {

constexpr ptrdiff_t kLargestFunction = 1024;

PythonCall refuse() {
  PyErr_SetString(PyExc_TypeError, "this Python does not let calls of a function be followed");
  return nullptr;
}

ptrdiff_t size_of_functions(PyObject* function) {
  const PythonReference type(PyObject_GetAttrString(function, "__class__"));
  const PythonReference size(type ? PyObject_GetAttrString(type.get(), "__basicsize__") : nullptr);
  return size ? PyLong_AsLong(size.get()) : 0;
}

// Before Python 3.12 nothing sets the word that holds it, so it is looked for: the one word of the object with this value.
PythonCall* word_with(PyObject* function, PythonCall call) {
  const ptrdiff_t size = size_of_functions(function);
  if (size > kLargestFunction) return nullptr;
  auto* const begin = reinterpret_cast<char*>(function);
  PythonCall* found = nullptr;
  for (ptrdiff_t at = sizeof(PyObject); at + ptrdiff_t{sizeof call} <= size; at += sizeof call) {
    if (std::memcmp(begin + at, &call, sizeof call) != 0) continue;
    if (found != nullptr) return nullptr;
    found = reinterpret_cast<PythonCall*>(begin + at);
  }
  return found;
}

}  // namespace

PythonCall call_of_function(PyObject* function) {
  const PythonReference code(PyObject_GetAttrString(function, "__code__"));
  if (!code) return nullptr;
  const PythonCall call = PyVectorcall_Function != nullptr ? PyVectorcall_Function(function) : _PyFunction_Vectorcall;
  return call == nullptr ? refuse() : call;
}

bool follow_function(PyObject* function, PythonCall before, PythonCall follower) {
  if (PyFunction_SetVectorcall != nullptr) {
    PyFunction_SetVectorcall(function, follower);
    return true;
  }
  PythonCall* const word = word_with(function, before);
  if (word == nullptr) return refuse() != nullptr;
  *word = follower;
  return true;
}

UntracedPython::UntracedPython() {
  if (PyThreadState_EnterTracing == nullptr || PyThreadState_LeaveTracing == nullptr) return;
  thread_ = PyThreadState_Get();
  PyThreadState_EnterTracing(thread_);
}

UntracedPython::~UntracedPython() {
  if (thread_ != nullptr) PyThreadState_LeaveTracing(thread_);
}

}  // namespace tensortap
