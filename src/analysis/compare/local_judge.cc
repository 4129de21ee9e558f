#include "compare/local_judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "compare/block_types.h"
#include "compare/dead_rows.h"
#include "compare/lone_difference.h"
#include "compare/memory_addresses.h"
#include "compare/own_roundings.h"
#include "compare/pairing_keys.h"
#include "compare/region.h"
#include "compare/row_types.h"
#include "compare/sum_terms.h"
#include "compare/systematic_difference.h"
#include "compare/tolerance_model.h"
#include "compare/usual_step.h"
#include "compare/value_judge.h"

namespace tensortap {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// Measured over sound pairs of real models, whatever the depth: an op adds at most 2.07 steps of its type, and enlarges the error that it
// reads 4.4 times; softmax and the statistics of norms enlarge it 5.3 times.
constexpr double kOwnSteps = 2;
constexpr double kGrowth = 4;
constexpr double kSteepGrowth = 8;
constexpr double kNotJudged = 0.25;  // behind values that are this far apart nothing can be said
constexpr double kUnlike = 0.75;     // values of two programs of which one computes with codes have little in common
constexpr double kSlack = 1.2;       // of bounds that hold for exact numbers
constexpr double kCodesSlack = 1.02;
constexpr double kFarInteger = 0.3;
constexpr double kMostFolded = 0x1p-7;  // of a weight that the runtime computes of several ones
constexpr double kMostRoundings = 32;   // of 16 bits, however deep
constexpr double kOfDepth = 4;          // roundings of one op that the limit by depth has room for
constexpr uint64_t kLeastShared = 16;   // elements that are not equal by chance

// An element changes its side with the probability of its error; of few elements one may.
constexpr double kOfFewGates = 3;

// Whether one is the other in a narrower type. Converters to float16 write the smallest numbers that are not 0 for what is smaller.
bool is_narrowed(const Difference& difference) {
  constexpr double kSmallest = 0x1p-23;  // two steps of float16 next to 0
  const std::optional<NarrowedDifference>& narrowed = difference.narrowed;
  return narrowed && (narrowed->differing == 0 || (narrowed->dtype == DType::kFloat16 && narrowed->max_abs <= kSmallest));
}

double distance_of(const Difference& difference) {
  return difference.l2_b > 0 ? difference.relative_l2 * difference.l2_b
                             : std::sqrt(difference.mse * static_cast<double>(difference.finite));
}

// Whether an op on the way wrote into memory that has a type already, such as a cache: that type is no choice of the program's.
bool stores_on(const ValueTable& table, const WayBetween& way) {
  return std::ranges::any_of(way.between, [&](uint32_t row) { return op_kind_of(op_of(table.dump(), table.dump().rows()[row])).stores; });
}

// Whether the program only hands on what it read, in another form or type.
bool hands_on(const ValueTable& table, uint32_t row, const WayBetween& way) {
  const auto hands = [&table](uint32_t of) { return PairingKeys::hands_on(op_of(table.dump(), table.dump().rows()[of])); };
  return hands(row) && std::ranges::all_of(way.between, hands);
}

// Whether the runtime may have computed a weight of several ones of the author: the op that reads it executes a product and a
// normalisation, or scales and shifts.
bool is_folded(const PairingKeys& keys, uint32_t row) {
  constexpr std::array<std::string_view, 5> kFolded = {"BatchNormalization", "Mul", "Div", "Add", "Sub"};
  const auto is_product = [](const OpInfo& op) {
    return op.type.find("Conv") != std::string::npos || op.type.find("Gemm") != std::string::npos;
  };
  return std::ranges::any_of(keys.readers(keys.table().value_of(row)), [&](const PairingKeys::Reader& reader) {
    const OpInfo& op = keys.table().op(reader.value);
    return is_product(op) && std::ranges::any_of(op.originals, [&](const OriginalNode& node) {
             return std::ranges::find(kFolded, std::string_view(node.type)) != kFolded.end();
           });
  });
}

// The step of the coarsest weight or input of a program, before the runtime widened it.
double step_of_given(const ValueTable& table, RowPrecision& precision) {
  const std::span<const RecordRow> rows = table.dump().rows();
  double step = 0;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    const ValueId id = table.value_of(row);
    if (id != kNoValue && table.at(id).given && rows[row].numel > 1) step = std::max(step, precision.step_of(row));
  }
  return step;
}

}  // namespace

