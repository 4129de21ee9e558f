// Answers about NaN that a graph hands out: ops treat it as a number and give the index of the largest one, a comparison, a code. Private
// to this folder.

#ifndef TENSORTAP_FIND_NAN_ANSWERS_H_
#define TENSORTAP_FIND_NAN_ANSWERS_H_

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "query/op_facts.h"
#include "query/record_lookup.h"
#include "trace/dump_index.h"

namespace tensortap {

// For a dump that knows its whole graph. Borrows everything.
class NanAnswers {
 public:
  NanAnswers(const DumpIndex& dump, const RecordLookup& lookup, const OpFactsTable& facts, const std::vector<bool>& nonfinite)
      : dump_(dump), lookup_(lookup), facts_(facts), nonfinite_(nonfinite) {}

  // Rows of NaN of which the graph hands out such an answer: whole numbers and truth values that came of NaN, the largest of numbers with
  // NaN, and what is made of these and of weights alone. Tests for NaN do not count: who asks knows. Linear in the records.
  std::vector<size_t> handed_out(const std::vector<size_t>& order);

 private:
  [[nodiscard]] bool may_answer(const OpInfo& op, const std::vector<bool>& wanted) const;
  [[nodiscard]] std::optional<size_t> answer_of(size_t row) const;

  const DumpIndex& dump_;
  const RecordLookup& lookup_;
  const OpFactsTable& facts_;
  const std::vector<bool>& nonfinite_;
  std::unordered_map<size_t, size_t> answers_;  // row of NaN by row of an answer about it
};

}  // namespace tensortap

#endif  // TENSORTAP_FIND_NAN_ANSWERS_H_
