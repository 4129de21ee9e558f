// Brings a Python package of ours into a program that knows nothing of it.

#ifndef TENSORTAP_PYTHON_PYTHON_PACKAGE_H_
#define TENSORTAP_PYTHON_PYTHON_PACKAGE_H_

#include <span>
#include <string>

#include "python/python_api.h"

namespace tensortap {

// Loads the package in `folder` under the name `name`, once per process, and calls its install(argument). The program's profilers do not
// see it. False with an exception set. With the GIL.
bool load_python_package(const char* name, const std::string& folder, PyObject* argument);

// Takes the pending exception and returns its message; `otherwise` if it has none. With the GIL.
std::string taken_python_error(const char* otherwise);

// Adds built-in functions to a dict, by their names. The definitions must live as long as the process. False with an exception set.
bool add_python_methods(PyObject* dictionary, std::span<PyMethodDef> definitions);

}  // namespace tensortap

#endif  // TENSORTAP_PYTHON_PYTHON_PACKAGE_H_