std::string_view finding_name(Finding finding) {
  constexpr std::array<std::string_view, 13> kNames = {"",         "other size", "non-finite", "weights", "attributes", "value", "moved",
                                                       "integers", "saturated",  "systematic", "element", "type",       "grown"};
  return kNames[static_cast<size_t>(finding)];
}

LocalJudge::LocalJudge(const PairingKeys& a, const PairingKeys& b, std::span<const uint32_t> partners, double allow)
    : keys_b_(b),
      a_(a.table()),
      b_(b.table()),
      partners_b_(partners),
      allow_(allow),
      partners_a_(a_.dump().rows().size(), kNoRow),
      precision_a_(a_.dump()),
      precision_b_(b_.dump()),
      losses_a_(a_),
      losses_b_(b_),
      facts_(b_.dump().rows().size()) {
  for (uint32_t row = 0; row < partners.size(); ++row) {
    if (partners[row] != kNoRow) partners_a_[partners[row]] = row;
  }
  const double usual_a = usual_step(a_);
  if (usual_a == usual_step(b_)) usual_step_ = usual_a;
  if (a_.has_modules_alone() && b_.has_modules_alone()) ops_in_modules_.emplace(b_.dump());
}

bool LocalJudge::is_given(const Pair& pair) const { return a_.at(a_.value_of(pair.row_a)).given && b_.at(b_.value_of(pair.row_b)).given; }

// Whether an author gave the value, under one name in both programs, to more than quantising ops: their codes are compared as the real
// numbers behind them.
bool LocalJudge::is_authored(const Pair& pair) const {
  const RecordRow& of_a = a_.dump().rows()[pair.row_a];
  const RecordRow& of_b = b_.dump().rows()[pair.row_b];
  const std::string& name = op_of(b_.dump(), of_b).name;
  if (op_of(a_.dump(), of_a).name != name || of_a.slot_index != of_b.slot_index) return false;
  if (name.find("_token_") != std::string::npos || name.starts_with("reorder")) return false;
  // A backward pass keeps values of the forward pass in memory that is written over later: their maker is unknown.
  const bool is_kept = of_b.phase == static_cast<uint8_t>(Phase::kBackward) && (of_b.value_flags & kValueParameter) == 0 && of_b.numel > 1;
  if (is_kept) return false;
  const auto& readers = keys_b_.readers(b_.value_of(pair.row_b));
  const auto quantises = [this](const PairingKeys::Reader& reader) { return op_kind_of(b_.op(reader.value)).quantises; };
  return readers.empty() || !std::ranges::all_of(readers, quantises);
}

// Whether both sides are codes turned into numbers, and differ by no more than half a step of these.
bool LocalJudge::is_rounding_of_codes(const Pair& pair, const Difference& difference) {
  const double half = std::max(losses_a_.of(pair.row_a).half_step, losses_b_.of(pair.row_b).half_step);
  return half > 0 && difference.max_abs <= kCodesSlack * half;
}

bool LocalJudge::is_never_read(const Pair& pair) {
  if (!dead_) dead_.emplace(dead_rows(a_), dead_rows(b_));
  return dead_->first[pair.row_a] || dead_->second[pair.row_b];
}

LocalJudge::Inputs LocalJudge::inputs_of(const Way& way) const {
  Inputs inputs;
  for (const uint32_t row : way.b.inputs) {
    const Facts& facts = facts_[row];
    if (double{facts.level} > inputs.level) {
      inputs.level = double{facts.level};
      inputs.from = row;
    }
    inputs.out |= facts.out;
    if (facts.changed_weight != kNoRow) inputs.changed_weight = facts.changed_weight;
    inputs.step = std::max(inputs.step, double{facts.step});
    inputs.zeros |= facts.zero;
    inputs.distance = std::max(inputs.distance, double{facts.distance});
    inputs.max_abs = std::max(inputs.max_abs, double{facts.max_abs});
    inputs.sums = std::max(inputs.sums, double{facts.sums});
    inputs.norms.push_back({double{facts.norm}, b_.dump().rows()[row].numel});
  }
  return inputs;
}

