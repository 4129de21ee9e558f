// Which ops of a dump are worth a second, full look, and the config that asks for it.

#ifndef TENSORTAP_FIND_SUSPECTS_H_
#define TENSORTAP_FIND_SUSPECTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "trace/dump_index.h"

namespace tensortap {

struct Suspect {
  OpId op = kNoOp;
  std::vector<std::string> reasons;  // in words
};

// Ops that made NaN or Inf and those that made what these read; ops whose values come within a factor of two of the largest of their dtype (float32: of bfloat16's);
// dead outputs; gradients that explode; outputs more than a thousand times larger than everything that the op read. In the order of the reasons, at most `limit`.
// Needs statistics or tensors; graph inputs, weights and looks of a watch are no ops to be looked at.
std::vector<Suspect> find_suspects(const DumpIndex& dump, size_t limit = 100);

// {"suspects": [{"op", "type", "reasons"}]}.
Json suspects_json(const DumpIndex& dump, const std::vector<Suspect>& suspects);

// A dump config that captures inputs and outputs of these ops whole: in the dialect "tensortap", "acl" or "mindspore". `folder` is where the trees of other systems
// go, an absolute path. Nothing for another dialect.
std::optional<Json> suspects_config(const DumpIndex& dump, const std::vector<Suspect>& suspects, std::string_view dialect,
                                    const std::string& folder);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_SUSPECTS_H_
