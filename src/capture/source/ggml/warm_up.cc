#include "source/ggml/warm_up.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/spans.h"

namespace tensortap::ggml {

bool is_in_common_init() {
  std::array<void*, 64> calls{};
  const int count = backtrace(calls.data(), static_cast<int>(calls.size()));
  return std::ranges::any_of(first_of(std::span<void* const>(calls), static_cast<size_t>(std::max(count, 0))), [](const void* call) {
    Dl_info found{};
    // A parameter more or less changes the end of the name.
    return dladdr(call, &found) != 0 && found.dli_sname != nullptr &&
           std::string_view(found.dli_sname).starts_with("_Z23common_init_from_params");
  });
}

}  // namespace tensortap::ggml