void LocalJudge::judge_given(const Pair& pair, const Difference& difference, Judgement& judgement) {
  const RecordRow& of_a = a_.dump().rows()[pair.row_a];
  const RecordRow& of_b = b_.dump().rows()[pair.row_b];
  judgement.step = std::max(step_of_type(of_a), step_of_type(of_b));
  judgement.held = difference.relative_l2;
  const bool narrowed = of_a.dtype == of_b.dtype ? is_rounded_copy(a_.dump(), pair.row_a, b_.dump(), pair.row_b) : is_narrowed(difference);
  const double of_blocks = limit_of_blocks(a_.dump(), pair.row_a, b_.dump(), pair.row_b);
  double folded = 0;
  if (!narrowed && is_folded(keys_b_, pair.row_b)) {
    if (!step_of_given_) step_of_given_ = std::max(step_of_given(a_, precision_a_), step_of_given(b_, precision_b_));
    folded = std::min(kMostFolded, *step_of_given_);
  }
  if (of_blocks > 0 && difference.nonfinite_differing == 0 && difference.relative_l2 <= of_blocks) {
    judgement.allowed = of_blocks;
    judgement.level = difference.relative_l2;
  } else if (narrowed) {
    judgement.step = std::max(judgement.step, difference.relative_l2 < 0x1p-11 ? 0x1p-10 : 0x1p-7);
    judgement.allowed = kInf;
    judgement.level = std::min(difference.relative_l2, 1.0);
  } else if (folded > 0 && difference.nonfinite_differing == 0 && difference.relative_l2 <= folded) {
    judgement.step = std::max(judgement.step, folded);
    judgement.allowed = folded;
    judgement.level = difference.relative_l2;
  } else if (is_authored(pair)) {
    judgement.finding = Finding::kWeights;
  } else {
    judgement.allowed = kInf;
  }
}

// What an op of a kind may add to the error that it reads, relative L2.
double LocalJudge::allowed_by(const OpKind& kind, bool further_output, double step, double spread, const Inputs& inputs, double in) const {
  const double own = allow_ * kOwnSteps * step * spread;
  const bool steep = kind.is_softmax || ((kind.is_norm || kind.is_gradient) && further_output);
  double allowed = in < kNotJudged ? own + allow_ * (steep ? kSteepGrowth : kGrowth) * spread * in : kInf;
  if (kind.is_exp) allowed = std::max(allowed, own + kSlack * inputs.max_abs);
  return allowed;
}

