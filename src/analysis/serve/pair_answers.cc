#include "serve/pair_answers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "base/four_digits.h"
#include "base/json.h"
#include "base/text.h"
#include "compare/comparison_json.h"
#include "compare/culprit_text.h"
#include "compare/not_known.h"
#include "compare/settings_difference.h"
#include "query/op_facts.h"
#include "serve/elements.h"
#include "serve/pair_elements.h"
#include "serve/slice.h"

namespace tensortap {
namespace {

constexpr size_t kMostBorn = 5;
constexpr size_t kLongestWay = 100'000;

Result<const ComparedPairs*> pairs_of(const AskedDump& asked) {
  if (asked.comparison == nullptr) return not_found("only one dump is open: there is nothing to compare it with");
  return asked.comparison->pairs();
}

Result<Answer> page_of(const ComparedPairs& pairs, const std::vector<uint32_t>& list, const WebRequest::Page& page) {
  Json json = list_json(page.from, page.limit, list.size());
  for (size_t i = page.from; i < list.size() && i - page.from < page.limit; ++i) json["items"].push_back(pairs.pair_json(list[i]));
  return json_answer(json);
}

struct NumberedPair {
  const ComparedPairs* pairs = nullptr;
  uint32_t number = 0;
  [[nodiscard]] const ComparedValue& value() const { return pairs->values()[number]; }
};

Result<NumberedPair> pair_numbered(const AskedDump& asked, const std::string& text) {
  TENSORTAP_ASSIGN_OR_RETURN(const ComparedPairs* pairs, pairs_of(asked));
  uint64_t number = 0;
  if (!parse_unsigned(text, number)) return invalid_argument(concat("pair ", quote(text), ": not a number"));
  if (number >= pairs->values().size()) return not_found(concat("pair ", number, ": there are ", pairs->values().size()));
  return NumberedPair{pairs, static_cast<uint32_t>(number)};
}

// What `of` of the request asks for.
Result<std::unique_ptr<Elements>> elements_of(const AskedDump& asked, const NumberedPair& pair) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string of, asked.request.choice("of", {"difference", "a", "b", "ulp"}));
  const DumpComparison& comparison = pair.pairs->comparison();
  const auto read = [](const ServedDump& dump, uint32_t row) -> Result<RecordData> {
    if ((dump.rows()[row].flags & kRecordHasData) != 0) return dump.data(row);
    return not_found("of this record the dump has statistics only");
  };
  if (of == "a" || of == "b") {
    const ComparedValue& value = pair.value();
    TENSORTAP_ASSIGN_OR_RETURN(RecordData data,
                               of == "a" ? read(asked.comparison->a(), value.row_a) : read(asked.comparison->b(), value.row_b));
    return tensor_elements(std::move(data));
  }
  const std::string order = comparison.pairing().pairs[pair.value().pair].accepted.order.text();
  if (!order.empty())
    return not_found(concat("the elements of B are in another order (", order, "): there is no picture of the difference"));
  TENSORTAP_ASSIGN_OR_RETURN(RecordData a, read(asked.comparison->a(), pair.value().row_a));
  TENSORTAP_ASSIGN_OR_RETURN(RecordData b, read(asked.comparison->b(), pair.value().row_b));
  return of == "ulp" ? ulp_elements(std::move(a), std::move(b)) : difference_elements(std::move(a), std::move(b));
}

// The pairs of the records of one op, in one step or all.
Result<Answer> pairs_of_op(const AskedDump& asked) {
  const WebRequest& request = asked.request;
  TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump", "op", "step", "from", "limit"}));
  TENSORTAP_ASSIGN_OR_RETURN(const OpId op, parse_op(asked.dump, request.text("op")));
  constexpr int64_t kLeastStep = std::numeric_limits<int64_t>::min();
  TENSORTAP_ASSIGN_OR_RETURN(const int64_t step, request.number("step", 0, kLeastStep, std::numeric_limits<int64_t>::max()));
  TENSORTAP_ASSIGN_OR_RETURN(const WebRequest::Page page, request.page());
  TENSORTAP_ASSIGN_OR_RETURN(const ComparedPairs* pairs, pairs_of(asked));
  std::vector<uint32_t> list;
  for (const uint32_t row : asked.dump.rows_of(op)) {
    const RecordRow& record = asked.dump.rows()[row];
    if (request.has("step") && record.step != step) continue;
    if (const auto pair = pairs->pair_of(row, asked.is_b)) list.push_back(*pair);
  }
  return page_of(*pairs, list, page);
}

// A sentence on one place of the comparison, with a link that shows it in the graph of A.
Json place_sentence(const ComparedPairs& pairs, const ComparisonSummary::Place& place, std::string_view kind, std::string_view begin) {
  const DumpIndex& a = pairs.comparison().a();
  const RecordRow& row = a.rows()[place.row_a];
  const OpInfo& op = op_of(a, row);
  std::string text = concat(begin, record_name_of(a, place.row_a), " (", op.type, "): error ", four_digits(place.error));
  if (place.growth > 0) text += concat(", ", four_digits(place.growth), " times what it read");
  return {{"kind", kind}, {"text", text + "."}, {"link", concat("#graph?op=", row.op, "&heat=error&flow=", place.row_a, "&way=error")}};
}

