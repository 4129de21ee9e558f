// Helpers for the built-in functions that Python code calls.

#ifndef TENSORTAP_PYTHON_PYTHON_METHODS_H_
#define TENSORTAP_PYTHON_PYTHON_METHODS_H_

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "python/python_api.h"

namespace tensortap {

using PythonArguments = PyObject* const*;

inline PyObject* python_none() {
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

inline PyObject* python_text(const std::string& text) {
  return PyUnicode_FromStringAndSize(text.data(), static_cast<ptrdiff_t>(text.size()));
}

// Nullopt with an exception set when the object is no text.
inline std::optional<std::string> text_of(PyObject* object) {
  ptrdiff_t size = 0;
  const char* const text = object == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr) return std::nullopt;
  return std::string(text, static_cast<size_t>(size));
}

// Discards an exception of ours, so that the program's call goes on. An exception that ends the program (Ctrl-C, sys.exit() in one of its
// signal handlers) stays set, without our frames; then returns false.
bool forget_exception();

// Counts the arguments, and lets no C++ exception into the interpreter.
template <PyObject* (*kFunction)(PyObject*, PythonArguments, ptrdiff_t), ptrdiff_t kCount>
PyObject* checked_call(PyObject* self, PythonArguments arguments, ptrdiff_t count) {
  if (count != kCount) {
    PyErr_SetString(PyExc_TypeError, "tensortap: wrong number of arguments");
    return nullptr;
  }
  try {
    return kFunction(self, arguments, count);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
    return nullptr;
  }
}

template <PyObject* (*kFunction)(PyObject*, PythonArguments, ptrdiff_t), ptrdiff_t kCount>
constexpr PyMethodDef python_method(const char* name) {
  return {name, {checked_call<kFunction, kCount>}, kPythonFastCall, nullptr};
}

// A text of a tuple. False with an exception set when there is none.
inline bool read_text(PyObject* tuple, ptrdiff_t index, std::string& text) {
  auto found = text_of(PyTuple_GetItem(tuple, index));
  if (!found) return false;
  text = *std::move(found);
  return true;
}

// The texts of an iterable object. False with an exception set when it is none.
inline bool read_texts(PyObject* iterable, std::vector<std::string>& texts) {
  const PythonReference iterator(iterable == nullptr ? nullptr : PyObject_GetIter(iterable));
  while (iterator) {
    const PythonReference item(PyIter_Next(iterator.get()));
    if (!item) break;
    auto text = text_of(item.get());
    if (!text) return false;
    texts.push_back(*std::move(text));
  }
  return PyErr_Occurred() == nullptr;
}

// For what may wait for threads that wait for the GIL.
template <class Function>
void without_gil(Function function) {
  void* const state = PyEval_SaveThread();
  function();
  PyEval_RestoreThread(state);
}

// The number of an object that Python knows by id(), as its address.
inline const void* address_of(PyObject* number) {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(PyLong_AsUnsignedLongLong(number)));
}

}  // namespace tensortap

#endif  // TENSORTAP_PYTHON_PYTHON_METHODS_H_