void LocalJudge::judge_made(const Pair& pair, const Difference& difference, Judgement& judgement) {
  const RecordRow& of_a = a_.dump().rows()[pair.row_a];
  const RecordRow& of_b = b_.dump().rows()[pair.row_b];
  const OpKind& kind = kind_of(false, pair.row_b);
  Made made{.way = way_of(pair), .inputs = {}, .kind = kind, .whole = !is_real(of_a) && !is_real(of_b)};
  const Inputs& inputs = made.inputs = inputs_of(made.way);
  const bool complete = made.way.a.complete && made.way.b.complete && !made.way.b.inputs.empty();
  judgement.follows = inputs.out;
  judgement.in = std::max(inputs.level, made.way.loss);
  judgement.from = inputs.from;
  judgement.gap = gap_of(pair, made.way);
  judgement.inputs = known_inputs(made.way);
  if (complete && judgement.in == 0 && quantises(pair)) shared_codes_.note_difference();
  judgement.step = shared_codes_.step({.type = made.way.step,
                                       .codes = made.way.codes,
                                       .both = made.way.codes_in_a && made.way.codes_in_b,
                                       .exact = judgement.in == 0 && judgement.gap == 0,
                                       .in = judgement.in,
                                       .numel = of_b.numel});
  judgement.clipped = made.way.clipped;
  const double error = difference.relative_l2;
  const double spread = std::sqrt(1 + static_cast<double>(judgement.gap));
  const double of_sums = error_of_sums(pair, made.way);
  double roundings = own_roundings(kind, of_b, b_.dump(), made.way.b.inputs);
  if (judgement.step > 0) roundings = std::max(roundings, of_sums / judgement.step);
  facts_[pair.row_b].sums = static_cast<float>(std::max(of_sums, inputs.sums));
  judgement.allowed = allowed_by(kind, of_b.slot_index > 0, roundings * judgement.step, spread, inputs, judgement.in);
  if (judgement.in > 0 && kind.is_gate) {
    const double changed = std::sqrt(judgement.in) + kOfFewGates / std::sqrt(static_cast<double>(std::max<uint64_t>(of_b.numel, 1)));
    made.zero = error > judgement.allowed;
    judgement.allowed = std::max(judgement.allowed, allow_ * changed);
  }
  // Codes may lose much over many ops, but not most of a value.
  if (made.way.quantises() && !inputs.zeros && !inputs.out) judgement.allowed = std::min(judgement.allowed, kUnlike);
  // Where an input is unknown, the depth alone limits the error.
  if (!complete) judgement.allowed = std::max(judgement.allowed, pair.model);
  // The terms of rows that were not compared do not count.
  const double share = static_cast<double>(difference.numel) / static_cast<double>(std::max<uint64_t>(of_b.numel, 1));
  const double scale = judgement.gap == 0 ? norm_of_terms(kind, of_b, inputs.norms) * std::sqrt(std::min(share, 1.0)) : 0;
  judgement.held = scale > 0 ? std::min(error, distance_of(difference) / std::max(difference.l2_b, scale)) : error;
  // What shows the sum with a mask hides the error of the other term as the sum does.
  const bool hidden = (kind.overlays || PairingKeys::hands_on(op_of(b_.dump(), of_b))) && judgement.in > error;
  judgement.level = made.whole || hidden ? judgement.in : std::min(error, 1.0);
  made.own = allow_ * kOwnSteps * roundings * judgement.step * spread;
  made.contracted = kind.contracts && distance_of(difference) <= kSlack * inputs.distance + made.own * difference.l2_b;
  const bool is_sum = scale > 0 && judgement.held <= judgement.allowed;
  made.zero |= inputs.zeros || ((is_sum || made.contracted) && error > judgement.allowed);
  facts_[pair.row_b].zero = made.zero;
  facts_[pair.row_b].step = static_cast<float>(std::max({judgement.step, inputs.step, made.way.loss}));
  made.usual = usual_step_ > 0 ? allowed_by(kind, of_b.slot_index > 0, roundings * usual_step_, spread, inputs, judgement.in) : kInf;
  made.complete = complete;
  judgement.finding = finding_of(pair, difference, made, judgement);
  judgement.between_a = std::move(made.way.a.between);
  judgement.between_b = std::move(made.way.b.between);
  if (judgement.finding != Finding::kNone && !judgement.follows) look_behind_overlays(made.way.b.inputs, judgement);
}

// What one program alone has before a value may hide behind a larger term, as a factor behind a mask: it shows only where the mask ends.
void LocalJudge::look_behind_overlays(std::span<const uint32_t> inputs, Judgement& judgement) {
  if (rounding_ops(a_, judgement.between_a, kinds_a_) + rounding_ops(b_, judgement.between_b, kinds_b_) > 0) return;
  for (const uint32_t row : inputs) {
    if (facts_[row].level == 0 || !kinds_b_.of(b_.dump().rows()[row].op, op_of(b_.dump(), b_.dump().rows()[row])).overlays) continue;
    const WayBetween of_a = way_between(a_, partners_a_, partners_b_[row]);
    const WayBetween of_b = way_between(b_, partners_b_, row);
    judgement.between_a.insert(judgement.between_a.end(), of_a.between.begin(), of_a.between.end());
    judgement.between_b.insert(judgement.between_b.end(), of_b.between.begin(), of_b.between.end());
  }
}

