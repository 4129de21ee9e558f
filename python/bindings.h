// The parts of the extension module tensortap._core. They only convert; the libraries make all decisions.

#ifndef TENSORTAP_PYTHON_BINDINGS_H_
#define TENSORTAP_PYTHON_BINDINGS_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string_view>

#include "base/status.h"
#include "query/row_query.h"
#include "trace/dump_index.h"

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

// Text of a dump, which may hold any bytes. Invalid UTF-8 becomes U+FFFD, as in our JSON.
nanobind::object to_str(std::string_view text);

// The members of RowQuery by their names; those that are missing are not asked for.
RowQuery query_of(const nanobind::dict& words);

// The records of a dump as a table: a capsule with a stream of Arrow's C data interface (the method __arrow_c_stream__), which keeps the
// dump; and a list of (name, numbers, objects): an array, and for texts and lists the objects that its numbers index, otherwise None.
nanobind::object arrow_stream_of(const std::shared_ptr<const DumpIndex>& dump);
nanobind::list frame_of(const DumpIndex& dump);

void bind_dump(nanobind::module_& module);
void bind_report(nanobind::module_& module);
void bind_run(nanobind::module_& module);
void bind_topology(nanobind::module_& module);

}  // namespace tensortap::python

#endif  // TENSORTAP_PYTHON_BINDINGS_H_
