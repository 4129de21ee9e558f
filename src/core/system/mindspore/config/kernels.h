// The key `kernels`: full names, types and name-regex(...) of ops, as selectors.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_CONFIG_KERNELS_H_
#define TENSORTAP_SYSTEM_MINDSPORE_CONFIG_KERNELS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plan/capture_spec.h"
#include "plan/spec_reader.h"

namespace tensortap::mindspore {

// Which entries the list may have, and how they are read.
struct KernelRules {
  bool types = true;
  bool regexes = true;
};

struct Kernels {
  std::vector<OpSelector> selectors;  // empty = every op
  std::vector<std::string> notes;
};

// `list` is an array. The text of an entry is its JSON text without double quotes and spaces; entries that are then empty are left out.
// Errors: kInvalidArgument with the place of a wrong regular expression.
Result<Kernels> parse_kernels(const SpecValue& list, const KernelRules& rules);

// The entry for the op of exactly this name. MindSpore reads a bare word as a type, so the entry is a name-regex(...).
std::string kernel_of_name(std::string_view name);

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_CONFIG_KERNELS_H_
