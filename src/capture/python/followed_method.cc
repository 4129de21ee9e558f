#include "python/followed_method.h"

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "python/followed_function.h"
#include "python/python_methods.h"

namespace tensortap {
namespace {

// For good: the program may keep the method for as long as it likes.
struct FollowedMethod {
  std::string name;
  std::string documentation;
  PyMethodDef definition{};
  PyObject* plain = nullptr;
  PythonCall plain_call = nullptr;  // of a function that is followed in place
  PyObject* before = nullptr;
  PyObject* after = nullptr;
  const FollowedShortcut* shortcut = nullptr;
};

// The key is the object that the built-in function is bound to, or the function itself. With the GIL.
std::unordered_map<PyObject*, std::unique_ptr<FollowedMethod>>& followed_methods() {
  static auto& methods = *new std::unordered_map<PyObject*, std::unique_ptr<FollowedMethod>>;
  return methods;
}

// An exception of the program's, put aside while we work.
class PendingException {
 public:
  PendingException() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~PendingException() {
    if (type_ != nullptr) Py_DecRef(type_);
    if (value_ != nullptr) Py_DecRef(value_);
    if (traceback_ != nullptr) Py_DecRef(traceback_);
  }
  PendingException(const PendingException&) = delete;
  PendingException& operator=(const PendingException&) = delete;

  [[nodiscard]] PyObject* value() const {
    if (type_ == nullptr) return &_Py_NoneStruct;
    return value_ == nullptr ? type_ : value_;
  }
  void restore() { PyErr_Restore(std::exchange(type_, nullptr), std::exchange(value_, nullptr), std::exchange(traceback_, nullptr)); }

