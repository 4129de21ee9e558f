#include "python/python_methods.h"

namespace tensortap {

bool forget_exception() {
  if (PyErr_Occurred() == nullptr) return true;
  const bool goes_on = PyErr_ExceptionMatches(PyExc_Exception) == 0;
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const PythonReference owned_traceback(traceback);
  if (goes_on) {
    PyErr_Restore(type, value, nullptr);
    return false;
  }
  const PythonReference owned_type(type);
  const PythonReference owned_value(value);
  return true;
}

}  // namespace tensortap
