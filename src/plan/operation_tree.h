// Where each op stands in the tree of operations. Private to this folder.

#ifndef TENSORTAP_PLAN_OPERATION_TREE_H_
#define TENSORTAP_PLAN_OPERATION_TREE_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "trace/op_info.h"
#include "trace/scoped_name.h"

namespace tensortap {

// Places in the tree of operations: "0", "1", "1_0". Ops are numbered below their parent in the order in which they are added.
class OperationTree {
 public:
  std::string add(const OpInfo& op) {
    const bool inside = op.parent != kNoOp && op.parent < ids_.size();
    const std::string above = inside ? ids_[op.parent] : "";
    std::string id = above.empty() ? "" : above + "_";
    if (is_pseudo_op(op)) {
      ids_.emplace_back();
      return {};
    }
    id += concat(children_[above]++);
    ids_.push_back(id);
    return id;
  }

 private:
  std::vector<std::string> ids_;
  std::unordered_map<std::string, uint64_t> children_;
};

}  // namespace tensortap

#endif  // TENSORTAP_PLAN_OPERATION_TREE_H_