 private:
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* traceback_ = nullptr;
};

// The same arguments with another first one. Null with an exception set.
PyObject* with_first(PyObject* arguments, PyObject* first) {
  const ptrdiff_t size = PyTuple_Size(arguments);
  PythonReference changed(PyTuple_New(size));
  for (ptrdiff_t i = 0; changed && i < size; ++i) {
    PyObject* const argument = i == 0 ? first : PyTuple_GetItem(arguments, i);
    Py_IncRef(argument);
    PyTuple_SetItem(changed.get(), i, argument);
  }
  return changed.release();
}

// None after an error of ours; null with an exception that goes on.
PyObject* call_before(const FollowedMethod& method, PyObject* arguments, PyObject* named) {
  const UntracedPython untraced;
  PyObject* const answer = PyObject_Call(method.before, arguments, named);
  if (answer != nullptr) return answer;
  return forget_exception() ? python_none() : nullptr;
}

// Takes what the call returned, and returns what the program gets.
PyObject* call_after(const FollowedMethod& method, PyObject* token, PyObject* result) {
  PendingException raised;
  bool goes_on = false;
  {
    const UntracedPython untraced;
    const PythonReference done(PyObject_CallFunctionObjArgs(method.after, token, raised.value(), nullptr));
    goes_on = done || forget_exception();
  }
  if (!goes_on) {
    if (result != nullptr) Py_DecRef(result);
    return nullptr;
  }
  raised.restore();
  return result;
}

PyObject* call_with_token(const FollowedMethod& method, PyObject* answer, PyObject* arguments, PyObject* named) {
  PyObject* const token = PyTuple_GetItem(answer, 0);
  PyObject* const first = PyTuple_GetItem(answer, 1);
  if (first == &_Py_NoneStruct || PyTuple_Size(arguments) == 0) {
    return call_after(method, token, PyObject_Call(method.plain, arguments, named));
  }
  const PythonReference changed(with_first(arguments, first));
  return call_after(method, token, changed ? PyObject_Call(method.plain, changed.get(), named) : nullptr);
}

// The token for call_after(), made while the call's exception waits.
PyObject* token_of_failure(const FollowedMethod& method, void* token, PyObject* arguments) {
  PendingException raised;
  PyObject* const made = method.shortcut->failed(token, method.plain, arguments);
  if (made == nullptr) PyErr_Clear();
  raised.restore();
  return made;
}

PyObject* call_by_shortcut(const FollowedMethod& method, PyObject* first, void* token, PyObject* arguments, PyObject* named) {
  PyObject* result = nullptr;
  if (first == PyTuple_GetItem(arguments, 0)) {
    result = PyObject_Call(method.plain, arguments, named);
  } else if (const PythonReference changed(with_first(arguments, first)); changed) {
    result = PyObject_Call(method.plain, changed.get(), named);
  }
  const PythonReference failure(result == nullptr ? token_of_failure(method, token, arguments) : nullptr);
  if (failure) return call_after(method, failure.get(), nullptr);
  method.shortcut->ends(token);
  return result;
}

// What each of the built-in functions does.
PyObject* call_method(PyObject* self, PyObject* arguments, PyObject* named) {
  const FollowedMethod& method = *followed_methods().at(self);
  if (method.shortcut != nullptr && PyTuple_Size(arguments) > 0) {
    void* token = nullptr;
    PyObject* const first = method.shortcut->begins(arguments, named, &token);
    if (first != nullptr) return call_by_shortcut(method, first, token, arguments, named);
    if (PyErr_Occurred() != nullptr) return nullptr;
  }
  const PythonReference answer(call_before(method, arguments, named));
  if (!answer) return nullptr;
  if (answer.get() == &_Py_NoneStruct) return PyObject_Call(method.plain, arguments, named);
  if (PyTuple_Size(answer.get()) == 0) return python_none();
  return call_with_token(method, answer.get(), arguments, named);
}

std::string text_member(PyObject* function, const char* name) {
  const PythonReference member(PyObject_GetAttrString(function, name));
  const auto text = member ? text_of(member.get()) : std::nullopt;
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return text.value_or("");
}

// A new entry for `key` with the arguments of follow(). Null with an exception set when there is one.
FollowedMethod* new_followed(PyObject* key, PythonArguments arguments) {
  auto& known = followed_methods()[key];
  if (known != nullptr) {
    PyErr_SetString(PyExc_TypeError, "the function is followed already");
    return nullptr;
  }
  known = std::make_unique<FollowedMethod>();
  for (PyObject* const owned : {key, arguments[0], arguments[1], arguments[2]}) Py_IncRef(owned);
  known->plain = arguments[0];
  known->before = arguments[1];
  known->after = arguments[2];
  return known.get();
}

// `arguments` are those of follow(). Null with an exception set.
PyObject* new_method(PythonArguments arguments, const FollowedShortcut* shortcut) {
  PyObject* const function = arguments[0];
  const PythonReference bound(PyObject_GetAttrString(function, "__self__"));
  if (!bound) PyErr_Clear();
  PyObject* const self = bound ? bound.get() : function;
  const PythonReference module(PyObject_GetAttrString(function, "__module__"));
  if (!module) PyErr_Clear();
  FollowedMethod* const method = new_followed(self, arguments);
  if (method == nullptr) return nullptr;
  method->shortcut = shortcut;
  method->name = text_member(function, "__name__");
  method->documentation = text_member(function, "__doc__");
  method->definition.name = method->name.c_str();
  method->definition.tuple_function = call_method;
  method->definition.flags = kPythonTupleCall;
  if (!method->documentation.empty()) method->definition.documentation = method->documentation.c_str();
  const PythonReference built_in(PyCFunction_NewEx(&method->definition, self, module.get()));
  return built_in ? PyInstanceMethod_New(built_in.get()) : nullptr;
}

// follow(function, before, after) -> a method
PyObject* follow(PyObject*, PythonArguments arguments, ptrdiff_t) { return new_method(arguments, nullptr); }

PyObject* call_in_place(PyObject* callable, PythonArguments arguments, size_t counts, PyObject* names) {
  const FollowedMethod& method = *followed_methods().at(callable);
  const PythonReference nothing(PyTuple_New(0));
  if (!nothing) return nullptr;
  const PythonReference answer(call_before(method, nothing.get(), nullptr));
  if (!answer) return nullptr;
  PyObject* const result = method.plain_call(callable, arguments, counts, names);
  return answer.get() == &_Py_NoneStruct ? result : call_after(method, PyTuple_GetItem(answer.get(), 0), result);
}

// follow_in_place(function, before, after)
PyObject* follow_in_place(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const PythonCall before = call_of_function(arguments[0]);
  if (before == nullptr) return nullptr;
  FollowedMethod* const method = new_followed(arguments[0], arguments);
  if (method == nullptr) return nullptr;
  method->plain_call = before;
  return follow_function(arguments[0], before, call_in_place) ? python_none() : nullptr;
}

PyObject* call_instead(PyObject* callable, PythonArguments arguments, size_t counts, PyObject*) {
  if (positional_count(counts) == 0) return python_none();
  const FollowedMethod& method = *followed_methods().at(callable);
  const UntracedPython untraced;
  const PythonReference done(PyObject_CallFunctionObjArgs(method.before, arguments[0], nullptr));
  return done || forget_exception() ? python_none() : nullptr;
}

// replace_in_place(function, instead)
PyObject* replace_in_place(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const PythonCall before = call_of_function(arguments[0]);
  if (before == nullptr) return nullptr;
  const std::array<PyObject*, 3> parts{arguments[0], arguments[1], &_Py_NoneStruct};
  if (new_followed(arguments[0], parts.data()) == nullptr) return nullptr;
  return follow_function(arguments[0], before, call_instead) ? python_none() : nullptr;
}

constinit std::array follow_methods = {
    python_method<follow, 3>("follow"),
    python_method<follow_in_place, 3>("follow_in_place"),
    python_method<replace_in_place, 2>("replace_in_place"),
};

}  // namespace

std::span<PyMethodDef> python_follow_methods() { return follow_methods; }

PyObject* follow_method(PyObject* function, PyObject* before, PyObject* after, const FollowedShortcut& shortcut) {
  const std::array<PyObject*, 3> parts{function, before, after};
  return new_method(parts.data(), &shortcut);
}

}  // namespace tensortap
