// What the Python side told about the modules of the program: their numbers and paths, and the names of their parameters.

#ifndef TENSORTAP_SOURCE_PYTORCH_MODULE_TABLE_H_
#define TENSORTAP_SOURCE_PYTORCH_MODULE_TABLE_H_

#include <string>

#include "source/pytorch/python_bridge.h"

namespace tensortap::pytorch {

// The number of the module object at an address, 0 when it has none. Any thread, no lock.
ModuleId module_at(const void* object);
// Says that the object at an address has this path; returns the number of the path, 0 when there are too many.
ModuleId bind_module(const void* object, const std::string& path);
// The number of a path, 0 when there are too many.
ModuleId number_of_path(const std::string& path);
// The object is gone, its address may be used again.
void unbind_module(const void* object);

// Says what the parameter or buffer in the storage with this data is called.
void name_parameter(const void* storage_data, const std::string& name);
// The storage holds it no longer.
void forget_parameter(const void* storage_data);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_MODULE_TABLE_H_
