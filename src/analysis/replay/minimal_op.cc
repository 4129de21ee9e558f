#include "replay/minimal_op.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "compare/compare_tensors.h"
#include "replay/cut_dump.h"
#include "replay/replay_model.h"
#include "replay/runtime_of_dump.h"

namespace tensortap {
namespace {

constexpr size_t kMostRuns = 400;
constexpr int kMostPasses = 3;

// One dimension of one of the tensors.
struct Axis {
  size_t tensor = 0;
  size_t axis = 0;
  friend bool operator==(const Axis&, const Axis&) = default;
};
// Dimensions that may all be one dimension of the op's computation.
using Cut = std::vector<Axis>;

// A tensor of the execution: inputs, then what nested graphs read, then outputs.
struct Tensor {
  uint32_t row = 0;  // of the dump
  std::string slot;
  TensorDesc desc;
  bool is_input = false;
  bool may_be_cut = false;
};

struct Value {
  TensorDesc desc;
  std::vector<std::byte> bytes;
  [[nodiscard]] TensorView view() const { return {desc, bytes.data(), nullptr}; }
};

std::string element_suffix(int64_t element) { return element < 0 ? std::string() : concat("[", element, "]"); }

class Minimiser {
 public:
  Minimiser(const DumpIndex& dump, const RecordedOp& op, ReplayRuntime& runtime, const std::function<void(size_t)>& progress)
      : dump_(dump), source_(runtime_of(dump)), runtime_(runtime), progress_(progress), op_(op) {
    for (size_t slot = 0; slot < op_.inputs.size(); ++slot) number(op_.inputs[slot], concat("in", slot));
    for (RecordedInput& input : op_.outer) number(input, input.name);
    for (RecordedInput& input : op_.weights) number(input, input.name);
    outputs_begin_ = tensors_.size();
    for (RecordedOutput& output : op_.outputs) {
      add(output.row, concat("out", output.slot, element_suffix(output.element)), false);
      output.row = static_cast<uint32_t>(tensors_.size() - 1);
    }
    for (const Tensor& tensor : tensors_) boxes_.push_back(whole_box(tensor.desc.shape));
  }

  Result<std::optional<MinimalOp>> find() {
    TENSORTAP_RETURN_IF_ERROR(run(boxes_, whole_));
    TENSORTAP_RETURN_IF_ERROR(find_difference());
    if (!differs_) return std::optional<MinimalOp>();
    for (int pass = 0; pass < kMostPasses && shrink_all(); ++pass) {
    }
    return std::optional(finish());
  }

 private:
  void add(uint32_t row, std::string slot, bool is_input) {
    const TensorDesc desc = dump_.rows()[row].desc();
    rows_.push_back(row);
    tensors_.push_back({row, std::move(slot), desc, is_input, can_be_cut(desc.dtype)});
  }
  void number(RecordedInput& input, std::string slot) {
    if (!input.row) return;
    for (size_t i = 0; i < input.elements.size(); ++i) {
      add(input.elements[i], concat(slot, element_suffix(static_cast<int64_t>(i))), input.name.empty());
      input.elements[i] = static_cast<uint32_t>(tensors_.size() - 1);
    }
    if (input.elements.empty()) add(*input.row, std::move(slot), input.name.empty());
    input.row = input.elements.empty() ? static_cast<uint32_t>(tensors_.size() - 1) : input.elements.front();
  }

  // The runtime's values of the outputs, of these parts of the inputs.
  Status run(const std::vector<TensorBox>& boxes, std::vector<Value>& values) {
    progress_(runs_++);
    const CutDump part(dump_, rows_, boxes);
    const RecordedOp* const one = &op_;
    TENSORTAP_ASSIGN_OR_RETURN(const ReplayModel model, make_replay_model(part, source_, {&one, 1}));
    std::vector<NamedView> inputs;
    for (const ReplayInput& input : model.inputs) inputs.push_back({input.name, input.data.view});
    values.assign(op_.outputs.size(), {});
    return runtime_.run(model.bytes, inputs, [&](std::string_view name, const TensorView& view) {
      const auto output = std::ranges::find(model.outputs, name, &ReplayOutput::name);
      if (output == model.outputs.end() || !can_be_cut(view.desc.dtype)) return;
      values[output->output] = {view.desc,
                                std::vector<std::byte>(packed_bytes(view.desc.dtype, view.desc.shape.numel().value_or(0)).value_or(0))};
      if (!values[output->output].bytes.empty()) copy_packed(view, values[output->output].bytes.data());
    });
  }

