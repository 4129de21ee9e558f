// How torch.compile was treated while a dump was made: the routes of `exec --compile` that run other kernels than the program by itself.

#ifndef TENSORTAP_QUERY_COMPILE_ROUTE_H_
#define TENSORTAP_QUERY_COMPILE_ROUTE_H_

#include <string>

#include "base/json_fwd.h"

namespace tensortap {

// A sentence that the dump lacks the values that fused kernels make. "" where the program compiled nothing, or ran as it does without
// capture. Accepts any manifest.
std::string compile_route_text(const Json& manifest);

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_COMPILE_ROUTE_H_
