#include "ranks/gradient_norms.h"

#include <cmath>
#include <string_view>

#include "query/op_facts.h"

namespace tensortap {
namespace {

constexpr std::string_view kAccumulates = "AccumulateGrad/";  // scope of the ops that add to a parameter's gradient

double square_of(const RecordRow& row) { return row.stats.l2 * row.stats.l2; }

}  // namespace

uint32_t GradientNorms::layer(const std::string& name) {
  const auto [found, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return found->second;
}

void GradientNorms::look_at(Step& step, const OpenRankDump& open, const RecordRow& row) {
  const OpInfo& op = op_of(open.dump, row);
  const bool known = is_floating(static_cast<DType>(row.dtype)) && (row.stats.valid & kStatL2) != 0 && std::isfinite(row.stats.l2);
  if (row.slot_kind == static_cast<uint8_t>(SlotKind::kGradient) && known) {
    step.slots[layer(op.module.empty() ? op.name : op.module)] += square_of(row);
    return;
  }
  if (row.storage == 0) return;
  const auto phase = static_cast<Phase>(row.phase);
  if (phase == Phase::kUpdate) {
    const auto written = step.layers.find(row.storage);
    if (is_input(row) && known && written != step.layers.end() && !open.roles.is_weight(row) && step.counted.insert(row.storage).second) {
      step.read[written->second] += square_of(row);
    }
    return;
  }
  if (phase != Phase::kBackward) return;
  if (row.op != step.op || row.call != step.call) {
    step.op = row.op;
    step.call = row.call;
    step.inherited = 0;
  }
  const auto written = step.layers.find(row.storage);
  if (!is_input(row)) {
    step.layers[row.storage] = op.module.empty() ? step.inherited : layer(op.module);
  } else if (written != step.layers.end()) {
    if (step.inherited == 0) step.inherited = written->second;
    // The same memory again, at the number of the op that first showed it.
    const bool first = std::string_view(op.name).starts_with(kAccumulates) && step.counted.insert(~row.storage).second;
    if (first && known) step.accumulated[written->second] += square_of(row);
  }
}

void GradientNorms::finish(uint32_t place, uint32_t step_place, Step& step) {
  if (place != kNowhere && step_place != kNowhere) {
    const auto& squares = !step.slots.empty() ? step.slots : !step.read.empty() ? step.read : step.accumulated;
    for (const auto& [number, sum] : squares) norms_[{step_place, number}].push_back(std::sqrt(sum));
  }
  step = Step();
}

void GradientNorms::add(const OpenRankDump& open) {
  Step step;
  uint32_t place = kNowhere;
  uint32_t step_place = kNowhere;
  for (const RecordRow& row : open.dump.rows()) {
    const uint32_t own = open.place_of(row);
    const uint32_t own_step = job_.step_place(row.step);
    if (own != place || own_step != step_place) finish(place, step_place, step);
    place = own;
    step_place = own_step;
    look_at(step, open, row);
  }
  finish(place, step_place, step);
}

}  // namespace tensortap
