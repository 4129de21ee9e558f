#include "source/pytorch/python/source_folders.h"

#include <atomic>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "python/python_api.h"

namespace tensortap::pytorch {
namespace {

namespace fs = std::filesystem;

constinit std::atomic<const std::string*> package_folder{nullptr};

// The text of an attribute of an imported module; "" if it does not exist.
std::string text_of_module(const char* module, const char* name) {
  PyObject* const modules = PyImport_GetModuleDict();
  PyObject* const object = modules == nullptr ? nullptr : PyDict_GetItemString(modules, module);
  const PythonReference value(object == nullptr ? nullptr : PyObject_GetAttrString(object, name));
  ptrdiff_t size = 0;
  const char* const text = value ? PyUnicode_AsUTF8AndSize(value.get(), &size) : nullptr;
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return text == nullptr ? std::string() : std::string(text, static_cast<size_t>(size));
}

}  // namespace

void know_package_folder(const std::string& folder) {
  if (folder.empty() || package_folder.load(std::memory_order_relaxed) != nullptr) return;
  const std::string* nobody = nullptr;
  const auto* const kept = new std::string(folder);
  if (!package_folder.compare_exchange_strong(nobody, kept)) delete kept;
}

std::string known_package_folder() {
  const std::string* known = package_folder.load();
  return known == nullptr ? std::string() : *known;
}

std::optional<ForeignCode> foreign_code_of_interpreter() {
  const std::string torch = text_of_module("torch", "__file__");
  const std::string os = text_of_module("os", "__file__");
  if (torch.empty() || os.empty()) return std::nullopt;
  const fs::path torch_folder = fs::path(torch).parent_path();
  const fs::path installed = torch_folder.parent_path();
  const fs::path compiled =
      fs::path(text_of_module("sys", "base_exec_prefix")) / text_of_module("sys", "platlibdir") / concat("python3.", python_minor());
  ForeignCode foreign;
  for (const fs::path& standard : {fs::path(os).parent_path(), compiled}) {
    foreign.folders.push_back(standard.string());
    for (const char* packages : {"site-packages", "dist-packages"}) foreign.except.push_back((standard / packages).string());
  }
  // typing_extensions has the wrapper of what torch calls deprecated.
  for (const fs::path& folder : {torch_folder, installed / "functorch", installed / "torchgen", installed / "typing_extensions.py"}) {
    foreign.folders.push_back(folder.string());
  }
  if (const std::string package = known_package_folder(); !package.empty()) {
    const fs::path own = fs::path(package) / "tensortap";
    std::error_code ignored;
    foreign.folders.push_back(own.string());
    foreign.folders.push_back(fs::weakly_canonical(own, ignored).string());
  }
  return foreign;
}

}  // namespace tensortap::pytorch
