// ServedComparison: what `compare` says of two open dumps, made once, in the background or before.

#ifndef TENSORTAP_SERVE_SERVED_COMPARISON_H_
#define TENSORTAP_SERVE_SERVED_COMPARISON_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "compare/chosen_values.h"
#include "compare/dump_comparison.h"
#include "serve/served_dump.h"

namespace tensortap {

// The pairs of a comparison that is done. A pair is known by its position in values(). Thread-safe once it has run.
class ComparedPairs {
 public:
  explicit ComparedPairs(std::unique_ptr<DumpComparison> comparison) : comparison_(std::move(comparison)) {}

  // Runs the comparison, before anything else is asked. `visit` sees each value with all that is known of it; it may be empty.
  void run(const std::function<void(const ComparedValue&)>& visit = {});

  [[nodiscard]] const DumpComparison& comparison() const { return *comparison_; }
  // As they ran in B. Of many pairs the first kMostMeasured have all measures of their difference, the others verdict and error.
  [[nodiscard]] const std::vector<ComparedValue>& values() const { return values_; }
  // Numbers of pairs, as `compare --only --sort` shows them.
  [[nodiscard]] const std::vector<uint32_t>& list(PairsOnly only, PairsSort sort) const;
  // The pair that has this row of A, or of B.
  [[nodiscard]] std::optional<uint32_t> pair_of(uint32_t row, bool is_b) const;
  // As compare --json has it, with "pair", "record_a", "record_b", "op_a" and "op_b".
  [[nodiscard]] Json pair_json(uint32_t pair) const;
  // Values of one of the two dumps without a partner in the other.
  [[nodiscard]] const std::vector<Unpaired>& unpaired(bool of_b) const;

 private:
  static constexpr size_t kMostMeasured = 100'000;

  std::unique_ptr<DumpComparison> comparison_;
  std::vector<ComparedValue> values_;
  std::vector<uint32_t> pairs_of_a_;  // by row; kNoRow = none
  std::vector<uint32_t> pairs_of_b_;
  std::array<MadeOnce<std::vector<uint32_t>>, 9> lists_;
};

// Thread-safe.
class ServedComparison {
 public:
  using Dump = std::shared_ptr<const ServedDump>;

  // Begins. What `options` borrows must outlive this; its `progress` and `stop` are not used.
  ServedComparison(Dump a, Dump b, ComparisonOptions options);
  // Of pairs of these two dumps that have run.
  ServedComparison(Dump a, Dump b, std::unique_ptr<ComparedPairs> pairs);
  // Stops what is not done.
  ~ServedComparison();
  ServedComparison(const ServedComparison&) = delete;
  ServedComparison& operator=(const ServedComparison&) = delete;

  // The dump that is judged, and the reference.
  [[nodiscard]] const ServedDump& a() const { return *a_; }
  [[nodiscard]] const ServedDump& b() const { return *b_; }
  // COMPARESTATE of docs/web_api.md.
  [[nodiscard]] Json state_json() const;
  // Errors: kNotFound while it is not done, or when it failed, with the reason.
  [[nodiscard]] Result<const ComparedPairs*> pairs() const;

 private:
  void work(ComparisonOptions options);
  void tell(std::string_view stage, size_t done, size_t all);

  Dump a_;
  Dump b_;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;  // of what is below
  std::string stage_;
  size_t done_ = 0;
  size_t all_ = 0;
  std::optional<Status> outcome_;  // when it has ended
  std::unique_ptr<ComparedPairs> pairs_;
  std::thread thread_;  // none where it was done before
};

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_SERVED_COMPARISON_H_
