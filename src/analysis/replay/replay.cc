#include "replay/replay.h"

#include <algorithm>
#include <unordered_map>

#include "base/spans.h"
#include "base/text.h"
#include "compare/compare_tensors.h"

namespace tensortap {
namespace {

// Ops that are run as one model.
using Group = std::span<const RecordedOp* const>;

class Replay {
 public:
  Replay(const DumpIndex& dump, ReplayRuntime& runtime, const ReplayOptions& options, const std::function<void(const ReplayedValue&)>& show)
      : dump_(dump), source_(runtime_of(dump)), runtime_(runtime), options_(options), show_(show) {}

  ReplayCounts all(std::span<const RecordedOp> ops) {
    all_ = ops.size();
    std::vector<const RecordedOp*> group;
    uint64_t bytes = 0;
    for (const RecordedOp& op : ops) {
      ++counts_.ops;
      if (op.obstacle.empty() && !op.outputs.empty()) {
        // The names of values that nested graphs read may mean something else to another op.
        const bool is_alone = !op.outer.empty();
        if (!group.empty() && (is_alone || bytes + op.bytes > options_.group_bytes)) flush(group, bytes);
        group.push_back(&op);
        bytes += op.bytes;
        if (is_alone) flush(group, bytes);
      } else {
        cannot(op, op.obstacle.empty() ? "none of its outputs has values in the dump" : op.obstacle);
      }
    }
    flush(group, bytes);
    return counts_;
  }

 private:
  void flush(std::vector<const RecordedOp*>& group, uint64_t& bytes) {
    if (!group.empty()) run(group);
    group.clear();
    bytes = 0;
  }

  void cannot(const RecordedOp& op, std::string reason) {
    ++counts_.not_replayed;
    ReplayedValue value{.op = &op, .row = {}, .outcome = ReplayOutcome::kNotReplayed, .difference = {}, .reason = std::move(reason)};
    if (!op.outputs.empty()) value.row = op.outputs.front().row;
    show_(value);
    progress(1);
  }

  void progress(size_t ops) {
    done_ += ops;
    if (options_.progress) options_.progress(done_, all_);
  }

  void run(Group group) {
    std::vector<ReplayedValue> values;
    const Status status = try_group(group, values);
    if (status.ok()) {
      for (const ReplayedValue& value : values) {
        ++(value.outcome == ReplayOutcome::kEqual ? counts_.equal : counts_.differing);
        show_(value);
      }
      return progress(group.size());
    }
    if (group.size() == 1) return cannot(*group[0], status.message());
    run(first_of(group, group.size() / 2));
    run(after(group, group.size() / 2));
  }

  Status try_group(Group group, std::vector<ReplayedValue>& values) {
    TENSORTAP_ASSIGN_OR_RETURN(const ReplayModel model, make_replay_model(dump_, source_, group));
    std::vector<NamedView> inputs;
    inputs.reserve(model.inputs.size());
    for (const ReplayInput& input : model.inputs) inputs.push_back({input.name, input.data.view});
    std::unordered_map<std::string_view, const ReplayOutput*> wanted;
    for (const ReplayOutput& output : model.outputs) wanted[output.name] = &output;
    TENSORTAP_RETURN_IF_ERROR(runtime_.run(model.bytes, inputs, [&](std::string_view name, const TensorView& view) {
      const auto found = wanted.find(name);
      if (found == wanted.end() || found->second == nullptr) return;
      const RecordedOp& op = *group[found->second->op];
      values.push_back(compare(op, op.outputs[found->second->output].row, view));
      found->second = nullptr;
    }));
    if (values.size() != model.outputs.size()) return internal_error("the runtime gave no value for an output that the dump has");
    return {};
  }

  [[nodiscard]] ReplayedValue compare(const RecordedOp& op, uint32_t row, const TensorView& view) const {
    ReplayedValue value{.op = &op, .row = row, .outcome = ReplayOutcome::kDiffers, .difference = {}, .reason = {}};
    const TensorDesc recorded = dump_.rows()[row].desc();
    const auto describe = [](const TensorDesc& desc) { return concat(dtype_info(desc.dtype).name, desc.shape.to_text()); };
    if (recorded.dtype != view.desc.dtype || recorded.shape != view.desc.shape) {
      value.reason = concat("it is ", describe(view.desc), " now and was ", describe(recorded));
      return value;
    }
    const Result<RecordData> data = dump_.data(row);
    const Result<Difference> difference =
        data.ok() ? compare_tensors(view, data->view, DifferenceOptions()) : Result<Difference>(data.status());
    if (!difference.ok()) {
      value.reason = difference.status().message();
      return value;
    }
    value.difference = *difference;
    if (difference->bit_equal) value.outcome = ReplayOutcome::kEqual;
    return value;
  }

  const DumpIndex& dump_;
  const RuntimeOfDump source_;
  ReplayRuntime& runtime_;
  const ReplayOptions& options_;
  const std::function<void(const ReplayedValue&)>& show_;
  ReplayCounts counts_;
  size_t done_ = 0;
  size_t all_ = 0;
};

}  // namespace

std::string_view outcome_name(ReplayOutcome outcome) {
  switch (outcome) {
    case ReplayOutcome::kEqual:
      return "equal";
    case ReplayOutcome::kDiffers:
      return "differs";
    case ReplayOutcome::kNotReplayed:
      break;
  }
  return "not replayed";
}

ReplayCounts replay_ops(const DumpIndex& dump, std::span<const RecordedOp> ops, ReplayRuntime& runtime, const ReplayOptions& options,
                        const std::function<void(const ReplayedValue&)>& show) {
  return Replay(dump, runtime, options, show).all(ops);
}

}  // namespace tensortap
