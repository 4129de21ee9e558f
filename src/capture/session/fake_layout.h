// For tests of the session's parts: a layout that remembers what it was given, and parts put together without a session.

#ifndef TENSORTAP_SESSION_FAKE_LAYOUT_H_
#define TENSORTAP_SESSION_FAKE_LAYOUT_H_

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "session/admission.h"
#include "session/last_ops.h"
#include "session/op_registry.h"
#include "session/record_sink.h"
#include "session/tensor_look.h"

namespace tensortap {

class FakeLayout : public LayoutWriter,
                   public FollowsDecisions,
                   public FollowsSteps,
                   public KeepsSketches,
                   public WritesRowsFirst,
                   public ReportsLosses {
 public:
  explicit FakeLayout(bool has_rows_first = false) : rows_first(has_rows_first) {}

  struct Written {
    RecordRow row;
    std::vector<float> values;  // empty without data
  };
  Status answer;              // to every record
  bool refuses_data = false;  // `answer` goes to records with data only
  bool rows_anywhere = true;  // takes_statistics_on_any_thread()
  const bool rows_first;      // has that part
  Status values_answer;       // to add_values()
  Status sketch_answer;       // to every sketch
  std::vector<TensorSketch> sketches;
  std::vector<std::string> added;
  std::vector<bool> wanted;  // by op_decided()
  std::vector<std::pair<int64_t, uint64_t>> steps;
  int flushed = 0;
  std::atomic<uint64_t> counted_lost{0};

  LayoutParts parts() override {
    LayoutParts own;
    own.decisions = this;
    own.steps = this;
    own.sketches = this;
    if (rows_first) own.rows_first = this;
    own.losses = this;
    return own;
  }
  Status add_op(OpId /*id*/, const OpInfo& op) override {
    added.push_back(op.name);
    return {};
  }
  void op_decided(OpId /*id*/, const OpDecision& decision) override { wanted.push_back(decision.wanted); }
  [[nodiscard]] bool takes_statistics_on_any_thread() const override { return rows_anywhere; }
  Status add_record(RecordRow& row, const TensorView* data, const ExponentHistogram* /*histogram*/) override {
    const std::lock_guard lock(mutex_);
    if (!answer.ok() && (data != nullptr || !refuses_data)) return answer;
    Written one{row, {}};
    if (data != nullptr) {
      const auto* values = static_cast<const float*>(data->data);
      one.values.assign(values, values + row.numel);
      one.row.flags |= kRecordHasData;
    }
    written_.push_back(std::move(one));
    return {};
  }
  Result<uint64_t> add_row_first(RecordRow& row, const ExponentHistogram* histogram) override {
    row.flags |= kRecordDataLost;
    TENSORTAP_RETURN_IF_ERROR(add_record(row, nullptr, histogram));
    const std::lock_guard lock(mutex_);
    return written_.size() - 1;
  }
  Status add_values(uint64_t number, RecordRow& row, const TensorView* data) override {
    if (!values_answer.ok()) return values_answer;
    const std::lock_guard lock(mutex_);
    if (data != nullptr) {
      const auto* values = static_cast<const float*>(data->data);
      written_[number].values.assign(values, values + row.numel);
      row.flags = static_cast<uint8_t>((row.flags & ~kRecordDataLost) | kRecordHasData);
    }
    written_[number].row = row;
    return {};
  }
  LostRecords take_lost() override { return {}; }
  void count_lost(uint64_t records) override { counted_lost += records; }
  Status add_sketch(const RecordRow& /*row*/, const TensorSketch& sketch) override {
    if (sketch_answer.ok()) sketches.push_back(sketch);
    return sketch_answer;
  }
  Status end_step(int64_t step, uint64_t run) override {
    steps.emplace_back(step, run);
    return {};
  }
  Status flush() override {
    ++flushed;
    return {};
  }
  Status finish(std::string_view /*manifest*/) override { return {}; }
  [[nodiscard]] uint64_t bytes_written() const override { return 0; }
  [[nodiscard]] std::vector<Written> written() const {
    const std::lock_guard lock(mutex_);
    return written_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Written> written_;
};

// The parts below the triggers, over a FakeLayout.
struct FakeParts {
  explicit FakeParts(const CaptureSpec& given, bool rows_first = false)
      : layout(rows_first),
        ops(std::make_unique<ActivePlan>(*CapturePlan::compile(given), layout.parts(), contents.reserve(), 0), layout, problems),
        admission(ops.plan(), false),
        sink({layout, pool, ops.table(), problems, admission.governor(), contents}, sink_options(given)),
        last_ops(given.limits.ring_ops, pool, sink),
        look({contents, sink, last_ops, admission.governor(), devices}, given.trigger == Trigger::kOverflow) {}

  static SinkOptions sink_options(const CaptureSpec& spec) {
    SinkOptions options;
    options.folder = "/";
    options.limits = spec.limits;
    options.full_policy = spec.full_policy;
    options.never_waits = spec.trigger == Trigger::kOverflow;
    return options;
  }
  static CaptureSpec spec() {
    CaptureSpec spec;
    spec.limits.keep_free = 0;
    spec.limits.pool_bytes = 1 << 20;
    spec.payload = Payload::kFull;
    return spec;
  }
  OpId add(const std::string& name, std::vector<OpInput> inputs = {}) {
    OpInfo info;
    info.name = name;
    info.type = "T";
    info.inputs = std::move(inputs);
    info.outputs = {name + ":0"};
    return ops.add(std::move(info));
  }
  // An event as on_op() makes it of one.
  TakenEvent taken(const tensortap_op_event& event) {
    OpEntry& op = *ops.find(event.op);
    TakenEvent taken{event, op, ops.plan(), ops.decision_of(event.op, op, 0), RecordRow{}, {}};
    taken.row.op = event.op;
    taken.row.step = event.step;
    taken.row.run = event.run;
    taken.row.call = event.call == 0 ? 0 : event.call - 1;
    return taken;
  }

  FakeLayout layout;
  SessionProblems problems;
  ContentCache contents;
  PoolAccount pool{1 << 20};
  OpRegistry ops;
  Admission admission;
  RecordSink sink;
  LastOps last_ops;
  DeviceReads devices{ops};
  TensorLook look;
};

// One output of float32, and the event that shows it. Must outlive what is made of it.
struct FakeEvent {
  FakeEvent(OpId op, std::vector<float> given) : values(std::move(given)), dim(static_cast<int64_t>(values.size())) {
    tensor.size = sizeof(tensor);
    tensor.dtype = TENSORTAP_FLOAT32;
    tensor.data = values.data();
    tensor.dims = &dim;
    tensor.rank = 1;
    tensor.element = -1;
    event.size = sizeof(event);
    event.op = op;
    event.call = 1;
    event.duration_ns = -1;
    event.tensors = &tensor;
    event.tensor_count = 1;
  }
  FakeEvent(const FakeEvent&) = delete;
  FakeEvent& operator=(const FakeEvent&) = delete;

  std::vector<float> values;
  int64_t dim;
  tensortap_tensor tensor{};
  tensortap_op_event event{};
};

}  // namespace tensortap

#endif  // TENSORTAP_SESSION_FAKE_LAYOUT_H_
