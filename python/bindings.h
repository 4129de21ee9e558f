// The parts of the extension module tensortap._core. They convert; what is decided, is decided in the libraries.

#ifndef TENSORTAP_PYTHON_BINDINGS_H_
#define TENSORTAP_PYTHON_BINDINGS_H_

#include <nanobind/nanobind.h>

#include "base/status.h"

namespace tensortap::python {

// A failed Status on its way to Python, where it becomes tensortap.Error.
struct StatusError {
  Status status;
};

template <class T>
T value_or_throw(Result<T> result) {
  if (!result.ok()) throw StatusError{result.status()};
  return *std::move(result);
}

void bind_dump(nanobind::module_& module);
void bind_run(nanobind::module_& module);
void bind_topology(nanobind::module_& module);

}  // namespace tensortap::python

#endif  // TENSORTAP_PYTHON_BINDINGS_H_
