// Pairs the executions of two dumps: by step, call, phase and rank.

#ifndef TENSORTAP_COMPARE_ALIGNMENT_H_
#define TENSORTAP_COMPARE_ALIGNMENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compare/step_pairs.h"
#include "compare/value_table.h"

namespace tensortap {

// Immutable; borrows both tables. The number of a rank counts only in dumps that have several, a phase only where both dumps tell phases.
// Where each call is a value (Value::call), the numbers of a pair may differ.
class Alignment {
 public:
  Alignment(const ValueTable& a, const ValueTable& b, const ChosenSteps& steps);

  // Rows of one value of each dump that are beside each other, in the order of execution in A.
  using RowPair = std::pair<uint32_t, uint32_t>;
  [[nodiscard]] std::vector<RowPair> rows(const Value& a, const Value& b) const;
  // The first of them, without a look at the others where that is the first of both.
  [[nodiscard]] std::optional<RowPair> first_rows(const Value& a, const Value& b) const;
  // Whether any record of a value is of a step that is compared; weights are of all.
  [[nodiscard]] bool takes_part_of_a(const Value& value) const { return takes_part(a_, value, compared_a_); }
  [[nodiscard]] bool takes_part_of_b(const Value& value) const { return takes_part(b_, value, compared_b_); }
  [[nodiscard]] size_t steps() const { return compared_a_.size(); }
  // The step of B beside one of A; the same number where there is none.
  [[nodiscard]] int64_t step_in_b(int64_t step) const;

 private:
  struct Key {
    bool load;
    int64_t step;
    int32_t rank;
    uint8_t phase;
    uint32_t call;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static bool takes_part(const ValueTable& table, const Value& value, const std::set<int64_t>& steps);
  [[nodiscard]] bool has_step(const RecordRow& row) const;
  [[nodiscard]] uint8_t phase_of(const RecordRow& row) const { return phases_ ? row.phase : uint8_t{0}; }
  static bool counts_calls(const Value& a, const Value& b);
  [[nodiscard]] std::optional<RowPair> weight_and_constant(const Value& a, const Value& b) const;
  [[nodiscard]] Key key_of_a(const RecordRow& row, bool with_call) const;
  [[nodiscard]] Key key_of_b(const RecordRow& row, bool with_call) const;

  const ValueTable& a_;
  const ValueTable& b_;
  std::map<int64_t, int64_t> steps_;  // of A, to those of B
  std::set<int64_t> compared_a_;
  std::set<int64_t> compared_b_;
  bool ranks_a_ = false;
  bool ranks_b_ = false;
  bool phases_ = false;
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_ALIGNMENT_H_
