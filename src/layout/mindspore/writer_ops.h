// The ops of a dump as the layout "mindspore" names them.

#ifndef TENSORTAP_LAYOUT_MINDSPORE_WRITER_OPS_H_
#define TENSORTAP_LAYOUT_MINDSPORE_WRITER_OPS_H_

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "layout/mindspore/graph_description.h"
#include "layout/mindspore/profile.h"
#include "layout/mindspore/tensor_name.h"
#include "plan/capture_plan.h"
#include "trace/op_info.h"
#include "trace/scoped_name.h"

namespace tensortap {

struct MindsporeOp {
  OpInfo info;
  std::string scoped_name;  // "Default/MatMul_1/MatMul-op12"; a parameter's own name
  std::string file_type;    // of file names
  std::string file_name;
  std::string cells;  // "MatMul,Default/MatMul_1/MatMul-op12,": of statistic.csv
  bool known = false;
  bool parameter = false;        // an input or weight of the graph
  bool constant = false;         // of those, one that stands in constants/
  bool outputs = false;          // wanted for themselves
  int64_t attributes_step = -1;  // the last step whose folder got the op's attributes
  std::vector<TensorDesc> seen;  // of its outputs

  void see(uint32_t slot, const TensorDesc& desc) {
    if (slot >= seen.size() && slot < std::max<size_t>(info.outputs.size(), 1)) seen.resize(size_t{slot} + 1);
    if (slot < seen.size()) seen[slot] = desc;
  }
};

// Value type; grows with add().
class MindsporeOps {
 public:
  explicit MindsporeOps(const MindsporeProfile& profile, bool constants)
      : profile_(profile), constants_(constants && profile.writes_constants()) {}

  void add(OpId id, const OpInfo& op);
  void decide(OpId id, const OpDecision& decision);
  // Null when there is no such op.
  [[nodiscard]] MindsporeOp* find(OpId id) { return id < ops_.size() && ops_[id].known ? &ops_[id] : nullptr; }
  [[nodiscard]] const std::vector<MindsporeOp>& all() const { return ops_; }
  // Sets `text` to the name of a tensor's file.
  void tensor_name(const MindsporeOp& op, const MindsporeTensorName& tensor, std::string& text) const;
  // What the graph files tell. Borrows from this.
  [[nodiscard]] std::vector<GraphOp> graph() const;

 private:
  MindsporeProfile profile_;
  bool constants_;
  ScopedNames scoped_names_;
  uint32_t next_constant_ = 1;
  std::vector<MindsporeOp> ops_;
  std::set<std::string, std::less<>> parameter_names_;
};

}  // namespace tensortap

#endif  // TENSORTAP_LAYOUT_MINDSPORE_WRITER_OPS_H_
