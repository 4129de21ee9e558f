#include "system/msit/config/rounds.h"

#include <vector>

#include "base/text.h"

namespace tensortap::msit {
namespace {

std::string odd_note(const std::vector<std::string_view>& pieces) {
  const std::string_view last = pieces.back().substr(0, kShown);
  return concat("rounds come in pairs, first and last; ", quote(last), " has no partner and is dropped",
                pieces.size() == 1 ? ", so that no round is kept" : "", "; write \"", last, ",", last, "\" for this round alone");
}

}  // namespace

Rounds parse_rounds(std::string_view text) {
  Rounds rounds;
  if (text == "all") rounds.steps = StepSet::all();
  if (text == "all" || text == "none" || text.empty()) return rounds;
  std::vector<std::string_view> pieces = split(text, ',');
  if (pieces.back().empty()) pieces.pop_back();
  std::vector<int64_t> numbers(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].empty() && !parse_step(pieces[i], numbers[i])) return {StepSet::never(), false, ""};
  }
  StepSet steps;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
    if (numbers[i] > numbers[i + 1] && rounds.note.empty())
      rounds.note = concat(quote(concat(pieces[i], ",", pieces[i + 1]).substr(0, kShown)), " is the wrong way round and selects no round");
    steps.add(numbers[i], numbers[i + 1]);
  }
  if (pieces.size() % 2 != 0) rounds.note = odd_note(pieces);
  if (!steps.empty()) rounds.steps = std::move(steps);
  return rounds;
}

}  // namespace tensortap::msit
