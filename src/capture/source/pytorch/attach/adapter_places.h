// Where a process that was not started by `tensortap exec` looks for libtorch and for adapters.

#ifndef TENSORTAP_SOURCE_PYTORCH_ATTACH_ADAPTER_PLACES_H_
#define TENSORTAP_SOURCE_PYTORCH_ATTACH_ADAPTER_PLACES_H_

#include <string>
#include <vector>

namespace tensortap::pytorch {

// Path of the libtorch_cpu that is loaded, "" when none is.
std::string loaded_libtorch();

// The folder beside this library with the adapters that came with it, "" when its place is unknown.
std::string package_adapters();

// package_adapters(), then those of the user's cache that were built for this interface, the latest first.
std::vector<std::string> adapter_places();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_ATTACH_ADAPTER_PLACES_H_
