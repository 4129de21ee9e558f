// The ops of a dump as the layout "mindspore" names them.

#ifndef TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_OPS_H_
#define TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_OPS_H_

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "plan/op_decision.h"
#include "system/mindspore/names.h"
#include "system/mindspore/release.h"
#include "system/mindspore/tree/graph_description.h"
#include "trace/op_info.h"
#include "trace/record_row.h"
#include "trace/scoped_name.h"
#include "trace/value_flow.h"

namespace tensortap::mindspore {

struct Op {
  OpInfo info;
  std::string scoped_name;  // "Default/MatMul_1/MatMul-op12"; a parameter's own name
  std::string file_type;    // of file names
  std::string file_name;
  uint64_t task = 0;  // the number at the end of the scoped name
  std::string cells;  // "MatMul,Default/MatMul_1/MatMul-op12,": of statistic.csv
  bool known = false;
  bool parameter = false;        // an input or weight of the graph
  bool constant = false;         // of those, one in the folder constants/
  bool outputs = false;          // wanted for themselves
  int64_t attributes_step = -1;  // the last step whose folder got the op's attributes
  std::vector<TensorDesc> seen;  // of its outputs

  void see(uint32_t slot, const TensorDesc& desc) {
    static constexpr size_t kMostUnnamed = 256;  // if the op does not list its outputs
    const size_t most = info.outputs.empty() ? kMostUnnamed : info.outputs.size();
    if (slot >= seen.size() && slot < most) seen.resize(size_t{slot} + 1);
    if (slot < seen.size()) seen[slot] = desc;
  }
};

// Value type; grows with add().
class Ops {
 public:
  explicit Ops(const Profile& profile, bool constants, bool asynchronous = false)
      : profile_(profile), constants_(constants && profile.writes_constants()), asynchronous_(asynchronous) {}

  void add(OpId id, const OpInfo& op);
  // Ops that are not added, before the next one that is.
  void pass_over(uint32_t ops) {
    scoped_names_.pass_over(ops);
    running_ += ops;
  }
  void decide(OpId id, const OpDecision& decision);
  // Null when the op is unknown.
  [[nodiscard]] Op* find(OpId id) { return id < ops_.size() && ops_[id].known ? &ops_[id] : nullptr; }
  [[nodiscard]] const std::vector<Op>& all() const { return ops_; }
  // How many that run were added or passed over.
  [[nodiscard]] uint64_t running() const { return running_; }
  // Sets `text` to the name of a tensor's file.
  void tensor_name(const Op& op, const TensorName& tensor, std::string& text) const;
  // Learns from a record what its op read, for graph(), where the ops do not contain it. In the order of execution.
  void follow(const RecordRow& row);
  // The contents of the graph files. Borrows from this.
  [[nodiscard]] std::vector<GraphOp> graph() const;
  // Grows with everything that graph() contains, except for types.
  [[nodiscard]] size_t graph_size() const { return ops_.size() + flow_.learned(); }

 private:
  [[nodiscard]] std::vector<GraphInput> inputs_of(OpId id) const;
  [[nodiscard]] GraphOp outside_value(size_t number, std::set<std::string>& names) const;

  Profile profile_;
  bool constants_;
  bool asynchronous_;
  ScopedNames scoped_names_;
  uint32_t next_constant_ = 1;
  uint64_t running_ = 0;
  std::vector<Op> ops_;
  ValueFlow flow_;
  std::set<std::string, std::less<>> parameter_names_;
};

}  // namespace tensortap::mindspore

#endif  // TENSORTAP_SYSTEM_MINDSPORE_TREE_WRITER_OPS_H_
