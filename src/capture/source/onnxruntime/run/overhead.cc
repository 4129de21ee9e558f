#include "source/onnxruntime/run/overhead.h"

#include <algorithm>

#include "base/clock.h"

namespace tensortap::onnxruntime {
namespace {

constexpr int kMinRuns = 3;
constexpr uint64_t kMinQuartets = 5;
constexpr int64_t kLongBurst = 5;

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

// Time of one run in nanoseconds: the median of a short burst.
Result<double> burst(const std::function<Status()>& run, int64_t burst_ns) {
  std::vector<double> times;
  const int64_t end = monotonic_ns() + burst_ns;
  while (times.size() < kMinRuns || monotonic_ns() < end) {
    const int64_t begin = monotonic_ns();
    TENSORTAP_RETURN_IF_ERROR(run());
    times.push_back(static_cast<double>(monotonic_ns() - begin));
  }
  return quantile(std::move(times), 0.5);
}

// Runs and the time that they took together.
struct Total {
  uint64_t runs = 0;
  double ns = 0;
  [[nodiscard]] double mean() const { return ns / static_cast<double>(runs); }
  void operator+=(const Total& other) {
    runs += other.runs;
    ns += other.ns;
  }
};

Result<Total> burst_of(const std::function<Status()>& run, int64_t burst_ns) {
  Total total;
  const int64_t begin = monotonic_ns();
  while (total.runs < kMinRuns || monotonic_ns() - begin < burst_ns) {
    TENSORTAP_RETURN_IF_ERROR(run());
    ++total.runs;
  }
  total.ns = static_cast<double>(monotonic_ns() - begin);
  return total;
}

// A median would hide the few runs that are captured.
Result<Overhead> compare_means(const std::function<Status()>& plain, const std::function<Status()>& captured,
                               const OverheadOptions& options) {
  std::vector<double> ratios;
  Total plain_total;
  Total captured_total;
  TENSORTAP_RETURN_IF_ERROR(plain());
  const int64_t end = monotonic_ns() + options.longest_ns;
  while (ratios.size() < kMinQuartets || (captured_total.runs < options.captured_runs && monotonic_ns() < end)) {
    Total plain_runs;
    Total captured_runs;
    for (const bool captures : {false, true, true, false}) {
      TENSORTAP_ASSIGN_OR_RETURN(const Total total, burst_of(captures ? captured : plain, kLongBurst * options.burst_ns));
      (captures ? captured_runs : plain_runs) += total;
    }
    ratios.push_back(captured_runs.mean() / plain_runs.mean());
    plain_total += plain_runs;
    captured_total += captured_runs;
    if (options.may_go_on && !options.may_go_on()) break;
  }
  Overhead result;
  result.of_means = true;
  result.ratio = captured_total.mean() / plain_total.mean();
  result.low = quantile(ratios, 0.25);
  result.high = quantile(ratios, 0.75);
  result.plain_ms = plain_total.mean() / 1e6;
  result.quartets = ratios.size();
  result.captured_runs = captured_total.runs;
  return result;
}

}  // namespace

Result<Overhead> measure_overhead(const std::function<Status()>& plain, const std::function<Status()>& captured,
                                  const OverheadOptions& options) {
  if (options.captured_runs > 0) return compare_means(plain, captured, options);
  std::vector<double> ratios;
  std::vector<double> plain_times;
  TENSORTAP_RETURN_IF_ERROR(plain());  // warm both up
  TENSORTAP_RETURN_IF_ERROR(captured());
  const int64_t end = monotonic_ns() + options.time_ns;
  while (ratios.size() < options.max_quartets && (ratios.size() < kMinQuartets || monotonic_ns() < end)) {
    TENSORTAP_ASSIGN_OR_RETURN(const double plain_first, burst(plain, options.burst_ns));
    TENSORTAP_ASSIGN_OR_RETURN(const double captured_first, burst(captured, options.burst_ns));
    TENSORTAP_ASSIGN_OR_RETURN(const double captured_second, burst(captured, options.burst_ns));
    TENSORTAP_ASSIGN_OR_RETURN(const double plain_second, burst(plain, options.burst_ns));
    ratios.push_back((captured_first + captured_second) / (plain_first + plain_second));
    plain_times.push_back((plain_first + plain_second) / 2);
    if (options.may_go_on && !options.may_go_on()) break;
  }
  Overhead result;
  result.ratio = quantile(ratios, 0.5);
  result.low = quantile(ratios, 0.25);
  result.high = quantile(ratios, 0.75);
  result.plain_ms = quantile(plain_times, 0.5) / 1e6;
  result.quartets = ratios.size();
  return result;
}

}  // namespace tensortap::onnxruntime
