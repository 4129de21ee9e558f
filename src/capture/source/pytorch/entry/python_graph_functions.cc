// The functions for graphs of torch.compile. Without a capture they report that nothing is to be done.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "python/python_methods.h"
#include "source/pytorch/identity/graph_events.h"
#include "source/pytorch/identity/module_table.h"
#include "source/pytorch/python/python_events.h"
#include "source/pytorch/python/python_parts.h"

namespace tensortap::pytorch {
namespace {

const GraphEvents& events_of_graphs() {
  static const GraphEvents none{};
  const GraphEvents* told = python_events().graphs;
  return told == nullptr ? none : *told;
}

uint32_t number_in(PyObject* tuple, ptrdiff_t index) {
  PyObject* const item = PyTuple_GetItem(tuple, index);
  return item == nullptr ? 0 : static_cast<uint32_t>(PyLong_AsLong(item));
}

// takes_nodes() -> whether dump nodes are taken
PyObject* takes_nodes_function(PyObject*, PythonArguments, ptrdiff_t) {
  const auto function = events_of_graphs().takes_nodes;
  return PyBool_FromLong(function != nullptr && function() ? 1 : 0);
}

// add_node((op, overload, path of the module, "file:line", scope, attributes, names of the inputs, forward node, path that was compiled))
// -> number
PyObject* add_node_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  PyObject* const row = arguments[0];
  GraphNode node;
  std::string module;
  std::string root;
  const bool are_texts = read_text(row, 0, node.op) && read_text(row, 1, node.overload) && read_text(row, 2, module) &&
                         read_text(row, 3, node.source) && read_text(row, 4, node.scope) && read_text(row, 5, node.attributes) &&
                         read_texts(PyTuple_GetItem(row, 6), node.inputs) && read_text(row, 8, root);
  if (!are_texts) return nullptr;
  node.forward = number_in(row, 7);
  if (PyErr_Occurred() != nullptr) return nullptr;
  node.module = number_of_path(module);
  node.root = number_of_path(root);
  const auto function = events_of_graphs().add_node;
  return PyLong_FromLong(function == nullptr ? 0 : static_cast<long>(function(std::move(node))));
}

// wants_node(number, number of the module that the graph runs for) -> 1 wanted, 2 its outputs are memory that was never written
PyObject* wants_node_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto function = events_of_graphs().wants_node;
  return PyLong_FromLong(function == nullptr ? 0
                                             : static_cast<long>(function(static_cast<uint32_t>(PyLong_AsLong(arguments[0])),
                                                                          static_cast<ModuleId>(PyLong_AsLong(arguments[1])))));
}

// add_site((number of the node, phase, flags), iterable of (tensor, kind, slot, element, flags)) -> number for tensortap::dump
PyObject* add_site_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const DumpRole role{number_in(arguments[0], 0), number_in(arguments[0], 1), number_in(arguments[0], 2)};
  std::vector<DumpSlot> slots;
  const PythonReference iterator(PyObject_GetIter(arguments[1]));
  while (iterator) {
    const PythonReference row(PyIter_Next(iterator.get()));
    if (!row) break;
    const auto element = static_cast<int32_t>(number_in(row.get(), 3));
    slots.push_back({number_in(row.get(), 0), number_in(row.get(), 1), number_in(row.get(), 2), element, number_in(row.get(), 4)});
    if (PyErr_Occurred() != nullptr) break;
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  const auto function = events_of_graphs().add_site;
  return PyLong_FromLong(function == nullptr ? -1 : static_cast<long>(function(role, std::move(slots))));
}

// path_number(path) -> number of a module's path
PyObject* path_number_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto path = text_of(arguments[0]);
  return path ? PyLong_FromLong(static_cast<long>(number_of_path(*path))) : nullptr;
}

// graph_begins(number of the module that was compiled, backward) -> number of the one that it runs for, -1 when nothing is captured now
PyObject* graph_begins_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto function = events_of_graphs().graph_begins;
  const auto root = static_cast<ModuleId>(PyLong_AsLong(arguments[0]));
  return PyLong_FromLong(function == nullptr ? -1 : static_cast<long>(function(root, PyObject_IsTrue(arguments[1]) == 1)));
}

// graph_ends()
PyObject* graph_ends_function(PyObject*, PythonArguments, ptrdiff_t) {
  if (const auto function = events_of_graphs().graph_ends; function != nullptr) function();
  return python_none();
}

// wrote_unseen()
PyObject* wrote_unseen_function(PyObject*, PythonArguments, ptrdiff_t) {
  if (const auto function = events_of_graphs().wrote_unseen; function != nullptr) function();
  return python_none();
}

// compile_begins()
PyObject* compile_begins_function(PyObject*, PythonArguments, ptrdiff_t) {
  if (const auto function = events_of_graphs().compile_begins; function != nullptr) function();
  return python_none();
}

// compile_ends()
PyObject* compile_ends_function(PyObject*, PythonArguments, ptrdiff_t) {
  if (const auto function = events_of_graphs().compile_ends; function != nullptr) function();
  return python_none();
}

// autograd_names() -> "SEQUENCE_NUMBER NAME" of each autograd node that ran since compile_begins(), a line each
PyObject* autograd_names_function(PyObject*, PythonArguments, ptrdiff_t) {
  const auto function = events_of_graphs().autograd_names;
  return python_text(function == nullptr ? "" : function());
}

