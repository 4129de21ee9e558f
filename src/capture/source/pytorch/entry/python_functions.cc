#include "source/pytorch/entry/python_functions.h"

#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/followed_method.h"
#include "python/python_methods.h"
#include "python/python_package.h"
#include "source/pytorch/events/module_calls.h"
#include "source/pytorch/identity/device_graphs.h"
#include "source/pytorch/identity/module_table.h"
#include "source/pytorch/python/frame_walker.h"
#include "source/pytorch/python/python_bridge.h"
#include "source/pytorch/python/python_events.h"
#include "source/pytorch/python/python_parts.h"
#include "source/pytorch/python/source_lines.h"

namespace tensortap::pytorch {
namespace {

constinit std::atomic<uint64_t> compiled{0};

// bind(module, path) -> number
PyObject* bind(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto path = text_of(arguments[1]);
  if (!path) return nullptr;
  const ModuleId id = bind_module(arguments[0], *path);
  // Of one that is compiled with others no call is seen.
  if (has_step_modules()) static_cast<void>(is_step_module(arguments[0], *path));
  return PyLong_FromLong(static_cast<long>(id));
}

// unbind(address)
PyObject* unbind(PyObject*, PythonArguments arguments, ptrdiff_t) {
  unbind_module(address_of(arguments[0]));
  return python_none();
}

// module_id(module) -> number
PyObject* module_id(PyObject*, PythonArguments arguments, ptrdiff_t) { return PyLong_FromLong(static_cast<long>(module_at(arguments[0]))); }

// current_path() -> path of the module that runs on this thread
PyObject* current_path(PyObject*, PythonArguments, ptrdiff_t) { return python_text(module_path(current_module())); }

// name_parameter(address, name)
PyObject* name_parameter_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto name = text_of(arguments[1]);
  if (!name) return nullptr;
  name_parameter(address_of(arguments[0]), *name);
  return python_none();
}

// forget_parameter(address)
PyObject* forget_parameter_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  forget_parameter(address_of(arguments[0]));
  return python_none();
}

// parameter_name(address) -> name
PyObject* parameter_name_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  return python_text(parameter_name(address_of(arguments[0])));
}

// prepare_source(foreign folders, exceptions) -> whether frames are walked without the GIL
PyObject* prepare_source(PyObject*, PythonArguments arguments, ptrdiff_t) {
  ForeignCode foreign;
  if (!read_texts(arguments[0], foreign.folders) || !read_texts(arguments[1], foreign.except)) return nullptr;
  set_foreign_code(std::move(foreign));
  return PyBool_FromLong(test_frame_walk() ? 1 : 0);
}

// program_file(file) -> the file as positions name it, "" for one that is not the program's
PyObject* program_file_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto file = text_of(arguments[0]);
  return file ? python_text(program_file(*file)) : nullptr;
}

// describe_code(code object, iterable of (line, "file:line", path of a module))
PyObject* describe_code_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  std::vector<ToldLine> lines;
  const PythonReference iterator(PyObject_GetIter(arguments[1]));
  while (iterator) {
    const PythonReference row(PyIter_Next(iterator.get()));
    if (!row) break;
    PyObject* const line = PyTuple_GetItem(row.get(), 0);
    PyObject* const source = PyTuple_GetItem(row.get(), 1);
    PyObject* const module = PyTuple_GetItem(row.get(), 2);
    if (line == nullptr || source == nullptr || module == nullptr) return nullptr;
    const auto source_words = text_of(source);
    const auto path = source_words ? text_of(module) : std::nullopt;
    if (!path) return nullptr;
    lines.push_back({static_cast<int>(PyLong_AsLong(line)), *source_words, number_of_path(*path)});
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  describe_code(arguments[0], std::move(lines));
  return python_none();
}

// walk_frames(without the GIL) -> whether that is so now
PyObject* walk_frames(PyObject*, PythonArguments arguments, ptrdiff_t) {
  use_frame_walk(PyObject_IsTrue(arguments[0]) == 1);
  return PyBool_FromLong(frame_walk_works() ? 1 : 0);
}

// where() -> "file:line" of the caller
PyObject* where(PyObject*, PythonArguments, ptrdiff_t) { return python_text(source_text(source_position(true))); }

// ends()
PyObject* ends(PyObject*, PythonArguments, ptrdiff_t) {
  use_frame_walk(false);  // threads may outlive Python's data about them
  python_ends();
  return python_none();
}

// note_compiled(count)
PyObject* note_compiled(PyObject*, PythonArguments arguments, ptrdiff_t) {
  compiled += static_cast<uint64_t>(PyLong_AsUnsignedLongLong(arguments[0]));
  return python_none();
}

// compiled_graphs() -> count
PyObject* compiled_graphs_function(PyObject*, PythonArguments, ptrdiff_t) { return PyLong_FromUnsignedLongLong(compiled.load()); }

// recording_begins()
PyObject* recording_begins_function(PyObject*, PythonArguments, ptrdiff_t) {
  recording_begins();
  return python_none();
}

// recording_ends() -> how many operators ran meanwhile
PyObject* recording_ends_function(PyObject*, PythonArguments, ptrdiff_t) { return PyLong_FromUnsignedLongLong(recording_ends()); }

