#include "compare/culprit_text.h"

#include <array>
#include <cstdio>
#include <optional>

#include "base/text.h"
#include "compare/comparison_json.h"

namespace tensortap {
namespace {

std::string three_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

std::string inputs_text(const DumpComparison& comparison, const Judgement& judgement) {
  if (judgement.weight != kNoRow) {
    return concat("it reads a weight or an input that differs: ", record_name_of(comparison.b(), judgement.weight));
  }
  return judgement.in == 0 ? std::string("its inputs are equal") : concat("its inputs agree to ", three_digits(judgement.in));
}

std::string_view explanation(Finding finding) {
  switch (finding) {
    case Finding::kGrown:
      return ", the error grew over ops none of which adds much";
    case Finding::kSystematic:
      return ", by a factor or a shift that rounding does not have";
    case Finding::kType:
      return ", one side computes it in a coarser type";
    default:
      return "";
  }
}

}  // namespace

std::string culprit_text(const DumpComparison& comparison) {
  const std::optional<ComparedValue>& culprit = comparison.summary().culprit;
  if (!culprit) return "";
  const Judgement& judgement = culprit->judgement;
  const std::string& type = op_of(comparison.b(), comparison.b().rows()[culprit->row_b]).type;
  const std::string what =
      judgement.finding == Finding::kOtherSize ? culprit->reason : concat("relative L2 ", three_digits(culprit->error));
  return concat(record_name_of(comparison.b(), culprit->row_b), " (", type, "): ", what, ", ", inputs_text(comparison, judgement),
                explanation(judgement.finding));
}

}  // namespace tensortap