// level_of_call(whether it is a root) -> level of a module's call, -1 when it is not captured
PyObject* level_of_call_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto function = events_of_graphs().level_of_call;
  return PyLong_FromLong(function == nullptr ? -1 : function(PyObject_IsTrue(arguments[0]) == 1));
}

// add_module(number of the module, class, level) -> number of its node
PyObject* add_module_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto module = static_cast<ModuleId>(PyLong_AsLong(arguments[0]));
  const auto type = text_of(arguments[1]);
  const auto level = static_cast<uint32_t>(PyLong_AsLong(arguments[2]));
  if (!type || PyErr_Occurred() != nullptr) return nullptr;
  const auto function = events_of_graphs().add_module;
  return PyLong_FromLong(function == nullptr ? 0 : static_cast<long>(function(module, *type, level)));
}

// tells_calls_apart() -> whether each call of a module or an operator is a separate op
PyObject* tells_calls_apart_function(PyObject*, PythonArguments, ptrdiff_t) {
  const auto function = events_of_graphs().tells_calls_apart;
  return PyBool_FromLong(function != nullptr && function() ? 1 : 0);
}

// tells_reads_after() -> whether the event at the end of a call also contains the tensors that the call read
PyObject* tells_reads_after_function(PyObject*, PythonArguments, ptrdiff_t) {
  const auto function = events_of_graphs().tells_reads_after;
  return PyBool_FromLong(function != nullptr && function() ? 1 : 0);
}

// round_begins(number of the model, its phase)
PyObject* round_begins_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto model = static_cast<ModuleId>(PyLong_AsLong(arguments[0]));
  const auto phase = static_cast<uint32_t>(PyLong_AsLong(arguments[1]));
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (const auto function = events_of_graphs().round_begins; function != nullptr) without_gil([&] { function(model, phase); });
  return python_none();
}

// operation_begins(number of the node, 0 = no operation; whether its tensors will not be reported) -> the argument of operation_ends()
PyObject* operation_begins_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto node = static_cast<uint32_t>(PyLong_AsLong(arguments[0]));
  const bool unseen = PyObject_IsTrue(arguments[1]) == 1;
  if (PyErr_Occurred() != nullptr) return nullptr;
  const auto function = events_of_graphs().operation_begins;
  return PyLong_FromLong(function == nullptr ? 0 : static_cast<long>(function(node, unseen)));
}

// operation_ends(the result of operation_begins())
PyObject* operation_ends_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto before = static_cast<uint64_t>(PyLong_AsLong(arguments[0]));
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (const auto function = events_of_graphs().operation_ends; function != nullptr) function(before);
  return python_none();
}

// add_kernel((name, attributes)) -> number of its node
PyObject* add_kernel_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  GraphNode node;
  if (!read_text(arguments[0], 0, node.op) || !read_text(arguments[0], 1, node.attributes)) return nullptr;
  const auto function = events_of_graphs().add_kernel;
  return PyLong_FromLong(function == nullptr ? 0 : static_cast<long>(function(std::move(node))));
}

// launch_begins(number of the node, whether gradients are recorded, names of the inputs) -> phase, -1 when nothing of it is captured
PyObject* launch_begins_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto node = static_cast<uint32_t>(PyLong_AsLong(arguments[0]));
  const bool records_gradients = PyObject_IsTrue(arguments[1]) == 1;
  std::vector<std::string> inputs;
  if (!read_texts(arguments[2], inputs) || PyErr_Occurred() != nullptr) return nullptr;
  const auto function = events_of_graphs().launch_begins;
  return PyLong_FromLong(function == nullptr ? -1 : function(node, records_gradients, std::move(inputs)));
}

// launch_ends()
PyObject* launch_ends_function(PyObject*, PythonArguments, ptrdiff_t) {
  if (const auto function = events_of_graphs().launch_ends; function != nullptr) function();
  return python_none();
}

constinit std::array graph_methods = {
    python_method<takes_nodes_function, 0>("takes_nodes"),       python_method<add_node_function, 1>("add_node"),
    python_method<wants_node_function, 2>("wants_node"),         python_method<add_site_function, 2>("add_site"),
    python_method<graph_begins_function, 2>("graph_begins"),     python_method<path_number_function, 1>("path_number"),
    python_method<graph_ends_function, 0>("graph_ends"),         python_method<wrote_unseen_function, 0>("wrote_unseen"),
    python_method<compile_begins_function, 0>("compile_begins"), python_method<compile_ends_function, 0>("compile_ends"),
    python_method<autograd_names_function, 0>("autograd_names"), python_method<level_of_call_function, 1>("level_of_call"),
    python_method<add_module_function, 3>("add_module"),         python_method<tells_calls_apart_function, 0>("tells_calls_apart"),
    python_method<round_begins_function, 2>("round_begins"),     python_method<operation_begins_function, 2>("operation_begins"),
    python_method<operation_ends_function, 1>("operation_ends"), python_method<tells_reads_after_function, 0>("tells_reads_after"),
    python_method<add_kernel_function, 1>("add_kernel"),         python_method<launch_begins_function, 3>("launch_begins"),
    python_method<launch_ends_function, 0>("launch_ends"),
};

}  // namespace

std::span<PyMethodDef> python_graph_methods() { return graph_methods; }

}  // namespace tensortap::pytorch
