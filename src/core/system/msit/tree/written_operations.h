// The ops of a dump as the tree of msit names them.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_WRITTEN_OPERATIONS_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_WRITTEN_OPERATIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "plan/op_decision.h"
#include "plan/operation_tree.h"
#include "trace/op_info.h"

namespace tensortap::msit {

struct Op {
  std::string process;     // "0_22377": the number of the device that it ran on, and the process
  std::string path;        // below the round: "1_Decoder_layer/0_LinearOperation"
  std::string ids;         // "1_0"
  std::string type;        // "LinearOperation"
  std::string kernel;      // what it is called as a kernel: "linear"; "" of a module
  std::string parameters;  // content of op_param.json, "" = it has none
  OpId parent = kNoOp;
  bool known = false;
  bool on_device = false;  // `process` has the number of the device of its inputs, or of those of an operation in it
  bool is_kernel = false;
  bool is_leaf = true;      // nothing but kernels is below it
  bool pseudo = false;      // an input or weight of the graph, which has no folder
  bool outputs = false;     // wanted for themselves
  int64_t last_round = -1;  // whose folder got the parameters last
};

// How many root operations have a number in a tree: several sessions of one process share it, and number on.
class RootNumbers;

// Thread-compatible.
class Ops {
 public:
  // `process` is the folder in `folder` of ops whose device is not known.
  Ops(const std::string& folder, std::string process);

  void add(OpId id, const OpInfo& op);
  void decide(OpId id, const OpDecision& decision);
  // Null for an unknown op.
  [[nodiscard]] Op* find(OpId id) { return id < ops_.size() && ops_[id].known ? &ops_[id] : nullptr; }

 private:
  void place(Op& op, const std::string& id);
  [[nodiscard]] std::string folder_of(const OpInfo& info);

  const std::string process_;
  OperationTree tree_;
  std::vector<Op> ops_;
  RootNumbers& roots_;
  const std::string name_;
  uint32_t first_root_ = 0;  // number of the root operation that is "0" to the session
};

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_WRITTEN_OPERATIONS_H_
