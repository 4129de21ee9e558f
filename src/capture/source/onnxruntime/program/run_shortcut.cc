#include "source/onnxruntime/program/run_shortcut.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/silenced.h"
#include "python/followed_function.h"
#include "python/followed_method.h"
#include "python/python_methods.h"
#include "source/onnxruntime/program/foreign_session.h"

namespace tensortap::onnxruntime {
namespace {

using Announced = ForeignSession::AnnouncedRun;

struct NotedSession {
  std::shared_ptr<ForeignSession> session;
  PyObject* twin = nullptr;     // borrowed
  PyObject* kind_of = nullptr;  // borrowed; null = nothing compares kinds
};

// By the address of the runtime's object. With the GIL.
std::unordered_map<uint64_t, NotedSession>& noted_sessions() {
  static auto& sessions = *new std::unordered_map<uint64_t, NotedSession>;
  return sessions;
}

uint64_t address_of(const void* object) { return reinterpret_cast<uintptr_t>(object); }

// The kind of a run, as Python's side has it; nullopt with an exception set that ends a program.
std::optional<uint64_t> kind_of_run(const NotedSession& noted, PyObject* arguments, PyObject* named) {
  if (noted.kind_of == nullptr) return 0;
  const UntracedPython untraced;
  const PythonReference kind(PyObject_CallFunctionObjArgs(noted.kind_of, arguments, named == nullptr ? &_Py_NoneStruct : named, nullptr));
  const uint64_t number = kind ? PyLong_AsUnsignedLongLong(kind.get()) : 0;
  if (PyErr_Occurred() == nullptr) return number;
  return forget_exception() ? std::optional<uint64_t>(0) : std::nullopt;
}

PyObject* run_begins(PyObject* arguments, PyObject* named, void** token) {
  return silenced(static_cast<PyObject*>(nullptr), [=]() -> PyObject* {
    PyObject* const native = PyTuple_GetItem(arguments, 0);
    const auto found = noted_sessions().find(address_of(native));
    if (found == noted_sessions().end()) return nullptr;
    // The session stays while its object is among the arguments; its place may not, while Python runs.
    const NotedSession noted = found->second;
    const std::optional<uint64_t> kind = kind_of_run(noted, arguments, named);
    if (!kind) return nullptr;
    auto run = std::make_unique<Announced>(noted.session, *kind);
    PyObject* const first = run->goes_to_twin() ? noted.twin : native;
    *token = run.release();
    return first;
  });
}

void run_ends(void* token) { delete static_cast<Announced*>(token); }

// The arguments behind the first one.
PyObject* other_arguments(PyObject* arguments) {
  const ptrdiff_t size = PyTuple_Size(arguments);
  PyObject* const others = PyTuple_New(size - 1);
  for (ptrdiff_t i = 1; others != nullptr && i < size; ++i) {
    PyObject* const argument = PyTuple_GetItem(arguments, i);
    Py_IncRef(argument);
    PyTuple_SetItem(others, i - 1, argument);
  }
  return others;
}

PyObject* run_failed(void* token, PyObject* plain, PyObject* arguments) {
  PythonReference run(PyLong_FromUnsignedLongLong(address_of(token)));
  PythonReference others(other_arguments(arguments));
  PythonReference made(PyTuple_New(4));
  if (!run || !others || !made) return nullptr;
  PyObject* const native = PyTuple_GetItem(arguments, 0);
  Py_IncRef(plain);
  Py_IncRef(native);
  PyTuple_SetItem(made.get(), 0, run.release());
  PyTuple_SetItem(made.get(), 1, plain);
  PyTuple_SetItem(made.get(), 2, native);
  PyTuple_SetItem(made.get(), 3, others.release());
  return made.release();
}

constexpr FollowedShortcut kRuns{run_begins, run_ends, run_failed};

// follow_runs(function, before, after)
PyObject* follow_runs(PyObject*, PythonArguments arguments, ptrdiff_t) {
  return follow_method(arguments[0], arguments[1], arguments[2], kRuns);
}

// note_session(native, twin, handle, kind_of)
PyObject* note_session(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto handle = static_cast<uintptr_t>(PyLong_AsUnsignedLongLong(arguments[2]));
  if (PyErr_Occurred() != nullptr || handle == 0) return PyErr_Occurred() != nullptr ? nullptr : python_none();
  const auto& session = *reinterpret_cast<const std::shared_ptr<ForeignSession>*>(handle);
  noted_sessions()[address_of(arguments[0])] = {session, arguments[1], session->compares_kinds() ? arguments[3] : nullptr};
  return python_none();
}

// forget_session(number)
PyObject* forget_session(PyObject*, PythonArguments arguments, ptrdiff_t) {
  noted_sessions().erase(PyLong_AsUnsignedLongLong(arguments[0]));
  return python_none();
}

constinit std::array run_shortcut_methods = {
    python_method<follow_runs, 3>("follow_runs"),
    python_method<note_session, 4>("note_session"),
    python_method<forget_session, 1>("forget_session"),
};

}  // namespace

std::span<PyMethodDef> python_run_shortcut_methods() { return run_shortcut_methods; }

}  // namespace tensortap::onnxruntime
