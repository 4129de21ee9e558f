#include "source/pytorch/identity/module_table.h"

#include <atomic>

#include "source/pytorch/python/pointer_table.h"
#include "source/pytorch/python/string_table.h"

namespace tensortap::pytorch {
namespace {

constexpr size_t kMostEntries = 1u << 20;

constinit StringTable paths;
constinit PointerTable module_ids{kMostEntries};
constinit PointerTable step_modules{kMostEntries};  // twice the number of the choice, plus one for a module that is among them
constinit std::atomic<uint32_t> step_choice{0};     // number of the choice, 0 = none yet
constinit std::atomic<bool> step_choice_counts{false};
constinit StringTable parameter_names;
constinit PointerTable parameters{kMostEntries};

}  // namespace

ModuleId module_at(const void* object) { return module_ids.find(object); }

ModuleId bind_module(const void* object, const std::string& path) {
  const uint32_t number = paths.number(path);
  return number != 0 && module_ids.set(object, number) ? number : 0;
}

ModuleId number_of_path(const std::string& path) { return path.empty() ? 0 : paths.number(path); }

void unbind_module(const void* object) {
  module_ids.erase(object);
  step_modules.erase(object);
}

void choose_step_modules(bool enabled) {
  step_choice.fetch_add(1);
  step_choice_counts.store(enabled);
}

bool has_step_modules() { return step_choice_counts.load(std::memory_order_relaxed); }

std::optional<bool> step_module_at(const void* object) {
  const uint32_t kept = step_modules.find(object);
  if (kept / 2 != step_choice.load(std::memory_order_relaxed)) return std::nullopt;
  return kept % 2 == 1;
}

void keep_step_module(const void* object, bool is_one) { step_modules.set(object, step_choice.load() * 2 + (is_one ? 1U : 0U)); }

std::string module_path(ModuleId module) { return paths.text(module); }

void name_parameter(const void* storage_data, const std::string& name) {
  const uint32_t number = parameter_names.number(name);
  if (number != 0 && storage_data != nullptr) parameters.set(storage_data, number);
}

void forget_parameter(const void* storage_data) { parameters.erase(storage_data); }

std::string parameter_name(const void* storage_data) { return parameter_names.text(parameters.find(storage_data)); }

uint32_t parameter_name_number(const void* storage_data) { return parameters.find(storage_data); }

}  // namespace tensortap::pytorch
