#include "serve/web_answers.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "read/dump_parts.h"
#include "read/open_dump.h"
#include "serve/asked_dump.h"
#include "serve/dump_answers.h"
#include "serve/flow_answers.h"
#include "serve/graph_answers.h"
#include "serve/heat_answers.h"
#include "serve/op_answers.h"
#include "serve/overview_answers.h"
#include "serve/pair_answers.h"
#include "serve/preset_answers.h"
#include "serve/record_answers.h"
#include "serve/search_answers.h"
#include "serve/sentences.h"
#include "serve/series_answers.h"
#include "serve/value_answers.h"

namespace tensortap {
namespace {

// "/api/NAME", or "/api/NAME/NUMBER" with "/PART" behind it where there is one.
struct Route {
  std::string_view name;
  bool is_numbered;
  std::string_view part;
  Result<Answer> (*answer)(const AskedDump& asked, const std::string& number);
};

Result<Answer> record_values_answer(const AskedDump& asked, const std::string& number, std::string_view part) {
  TENSORTAP_ASSIGN_OR_RETURN(const size_t row, parse_row(asked.dump, number));
  return values_answer(asked.dump, row, part, asked.request);
}

constexpr Route kRoutes[] = {
    {"records", false, "", [](const AskedDump& asked, const std::string&) { return records_answer(asked.dump, asked.request); }},
    {"record", true, "", record_answer},
    {"record", true, "slice", [](const AskedDump& asked, const std::string& row) { return record_values_answer(asked, row, "slice"); }},
    {"record", true, "exact", [](const AskedDump& asked, const std::string& row) { return record_values_answer(asked, row, "exact"); }},
    {"record", true, "texts", [](const AskedDump& asked, const std::string& row) { return record_values_answer(asked, row, "texts"); }},
    {"record", true, "histogram",
     [](const AskedDump& asked, const std::string& row) { return record_values_answer(asked, row, "histogram"); }},
    {"record", true, "find", [](const AskedDump& asked, const std::string& row) { return record_values_answer(asked, row, "find"); }},
    {"record", true, "places", [](const AskedDump& asked, const std::string& row) { return record_values_answer(asked, row, "places"); }},
    {"graph", false, "", [](const AskedDump& asked, const std::string&) { return graph_answer(asked); }},
    {"graph.bin", false, "", [](const AskedDump& asked, const std::string&) { return binary_graph_answer(asked); }},
    {"op", true, "", op_answer},
    {"ops", false, "", [](const AskedDump& asked, const std::string&) { return ops_answer(asked); }},
    {"heat", false, "", [](const AskedDump& asked, const std::string&) { return heat_answer(asked); }},
    {"search", false, "", [](const AskedDump& asked, const std::string&) { return search_answer(asked); }},
    {"series", false, "", [](const AskedDump& asked, const std::string&) { return series_answer(asked); }},
    {"preset", false, "", [](const AskedDump& asked, const std::string&) { return preset_answer(asked); }},
    {"overview", false, "", [](const AskedDump& asked, const std::string&) { return overview_answer(asked); }},
    {"trends", false, "", [](const AskedDump& asked, const std::string&) { return trends_answer(asked); }},
    {"compare", false, "", [](const AskedDump& asked, const std::string&) { return compare_answer(asked); }},
    {"pairs", false, "", [](const AskedDump& asked, const std::string&) { return pairs_answer(asked); }},
    {"pair", true, "", pair_answer},
    {"pair", true, "slice", pair_slice_answer},
    {"pair", true, "find", pair_find_answer},
    {"pair", true, "exact", pair_exact_answer},
    {"pair", true, "places", pair_places_answer},
    {"unpaired", false, "", [](const AskedDump& asked, const std::string&) { return unpaired_answer(asked); }},
    {"flow", false, "", [](const AskedDump& asked, const std::string&) { return flow_answer(asked); }},
};

bool fits(const Route& route, const std::vector<std::string>& parts) {
  const size_t count = 2 + (route.is_numbered ? 1U : 0U) + (route.part.empty() ? 0U : 1U);
  return parts.size() == count && parts[0] == "api" && parts[1] == route.name && (route.part.empty() || parts.back() == route.part);
}

}  // namespace

WebAnswers::WebAnswers(Dump a, Dump b, std::unique_ptr<ServedComparison> comparison)
    : a_(std::move(a)), b_(std::move(b)), comparison_(std::move(comparison)) {}
WebAnswers::~WebAnswers() = default;

Result<std::unique_ptr<WebAnswers>> WebAnswers::open(const std::string& a, const std::string& b, const SourceFiles& sources) {
  TENSORTAP_ASSIGN_OR_RETURN(Dump first, ServedDump::open(a, false, sources));
  if (b.empty()) return of(std::move(first), nullptr);
  TENSORTAP_ASSIGN_OR_RETURN(Dump second, ServedDump::open(b, false, sources));
  std::vector<std::unique_ptr<DumpIndex>> noise;
  ComparisonOptions found;
  for (const auto& [path, side] : {std::pair(&a, NoiseDump::Of::kA), {&b, NoiseDump::Of::kB}}) {
    for (const std::string& folder : noise_dumps(*path)) {
      TENSORTAP_ASSIGN_OR_RETURN(auto dump, open_dump(folder));
      found.noise.push_back({dump.get(), side});
      noise.push_back(std::move(dump));
    }
  }
  auto answers = of(std::move(first), std::move(second), std::move(found));
  answers->noise_ = std::move(noise);
  return answers;
}

Result<std::unique_ptr<WebAnswers>> WebAnswers::open_growing(const std::string& path, const SourceFiles& sources) {
  TENSORTAP_ASSIGN_OR_RETURN(Dump dump, ServedDump::open(path, true, sources));
  return of(std::move(dump), nullptr);
}

std::unique_ptr<WebAnswers> WebAnswers::of(Dump a, Dump b, ComparisonOptions options) {
  auto comparison = b == nullptr ? nullptr : std::make_unique<ServedComparison>(a, b, std::move(options));
  return std::unique_ptr<WebAnswers>(new WebAnswers(std::move(a), std::move(b), std::move(comparison)));
}

std::unique_ptr<WebAnswers> WebAnswers::of(Dump a, Dump b, std::unique_ptr<ComparedPairs> pairs) {
  auto comparison = std::make_unique<ServedComparison>(a, b, std::move(pairs));
  return std::unique_ptr<WebAnswers>(new WebAnswers(std::move(a), std::move(b), std::move(comparison)));
}

std::vector<WebAnswers::Dump> WebAnswers::dumps() const {
  std::vector<Dump> dumps = {a_};
  if (b_ != nullptr) dumps.push_back(b_);
  return dumps;
}

Result<WebAnswers::Dump> WebAnswers::chosen(const WebRequest& request) const {
  TENSORTAP_ASSIGN_OR_RETURN(const std::string side, request.choice("dump", {"a", "b"}));
  if (side == "a") return a_;
  if (b_ == nullptr) return not_found("dump b: only one dump was given");
  return b_;
}

Answer WebAnswers::get(std::string_view target) const {
  const auto request = WebRequest::parse(target);
  if (!request.ok()) return error_answer(request.status());
  auto found = answer(*request);
  if (!found.ok()) return error_answer(found.status());
  if (found->body.size() > kMostAnswerBytes) {
    return error_answer(413,
                        concat("the answer has ", bytes_text(found->body.size()), "; at most ", bytes_text(kMostAnswerBytes), " are sent"));
  }
  return *std::move(found);
}

void WebAnswers::look_through() const {
  std::call_once(begun_, [this] {
    looking_ = std::async(std::launch::async, [dumps = dumps()] {
      // Beside the rest, which is about as much work.
      const auto trends = std::async(std::launch::async, [&dumps] {
        for (const Dump& dump : dumps) static_cast<void>(dump->trends());
      });
      for (const Dump& dump : dumps) static_cast<void>(dump->find_report());
    });
  });
}

Answer WebAnswers::describe(bool waits) const {
  look_through();
  const std::vector<Dump> open = dumps();
  const bool is_complete = waits || std::ranges::all_of(open, [](const Dump& dump) { return dump->is_looked_through(); });
  Json json = {{"version", 1}, {"complete", is_complete}, {"dumps", Json::array()}, {"compare", nullptr}, {"sentences", beginning_}};
  if (comparison_ != nullptr) {
    json["compare"] = comparison_->state_json();
    json["sentences"] = comparison_sentences(*comparison_);
  }
  char side = 'a';
  for (const Dump& dump : open) {
    json["dumps"].push_back(dump_info_json(*dump, is_complete));
    for (Json& sentence : sentences_json(*dump, side, is_complete)) {
      if (b_ != nullptr) sentence["text"] = concat(side == 'a' ? "A: " : "B: ", sentence["text"].get<std::string>());
      json["sentences"].push_back(std::move(sentence));
    }
    ++side;
  }
  return json_answer(json);
}

Result<Answer> WebAnswers::answer(const WebRequest& request) const {
  const std::vector<std::string>& parts = request.parts();
  if (parts.size() == 2 && parts[0] == "api" && parts[1] == "dump") {
    TENSORTAP_RETURN_IF_ERROR(request.check_names({"wait"}));
    TENSORTAP_ASSIGN_OR_RETURN(const std::string waits, request.choice("wait", {"yes", "no"}));
    return describe(waits == "yes");
  }
  const auto route = std::ranges::find_if(kRoutes, [&](const Route& one) { return fits(one, parts); });
  if (route == std::end(kRoutes)) return not_found(concat(quote(request.path()), ": no such address"));
  TENSORTAP_ASSIGN_OR_RETURN(const Dump dump, chosen(request));
  return route->answer({*dump, request, dump == b_, comparison_.get()}, route->is_numbered ? parts[2] : std::string());
}

}  // namespace tensortap
