#include "session/step_costs.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace tensortap {
namespace {

constexpr size_t kMostKinds = 64;
constexpr size_t kFewestPlain = 4;   // before that, plain steps of a kind say nothing
constexpr double kCertainty = 2;     // standard deviations
constexpr double kMostUnseen = 8;    // times the time inside our calls, until enough is known to see which steps are held up
constexpr size_t kFewestUnseen = 8;  // to see it
constexpr double kUnknownSpread = 0.5;

double square(double value) { return value * value; }

}  // namespace

const StepCosts::Kind* StepCosts::find(uint64_t kind) const {
  const auto found = std::ranges::find(kinds_, kind, &Kind::kind);
  return found == kinds_.end() ? nullptr : &*found;
}

// A program with inputs of any shape keeps the kinds that came last.
StepCosts::Kind& StepCosts::find_or_add(uint64_t kind) {
  auto found = std::ranges::find(kinds_, kind, &Kind::kind);
  if (found == kinds_.end() && kinds_.size() < kMostKinds) {
    // All at once: single pieces that stay would lie between the program's tensors.
    kinds_.reserve(kMostKinds);
    found = kinds_.insert(kinds_.end(), Kind{.kind = kind});
  } else if (found == kinds_.end()) {
    found = std::ranges::min_element(kinds_, {}, &Kind::last_use);
    *found = {.kind = kind};
  }
  found->last_use = ++uses_;
  return *found;
}

double StepCosts::typical_plain(uint64_t kind) {
  const auto found = std::ranges::find(kinds_, kind, &Kind::kind);
  if (found == kinds_.end()) return 0;
  found->last_use = ++uses_;
  return found->walls.count() < kFewestPlain ? 0 : found->walls.typical();
}

bool StepCosts::knows_plain(uint64_t kind) const {
  const Kind* known = find(kind);
  return known != nullptr && known->walls.count() >= kFewestPlain;
}

void StepCosts::count_step(double wall) {
  ++steps_;
  wall_ += wall;
}

void StepCosts::add_plain(uint64_t kind, double wall) {
  count_step(wall);
  ++plain_steps_;
  Kind& known = find_or_add(kind);
  known.walls.add(wall);
  const double typical = typical_plain(kind);
  if (typical > 0) plain_noise_.add(wall / typical);
}

void StepCosts::add_after(uint64_t kind, double wall) {
  count_step(wall);
  const double typical = typical_plain(kind);
  if (typical <= 0) return;
  ++after_measured_;
  const double slower = wall / typical - 1;
  after_.add(slower);
  const RecentValues::Fences believable = after_.count() >= kFewestUnseen ? after_.fences() : RecentValues::Fences{-1, 1};
  const double charge = believable.pull(slower) * typical;
  after_costs_.add(charge);
  charged_ += charge;
}

void StepCosts::add_captured(uint64_t kind, double wall, double in_calls, double left_undone) {
  count_step(wall);
  double charge = in_calls;
  const double typical = typical_plain(kind);
  if (typical > 0) {
    ++captured_measured_;
    const double outside = (wall - in_calls) / typical - 1;
    unseen_.add(outside);
    const double most = kMostUnseen * in_calls / typical;
    const RecentValues::Fences believable = unseen_.count() >= kFewestUnseen ? unseen_.fences() : RecentValues::Fences{-most, most};
    charge += believable.pull(outside) * typical;
  } else {
    ++captured_by_calls_;
  }
  costs_.add(charge + left_undone);
  charged_ += charge;
}

double StepCosts::charged() const { return std::max(charged_, 0.0); }

double StepCosts::own_time() const { return std::max(wall_ - charged(), wall_ / 100); }

double StepCosts::own_step() const { return steps_ == 0 ? 0 : own_time() / static_cast<double>(steps_); }

double StepCosts::uncertainty() const {
  const auto measured = static_cast<double>(captured_measured_);
  if (captured_measured_ == 0) return 0;
  const double each = measured * costs_.variance() + static_cast<double>(after_measured_) * after_costs_.variance();
  // All are compared with the same plain steps, whose own error does not average out.
  const double plain = square(measured * own_step()) * plain_noise_.variance() / static_cast<double>(std::max<uint64_t>(plain_steps_, 1));
  return kCertainty * std::sqrt(each + plain);
}

double StepCosts::cost() const { return std::max(costs_.typical() + std::max(after_costs_.typical(), 0.0), 0.0); }

double StepCosts::cost_at_most() const {
  if (costs_.count() < 2) return (1 + kUnknownSpread) * cost();
  const double error = costs_.variance() / static_cast<double>(costs_.count()) +
                       (after_costs_.count() < 2 ? 0 : after_costs_.variance() / static_cast<double>(after_costs_.count()));
  return cost() + kCertainty * std::sqrt(error);
}

Json StepCosts::overhead() const { return wall_ > charged() && steps_ > 0 ? Json(charged() / own_time()) : Json(nullptr); }

Json StepCosts::basis() const {
  return {{"plain_steps", plain_steps_},
          {"captured_steps", captured_measured_},
          {"steps_after", after_measured_},
          {"by_own_calls", captured_by_calls_},
          {"uncertainty", own_time() > 0 ? Json(uncertainty() / own_time()) : Json(nullptr)}};
}

}  // namespace tensortap
