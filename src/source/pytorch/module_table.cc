#include "source/pytorch/module_table.h"

#include "source/pytorch/pointer_table.h"
#include "source/pytorch/string_table.h"

namespace tensortap::pytorch {
namespace {

constexpr size_t kMostEntries = 1u << 20;

constinit StringTable paths;
constinit PointerTable module_ids{kMostEntries};
constinit StringTable parameter_names;
constinit PointerTable parameters{kMostEntries};

}  // namespace

ModuleId module_at(const void* object) { return module_ids.find(object); }

ModuleId bind_module(const void* object, const std::string& path) {
  const uint32_t number = paths.number(path);
  return number != 0 && module_ids.set(object, number) ? number : 0;
}

ModuleId number_of_path(const std::string& path) { return path.empty() ? 0 : paths.number(path); }

void unbind_module(const void* object) { module_ids.erase(object); }

std::string module_path(ModuleId module) { return paths.text(module); }

void name_parameter(const void* storage_data, const std::string& name) {
  const uint32_t number = parameter_names.number(name);
  if (number != 0 && storage_data != nullptr) parameters.set(storage_data, number);
}

void forget_parameter(const void* storage_data) { parameters.erase(storage_data); }

std::string parameter_name(const void* storage_data) { return parameter_names.text(parameters.find(storage_data)); }

}  // namespace tensortap::pytorch