// "3 equal, 5 different"
std::string counts_text(const std::array<uint64_t, kVerdicts>& counts) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < kVerdicts; ++i) {
    if (counts[i] > 0) parts.push_back(concat(counts[i], " ", verdict_name(static_cast<Verdict>(i))));
  }
  return tensortap::join(parts, ", ");  // not the join of heat_answers.cc, which unity builds see
}

// What `compare` says of weights and inputs, which no op made: an empty object where there are none.
Json given_sentence(const ComparedPairs& pairs) {
  const ComparisonSummary& summary = pairs.comparison().summary();
  const uint64_t all = std::accumulate(summary.given.begin(), summary.given.end(), uint64_t{0});
  if (all == 0) return Json::object();
  std::string text = concat("Of ", all, all == 1 ? " weight or input: " : " weights and inputs: ", counts_text(summary.given));
  Json link = nullptr;
  if (const ComparisonSummary::Place& first = summary.first_given; first.row_b != kNoRow) {
    text +=
        concat("; the first that differs is ", record_name_of(pairs.comparison().a(), first.row_a), ": error ", four_digits(first.error));
    if (const auto pair = pairs.pair_of(first.row_b, true)) link = concat("#pair?pair=", *pair);
  }
  return {{"kind", link.is_null() ? "compare" : "given"}, {"text", text + "."}, {"link", std::move(link)}};
}

}  // namespace

Result<Answer> compare_answer(const AskedDump& asked) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({}));
  if (asked.comparison == nullptr) return not_found("only one dump is open: there is nothing to compare it with");
  return json_answer(asked.comparison->state_json());
}

Result<Answer> pairs_answer(const AskedDump& asked) {
  const WebRequest& request = asked.request;
  if (request.has("op")) return pairs_of_op(asked);
  TENSORTAP_RETURN_IF_ERROR(request.check_names({"only", "sort", "from", "limit"}));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string only, request.choice("only", {"all", "differing", "first"}));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string sort, request.choice("sort", {"error", "own", "order"}));
  TENSORTAP_ASSIGN_OR_RETURN(const WebRequest::Page page, request.page());
  TENSORTAP_ASSIGN_OR_RETURN(const ComparedPairs* pairs, pairs_of(asked));
  const std::vector<uint32_t>& list = pairs->list(only == "all"     ? PairsOnly::kAll
                                                  : only == "first" ? PairsOnly::kFirst
                                                                    : PairsOnly::kDiffering,
                                                  sort == "error" ? PairsSort::kError
                                                  : sort == "own" ? PairsSort::kOwn
                                                                  : PairsSort::kOrder);
  return page_of(*pairs, list, page);
}

Result<Answer> unpaired_answer(const AskedDump& asked) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"of", "from", "limit"}));
  TENSORTAP_ASSIGN_OR_RETURN(const std::string of, asked.request.choice("of", {"a", "b"}));
  TENSORTAP_ASSIGN_OR_RETURN(const WebRequest::Page page, asked.request.page());
  TENSORTAP_ASSIGN_OR_RETURN(const ComparedPairs* pairs, pairs_of(asked));
  const std::vector<Unpaired>& list = pairs->unpaired(of == "b");
  Json json = list_json(page.from, page.limit, list.size());
  for (size_t i = page.from; i < list.size() && i - page.from < page.limit; ++i) {
    json["items"].push_back(unpaired_json(pairs->comparison(), list[i], of == "a"));
  }
  return json_answer(json);
}

Result<Answer> pair_answer(const AskedDump& asked, const std::string& number) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({}));
  TENSORTAP_ASSIGN_OR_RETURN(const NumberedPair pair, pair_numbered(asked, number));
  return json_answer(pair.pairs->pair_json(pair.number));
}

Result<Answer> pair_slice_answer(const AskedDump& asked, const std::string& number) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"of", "at", "rows", "cols", "reduce"}));
  TENSORTAP_ASSIGN_OR_RETURN(const NumberedPair pair, pair_numbered(asked, number));
  TENSORTAP_ASSIGN_OR_RETURN(const std::unique_ptr<Elements> elements, elements_of(asked, pair));
  return slice_answer(*elements, asked.request);
}

Result<Answer> pair_exact_answer(const AskedDump& asked, const std::string& number) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"of", "at", "rows", "cols"}));
  TENSORTAP_ASSIGN_OR_RETURN(const NumberedPair pair, pair_numbered(asked, number));
  TENSORTAP_ASSIGN_OR_RETURN(const std::unique_ptr<Elements> elements, elements_of(asked, pair));
  return exact_answer(*elements, asked.request);
}

Result<Answer> pair_find_answer(const AskedDump& asked, const std::string& number) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"of", "what", "after"}));
  TENSORTAP_ASSIGN_OR_RETURN(const NumberedPair pair, pair_numbered(asked, number));
  TENSORTAP_ASSIGN_OR_RETURN(const std::unique_ptr<Elements> elements, elements_of(asked, pair));
  return find_answer(*elements, asked.request);
}