  // Finds the first output of the whole op that differs.
  Status find_difference() {
    for (size_t i = 0; i < op_.outputs.size(); ++i) {
      const Tensor& tensor = tensors_[outputs_begin_ + i];
      if (tensor.may_be_cut && (whole_[i].desc.dtype != tensor.desc.dtype || whole_[i].desc.shape != tensor.desc.shape)) {
        return unsupported(concat(tensor.slot, " has another type or shape now, which no part of it explains"));
      }
    }
    for (size_t i = 0; i < op_.outputs.size() && !differs_; ++i) {
      const Tensor& tensor = tensors_[outputs_begin_ + i];
      if (!tensor.may_be_cut) continue;
      TENSORTAP_ASSIGN_OR_RETURN(const RecordData recorded, dump_.data(tensor.row));
      TENSORTAP_ASSIGN_OR_RETURN(difference_, compare_tensors(whole_[i].view(), recorded.view, DifferenceOptions()));
      differs_ = !difference_.bit_equal;
      main_ = outputs_begin_ + i;
    }
    return {};
  }

  // Whether these parts give the bits of the whole, and these are not what was recorded.
  bool takes(const std::vector<TensorBox>& boxes) {
    if (runs_ >= kMostRuns) return false;
    std::vector<Value> values;
    if (!run(boxes, values).ok()) return false;
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t tensor = outputs_begin_ + i;
      if (!tensors_[tensor].may_be_cut) continue;
      if (!std::ranges::equal(values[i].desc.shape.dims(), boxes[tensor].count)) return false;
      if (values[i].bytes != cut_elements(whole_[i].view(), boxes[tensor])) return false;
    }
    const Result<RecordData> recorded = CutDump(dump_, rows_, boxes).data(main_);
    if (!recorded.ok()) return false;
    const Result<Difference> difference = compare_tensors(values[main_ - outputs_begin_].view(), recorded->view, DifferenceOptions());
    if (!difference.ok() || difference->bit_equal) return false;
    difference_ = *difference;
    boxes_ = boxes;
    return true;
  }

  bool try_part(const Cut& cut, int64_t first, int64_t count) {
    std::vector<TensorBox> boxes = boxes_;
    for (const Axis& axis : cut) {
      boxes[axis.tensor].first[axis.axis] += first;
      boxes[axis.tensor].count[axis.axis] = count;
    }
    return takes(boxes);
  }

  // Where the first element that differs lies in what is left of the output.
  [[nodiscard]] int64_t place(size_t axis) const {
    uint64_t behind = 1;
    const std::vector<int64_t>& count = boxes_[main_].count;
    for (size_t i = axis + 1; i < count.size(); ++i) behind *= static_cast<uint64_t>(count[i]);
    return static_cast<int64_t>(difference_.first_differing.value_or(0) / behind % static_cast<uint64_t>(count[axis]));
  }

  bool shrink(const Cut& cut, size_t axis) {
    if (try_part(cut, place(axis), 1)) return true;
    bool any = false;
    while (boxes_[main_].count[axis] > 1) {
      const int64_t count = boxes_[main_].count[axis];
      const int64_t half = count / 2;
      const bool in_first = place(axis) < half;
      const bool taken = try_part(cut, in_first ? 0 : half, in_first ? half : count - half) ||
                         try_part(cut, in_first ? half : 0, in_first ? count - half : half);
      if (!taken) break;
      any = true;
    }
    return any;
  }

  bool shrink_all() {
    bool any = false;
    for (size_t axis = 0; axis < boxes_[main_].count.size(); ++axis) {
      if (boxes_[main_].count[axis] < 2) continue;
      for (const Cut& cut : cuts_of(axis)) {
        if (!shrink(cut, axis)) continue;
        any = true;
        break;
      }
    }
    return any;
  }

