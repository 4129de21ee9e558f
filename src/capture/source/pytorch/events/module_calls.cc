#include "source/pytorch/events/module_calls.h"

#include <array>
#include <atomic>
#include <exception>
#include <optional>
#include <span>

#include "base/spans.h"
#include "python/followed_function.h"
#include "python/python_methods.h"
#include "source/pytorch/identity/graph_events.h"
#include "source/pytorch/identity/module_stack.h"
#include "source/pytorch/identity/module_table.h"
#include "source/pytorch/python/python_bridge.h"
#include "source/pytorch/python/python_events.h"
#include "source/pytorch/python/python_parts.h"

namespace tensortap::pytorch {
namespace {

// What the Python side gave; owned for good, null before. With the GIL.
struct Listeners {
  PyObject* name_called = nullptr;  // names a module that was called, and what it holds
  PyObject* root_called = nullptr;  // looks at a call while no module runs: gives what root_call_of() reads
  PyObject* requests = nullptr;     // gives the requests that an engine calls its model for
  PyObject* begins = nullptr;       // the beginning of a call that is an event
  PyObject* ends = nullptr;
  PyObject* watch_begins = nullptr;  // the beginning of each call, for a capture in memory; null when there is none
  PyObject* watch_ends = nullptr;
  PyObject* compiler = nullptr;   // the members of torch.compiler
  PyObject* compiling = nullptr;  // the name of one: whether torch.compile works on something
};

constinit Listeners listeners{};
constinit std::atomic<bool> installed{false};
constinit PythonCall plain_call = nullptr;

void keep(PyObject*& kept, PyObject* object) {
  Py_IncRef(object);
  kept = object;
}

void keep_reference(PythonReference& reference, PyObject* object) {
  Py_IncRef(object);
  reference.reset(object);
}

bool call_quietly(PyObject* callable, PyObject* first, PyObject* second) {
  const UntracedPython untraced;
  const PythonReference result(PyObject_CallFunctionObjArgs(callable, first, second, nullptr));
  return result || forget_exception();
}

bool is_compiling() {
  PyObject* const flag = PyDict_GetItem(listeners.compiler, listeners.compiling);
  return flag != nullptr && PyObject_IsTrue(flag) == 1;
}

bool is_event(bool is_root) {
  const GraphEvents* events = python_events().graphs;
  return events != nullptr && events->level_of_call != nullptr && events->level_of_call(is_root) >= 0;
}

std::string class_of(PyObject* module) {
  const PythonReference kind(PyObject_GetAttrString(module, "__class__"));
  const PythonReference name(kind ? PyObject_GetAttrString(kind.get(), "__name__") : nullptr);
  const auto text = name ? text_of(name.get()) : std::nullopt;
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return text.value_or("");
}

void begin_step(PyObject* module, ModuleId id, uint32_t depth) {
  const auto function = python_events().step_module_begins;
  if (function == nullptr) return;
  try {
    if (is_step_module(module, module_path(id)) && begins_step_at(depth)) function();
  } catch (const std::exception&) {
    return;  // there is no memory for the text of a path
  }
}

bool name_module(PyObject* module) {
  if (listeners.name_called == nullptr) return true;
  try {
    const PythonReference path(python_text(module_path(current_module())));
    return path ? call_quietly(listeners.name_called, module, path.get()) : forget_exception();
  } catch (const std::exception&) {
    return true;
  }
}

PyObject* tuple_of(std::span<PyObject* const> objects) {
  PythonReference tuple(PyTuple_New(static_cast<ptrdiff_t>(objects.size())));
  for (size_t i = 0; tuple && i < objects.size(); ++i) {
    Py_IncRef(objects[i]);
    PyTuple_SetItem(tuple.get(), static_cast<ptrdiff_t>(i), objects[i]);
  }
  return tuple.release();
}

struct ToldCall {
  RootCall call;
  bool has_requests = false;
};

// (whether the module holds tensors, phase, whether an engine calls its model for requests)
ToldCall told_call_of(PyObject* result) {
  ToldCall told;
  PyObject* const holds_tensors = PyTuple_GetItem(result, 0);
  PyObject* const phase = PyTuple_GetItem(result, 1);
  PyObject* const requests = PyTuple_GetItem(result, 2);
  if (holds_tensors != nullptr && phase != nullptr && requests != nullptr) {
    told.call.holds_tensors = PyObject_IsTrue(holds_tensors) != 0;
    told.call.model_phase = static_cast<uint32_t>(PyLong_AsLong(phase));
    told.has_requests = PyObject_IsTrue(requests) == 1;
  }
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return told;
}

// After the step of the call began.
bool tell_requests() {
  const PythonEvents& events = python_events();
  if (events.takes_requests == nullptr || events.add_requests == nullptr || !events.takes_requests()) return true;
  const UntracedPython untraced;
  const PythonReference told(PyObject_CallFunctionObjArgs(listeners.requests, nullptr));
  if (!told) return forget_exception();
  try {
    if (const auto json = text_of(told.get())) events.add_requests(json->c_str());
  } catch (const std::exception&) {
    return true;
  }
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return true;
}

bool begin_root(PyObject* module, ModuleId id, std::span<PyObject* const> values, PyObject* names) {
  ToldCall told;
  if (listeners.root_called != nullptr) {
    const UntracedPython untraced;
    const PythonReference arguments(tuple_of(values));
    const PythonReference none(names == nullptr ? PyTuple_New(0) : nullptr);
    PyObject* const named = names == nullptr ? none.get() : names;
    PythonReference result;
    if (arguments && named != nullptr) {
      result.reset(PyObject_CallFunctionObjArgs(listeners.root_called, module, arguments.get(), named, nullptr));
    }
    if (!result && !forget_exception()) return false;
    if (result) told = told_call_of(result.get());
  }
  const PythonEvents& events = python_events();
  if (events.root_module_begins != nullptr) events.root_module_begins(id, told.call);
  return !told.has_requests || tell_requests();
}

// False with an exception of the program's, a Ctrl-C: nothing has begun then.
bool begin_call(std::span<PyObject* const> values, PyObject* names, uint32_t& depth) {
  PyObject* const module = values[0];
  if (module_at(module) == 0 && !name_module(module)) return false;
  const ModuleId id = module_at(module);
  depth = push_module(id);
  if (has_step_modules()) begin_step(module, id, depth);
  if (depth > 0 || begin_root(module, id, after(values, 1), names)) return true;
  pop_modules(depth);
  return false;
}

void end_call(uint32_t depth) {
  if (depth > 0) {
    pop_modules(depth);
    return;
  }
  pop_modules(1);
  const ModuleId root = current_module();
  pop_modules(0);
  if (python_events().root_module_ends != nullptr) python_events().root_module_ends(root);
}

// Reports the begin of a call. Returns what tell_end() gets; null if the end is not reported, and with an exception set after a Ctrl-C.
PyObject* tell_begin(PyObject* module, bool is_root, std::span<PyObject* const> values) {
  const UntracedPython untraced;
  const PythonReference root(PyBool_FromLong(is_root ? 1 : 0));
  const PythonReference arguments(tuple_of(values));
  PythonReference begun;
  if (root && arguments) begun.reset(PyObject_CallFunctionObjArgs(listeners.begins, module, root.get(), arguments.get(), nullptr));
  if (!begun) forget_exception();
  return begun.get() == &_Py_NoneStruct ? nullptr : begun.release();
}

// Returns what the call returns: `result`, or null with the exception that the call raised.
PyObject* tell_end(PyObject* ends, PyObject* begun, PyObject* result) {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const PythonReference returned(PyBool_FromLong(result != nullptr ? 1 : 0));
  bool goes_on = false;
  {
    const UntracedPython untraced;
    PyObject* const told = result != nullptr ? result : &_Py_NoneStruct;
    const PythonReference done(PyObject_CallFunctionObjArgs(ends, begun, returned.get(), told, nullptr));
    goes_on = done || forget_exception();
  }
  if (goes_on) {
    PyErr_Restore(type, value, traceback);
    return result;
  }
  const PythonReference owned_type(type);
  const PythonReference owned_value(value);
  const PythonReference owned_traceback(traceback);
  const PythonReference owned_result(result);
  return nullptr;
}

size_t count_of(PyObject* names) { return names == nullptr ? 0 : static_cast<size_t>(PyTuple_Size(names)); }

PyObject* call_known(PyObject* callable, PythonArguments arguments, size_t counts, PyObject* names) {
  PyObject* const module = arguments[0];
  const std::span<PyObject* const> values(arguments, positional_count(counts) + count_of(names));
  uint32_t depth = 0;
  if (!begin_call(values, names, depth)) return nullptr;
  if (!is_event(depth == 0)) {
    PyObject* const result = plain_call(callable, arguments, counts, names);
    end_call(depth);
    return result;
  }
  const PythonReference begun(tell_begin(module, depth == 0, after(values, 1)));
  PyObject* result = nullptr;
  if (begun || PyErr_Occurred() == nullptr) result = plain_call(callable, arguments, counts, names);
  if (begun) result = tell_end(listeners.ends, begun.get(), result);
  end_call(depth);
  return result;
}

// Shows a capture in memory the call as the program sees it: with what is passed to the module, and with what it gets after all hooks.
PyObject* call_watched(PyObject* callable, PythonArguments arguments, size_t counts, PyObject* names) {
  PythonReference begins;
  PythonReference ends;
  keep_reference(begins, listeners.watch_begins);
  keep_reference(ends, listeners.watch_ends);
  PythonReference begun;
  {
    const UntracedPython untraced;
    const PythonReference values(tuple_of({arguments + 1, positional_count(counts) - 1 + count_of(names)}));
    PyObject* const named = names == nullptr ? &_Py_NoneStruct : names;
    if (values) begun.reset(PyObject_CallFunctionObjArgs(begins.get(), arguments[0], values.get(), named, nullptr));
    if (!begun && !forget_exception()) return nullptr;
  }
  PyObject* const result = call_known(callable, arguments, counts, names);
  return !begun || begun.get() == &_Py_NoneStruct ? result : tell_end(ends.get(), begun.get(), result);
}

// Stands where Module._call_impl was called: Module.__call__ calls it for every module.
PyObject* call_module(PyObject* callable, PythonArguments arguments, size_t counts, PyObject* names) {
  if (positional_count(counts) == 0 || is_compiling()) return plain_call(callable, arguments, counts, names);
  if (listeners.watch_begins == nullptr) return call_known(callable, arguments, counts, names);
  return call_watched(callable, arguments, counts, names);
}

// Calls what it was made with.
PyObject* call_untraced(PyObject* self, PythonArguments arguments, ptrdiff_t) {
  const UntracedPython untraced;
  return PyObject_CallFunctionObjArgs(self, arguments[0], nullptr);
}

constinit PyMethodDef untraced_method = python_method<call_untraced, 1>("untraced");

// untraced(function of one argument) -> the same function
PyObject* untraced(PyObject*, PythonArguments arguments, ptrdiff_t) { return PyCFunction_NewEx(&untraced_method, arguments[0], nullptr); }

// set_namers(name_module, root_called, requests)
PyObject* set_namers(PyObject*, PythonArguments arguments, ptrdiff_t) {
  keep(listeners.name_called, arguments[0]);
  keep(listeners.root_called, arguments[1]);
  keep(listeners.requests, arguments[2]);
  installed = true;
  return python_none();
}

// follow_modules(Module._call_impl, members of torch.compiler, begins, ends)
PyObject* follow_modules(PyObject*, PythonArguments arguments, ptrdiff_t) {
  PyObject* const name = PyUnicode_InternFromString("_is_compiling_flag");
  const PythonCall before = name == nullptr ? nullptr : call_of_function(arguments[0]);
  if (before == nullptr) return nullptr;
  if (before == call_module) return python_none();
  listeners.compiling = name;
  keep(listeners.compiler, arguments[1]);
  keep(listeners.begins, arguments[2]);
  keep(listeners.ends, arguments[3]);
  plain_call = before;
  return follow_function(arguments[0], before, call_module) ? python_none() : nullptr;
}

void replace(PyObject*& kept, PyObject* object) {
  const PythonReference before(kept);
  kept = nullptr;
  if (object != &_Py_NoneStruct) keep(kept, object);
}

// watch_calls(begins, ends); None and None end it
PyObject* watch_calls(PyObject*, PythonArguments arguments, ptrdiff_t) {
  replace(listeners.watch_begins, arguments[0]);
  replace(listeners.watch_ends, arguments[1]);
  return python_none();
}

constinit std::array call_methods = {
    python_method<untraced, 1>("untraced"),
    python_method<set_namers, 3>("set_namers"),
    python_method<follow_modules, 4>("follow_modules"),
    python_method<watch_calls, 2>("watch_calls"),
};

}  // namespace

std::span<PyMethodDef> python_call_methods() { return call_methods; }

bool python_side_installed() { return installed; }

bool is_step_module(PyObject* module, const std::string& path) {
  if (const std::optional<bool> known = step_module_at(module)) return *known;
  const auto function = python_events().is_step_module;
  const bool is_one = function != nullptr && function(path.c_str(), class_of(module).c_str());
  keep_step_module(module, is_one);
  return is_one;
}

}  // namespace tensortap::pytorch
