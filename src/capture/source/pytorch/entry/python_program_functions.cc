// The functions for what the program does by itself: its steps, its optimizers, how it ends.

#include <array>
#include <string>
#include <vector>

#include "python/python_methods.h"
#include "source/pytorch/python/python_bridge.h"
#include "source/pytorch/python/python_events.h"
#include "source/pytorch/python/python_parts.h"

namespace tensortap::pytorch {
namespace {

// step()
PyObject* step(PyObject*, PythonArguments, ptrdiff_t) {
  if (const auto function = python_events().step; function != nullptr) without_gil(function);
  return python_none();
}

// optimizer_steps(address)
PyObject* optimizer_steps(PyObject*, PythonArguments arguments, ptrdiff_t) {
  if (const auto function = python_events().optimizer_steps; function != nullptr) function(address_of(arguments[0]));
  return python_none();
}

// optimizer_made(address), 0 = not known
PyObject* optimizer_made(PyObject*, PythonArguments arguments, ptrdiff_t) {
  if (const auto function = python_events().optimizer_made; function != nullptr) function(address_of(arguments[0]));
  return python_none();
}

// optimizer_gone(address)
PyObject* optimizer_gone(PyObject*, PythonArguments arguments, ptrdiff_t) {
  if (const auto function = python_events().optimizer_gone; function != nullptr) function(address_of(arguments[0]));
  return python_none();
}

// program_raised(text of the exception, "file:line" of each frame of the program's) -> whether an op failed at one of them
PyObject* program_raised(PyObject*, PythonArguments arguments, ptrdiff_t) {
  const auto text = text_of(arguments[0]);
  std::vector<std::string> lines;
  if (!text || !read_texts(arguments[1], lines)) return nullptr;
  std::vector<const char*> pointers;
  for (const std::string& line : lines) pointers.push_back(line.c_str());
  bool is_known = false;
  if (const auto function = python_events().program_raised; function != nullptr)
    without_gil([&] { is_known = function(text->c_str(), pointers.data(), pointers.size()); });
  return PyBool_FromLong(is_known ? 1 : 0);
}

constinit std::array program_methods = {
    python_method<step, 0>("step"),
    python_method<optimizer_steps, 1>("optimizer_steps"),
    python_method<optimizer_made, 1>("optimizer_made"),
    python_method<optimizer_gone, 1>("optimizer_gone"),
    python_method<program_raised, 2>("program_raised"),
};

}  // namespace

std::span<PyMethodDef> python_program_methods() { return program_methods; }

}  // namespace tensortap::pytorch
