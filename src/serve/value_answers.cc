#include "serve/value_answers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "serve/elements.h"
#include "serve/slice.h"
#include "stats/histogram.h"

namespace tensortap {
namespace {

constexpr int64_t kUsualBins = 64;
constexpr int64_t kMostBins = 512;

Result<std::unique_ptr<Elements>> elements_of(const ServedDump& dump, size_t row) {
  TENSORTAP_ASSIGN_OR_RETURN(RecordData data, dump.data(row));
  return tensor_elements(std::move(data));
}

// The bins of an exponent histogram from the first to the last that has a value.
Json exponents_json(const std::vector<uint64_t>& numbers, const RecordRow& record) {
  const std::vector<uint64_t> bins(numbers.begin(), numbers.begin() + ExponentHistogram::kBins);
  const auto any = [](uint64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(bins, any);
  const auto last = std::find_if(bins.rbegin(), bins.rend(), any).base();
  Json edges = Json::array();
  for (auto bin = first; first < last && bin <= last; ++bin) {
    edges.push_back(json_number(std::ldexp(1.0, static_cast<int>(bin - bins.begin()) + ExponentHistogram::kLowestExponent)));
  }
  return {{"kind", "exponent"},
          {"edges", std::move(edges)},
          {"counts", first < last ? std::vector<uint64_t>(first, last) : std::vector<uint64_t>()},
          {"zero", numbers[ExponentHistogram::kBins]},
          {"nan", numbers[ExponentHistogram::kBins + 1]},
          {"pos_inf", record.stats.pos_inf},
          {"neg_inf", record.stats.neg_inf}};
}

Result<Answer> histogram_answer(const ServedDump& dump, size_t row, const WebRequest& request) {
  TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump", "bins"}));
  TENSORTAP_ASSIGN_OR_RETURN(const int64_t bins, request.number("bins", kUsualBins, 1, kMostBins));
  const auto elements = elements_of(dump, row);
  if (elements.ok()) return json_answer(linear_histogram_json(**elements, static_cast<size_t>(bins)));
  const std::vector<uint64_t> numbers = dump.index().histogram(row);
  if (numbers.size() <= ExponentHistogram::kBins + 1) {
    return not_found("the dump has neither the values of this record nor their exponents");
  }
  return json_answer(exponents_json(numbers, dump.rows()[row]));
}

}  // namespace

Result<Answer> values_answer(const ServedDump& dump, size_t row, std::string_view part, const WebRequest& request) {
  if (part == "histogram") return histogram_answer(dump, row, request);
  if (part == "slice") {
    TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump", "at", "rows", "cols", "reduce"}));
    TENSORTAP_ASSIGN_OR_RETURN(const auto elements, elements_of(dump, row));
    return slice_answer(*elements, request);
  }
  if (part == "find") {
    TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump", "what", "after"}));
    TENSORTAP_ASSIGN_OR_RETURN(const auto elements, elements_of(dump, row));
    return find_answer(*elements, request);
  }
  return not_found(concat(quote(request.path()), ": no such address"));
}

}  // namespace tensortap