Finding LocalJudge::finding_of(const Pair& pair, const Difference& difference, const Made& made, Judgement& judgement) {
  const OpKind& kind = made.kind;
  const OpInfo& op_a = op_of(a_.dump(), a_.dump().rows()[pair.row_a]);
  const OpInfo& op_b = op_of(b_.dump(), b_.dump().rows()[pair.row_b]);
  if (!judgement.follows) judgement.attributes = attribute_differences(op_a, op_b, std::max(judgement.step, 0x1p-10));
  if (!judgement.attributes.empty()) return Finding::kAttributes;
  if (judgement.clipped.row != kNoRow) return Finding::kSaturated;
  if (made.inputs.changed_weight != kNoRow) {
    judgement.weight = made.inputs.changed_weight;
    judgement.moves_weights = kind.moves || b_.shows_input(pair.row_b);
    return judgement.moves_weights ? Finding::kNone : Finding::kWeights;
  }
  if (is_rounding_of_codes(pair, difference)) {
    judgement.level = std::max(judgement.level, judgement.in);
    return Finding::kNone;
  }
  if (made.whole && !kind.quantises) {
    return made.complete && (judgement.in == 0 || difference.relative_l2 > kFarInteger) ? Finding::kIntegers : Finding::kNone;
  }
  if (judgement.held > judgement.allowed && !made.contracted) return Finding::kValue;
  return small_finding_of(pair, difference, made, judgement);
}

// Of values that are within what the op may add.
Finding LocalJudge::small_finding_of(const Pair& pair, const Difference& difference, const Made& made, const Judgement& judgement) const {
  const RecordRow& of_a = a_.dump().rows()[pair.row_a];
  const RecordRow& of_b = b_.dump().rows()[pair.row_b];
  const OpInfo& op_a = op_of(a_.dump(), of_a);
  const OpInfo& op_b = op_of(b_.dump(), of_b);
  const bool alone = made.complete && judgement.in == 0 && judgement.gap == 0 && of_a.dtype == of_b.dtype && op_a.originals.size() < 2 &&
                     op_b.originals.size() < 2 && made.way.a.between.empty() && made.way.b.between.empty();
  if (alone && made.kind.moves) return Finding::kMoved;
  if (alone && !made.whole && !made.way.quantises() && op_a.type == op_b.type && made.way.step >= kCoarse && is_systematic(difference)) {
    return Finding::kSystematic;
  }
  if (made.complete && judgement.in == 0 && !made.whole && !made.way.quantises() && std::isfinite(judgement.allowed)) {
    const bool copies = hands_on(a_, pair.row_a, made.way.a) || hands_on(b_, pair.row_b, made.way.b);
    // Sums of some elements of an input, as into the rows of a table, leave most of the others alone.
    const bool by_element = std::ranges::all_of(made.way.b.inputs, [&](uint32_t input) {
      const uint64_t numel = b_.dump().rows()[input].numel;
      return numel == of_b.numel || numel == 1;
    });
    const bool same_op = alone && op_a.type == op_b.type && !made.zero && by_element;
    const std::optional<ElementLimit> limit = copies    ? element_limit_of_copy(judgement.step, judgement.allowed)
                                              : same_op ? element_limit_of_op(difference, judgement.allowed)
                                                        : std::nullopt;
    if (limit && has_lone_difference(a_.dump(), pair.row_a, difference, *limit)) return Finding::kElement;
  }
  const OpKind kind_a = op_kind_of(op_a);
  const bool stores = made.kind.stores || kind_a.stores || made.kind.of_halves || kind_a.of_halves || stores_on(a_, made.way.a) ||
                      stores_on(b_, made.way.b);
  const bool detour = !stores && made.way.made_a != made.way.made_b && std::min(made.way.made_a, made.way.made_b) <= usual_step_;
  const double coarser = std::max(made.way.made_a, made.way.made_b);
  if (detour && made.complete && !made.way.quantises() && coarser > usual_step_ && judgement.in < coarser / 8 &&
      judgement.held > made.usual) {
    return Finding::kType;
  }
  const double step = std::max(pair.step, double{facts_[pair.row_b].step});
  if (made.zero || made.whole || made.way.quantises() || pair.step == 0 || !std::isfinite(judgement.allowed)) return Finding::kNone;
  // Sums over many elements add more than the depth of a program lets expect.
  const double depth = pair.model / pair.step * std::max(step, double{facts_[pair.row_b].sums} / kOfDepth);
  const double most = step >= kCoarse ? std::min(depth, kMostRoundings * step) : depth;
  return difference.relative_l2 > allow_ * most ? Finding::kGrown : Finding::kNone;
}

