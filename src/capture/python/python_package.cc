#include "python/python_package.h"

#include "python/followed_function.h"
#include "python/python_methods.h"

namespace tensortap {
namespace {

// Loads it under a separate name: `import tensortap` may be impossible here, because it loads an extension module for one Python version.
constexpr const char* kLoader = R"(
def load(name, folder, argument):
    import importlib.util, sys
    package = sys.modules.get(name)
    if package is None:
        spec = importlib.util.spec_from_file_location(name, folder + "/__init__.py", submodule_search_locations=[folder])
        package = importlib.util.module_from_spec(spec)
        sys.modules[name] = package
        try:
            spec.loader.exec_module(package)
        except BaseException:
            del sys.modules[name]
            raise
    package.install(argument)
)";

}  // namespace

bool load_python_package(const char* name, const std::string& folder, PyObject* argument) {
  const UntracedPython untraced;
  const PythonReference code(Py_CompileString(kLoader, "<frozen tensortap>", kPythonFileInput));
  const PythonReference globals(PyDict_New());
  if (!code || !globals || PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()) != 0) return false;
  const PythonReference ran(PyEval_EvalCode(code.get(), globals.get(), globals.get()));
  PyObject* const load = ran ? PyDict_GetItemString(globals.get(), "load") : nullptr;
  if (load == nullptr) return false;
  const PythonReference package(python_text(name));
  const PythonReference path(python_text(folder));
  if (!package || !path) return false;
  const PythonReference loaded(PyObject_CallFunctionObjArgs(load, package.get(), path.get(), argument, nullptr));
  return static_cast<bool>(loaded);
}

std::string taken_python_error(const char* otherwise) {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const PythonReference owned_type(type);
  const PythonReference owned_value(value);
  const PythonReference owned_traceback(traceback);
  const PythonReference words(value == nullptr ? nullptr : PyObject_Str(value));
  const char* const said = words ? PyUnicode_AsUTF8AndSize(words.get(), nullptr) : nullptr;
  std::string message = said == nullptr ? otherwise : said;
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return message;
}

bool add_python_methods(PyObject* dictionary, std::span<PyMethodDef> definitions) {
  for (PyMethodDef& definition : definitions) {
    const PythonReference function(PyCFunction_NewEx(&definition, nullptr, nullptr));
    if (!function || PyDict_SetItemString(dictionary, definition.name, function.get()) != 0) return false;
  }
  return true;
}

}  // namespace tensortap
