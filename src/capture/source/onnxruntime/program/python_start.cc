#include "source/onnxruntime/program/python_start.h"

#include "python/followed_method.h"
#include "python/python_methods.h"
#include "python/python_package.h"
#include "source/onnxruntime/program/run_shortcut.h"

namespace tensortap::onnxruntime {
namespace {

// What python/tensortap/_onnxruntime gets. Null with an exception set.
PyObject* functions_with(const std::string& library) {
  PythonReference functions(PyDict_New());
  const PythonReference path(python_text(library));
  if (!functions || !path || PyDict_SetItemString(functions.get(), "library", path.get()) != 0) return nullptr;
  const bool added =
      add_python_methods(functions.get(), python_follow_methods()) && add_python_methods(functions.get(), python_run_shortcut_methods());
  return added ? functions.release() : nullptr;
}

}  // namespace

std::string start_python(const std::string& folder, const std::string& library) {
  if (!python_is_there()) return {};
  const PythonReference functions(functions_with(library));
  if (functions && load_python_package("_tensortap_onnxruntime", folder + "/tensortap/_onnxruntime", functions.get())) return {};
  return taken_python_error("it cannot be imported");
}

}  // namespace tensortap::onnxruntime
