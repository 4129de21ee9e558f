// Follows the runs of graphs that Inductor compiled, and the compiling of them. The graphs stay the objects that torch made, whatever it
// may ask of them.

#include <array>

#include "python/followed_function.h"
#include "python/python_methods.h"
#include "source/pytorch/identity/graph_events.h"
#include "source/pytorch/memory/output_arguments.h"
#include "source/pytorch/python/pointer_table.h"
#include "source/pytorch/python/python_events.h"
#include "source/pytorch/python/python_parts.h"

namespace tensortap::pytorch {
namespace {

// What is known of a graph, in one number: these, and the number of the module that it was compiled for.
constexpr uint32_t kKnown = 1;
constexpr uint32_t kWrites = 2;  // into what it is given
constexpr uint32_t kTells = 4;   // by dump nodes
constexpr uint32_t kBackward = 8;
constexpr uint32_t kReports = 16;  // each of its kernels is reported
constexpr uint32_t kFlagBits = 5;

constexpr size_t kMostGraphs = 1u << 16;

constinit PointerTable known_graphs{kMostGraphs};
constinit PyObject* graph_met = nullptr;     // looks at a graph that is not known
constinit PyObject* compiler_ran = nullptr;  // looks for what runs graphs
constinit PythonCall plain_graph_call = nullptr;
constinit PythonCall plain_compile = nullptr;

const GraphEvents& graph_events() {
  static constinit GraphEvents none{};
  const GraphEvents* events = python_events().graphs;
  return events == nullptr ? none : *events;
}

void call(void (*event)()) {
  if (event != nullptr) event();
}

// Asks about an unknown graph and returns what is known of it then; 0 with an exception set after a Ctrl-C.
uint32_t meet_graph(PyObject* graph) {
  const UntracedPython untraced;
  const PythonReference met(PyObject_CallFunctionObjArgs(graph_met, graph, nullptr));
  if (!met && !forget_exception()) return 0;
  const uint32_t known = known_graphs.find(graph);
  return known == 0 ? kKnown | kWrites : known;
}

PyObject* call_graph(PyObject* callable, PythonArguments arguments, size_t counts, PyObject* names) {
  if (positional_count(counts) == 0) return plain_graph_call(callable, arguments, counts, names);
  uint32_t known = known_graphs.find(arguments[0]);
  if (known == 0) known = meet_graph(arguments[0]);
  if (known == 0) return nullptr;
  const GraphEvents& events = graph_events();
  const bool tells = (known & kTells) != 0 && events.graph_begins != nullptr;
  const bool begun = tells && events.graph_begins(known >> kFlagBits, (known & kBackward) != 0) >= 0;
  const bool reports = (known & kReports) != 0;
  uint32_t before = 0;
  if (reports) {
    before = reported_code_begins(known >> kFlagBits);
  } else {
    compiled_code_begins();
  }
  PyObject* const result = plain_graph_call(callable, arguments, counts, names);
  bool operator_ran = false;
  if (reports) {
    reported_code_ends(before);
  } else {
    operator_ran = compiled_code_ends();
  }
  if (begun) call(events.graph_ends);
  // The graph may have overwritten what an operator left in a buffer.
  if ((known & kWrites) != 0 || operator_ran) call(events.wrote_unseen);
  return result;
}

PyObject* call_compiler(PyObject* callable, PythonArguments arguments, size_t counts, PyObject* names) {
  call(graph_events().compile_begins);
  PyObject* const result = plain_compile(callable, arguments, counts, names);
  call(graph_events().compile_ends);
  if (result == nullptr) return nullptr;
  const UntracedPython untraced;
  const PythonReference looked(PyObject_CallFunctionObjArgs(compiler_ran, nullptr));
  if (looked || forget_exception()) return result;
  Py_DecRef(result);
  return nullptr;
}

// Follows a function that is not followed yet; `plain` is what called it. False with an exception set.
bool follow(PyObject* function, PythonCall& plain, PythonCall follower) {
  const PythonCall before = call_of_function(function);
  if (before == nullptr || before == follower) return before != nullptr;
  if (plain != nullptr && plain != before) {
    PyErr_SetString(PyExc_TypeError, "other code follows the runs of compiled graphs");
    return false;
  }
  plain = before;
  return follow_function(function, before, follower);
}

// follow_graphs(function that runs a graph, met)
PyObject* follow_graphs(PyObject*, PythonArguments arguments, ptrdiff_t) {
  Py_IncRef(arguments[1]);
  graph_met = arguments[1];
  return follow(arguments[0], plain_graph_call, call_graph) ? python_none() : nullptr;
}

// follow_compiler(function that gives a graph to Inductor, called when it did)
PyObject* follow_compiler(PyObject*, PythonArguments arguments, ptrdiff_t) {
  Py_IncRef(arguments[1]);
  compiler_ran = arguments[1];
  return follow(arguments[0], plain_compile, call_compiler) ? python_none() : nullptr;
}

// bind_graph(graph, flags, number of the module that it was compiled for)
PyObject* bind_graph(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto flags = static_cast<uint32_t>(PyLong_AsLong(arguments[1]));
  const auto root = static_cast<uint32_t>(PyLong_AsLong(arguments[2]));
  if (PyErr_Occurred() != nullptr) return nullptr;
  known_graphs.set(arguments[0], kKnown | flags | root << kFlagBits);
  return python_none();
}

// unbind_graph(address)
PyObject* unbind_graph(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const unsigned long long address = PyLong_AsUnsignedLongLong(arguments[0]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  known_graphs.erase(reinterpret_cast<const void*>(static_cast<uintptr_t>(address)));
  return python_none();
}

// note_output_argument("library::name.overload", slot, whether the graph gives a buffer that it did nothing with)
PyObject* note_output_argument_function(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto op = text_of(arguments[0]);
  const auto slot = static_cast<uint32_t>(PyLong_AsLong(arguments[1]));
  if (!op || PyErr_Occurred() != nullptr) return nullptr;
  note_output_argument(*op, slot, PyObject_IsTrue(arguments[2]) == 1);
  return python_none();
}

constinit std::array followed_graph_methods = {
    python_method<follow_graphs, 2>("follow_graphs"),
    python_method<follow_compiler, 2>("follow_compiler"),
    python_method<bind_graph, 3>("bind_graph"),
    python_method<unbind_graph, 1>("unbind_graph"),
    python_method<note_output_argument_function, 3>("note_output_argument"),
};

}  // namespace

std::span<PyMethodDef> python_followed_graph_methods() { return followed_graph_methods; }

}  // namespace tensortap::pytorch
