// Follows the calls of a Python function in C++, and leaves no trace of that in Python.
//
// A function object keeps the C function that calls it. Another one in its place sees the calls, and the function stays what it is: the
// same object, with its code, name and signature. A call has no frame of ours, counts as deep as before, and torch.compile compiles what it
// would have compiled.

#ifndef TENSORTAP_PYTHON_FOLLOWED_FUNCTION_H_
#define TENSORTAP_PYTHON_FOLLOWED_FUNCTION_H_

#include <cstddef>

#include "python/python_api.h"

namespace tensortap {

// What calls the function now: what a follower makes the call with. Null with an exception set where this Python does not tell it. With
// the GIL.
PythonCall call_of_function(PyObject* function);
// From now on calls of the function, which `before` called until now, arrive at `follower`, which makes each with `before`. False with an
// exception set where this Python does not allow it. With the GIL.
//
// Calls from C arrive, and calls that are written f(*arguments). Python 3.11 makes a call that is written f(x) without asking the function.
bool follow_function(PyObject* function, PythonCall before, PythonCall follower);

// How many arguments a call has that are not given by name.
constexpr size_t positional_count(size_t counts) { return counts & ~(size_t{1} << (8 * sizeof(size_t) - 1)); }

// While it lives the program's profilers and tracers do not see what Python does on this thread: it is our own. With the GIL. Before Python
// 3.11 they do see it.
class UntracedPython {
 public:
  UntracedPython();
  ~UntracedPython();
  UntracedPython(const UntracedPython&) = delete;
  UntracedPython& operator=(const UntracedPython&) = delete;

 private:
  void* thread_ = nullptr;
};

}  // namespace tensortap

#endif  // TENSORTAP_PYTHON_FOLLOWED_FUNCTION_H_
