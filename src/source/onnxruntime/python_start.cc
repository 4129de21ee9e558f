#include "source/onnxruntime/python_start.h"

#include <dlfcn.h>

#include <cstddef>

namespace tensortap::onnxruntime {
namespace {

struct Object;  // PyObject

// `import tensortap` may be impossible here, for it brings an extension module for one Python version.
constexpr const char* kPackageLoader = R"(
def load(folder, library):
    import importlib.util, sys
    if "_tensortap_onnxruntime" not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            "_tensortap_onnxruntime", folder + "/tensortap/_onnxruntime/__init__.py",
            submodule_search_locations=[folder + "/tensortap/_onnxruntime"])
        package = importlib.util.module_from_spec(spec)
        sys.modules["_tensortap_onnxruntime"] = package
        try:
            spec.loader.exec_module(package)
            package.install(library)
        except BaseException:
            del sys.modules["_tensortap_onnxruntime"]
            raise
)";
constexpr int kFileInput = 257;  // Py_file_input

// The functions of the interpreter of this process, by name: this library is for every Python and for programs without one.
struct Python {
  Object* (*compile)(const char* text, const char* file, int start) = nullptr;
  Object* (*evaluate)(Object* code, Object* globals, Object* locals) = nullptr;
  Object* (*builtins)() = nullptr;
  Object* (*new_dict)() = nullptr;
  int (*set_item)(Object* dictionary, const char* key, Object* value) = nullptr;
  Object* (*get_item)(Object* dictionary, const char* key) = nullptr;
  Object* (*new_text)(const char* text, ptrdiff_t size) = nullptr;
  Object* (*call)(Object* callable, ...) = nullptr;
  void (*release)(Object* object) = nullptr;
  void (*fetch_error)(Object** type, Object** value, Object** traceback) = nullptr;
  void (*clear_error)() = nullptr;
  Object* (*to_text)(Object* object) = nullptr;
  const char* (*utf8)(Object* text, ptrdiff_t* size) = nullptr;
  bool complete = true;

  Python() {
    find("Py_CompileString", compile);
    find("PyEval_EvalCode", evaluate);
    find("PyEval_GetBuiltins", builtins);
    find("PyDict_New", new_dict);
    find("PyDict_SetItemString", set_item);
    find("PyDict_GetItemString", get_item);
    find("PyUnicode_FromStringAndSize", new_text);
    find("PyObject_CallFunctionObjArgs", call);
    find("Py_DecRef", release);
    find("PyErr_Fetch", fetch_error);
    find("PyErr_Clear", clear_error);
    find("PyObject_Str", to_text);
    find("PyUnicode_AsUTF8AndSize", utf8);
  }

 private:
  template <class Pointer>
  void find(const char* name, Pointer& function) {
    function = reinterpret_cast<Pointer>(dlsym(RTLD_DEFAULT, name));
    complete = complete && function != nullptr;
  }
};

// A reference, given back at its end.
class Reference {
 public:
  Reference(const Python& python, Object* object) : python_(python), object_(object) {}
  ~Reference() {
    if (object_ != nullptr) python_.release(object_);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  [[nodiscard]] Object* get() const { return object_; }

 private:
  const Python& python_;
  Object* object_;
};

bool load_package(const Python& python, const std::string& folder, const std::string& library) {
  const Reference code(python, python.compile(kPackageLoader, "<frozen tensortap>", kFileInput));
  const Reference globals(python, python.new_dict());
  if (code.get() == nullptr || globals.get() == nullptr) return false;
  if (python.set_item(globals.get(), "__builtins__", python.builtins()) != 0) return false;
  const Reference ran(python, python.evaluate(code.get(), globals.get(), globals.get()));
  Object* const load = ran.get() == nullptr ? nullptr : python.get_item(globals.get(), "load");
  const Reference where(python, python.new_text(folder.data(), static_cast<ptrdiff_t>(folder.size())));
  const Reference what(python, python.new_text(library.data(), static_cast<ptrdiff_t>(library.size())));
  if (load == nullptr || where.get() == nullptr || what.get() == nullptr) return false;
  Object* const end = nullptr;
  const Reference loaded(python, python.call(load, where.get(), what.get(), end));
  return loaded.get() != nullptr;
}

std::string take_error(const Python& python) {
  Object* type = nullptr;
  Object* value = nullptr;
  Object* traceback = nullptr;
  python.fetch_error(&type, &value, &traceback);
  const Reference owned_type(python, type);
  const Reference owned_value(python, value);
  const Reference owned_traceback(python, traceback);
  const Reference text(python, value == nullptr ? nullptr : python.to_text(value));
  const char* const words = text.get() == nullptr ? nullptr : python.utf8(text.get(), nullptr);
  std::string message = words == nullptr ? "it cannot be imported" : words;
  python.clear_error();
  return message;
}

}  // namespace

std::string start_python(const std::string& folder, const std::string& library) {
  const Python python;
  if (!python.complete) return {};
  if (load_package(python, folder, library)) return {};
  return take_error(python);
}

}  // namespace tensortap::onnxruntime