  // The dimensions of the other tensors that may be that dimension of the output. Running the op shows which guesses are wrong.
  [[nodiscard]] std::vector<Cut> cuts_of(size_t axis) const {
    const size_t behind = boxes_[main_].count.size() - axis;
    Cut outputs;
    for (size_t i = outputs_begin_; i < tensors_.size(); ++i) {
      if (fits(i, axis, axis)) outputs.push_back({i, axis});
    }
    Cut aligned = outputs;  // by broadcasting
    Cut leading = outputs;  // counted from the outermost, of what is no weight
    std::vector<Cut> cuts;
    for (size_t i = 0; i < outputs_begin_; ++i) {
      const size_t rank = boxes_[i].count.size();
      if (rank >= behind && fits(i, rank - behind, axis)) aligned.push_back({i, rank - behind});
      if (!is_constant(i) && fits(i, axis, axis)) leading.push_back({i, axis});
    }
    cuts.push_back(aligned);
    if (leading != aligned) cuts.push_back(leading);
    // One input has the dimension, as a factor of a product has; and with it vectors, as a bias.
    for (size_t i = 0; i < outputs_begin_; ++i) {
      for (size_t own = 0; own < boxes_[i].count.size(); ++own) {
        if (!fits(i, own, axis)) continue;
        Cut alone = outputs;
        alone.push_back({i, own});
        Cut with_vectors = alone;
        for (size_t other = 0; other < outputs_begin_; ++other) {
          const size_t rank = boxes_[other].count.size();
          if (other != i && rank >= behind && fits(other, rank - behind, axis) && is_sum(other))
            with_vectors.push_back({other, rank - behind});
          if (other != i && behind > 1 && rank == 1 && fits(other, 0, axis)) with_vectors.push_back({other, 0});
        }
        if (with_vectors != alone) cuts.push_back(with_vectors);
        cuts.push_back(alone);
      }
    }
    return cuts;
  }
  [[nodiscard]] bool fits(size_t tensor, size_t axis, size_t axis_of_main) const {
    const std::vector<int64_t>& count = boxes_[tensor].count;
    return tensors_[tensor].may_be_cut && (tensors_[tensor].is_input || tensor >= outputs_begin_) && axis < count.size() &&
           count[axis] == boxes_[main_].count[axis_of_main];
  }
  // Of inputs behind the two factors of a product: a bias, or a sum that it is added to.
  [[nodiscard]] bool is_sum(size_t tensor) const { return tensor >= 2 && tensors_[tensor].is_input; }
  [[nodiscard]] bool is_constant(size_t tensor) const {
    return std::ranges::any_of(op_.inputs, [&](const RecordedInput& input) { return input.row == tensor && input.constant; });
  }

  [[nodiscard]] CutTensor described(size_t tensor) const {
    const std::span<const int64_t> dims = tensors_[tensor].desc.shape.dims();
    return {tensors_[tensor].slot, {dims.begin(), dims.end()}, boxes_[tensor].first, boxes_[tensor].count};
  }

  MinimalOp finish() {
    MinimalOp minimal;
    for (size_t i = 0; i < tensors_.size(); ++i) minimal.tensors.push_back(described(i));
    minimal.differing = described(main_);
    minimal.difference = difference_;
    minimal.runs = runs_;
    minimal.dump = std::make_unique<const CutDump>(dump_, rows_, boxes_);
    minimal.op = op_;
    return minimal;
  }

  const DumpIndex& dump_;
  const RuntimeOfDump source_;
  ReplayRuntime& runtime_;
  const std::function<void(size_t)>& progress_;
  RecordedOp op_;  // its rows are positions in tensors_
  std::vector<Tensor> tensors_;
  std::vector<uint32_t> rows_;  // of tensors_
  size_t outputs_begin_ = 0;
  size_t main_ = 0;       // the output that differs
  bool differs_ = false;  // whether one does
  std::vector<Value> whole_;
  std::vector<TensorBox> boxes_;  // what is left
  Difference difference_;         // of that
  size_t runs_ = 0;
};

}  // namespace

Result<std::optional<MinimalOp>> minimal_op(const DumpIndex& dump, const RecordedOp& op, ReplayRuntime& runtime,
                                            const std::function<void(size_t runs)>& progress) {
  return Minimiser(dump, op, runtime, progress).find();
}

}  // namespace tensortap