Result<Answer> pair_places_answer(const AskedDump& asked, const std::string& number) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"of"}));
  TENSORTAP_ASSIGN_OR_RETURN(const NumberedPair pair, pair_numbered(asked, number));
  TENSORTAP_ASSIGN_OR_RETURN(const std::unique_ptr<Elements> elements, elements_of(asked, pair));
  return places_answer(*elements);
}

Result<std::vector<double>> error_heat(const AskedDump& asked, bool own, std::optional<int64_t> step) {
  TENSORTAP_ASSIGN_OR_RETURN(const ComparedPairs* pairs, pairs_of(asked));
  std::vector<double> heat(asked.dump.index().ops().size(), std::numeric_limits<double>::quiet_NaN());
  for (const ComparedValue& value : pairs->values()) {
    const RecordRow& row = asked.dump.rows()[asked.is_b ? value.row_b : value.row_a];
    if (row.op >= heat.size() || is_input(row) || (step && row.step != *step) || (own && value.birth != Birth::kBorn)) continue;
    const double error = value.verdict == Verdict::kNonFinite ? std::numeric_limits<double>::infinity() : value.error;
    if (!std::isnan(error) && !(heat[row.op] >= error)) heat[row.op] = error;
  }
  return heat;
}

std::vector<uint32_t> way_of_error(const AskedDump& asked, uint32_t row) {
  std::vector<uint32_t> way;
  const auto pairs = pairs_of(asked);
  if (!pairs.ok()) return way;
  std::optional<uint32_t> pair = (*pairs)->pair_of(row, asked.is_b);
  // Each source ran before what read it, so the way ends; a damaged dump could say otherwise.
  while (pair && way.size() < kLongestWay) {
    const ComparedValue& value = (*pairs)->values()[*pair];
    if (value.birth == Birth::kNone) break;
    way.push_back(asked.is_b ? value.row_b : value.row_a);
    pair = value.source == kNoRow || value.source == value.row_b ? std::nullopt : (*pairs)->pair_of(value.source, true);
  }
  std::ranges::reverse(way);
  return way;
}

Json comparison_sentences(const ServedComparison& comparison) {
  Json list = Json::array();
  const auto add = [&list](std::string text, const Json& link) {
    list.push_back({{"kind", "compare"}, {"text", std::move(text)}, {"link", link}});
  };
  const auto done = comparison.pairs();
  if (!done.ok()) {
    add(concat("There is no comparison: ", done.status().message(), "."), "#pairs");
    return list;
  }
  const ComparedPairs& pairs = **done;
  const ComparisonSummary& summary = pairs.comparison().summary();
  const std::string inputs = other_inputs_text(pairs.comparison());
  const std::string settings = settings_text(settings_difference(pairs.comparison().a(), pairs.comparison().b()));
  if (!settings.empty()) add(concat("The ", settings, "."), "#pairs");
  if (summary.culprit) {
    const ComparedValue& culprit = *summary.culprit;
    Json sentence = place_sentence(pairs, {culprit.row_a, culprit.row_b, culprit.error, std::nullopt, 0}, "parted", "");
    std::vector<std::string> known = culprit_details(pairs.comparison());
    known.insert(known.begin(), culprit_text(pairs.comparison()));
    if (!inputs.empty()) known.push_back(inputs);
    sentence["text"] = concat("The programs part in ", join(known, "; "), ".");
    list.push_back(std::move(sentence));
  } else if (!inputs.empty()) {
    add(concat("The ", inputs, "."), "#pairs");
  } else if (summary.first_outside.row_b != kNoRow) {
    list.push_back(place_sentence(pairs, summary.first_outside, "parted", "The first difference outside of the tolerance is of "));
  }
  for (size_t i = 0; i < std::min(summary.born.size(), kMostBorn); ++i) {
    list.push_back(place_sentence(pairs, summary.born[i], "born", ""));
  }
  if (summary.born.size() > kMostBorn)
    add(concat("Differences are born in ", summary.born.size() - kMostBorn, " more ops."), "#pairs?sort=own");
  add(concat(summary.paired, " of ", counted(summary.values_a, "value"),
             " of A have a partner in B; their records: ", counts_text(summary.verdicts), "."),
      summary.differing() > 0 ? "#pairs?only=differing" : "#pairs");
  if (Json sentence = given_sentence(pairs); !sentence.empty()) {
    // Weights and inputs that differ come before the values that ops made of them.
    const bool differs = sentence["kind"] == "given";
    const int before = (summary.culprit ? 1 : 0) + (settings.empty() ? 0 : 1);
    list.insert(differs ? list.begin() + before : list.end(), std::move(sentence));
  }
  if (const std::string unknown = not_known_text(pairs.comparison()); !unknown.empty()) add(concat("Not known: ", unknown, "."), "#pairs");
  return list;
}

}  // namespace tensortap
