#include "capture/governor.h"

#include <algorithm>
#include <array>
#include <cmath>

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
constexpr double kSmoothing = 0.25;
constexpr uint64_t kStepsToCompare = 4;
constexpr double kMostUnseen = 8;  // times what is seen; more is not the capture's doing

void smooth(double& average, double value) { average = average == 0 ? value : average + kSmoothing * (value - average); }

// At level 0 every op has its turn; later levels leave 1 of 4, 1 of 16, ... in.
uint32_t stride_of(int level, bool keeps_data) {
  const int first_level = keeps_data ? 0 : static_cast<int>(kSampleLimits.size()) - 1;
  return level <= first_level ? 1 : 1U << (2 * std::min(level - first_level, 8));
}

}  // namespace

void RecentMedian::add(int64_t value) { values_[count_++ % kKept] = value; }

int64_t RecentMedian::value() const {
  std::array<int64_t, kKept> sorted = values_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count_, kKept));
  if (end == sorted.begin()) return 0;
  const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

bool Governor::begin_step(int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  counts_steps_.store(true, std::memory_order_relaxed);
  ++steps_seen_;
  if (!active()) {
    ++steps_captured_;
    return true;
  }
  const bool first = steps_captured_ == 0;
  const bool captured = first || active_steps_ > 0 || affordable_locked();
  if (!captured) return false;
  ++steps_captured_;
  if (active_steps_++ == 0) {
    began_ns_.store(now_ns, std::memory_order_relaxed);
    spent_at_begin_.store(spent_ns_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    skipped_at_begin_ = skipped_elements_.load(std::memory_order_relaxed);
    allowance_ns_.store(first ? 0 : static_cast<int64_t>(2 * predicted_ns_), std::memory_order_relaxed);
  }
  return true;
}

double Governor::mean_base_locked() const {
  if (steps_ended_ == 0) return 0;
  const double base = static_cast<double>(wall_ns_ - spent_ns_.load(std::memory_order_relaxed));
  return std::max(base, static_cast<double>(wall_ns_) / 100) / static_cast<double>(steps_ended_);
}

bool Governor::affordable_locked() const {
  const double base = mean_base_locked() * static_cast<double>(steps_ended_ + 1);
  return static_cast<double>(spent_ns_.load(std::memory_order_relaxed)) + predicted_ns_ <= target_ * base;
}

void Governor::end_step(bool captured, int64_t began_ns, int64_t now_ns) {
  if (!active()) return;
  const std::lock_guard lock(mutex_);
  const int64_t wall = std::max<int64_t>(now_ns - began_ns, 0);
  ++steps_ended_;
  wall_ns_ += wall;
  if (!captured) {
    ++skipped_steps_;
    wall_skipped_.add(wall);
    return;
  }
  if (active_steps_ == 0 || --active_steps_ > 0) return;
  learn_locked(spent_ns_.load(std::memory_order_relaxed) - spent_at_begin_.load(std::memory_order_relaxed), wall);
  choose_level_locked();
}

void Governor::learn_locked(int64_t cost, int64_t wall) {
  const double elements = static_cast<double>(elements_.load(std::memory_order_relaxed));
  const double per_element = elements > 0 ? static_cast<double>(spent_ns_.load(std::memory_order_relaxed)) / elements : 0;
  double full_cost = static_cast<double>(cost);
  // At level 0 the tensors that an emergency sampled would have been taken whole.
  if (level_.load(std::memory_order_relaxed) == 0) {
    full_cost += std::min(per_element, 1.0) * static_cast<double>(skipped_elements_.load(std::memory_order_relaxed) - skipped_at_begin_);
  }
  // A program's first step is slow for reasons of its own.
  if (steps_captured_ > 1) wall_captured_.add(wall);
  if (skipped_steps_ >= kStepsToCompare && steps_captured_ > kStepsToCompare) {
    const auto slower = static_cast<double>(wall_captured_.value() - wall_skipped_.value());
    const double unseen = std::min(slower, (kMostUnseen + 1) * static_cast<double>(cost)) - static_cast<double>(cost);
    if (unseen > 0) {
      spent_ns_.fetch_add(static_cast<int64_t>(unseen), std::memory_order_relaxed);
      full_cost = std::max(full_cost, static_cast<double>(cost) + unseen);
    }
  }
  smooth(predicted_ns_, full_cost);
}

void Governor::choose_level_locked() {
  const double allowed = target_ * mean_base_locked();
  if (allowed <= 0) return;
  const int level = level_.load(std::memory_order_relaxed);
  const double every = predicted_ns_ / allowed;
  if (every > kSparsest && level < kMostLevels) {
    level_.store(level + 1, std::memory_order_relaxed);
    predicted_ns_ /= 2;
  } else if (every < kDensest / 4 && level > 0) {
    level_.store(level - 1, std::memory_order_relaxed);
    predicted_ns_ *= 4;
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
  const bool opens = windows_ == 0 || static_cast<double>(all) <= target_ * base;
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
  const auto share = static_cast<int64_t>(target_ * static_cast<double>(now_ns - began_ns_.load(std::memory_order_relaxed)));
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
  const auto spent = static_cast<double>(spent_ns_.load(std::memory_order_relaxed));
  const double wall = static_cast<double>(counts_steps_ ? wall_ns_ : last_ns_ - first_ns_);
  Json report = {{"budget", budget_}};
  report["measured_overhead"] = wall > spent ? Json(spent / (wall - spent)) : Json(nullptr);
  report["by"] = counts_steps_ ? "steps" : "time";
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
