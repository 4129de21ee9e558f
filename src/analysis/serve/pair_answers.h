// /api/compare, /api/pairs, /api/pair/N with its /slice, /exact, /find and /places, /api/unpaired; and what the comparison
// adds to other answers.

#ifndef TENSORTAP_SERVE_PAIR_ANSWERS_H_
#define TENSORTAP_SERVE_PAIR_ANSWERS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "serve/answer.h"
#include "serve/asked_dump.h"
#include "serve/served_comparison.h"

namespace tensortap {

Result<Answer> compare_answer(const AskedDump& asked);
Result<Answer> pairs_answer(const AskedDump& asked);
Result<Answer> unpaired_answer(const AskedDump& asked);
// `number` is that of a pair.
Result<Answer> pair_answer(const AskedDump& asked, const std::string& number);
Result<Answer> pair_slice_answer(const AskedDump& asked, const std::string& number);
Result<Answer> pair_exact_answer(const AskedDump& asked, const std::string& number);
Result<Answer> pair_find_answer(const AskedDump& asked, const std::string& number);
Result<Answer> pair_places_answer(const AskedDump& asked, const std::string& number);

// Of each op of the dump that was asked for the largest error of its outputs; with `own` only of those where it was born. NaN = none, Inf =
// NaN or Inf on one side alone.
Result<std::vector<double>> error_heat(const AskedDump& asked, bool own, std::optional<int64_t> step);

// The rows of the dump that was asked for through which the error of a row came, from the op that it was born in; empty when there is none.
std::vector<uint32_t> way_of_error(const AskedDump& asked, uint32_t row);

// What the start page says of it, the most important first; [{"kind", "text", "link"}].
Json comparison_sentences(const ServedComparison& comparison);

}  // namespace tensortap

#endif  // TENSORTAP_SERVE_PAIR_ANSWERS_H_