// note_replay(number of the graph, operators in it)
PyObject* note_replay_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto graph = static_cast<uint64_t>(PyLong_AsUnsignedLongLong(arguments[0]));
  const auto operators = static_cast<uint64_t>(PyLong_AsUnsignedLongLong(arguments[1]));
  if (PyErr_Occurred() != nullptr) return nullptr;
  note_replay(graph, operators);
  return python_none();
}

// can_open() -> whether a tracker takes open() and close()
PyObject* can_open(PyObject*, PythonArguments, ptrdiff_t) { return PyBool_FromLong(python_events().open != nullptr ? 1 : 0); }

// open(config, name of the config, folder) -> "" or the error
PyObject* open(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto config = text_of(arguments[0]);
  const auto name = config ? text_of(arguments[1]) : std::nullopt;
  const auto folder = name ? text_of(arguments[2]) : std::nullopt;
  if (!folder) return nullptr;
  std::string problem = "the library for PyTorch takes no session";
  if (const auto function = python_events().open; function != nullptr)
    without_gil([&] {
      const char* const text = function(config->c_str(), name->c_str(), folder->c_str());
      problem = text == nullptr ? "" : text;
    });
  return python_text(problem);
}

// close() -> the report as JSON text, "" when there is none
PyObject* close(PyObject*, PythonArguments, ptrdiff_t) {
  std::string report;
  if (const auto function = python_events().close; function != nullptr)
    without_gil([&] {
      const char* const text = function();
      report = text == nullptr ? "" : text;
    });
  return python_text(report);
}

// enable(on)
PyObject* enable(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const bool on = PyObject_IsTrue(arguments[0]) == 1;
  if (const auto function = python_events().enable; function != nullptr) without_gil([&] { function(on); });
  return python_none();
}

// worker_begins()
PyObject* worker_begins(PyObject*, PythonArguments, ptrdiff_t) {
  if (const auto function = python_events().worker_begins; function != nullptr) without_gil(function);
  return python_none();
}

// set_dump(number of a module, op, enabled)
PyObject* set_dump(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto module = static_cast<ModuleId>(PyLong_AsUnsignedLongLong(arguments[0]));
  const auto op = text_of(arguments[1]);
  if (!op) return nullptr;
  const bool enabled = PyObject_IsTrue(arguments[2]) == 1;
  if (const auto function = python_events().set_dump; function != nullptr) without_gil([&] { function(module, op->c_str(), enabled); });
  return python_none();
}

// add_fact(name, JSON text)
PyObject* add_fact(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto name = text_of(arguments[0]);
  const auto json = text_of(arguments[1]);
  if (!name || !json) return nullptr;
  if (const auto function = python_events().add_fact; function != nullptr) without_gil([&] { function(name->c_str(), json->c_str()); });
  return python_none();
}

// names_groups() -> whether the operator that names process groups exists
PyObject* names_groups_function(PyObject*, PythonArguments, ptrdiff_t) {
  const auto function = python_events().names_groups;
  return PyBool_FromLong(function != nullptr && function() ? 1 : 0);
}

constinit std::array methods = {
    python_method<bind, 2>("bind"),
    python_method<unbind, 1>("unbind"),
    python_method<module_id, 1>("module_id"),
    python_method<current_path, 0>("current_path"),
    python_method<name_parameter_function, 2>("name_parameter"),
    python_method<forget_parameter_function, 1>("forget_parameter"),
    python_method<parameter_name_function, 1>("parameter_name"),
    python_method<prepare_source, 2>("prepare_source"),
    python_method<program_file_function, 1>("program_file"),
    python_method<describe_code_function, 2>("describe_code"),
    python_method<walk_frames, 1>("walk_frames"),
    python_method<where, 0>("where"),
    python_method<ends, 0>("ends"),
    python_method<note_compiled, 1>("note_compiled"),
    python_method<compiled_graphs_function, 0>("compiled_graphs"),
    python_method<recording_begins_function, 0>("recording_begins"),
    python_method<recording_ends_function, 0>("recording_ends"),
    python_method<note_replay_function, 2>("note_replay"),
    python_method<can_open, 0>("can_open"),
    python_method<open, 3>("open"),
    python_method<close, 0>("close"),
    python_method<enable, 1>("enable"),
    python_method<worker_begins, 0>("worker_begins"),
    python_method<set_dump, 3>("set_dump"),
    python_method<add_fact, 2>("add_fact"),
    python_method<names_groups_function, 0>("names_groups"),
};

}  // namespace

PyObject* python_functions() {
  PythonReference functions(PyDict_New());
  if (!functions) return nullptr;
  const bool added =
      add_python_methods(functions.get(), methods) && add_python_methods(functions.get(), python_call_methods()) &&
      add_python_methods(functions.get(), python_followed_graph_methods()) && add_python_methods(functions.get(), python_graph_methods()) &&
      add_python_methods(functions.get(), python_model_methods()) && add_python_methods(functions.get(), python_program_methods()) &&
      add_python_methods(functions.get(), python_follow_methods());
  return added ? functions.release() : nullptr;
}

uint64_t compiled_graphs() { return compiled; }

}  // namespace tensortap::pytorch
