// Where each op is in the tree of operations.

#ifndef TENSORTAP_PLAN_OPERATION_TREE_H_
#define TENSORTAP_PLAN_OPERATION_TREE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "trace/op_info.h"
#include "trace/scoped_name.h"

namespace tensortap {

// Gives ops their ids: "0", "1", "1_0". Ops are numbered below their parent in the order in which they are added; graph inputs and weights
// have no id; an op that comes with an id keeps it, and those without one are numbered on behind it. Value type. A session asks it once for
// each op that is registered (OpInfo::id), so that selections and layouts mean the same op.
class OperationTree {
 public:
  // The id of the next op; those before it have the numbers from 0 that OpInfo::parent refers to.
  std::string add(const OpInfo& op) {
    Place& place = places_.emplace_back();
    if (is_pseudo_op(op)) return {};
    const bool inside = op.parent < places_.size() - 1 && !places_[op.parent].id.empty();
    uint32_t& number = inside ? places_[op.parent].children : roots_;
    if (!op.id.empty()) {
      place.id = op.id;
      uint64_t last = 0;
      if (parse_unsigned(op.id.substr(op.id.rfind('_') + 1), last) && last < UINT32_MAX)
        number = std::max(number, static_cast<uint32_t>(last) + 1);
      return place.id;
    }
    place.id = inside ? concat(places_[op.parent].id, "_", number) : concat(number);
    ++number;
    return place.id;
  }

 private:
  struct Place {
    std::string id;
    uint32_t children = 0;
  };
  std::vector<Place> places_;
  uint32_t roots_ = 0;
};

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_OPERATION_TREE_H_
