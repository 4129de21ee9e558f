// The functions for compiled graphs with separate sessions.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "python/python_methods.h"
#include "source/pytorch/identity/model_events.h"
#include "source/pytorch/identity/module_table.h"
#include "source/pytorch/python/python_events.h"
#include "source/pytorch/python/python_parts.h"

namespace tensortap::pytorch {
namespace {

const ModelEvents& events_of_models() {
  static const ModelEvents none{};
  const ModelEvents* told = python_events().models;
  return told == nullptr ? none : *told;
}

bool read_numbers(PyObject* iterable, std::vector<uint32_t>& numbers) {
  const PythonReference iterator(iterable == nullptr ? nullptr : PyObject_GetIter(iterable));
  while (iterator) {
    const PythonReference item(PyIter_Next(iterator.get()));
    if (!item) break;
    numbers.push_back(static_cast<uint32_t>(PyLong_AsLong(item.get())));
  }
  return PyErr_Occurred() == nullptr;
}

// open_model((config, its name, the graph's name, the program, timestamp), device) -> (number, "" or the error)
PyObject* open_model(PyObject*, PythonArguments arguments, ptrdiff_t) {
  PyObject* const row = arguments[0];
  ModelGraphOptions options;
  const bool are_texts = read_text(row, 0, options.config) && read_text(row, 1, options.config_name) && read_text(row, 2, options.model) &&
                         read_text(row, 3, options.program) && read_text(row, 4, options.timestamp);
  if (!are_texts) return nullptr;
  options.device = static_cast<int32_t>(PyLong_AsLong(arguments[1]));
  if (PyErr_Occurred() != nullptr) return nullptr;
  std::string problem = "no adapter is loaded";
  uint32_t number = 0;
  if (const auto function = events_of_models().open; function != nullptr) without_gil([&] { number = function(options, problem); });
  return number == 0 ? python_text(problem) : PyLong_FromLong(static_cast<long>(number));
}

// add_model_op(graph, (name, type, operator, overload, module, "file:line", attributes, original), names of inputs, numbers of their
// producers, their outputs) -> number of the node
PyObject* add_model_op(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto graph = static_cast<uint32_t>(PyLong_AsLong(arguments[0]));
  PyObject* const row = arguments[1];
  ModelOp op;
  std::string module;
  const bool are_read = read_text(row, 0, op.name) && read_text(row, 1, op.type) && read_text(row, 2, op.node.op) &&
                        read_text(row, 3, op.node.overload) && read_text(row, 4, module) && read_text(row, 5, op.node.source) &&
                        read_text(row, 6, op.node.attributes) && read_text(row, 7, op.original) &&
                        read_texts(arguments[2], op.node.inputs) && read_numbers(arguments[3], op.producers) &&
                        read_numbers(arguments[4], op.producer_slots);
  if (!are_read || PyErr_Occurred() != nullptr) return nullptr;
  op.node.module = number_of_path(module);
  const auto function = events_of_models().add_op;
  return PyLong_FromLong(function == nullptr ? 0 : static_cast<long>(function(graph, std::move(op))));
}

// bind_model(graph) -> "" or the error
PyObject* bind_model(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto graph = static_cast<uint32_t>(PyLong_AsLong(arguments[0]));
  if (PyErr_Occurred() != nullptr) return nullptr;
  const auto function = events_of_models().bind;
  return python_text(function == nullptr ? "no adapter is loaded" : function(graph));
}

// model_step_begins(graph, step) -> whether anything of it is wanted
PyObject* model_step_begins(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto graph = static_cast<uint32_t>(PyLong_AsLong(arguments[0]));
  const auto step = static_cast<int64_t>(PyLong_AsLong(arguments[1]));
  if (PyErr_Occurred() != nullptr) return nullptr;
  const auto function = events_of_models().step_begins;
  return PyBool_FromLong(function != nullptr && function(graph, step) ? 1 : 0);
}

// model_step_ends(graph, step)
PyObject* model_step_ends(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto graph = static_cast<uint32_t>(PyLong_AsLong(arguments[0]));
  const auto step = static_cast<int64_t>(PyLong_AsLong(arguments[1]));
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (const auto function = events_of_models().step_ends; function != nullptr) without_gil([&] { function(graph, step); });
  return python_none();
}

// close_model(graph) -> the report as JSON text, "" when there is none
PyObject* close_model(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto graph = static_cast<uint32_t>(PyLong_AsLong(arguments[0]));
  if (PyErr_Occurred() != nullptr) return nullptr;
  std::string report;
  if (const auto function = events_of_models().close; function != nullptr) without_gil([&] { report = function(graph); });
  return python_text(report);
}

constinit std::array model_methods = {
    python_method<open_model, 2>("open_model"),           python_method<add_model_op, 5>("add_model_op"),
    python_method<bind_model, 1>("bind_model"),           python_method<model_step_begins, 2>("model_step_begins"),
    python_method<model_step_ends, 2>("model_step_ends"), python_method<close_model, 1>("close_model"),
};

}  // namespace

std::span<PyMethodDef> python_model_methods() { return model_methods; }

}  // namespace tensortap::pytorch
