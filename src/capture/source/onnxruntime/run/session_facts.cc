#include "source/onnxruntime/run/session_facts.h"

#include <link.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "base/files.h"
#include "base/text.h"
#include "source/onnxruntime/runtime/runtime_library.h"
#include "tensortap/asking.h"

namespace tensortap::onnxruntime {
namespace {

std::string path_or_same(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::canonical(path, failed);
  return failed ? path : whole.string();
}

}  // namespace

RuntimeFacts runtime_facts(const Model& executed, const std::string& library, const std::vector<std::string>& custom_ops) {
  std::vector<std::string> opset;
  for (const OperatorSetVersion& set : executed.opsets) {
    opset.push_back(concat(quote(set.domain.empty() ? "ai.onnx" : set.domain), ": ", set.version));
  }
  RuntimeFacts facts = {{"library", library.empty() ? "null" : quote(path_or_same(library))},
                        {"opset", concat("{", join(opset, ", "), "}")}};
  std::vector<std::string> libraries;
  for (const std::string& path : custom_ops) libraries.push_back(quote(path_or_same(path)));
  if (!libraries.empty()) facts.emplace_back("custom_ops", concat("[", join(libraries, ", "), "]"));
  return facts;
}

void add_facts(tensortap_session* session, const RuntimeFacts& facts) {
  for (const auto& [name, json] : facts) static_cast<void>(tensortap_add_fact(session, name.c_str(), json.c_str()));
}

std::string loaded_runtime_path() {
  // Python's module contains its own runtime; the library of the same release lies beside it.
  std::set<std::string> found;
  const auto look = [](dl_phdr_info* object, size_t, void* context) {
    const std::string path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
    const std::string name = file_name(path);
    std::optional<std::string> library;
    if (name.starts_with(kLibraryName)) library = path;
    if (name.starts_with("onnxruntime_pybind11_state")) library = library_in(parent_path(path));
    if (library) static_cast<std::set<std::string>*>(context)->insert(*library);
    return 0;
  };
  dl_iterate_phdr(look, &found);
  return found.size() == 1 ? *found.begin() : "";
}

}  // namespace tensortap::onnxruntime