Judgement LocalJudge::judge(const Pair& pair, const Difference& difference) {
  Judgement judgement;
  if (difference.differing == 0 && difference.numel >= kLeastShared && quantises(pair)) shared_codes_.note_equal();
  if (difference.differing > 0) {
    if (is_never_read(pair)) {
      judgement.never_read = true;
    } else if (holds_addresses(a_.dump(), pair.row_a) && holds_addresses(b_.dump(), pair.row_b)) {
      judgement.addresses = true;
    } else if (is_given(pair)) {
      judge_given(pair, difference, judgement);
    } else {
      judge_made(pair, difference, judgement);
    }
    if (difference.nonfinite_differing > 0 && !judgement.never_read) {
      judgement.finding = Finding::kNonFinite;
      judgement.level = 1;
    }
    if (pair.noise) judgement.finding = Finding::kNone;
    if (judgement.finding == Finding::kNone) {
      judgement.between_a.clear();
      judgement.between_b.clear();
    }
  }
  keep(pair, difference, judgement);
  return judgement;
}

void LocalJudge::keep(const Pair& pair, const Difference& difference, const Judgement& judgement) {
  Facts& facts = facts_[pair.row_b];
  facts.level = static_cast<float>(judgement.level);
  facts.distance = static_cast<float>(distance_of(difference));
  facts.norm = static_cast<float>(difference.l2_b);
  facts.max_abs = static_cast<float>(difference.max_abs);
  if (judgement.moves_weights) facts.changed_weight = judgement.weight;
  const bool changed = judgement.finding == Finding::kWeights || judgement.finding == Finding::kNonFinite;
  if (changed && is_given(pair)) facts.changed_weight = pair.row_b;
  const bool weight = facts.changed_weight != kNoRow;
  if (weight) facts.level = 0;
  if (is_given(pair)) facts.step = static_cast<float>(judgement.step);
  facts.out = difference.differing > 0 && !weight && (judgement.follows || judgement.finding != Finding::kNone);
}

Judgement LocalJudge::note(const Pair& pair, double error, Finding finding) {
  Judgement judgement;
  judgement.level = std::isfinite(error) ? std::min(error, 1.0) : 1;
  // Whatever an equal value was made of, nothing follows from it.
  if (error == 0 && finding == Finding::kNone) {
    facts_[pair.row_b].level = 0;
    facts_[pair.row_b].norm = static_cast<float>(b_.dump().rows()[pair.row_b].stats.l2);
    facts_[pair.row_b].out = false;
    return judgement;
  }
  const Way way = {way_between(a_, partners_a_, pair.row_a), way_between(b_, partners_b_, pair.row_b)};
  const Inputs inputs = inputs_of(way);
  judgement.inputs = known_inputs(way);
  judgement.in = inputs.level;
  judgement.from = inputs.from;
  judgement.follows = inputs.out;
  judgement.allowed = pair.model;
  judgement.held = error;
  judgement.finding = finding;
  if (finding == Finding::kValue && inputs.changed_weight != kNoRow) {
    judgement.finding = Finding::kWeights;
    judgement.weight = inputs.changed_weight;
  }
  Facts& facts = facts_[pair.row_b];
  facts.level = static_cast<float>(judgement.level);
  facts.norm = static_cast<float>(b_.dump().rows()[pair.row_b].stats.l2);
  facts.out = finding != Finding::kNone || (error > 0 && judgement.follows);
  if (finding == Finding::kWeights) {
    facts.changed_weight = pair.row_b;
    facts.level = 0;
    facts.out = false;
  }
  return judgement;
}

}  // namespace tensortap
