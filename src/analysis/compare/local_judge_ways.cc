// The part of LocalJudge that looks at the way from the inputs of a value to the value.

#include <algorithm>

#include "compare/block_types.h"
#include "compare/local_judge.h"
#include "compare/own_roundings.h"
#include "compare/quantised_programs.h"
#include "compare/region.h"
#include "compare/row_types.h"

namespace tensortap {
namespace {

constexpr uint32_t kMostGap = 4;
constexpr double kSaturated = 0.1;     // relative L2 that a quantiser may lose,
constexpr double kMostClipped = 0.01;  // and the share of elements that its codes need not reach

// The step of the blocks that an op multiplies, or that a weight without a partner is in; 0 without blocks. `complete`: the weight was
// captured.
double step_of_blocks(const ValueTable& table, uint32_t row, bool complete) {
  const std::string type = block_type_of(op_of(table.dump(), table.dump().rows()[row]));
  if (type.empty()) return 0;
  const ValueId id = table.value_of(row);
  // Weights that have a partner are an input, whose error counts as that of any input.
  const bool is_weight = id != kNoValue && table.at(id).given;
  return is_weight || !complete ? std::max(loss_of_blocks(type), kStepOfMultipliedBlocks) : kStepOfMultipliedBlocks;
}

}  // namespace

void LocalJudge::look_at_loss(bool of_a, uint32_t row, Way& way) {
  const QuantisingLoss& loss = (of_a ? losses_a_ : losses_b_).of(row);
  way.loss = std::max(way.loss, loss.all);
  if (loss.wanted <= kSaturated || loss.clipped <= kMostClipped || loss.clipped <= way.clipped.share) return;
  way.clipped = {row, of_a, loss.clipped};
}

void LocalJudge::note_codes(bool of_a, int bits, Way& way) {
  if (bits == 0) return;
  (of_a ? way.codes_in_a : way.codes_in_b) = true;
  way.codes = std::max(way.codes, step_of_codes(bits));
}

double LocalJudge::look_between(bool of_a, std::span<const uint32_t> rows, Way& way) {
  const ValueTable& table = of_a ? a_ : b_;
  double made = 0;
  for (const uint32_t number : rows) {
    const RecordRow& row = table.dump().rows()[number];
    const ValueId id = table.value_of(number);
    if (id != kNoValue && table.at(id).given) {
      if (row.numel > 1) way.step = std::max(way.step, (of_a ? precision_a_ : precision_b_).step_of(number));
      note_codes(of_a, bits_of_codes(table, id), way);
      continue;
    }
    made = std::max(made, step_of_type(row));
    if (id != kNoValue) note_codes(of_a, bits_of_codes(table, id), way);
    note_codes(of_a, (of_a ? kinds_a_ : kinds_b_).of(row.op, op_of(table.dump(), row)).code_bits, way);
    look_at_loss(of_a, number, way);
  }
  way.step = std::max(way.step, made);
  return made;
}

LocalJudge::Way LocalJudge::way_of(const Pair& pair) {
  Way way{way_between(a_, partners_a_, pair.row_a), way_between(b_, partners_b_, pair.row_b)};
  const RecordRow& of_a = a_.dump().rows()[pair.row_a];
  const RecordRow& of_b = b_.dump().rows()[pair.row_b];
  const auto step_of_op = [this](bool mine, uint32_t row) { return kind_of(mine, row).of_halves ? unit_roundoff(DType::kFloat16) : 0; };
  way.made_a = std::max({step_of_type(of_a), step_of_op(true, pair.row_a), look_between(true, way.a.between, way)});
  way.made_b = std::max({step_of_type(of_b), step_of_op(false, pair.row_b), look_between(false, way.b.between, way)});
  way.step = std::max({way.step, way.made_a, way.made_b});
  note_codes(true, kind_of(true, pair.row_a).code_bits, way);
  note_codes(false, kind_of(false, pair.row_b).code_bits, way);
  // Both sides lose the same where both have the same blocks.
  for (const bool mine : {true, false}) {
    const WayBetween& side = mine ? way.a : way.b;
    const ValueTable& table = mine ? a_ : b_;
    double& step = mine ? way.blocks_a : way.blocks_b;
    step = step_of_blocks(table, mine ? pair.row_a : pair.row_b, side.complete);
    for (const uint32_t row : side.between) step = std::max(step, step_of_blocks(table, row, side.complete));
  }
  if (way.blocks_a != way.blocks_b) {
    way.codes = std::max({way.codes, way.blocks_a, way.blocks_b});
    (way.blocks_a > way.blocks_b ? way.codes_in_a : way.codes_in_b) = true;
  }
  // The pair itself may be a number behind codes beside one that was never quantised.
  const bool codes_a = op_of(a_.dump(), of_a).type == "DequantizeLinear";
  const bool codes_b = op_of(b_.dump(), of_b).type == "DequantizeLinear";
  if (codes_a != codes_b) look_at_loss(codes_a, codes_a ? pair.row_a : pair.row_b, way);
  look_into_modules(way);
  return way;
}

// The kind of the op that made a row, or of the module that passed it to the one whose record it is.
const OpKind& LocalJudge::kind_of(bool of_a, uint32_t row) {
  const ValueTable& table = of_a ? a_ : b_;
  const OpId passed_by = table.passed_by(row);
  const OpId op = passed_by == kNoOp ? table.dump().rows()[row].op : passed_by;
  return (of_a ? kinds_a_ : kinds_b_).of(op, table.dump().ops()[op]);
}

double LocalJudge::error_of_sums(const Pair& pair, const Way& way) {
  double most = 0;
  for (const bool of_a : {true, false}) {
    const DumpIndex& dump = (of_a ? a_ : b_).dump();
    const WayBetween& side = of_a ? way.a : way.b;
    // An op without a partner read some of these; which of them does not matter for a limit.
    const uint64_t read = std::max(most_read(dump, side.inputs), most_read(dump, side.between));
    const auto look_at = [&](uint32_t row) { most = std::max(most, error_of_sum(kind_of(of_a, row), dump.rows()[row], read)); };
    look_at(of_a ? pair.row_a : pair.row_b);
    std::ranges::for_each(side.between, look_at);
  }
  return most;
}

// Whether the op behind a pair computes with codes in both programs.
bool LocalJudge::quantises(const Pair& pair) { return kind_of(true, pair.row_a).quantises && kind_of(false, pair.row_b).quantises; }

// Counts the ops, which were not recorded, of the module behind a row: they have no partners.
uint32_t LocalJudge::rounding_ops_in(uint32_t row_b) const {
  if (!ops_in_modules_) return 0;
  const OpId passed_by = b_.passed_by(row_b);
  const uint32_t ops =
      ops_in_modules_->in(passed_by == kNoOp ? op_of(b_.dump(), b_.dump().rows()[row_b]) : b_.dump().ops()[passed_by], kMostGap);
  return ops > 1 ? ops : 0;  // one op is the pair itself
}

uint32_t LocalJudge::gap_of(const Pair& pair, const Way& way) {
  const uint32_t between = std::max(rounding_ops(a_, way.a.between, kinds_a_), rounding_ops(b_, way.b.between, kinds_b_));
  return std::min(between, kMostGap) + rounding_ops_in(pair.row_b);
}

Judgement::Inputs LocalJudge::known_inputs(const Way& way) const {
  const auto count = [](const DumpIndex& dump, std::span<const uint32_t> rows) {
    const auto is_authors = [&](uint32_t row) { return !op_of(dump, dump.rows()[row]).inserted_by_runtime; };
    return static_cast<uint32_t>(std::ranges::count_if(rows, is_authors));
  };
  return {.with_partner = static_cast<uint32_t>(way.b.inputs.size()),
          .without_a = count(a_.dump(), way.a.between),
          .without_b = count(b_.dump(), way.b.between),
          .captured = way.a.complete && way.b.complete};
}

// Modules whose ops were not recorded may compute in the type that they read, whatever they return.
void LocalJudge::look_into_modules(Way& way) const {
  if (!ops_in_modules_) return;
  for (const bool of_a : {true, false}) {
    const DumpIndex& dump = (of_a ? a_ : b_).dump();
    for (const uint32_t row : (of_a ? way.a : way.b).inputs) {
      if (is_real(dump.rows()[row])) way.step = std::max(way.step, step_of_type(dump.rows()[row]));
    }
  }
}

}  // namespace tensortap
