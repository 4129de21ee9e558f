#include "session/governor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/json.h"

namespace tensortap {
namespace {

constexpr std::array<uint64_t, 4> kSampleLimits = {0, 65536, 8192, 1024};
constexpr uint64_t kSmallestSample = kSampleLimits.back();
constexpr double kSparsest = 32;  // more steps than this between two captured ones: thin out inside the step instead
constexpr double kDensest = 4;
constexpr int64_t kUnnoticedNs = 200'000;  // spending below this in a step goes unnoticed
constexpr int64_t kOpenWindowNs = 20'000'000;
constexpr int64_t kClosedWindowNs = 5'000'000;
// Room for what is not measured: the calls that begin and end each step, and caches that are still cold two steps later.
constexpr double kShareForSteps = 0.75;
// Room for what the time inside our calls does not show: the runtime's own work for a callback, cold caches.
constexpr double kShareForWindows = 0.6;
constexpr double kCatchUp = 64;  // steps over which the rate uses up what is left of the budget so far
constexpr int kPause = 4;        // steps: the first follows a captured one, the others are plain
constexpr double kPauseRate = 0.0625;
constexpr double kDenseRate = 0.25;  // below it, steps that are not captured are many
constexpr double kUnknownKindRate = 0.5;

// At level 0 every op has its turn; later levels leave 1 of 4, 1 of 16, ... in.
uint32_t stride_of(int level, bool keeps_data) {
  const int first_level = keeps_data ? 0 : static_cast<int>(kSampleLimits.size()) - 1;
  return level <= first_level ? 1 : 1U << (2 * std::min(level - first_level, 8));
}

}  // namespace

double Governor::target() const { return budget_.load(std::memory_order_relaxed) * (counts_steps() ? kShareForSteps : kShareForWindows); }

void Governor::aim(double budget, bool keeps_data) {
  const std::lock_guard lock(mutex_);
  if (!active()) return;
  budget_.store(budget, std::memory_order_relaxed);
  if (keeps_data_.exchange(keeps_data, std::memory_order_relaxed) == keeps_data) return;
  level_.store(0, std::memory_order_relaxed);
  costs_.forget_costs();
  knows_cost_ = false;
}

Governor::Step Governor::begin_step(int64_t now_ns, uint64_t kind) {
  const std::lock_guard lock(mutex_);
  counts_steps_.store(true, std::memory_order_relaxed);
  ++steps_seen_;
  Step step{.captured = !active(), .kind = kind, .began_ns = now_ns};
  if (active()) {
    step.follows = std::exchange(last_captured_, false);
    step.alone = captured_now_ == 0;
    step.spent_ns = spent_ns_.load(std::memory_order_relaxed);
    const bool first = !knows_cost_ && captured_now_ == 0;
    knows_cost_ = knows_cost_ || first;
    step.captured = first || wants_step_locked(kind);
    if (step.captured) begin_captured_locked(step, first);
    step.turn = turns_;
  }
  steps_captured_ += step.captured ? 1 : 0;
  return step;
}

void Governor::begin_captured_locked(const Step& step, bool first) {
  ++turns_;
  ++captured_now_;
  if (first) pause_ = kPause + 1;
  began_ns_.store(step.began_ns, std::memory_order_relaxed);
  spent_at_begin_.store(step.spent_ns, std::memory_order_relaxed);
  skipped_at_begin_ = skipped_elements_.load(std::memory_order_relaxed);
  allowance_ns_.store(first ? 0 : static_cast<int64_t>(2 * costs_.cost()), std::memory_order_relaxed);
}

bool Governor::wants_step_locked(uint64_t kind) {
  // One at a time: the costs of two could not be separated.
  if (captured_now_ > 0) return false;
  if (pause_ > 0) {
    --pause_;
    return false;
  }
  double rate = rate_locked();
  if (rate > kDenseRate && next_random_locked() < kPauseRate) {
    pause_ = kPause - 1;
    return false;
  }
  if (!costs_.knows_plain(kind)) rate = std::min(rate, kUnknownKindRate);
  return next_random_locked() < rate;
}

// The probability with which the next step is captured.
double Governor::rate_locked() const {
  const double most = costs_.cost_at_most();
  const double own_step = costs_.own_step();
  const double left = target() * (costs_.own_time() + own_step) - costs_.charged() - costs_.uncertainty();
  if (left < most) return 0;
  return most <= 0 ? 1 : target() * own_step / most + (left / most - 1) / kCatchUp;
}

// splitmix64
double Governor::next_random_locked() {
  random_ += 0x9e3779b97f4a7c15;
  uint64_t mixed = random_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53;
}

void Governor::end_step(const Step& step, int64_t now_ns) {
  if (!active()) return;
  const std::lock_guard lock(mutex_);
  const auto wall = static_cast<double>(std::max<int64_t>(now_ns - step.began_ns, 0));
  if (step.captured) {
    end_captured_locked(step, wall);
  } else if (!step.alone || step.turn != turns_) {
    costs_.add_disturbed(wall);
  } else if (step.follows) {
    costs_.add_after(step.kind, wall);
  } else {
    costs_.add_plain(step.kind, wall);
  }
}

void Governor::end_captured_locked(const Step& step, double wall) {
  ++turns_;
  --captured_now_;
  last_captured_ = true;
  const int64_t spent = spent_ns_.load(std::memory_order_relaxed);
  // At level 0 the tensors that an emergency sampled would have been taken whole.
  double left_undone = 0;
  if (level_.load(std::memory_order_relaxed) == 0) {
    const double elements = static_cast<double>(elements_.load(std::memory_order_relaxed));
    const double per_element = elements > 0 ? static_cast<double>(spent) / elements : 0;
    left_undone = std::min(per_element, 1.0) * static_cast<double>(skipped_elements_.load(std::memory_order_relaxed) - skipped_at_begin_);
  }
  costs_.add_captured(step.kind, wall, static_cast<double>(spent - step.spent_ns), left_undone);
  choose_level_locked();
}

void Governor::choose_level_locked() {
  const double allowed = target() * costs_.own_step();
  if (allowed <= 0) return;
  const int level = level_.load(std::memory_order_relaxed);
  const double every = costs_.cost() / allowed;
  if (every > kSparsest && level < kMostLevels) {
    level_.store(level + 1, std::memory_order_relaxed);
    costs_.scale_cost(0.5);
  } else if (every < kDensest / 4 && level > 0) {
    level_.store(level - 1, std::memory_order_relaxed);
    costs_.scale_cost(4);
  }
}

bool Governor::window_open(int64_t now_ns) {
  const bool open = window_is_open_.load(std::memory_order_relaxed);
  const int64_t spent = spent_ns_.load(std::memory_order_relaxed) - spent_at_begin_.load(std::memory_order_relaxed);
  const bool overspent = open && spent > kOpenWindowNs / 4;
  if (now_ns < window_until_ns_.load(std::memory_order_relaxed) && !overspent) return open;
  const std::lock_guard lock(mutex_);
  if (windows_ == 0) first_ns_ = now_ns;
  last_ns_ = now_ns;
  const int64_t all = spent_ns_.load(std::memory_order_relaxed);
  const double base = static_cast<double>(now_ns - first_ns_ - all);
  const bool opens = windows_ == 0 || static_cast<double>(all) <= target() * base;
  ++windows_;
  windows_captured_ += opens ? 1 : 0;
  began_ns_.store(now_ns, std::memory_order_relaxed);
  spent_at_begin_.store(all, std::memory_order_relaxed);
  allowance_ns_.store(windows_ == 1 ? 0 : kOpenWindowNs, std::memory_order_relaxed);
  window_is_open_.store(opens, std::memory_order_relaxed);
  window_until_ns_.store(now_ns + (opens ? kOpenWindowNs : kClosedWindowNs), std::memory_order_relaxed);
  return opens;
}

bool Governor::takes_op(OpId op, int64_t step) const {
  const uint32_t stride = stride_of(level_.load(std::memory_order_relaxed), keeps_data_);
  return stride == 1 || (op + static_cast<uint64_t>(step)) % stride == 0;
}

Governor::Thinning Governor::thinning(int64_t now_ns) const {
  if (!active()) return {};
  const int64_t spent = spent_ns_.load(std::memory_order_relaxed) - spent_at_begin_.load(std::memory_order_relaxed);
  const int64_t allowance = allowance_ns_.load(std::memory_order_relaxed);
  const auto share = static_cast<int64_t>(target() * static_cast<double>(now_ns - began_ns_.load(std::memory_order_relaxed)));
  if (spent > kUnnoticedNs && spent > std::max(allowance, share)) return {.sample_limit = kSmallestSample, .keep_data = false};
  if (keeps_data_) return {};
  const auto level = static_cast<size_t>(level_.load(std::memory_order_relaxed));
  return {.sample_limit = kSampleLimits[std::min(level, kSampleLimits.size() - 1)]};
}

void Governor::spend(int64_t nanoseconds, uint64_t elements, uint64_t skipped_elements) {
  spent_ns_.fetch_add(nanoseconds, std::memory_order_relaxed);
  elements_.fetch_add(elements, std::memory_order_relaxed);
  if (skipped_elements > 0) skipped_elements_.fetch_add(skipped_elements, std::memory_order_relaxed);
}

Json Governor::report(uint64_t ops_left_out) const {
  if (!active()) return nullptr;
  const std::lock_guard lock(mutex_);
  Json report = {{"budget", budget_.load(std::memory_order_relaxed)}};
  if (counts_steps()) {
    report["measured_overhead"] = costs_.overhead();
    report["by"] = "steps";
    report["measured_by"] = costs_.basis();
  } else {
    const auto spent = static_cast<double>(spent_ns_.load(std::memory_order_relaxed));
    const auto wall = static_cast<double>(last_ns_ - first_ns_);
    report["measured_overhead"] = wall > spent ? Json(spent / (wall - spent)) : Json(nullptr);
    report["by"] = "time";
  }
  const uint64_t seen = counts_steps_ ? steps_seen_ : windows_;
  const uint64_t captured = counts_steps_ ? steps_captured_ : windows_captured_;
  report["seen"] = seen;
  report["captured"] = captured;
  report["every"] = captured > 0 ? Json(std::round(static_cast<double>(seen) / static_cast<double>(captured))) : Json(nullptr);
  report["tensors_sampled"] = sampled_.load(std::memory_order_relaxed);
  report["data_left_out"] = data_left_out_.load(std::memory_order_relaxed);
  report["executions_left_out"] = left_out_.load(std::memory_order_relaxed);
  report["ops_left_out"] = ops_left_out;
  return report;
}

}  // namespace tensortap
