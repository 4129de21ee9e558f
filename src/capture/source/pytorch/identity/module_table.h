// The modules of the program, as the Python side reported them: their numbers and paths, and the names of their parameters.

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_MODULE_TABLE_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_MODULE_TABLE_H_

#include <optional>
#include <string>

#include "source/pytorch/python/python_bridge.h"

namespace tensortap::pytorch {

// The number of the module object at an address, 0 when it has none. Any thread, no lock.
ModuleId module_at(const void* object);
// Binds this path to the object at an address; returns the number of the path, 0 when there are too many.
ModuleId bind_module(const void* object, const std::string& path);
// The number of a path, 0 when there are too many.
ModuleId number_of_path(const std::string& path);
// The object is gone, its address may be used again.
void unbind_module(const void* object);

// From now on the calls of some modules are the steps, by PythonEvents::is_step_module; earlier choices no longer count. `enabled` false:
// of no module.
void choose_step_modules(bool enabled);
// Any thread, no lock. False until choose_step_modules().
bool has_step_modules();
// Whether the module at an address is one; nothing as long as that was not kept.
std::optional<bool> step_module_at(const void* object);
void keep_step_module(const void* object, bool is_one);

// Names the parameter or buffer whose storage has this data pointer.
void name_parameter(const void* storage_data, const std::string& name);
// The storage holds it no longer.
void forget_parameter(const void* storage_data);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_MODULE_TABLE_H_
