// Which ops of a dump are worth a second, full look.

#ifndef TENSORTAP_FIND_SUSPECTS_H_
#define TENSORTAP_FIND_SUSPECTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "trace/dump_index.h"

namespace tensortap {

struct Suspect {
  OpId op = kNoOp;
  std::vector<std::string> reasons;  // in words
};

// Ops that made NaN or Inf and those that made what these read; ops whose values come within a factor of two of the largest of their dtype
// (float32: of bfloat16's); dead outputs; gradients that explode; outputs more than a thousand times larger than everything that the op
// read. In the order of the reasons, at most `limit`. Needs statistics or tensors; graph inputs, weights and looks of a watch are no ops to
// be looked at.
std::vector<Suspect> find_suspects(const DumpIndex& dump, size_t limit = 100);

// {"suspects": [{"op", "type", "reasons"}]}.
Json suspects_json(const DumpIndex& dump, const std::vector<Suspect>& suspects);

}  // namespace tensortap

#endif  // TENSORTAP_FIND_SUSPECTS_H_
