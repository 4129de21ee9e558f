// Whether two values that a rule proposes as a pair are one value: by what they hold.

#ifndef TENSORTAP_COMPARE_VALUE_JUDGE_H_
#define TENSORTAP_COMPARE_VALUE_JUDGE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/status.h"
#include "compare/alignment.h"
#include "compare/difference.h"
#include "compare/tensor_order.h"
#include "compare/value_table.h"

namespace tensortap {

// The facts about one pair of records: how their data differ, or why they cannot be compared.
struct RowDifference {
  std::optional<Difference> data;  // both records have their data
  Status failure;                  // data could not be read or compared
  bool unreadable = false;         // the former: a dump is damaged
};

// Reads both records and compares them. Data are held during the call only.
RowDifference compare_rows(const DumpIndex& a, uint32_t row_a, const DumpIndex& b, uint32_t row_b, const TensorOrder& order,
                           const DifferenceOptions& options);

// Of records of one value that have other numbers of elements: the last place of the larger beside the smaller, where they are close. A
// program that decodes with a cache computes one token where another one computes the whole sequence again. Nothing otherwise.
std::optional<Difference> compare_last_place(const DumpIndex& a, uint32_t row_a, const DumpIndex& b, uint32_t row_b,
                                             const ToleranceRule& tolerance);

// Of records of a value that one program has for all cells of its cache (Arrangement::Kind::kFirstCells): beginning with the cell where
// they are near each other. Nothing where they are at none.
std::optional<Difference> compare_cells_in_use(const DumpIndex& a, uint32_t row_a, const DumpIndex& b, uint32_t row_b,
                                               const ToleranceRule& tolerance);

// What a pair needs to be accepted.
enum class Evidence : uint8_t {
  kValues,   // values that are close
  kPlace,    // the same, of which more is known: they are at one place in both programs
  kName,     // the same kind of type; shapes may differ where one is the other with its dimensions moved
  kProgram,  // the same kind of type: the programs are the same, or a person said so
};

struct Acceptance {
  TensorOrder order;
  // The difference of the first pair of executions, where their data were compared.
  std::optional<Difference> first;
};

// The tolerance by which the elements of a value of A are counted.
using ToleranceOf = std::function<ToleranceRule(ValueId a)>;

// Borrows its arguments. Reads data of the first pair of executions.
class ValueJudge {
 public:
  ValueJudge(const ValueTable& a, const ValueTable& b, const Alignment& alignment, ToleranceOf tolerance)
      : a_(a), b_(b), alignment_(alignment), tolerance_(std::move(tolerance)) {}

  // The first pair of executions of the two; nothing when there is none.
  [[nodiscard]] std::optional<Alignment::RowPair> first_rows(ValueId a, ValueId b) const {
    return alignment_.first_rows(a_.at(a), b_.at(b));
  }
  [[nodiscard]] int64_t step_in_b(int64_t step_of_a) const { return alignment_.step_in_b(step_of_a); }
  // Whether all paired executions returned as many elements on both sides.
  [[nodiscard]] bool are_of_one_size(ValueId a, ValueId b) const;
  // The same, or one has the last place of the other (compare_last_place()).
  [[nodiscard]] bool fit_in_size(ValueId a, ValueId b) const;
  // Looks at those rows. Nothing when the two are not, or need not be, the same value.
  [[nodiscard]] std::optional<Acceptance> judge(ValueId a, const Alignment::RowPair& first, Evidence evidence) const;

 private:
  [[nodiscard]] std::optional<Acceptance> judge_rows(ValueId a, const Alignment::RowPair& first, Evidence evidence) const;
  static std::optional<Acceptance> judge_statistics(const RecordRow& a, const RecordRow& b, Evidence evidence);
  static std::optional<Acceptance> judge_data(const OrderedTensor& a, const OrderedTensor& b, const ToleranceRule& tolerance,
                                              Evidence evidence);

  const ValueTable& a_;
  const ValueTable& b_;
  const Alignment& alignment_;
  ToleranceOf tolerance_;
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_VALUE_JUDGE_H_
