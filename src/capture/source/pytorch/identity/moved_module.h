// Paths of modules in another instance that runs the same compiled graph.

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_MOVED_MODULE_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_MOVED_MODULE_H_

#include <string>

#include "source/pytorch/python/python_bridge.h"

namespace tensortap::pytorch {

// "Net.b.1.l" of "Net.b.0.l" where a graph that was compiled for "Net.b.0" runs for "Net.b.1"; other paths stay.
std::string moved(const std::string& path, const std::string& from, const std::string& to);

// The same by numbers; `module` itself where one of the others is 0.
ModuleId moved_module(ModuleId module, ModuleId from, ModuleId to);

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_MOVED_MODULE_H_
