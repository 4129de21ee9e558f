#include "serve/web_answers.h"

#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "serve/dump_answers.h"
#include "serve/record_answers.h"
#include "serve/sentences.h"
#include "serve/value_answers.h"

namespace tensortap {

WebAnswers::WebAnswers(Dump a, Dump b) : a_(std::move(a)), b_(std::move(b)) {}
WebAnswers::~WebAnswers() = default;

Result<std::unique_ptr<WebAnswers>> WebAnswers::open(const std::string& a, const std::string& b) {
  TENSORTAP_ASSIGN_OR_RETURN(Dump first, ServedDump::open(a));
  if (b.empty()) return of(std::move(first), nullptr);
  TENSORTAP_ASSIGN_OR_RETURN(Dump second, ServedDump::open(b));
  return of(std::move(first), std::move(second));
}

std::unique_ptr<WebAnswers> WebAnswers::of(Dump a, Dump b) {
  return std::unique_ptr<WebAnswers>(new WebAnswers(std::move(a), std::move(b)));
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

Result<Answer> WebAnswers::answer(const WebRequest& request) const {
  const std::vector<std::string>& parts = request.parts();
  const auto is = [&](std::string_view a, size_t count) { return parts.size() == count && parts[0] == "api" && parts[1] == a; };
  if (is("dump", 2)) {
    TENSORTAP_RETURN_IF_ERROR(request.check_names({}));
    Json json = {{"version", 1}, {"dumps", Json::array()}, {"compare", nullptr}, {"sentences", Json::array()}};
    char side = 'a';
    for (const Dump& dump : dumps()) {
      json["dumps"].push_back(dump_info_json(*dump));
      for (Json& sentence : sentences_json(*dump, side++)) json["sentences"].push_back(std::move(sentence));
    }
    return json_answer(json);
  }
  TENSORTAP_ASSIGN_OR_RETURN(const Dump dump, chosen(request));
  if (is("records", 2)) return records_answer(*dump, request);
  if (is("record", 3)) {
    TENSORTAP_RETURN_IF_ERROR(request.check_names({"dump"}));
    TENSORTAP_ASSIGN_OR_RETURN(const size_t row, parse_row(*dump, parts[2]));
    return json_answer(whole_record_json(*dump, row));
  }
  if (is("record", 4)) {
    TENSORTAP_ASSIGN_OR_RETURN(const size_t row, parse_row(*dump, parts[2]));
    return values_answer(*dump, row, parts[3], request);
  }
  return not_found(concat(quote(request.path()), ": there is no such address"));
}

}  // namespace tensortap
