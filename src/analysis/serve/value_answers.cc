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
  TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump", "bins", "by"}));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string by, request.choice("by", {"value", "magnitude"}));
  TENSORTAP_ASSIGN_OR_RETURN(const int64_t bins, request.number("bins", kUsualBins, 1, kMostBins));
  const auto elements = elements_of(dump, row);
  if (elements.ok()) {
    return json_answer(by == "magnitude" ? magnitude_histogram_json(**elements)
                                         : linear_histogram_json(**elements, static_cast<size_t>(bins)));
  }
  const std::vector<uint64_t> numbers = dump.index().histogram(row);
  if (numbers.size() <= ExponentHistogram::kBins + 1) {
    return not_found("the dump has neither the values of this record nor their exponents");
  }
  return json_answer(exponents_json(numbers, dump.rows()[row]));
}

// The elements of a tensor of strings, a part of them.
Result<Answer> texts_answer(const ServedDump& dump, size_t row, const WebRequest& request) {
  TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump", "from", "limit"}));
  TENSORTAP_ASSIGN_OR_RETURN(const WebRequest::Page page, request.page());
  TENSORTAP_ASSIGN_OR_RETURN(const RecordData data, dump.data(row));
  const TensorDesc& desc = data.view.desc;
  if (desc.dtype != DType::kString) return not_found(concat(dtype_name(desc.dtype), ": its values are no texts"));
  const std::vector<int64_t> shape(desc.shape.dims().begin(), desc.shape.dims().end());
  const uint64_t count = data.view.data == nullptr ? 0 : desc.shape.numel().value_or(0);
  Json list = list_json(page.from, page.limit, count);
  const auto* const elements = static_cast<const StringElement*>(data.view.data);
  for (uint64_t i = page.from; i < count && i - page.from < page.limit; ++i) {
    list["items"].push_back({{"index", coordinates(shape, i)}, {"text", std::string(elements[i].data, elements[i].size)}});
  }
  return json_answer(list);
}

}  // namespace

Result<Answer> values_answer(const ServedDump& dump, size_t row, std::string_view part, const WebRequest& request) {
  if (part == "texts") return texts_answer(dump, row, request);
  if (part == "histogram") return histogram_answer(dump, row, request);
  if (part == "slice") {
    TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump", "at", "rows", "cols", "reduce"}));
    TENSORTAP_ASSIGN_OR_RETURN(const auto elements, elements_of(dump, row));
    return slice_answer(*elements, request);
  }
  if (part == "exact") {
    TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump", "at", "rows", "cols"}));
    TENSORTAP_ASSIGN_OR_RETURN(const auto elements, elements_of(dump, row));
    return exact_answer(*elements, request);
  }
  if (part == "find") {
    TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump", "what", "after"}));
    TENSORTAP_ASSIGN_OR_RETURN(const auto elements, elements_of(dump, row));
    return find_answer(*elements, request);
  }
  if (part == "places") {
    TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump"}));
    TENSORTAP_ASSIGN_OR_RETURN(const auto elements, elements_of(dump, row));
    return places_answer(*elements);
  }
  return not_found(concat(quote(request.path()), ": no such address"));
}

}  // namespace tensortap
