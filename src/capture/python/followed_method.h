// Follows the calls of a method without a Python frame on the stack of the program: neither its tracebacks nor inspect.stack() nor a
// profiler show one.

#ifndef TENSORTAP_PYTHON_FOLLOWED_METHOD_H_
#define TENSORTAP_PYTHON_FOLLOWED_METHOD_H_

#include <span>

#include "python/python_api.h"

namespace tensortap {

// Calls before Python 3.12 cannot be followed in the function itself (followed_function.h), and calls of built-in functions never can. So
// the method is replaced by a built-in one with its name and documentation, of the kind that pybind11 makes.
//
// The function for Python's side: follow(function, before, after) -> what to put into the place of the function. Each call of it calls
// `before` with its arguments. That gives
//   None          the call goes on as without us;
//   (token, self) the call goes on, with `self` as its first argument unless that is None; then after(token, exception or None) is called;
//   ()            the call is made already, and returns None.
// Exceptions that `before` and `after` raise are dropped, except for those that end a program.
//
// And follow_in_place(function, before, after) for a Python function whose calls are all written f(*arguments): it stays the object that it
// is. `before` gets no arguments then, and gives None or (token, None).
//
// And replace_in_place(function, instead) for a Python function that only C code calls, such as one in a functools.partial: a call runs
// instead(first argument) and returns None. What reads the function's code, such as torch.compile, sees the code that it was given.
std::span<PyMethodDef> python_follow_methods();

// A way around `before` and `after`, for calls that are to cost next to nothing. With the GIL; throws nothing.
struct FollowedShortcut {
  // A call begins; there is a first argument, and `named` may be null. Gives the first argument that the call gets instead, borrowed, and a
  // token. Null = this way is closed, and `before` is called; or, with an exception set that ends a program, the call is not made.
  PyObject* (*begins)(PyObject* arguments, PyObject* named, void** token);
  // The call returned.
  void (*ends)(void* token);
  // The call raised an exception: a new reference to the token for `after`. `plain` is the function that was called. Null = there is no
  // memory; then ends() is called.
  PyObject* (*failed)(void* token, PyObject* plain, PyObject* arguments);
};

// What follow(function, before, after) does, with a way around. `shortcut` lives as long as the process.
PyObject* follow_method(PyObject* function, PyObject* before, PyObject* after, const FollowedShortcut& shortcut);

}  // namespace tensortap

#endif  // TENSORTAP_PYTHON_FOLLOWED_METHOD_H_
