// Any text is a request to the web view's server: it is let in or refused, and answered with JSON that parses, a sentence or bytes; the
// same each time. Each line of the input is a target; the text before a tab contains the headers that the access rules look at.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "query/query_dump.h"
#include "serve/access_rules.h"
#include "serve/web_answers.h"

namespace tensortap {
namespace {

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";

// Nobody is let in without the token.
void check_access(std::string_view headers) {
  static const AccessRules kRules(std::string(kToken), {8123, {}});
  const AccessRules::Decision decision =
      kRules.judge({"GET", {"127.0.0.1:8123"}, {}, {std::string(headers)}, headers.size() % 2 == 0, false});
  const bool knows = headers.find(kToken) != std::string_view::npos;
  if ((decision.status == 0 || kRules.knows(headers)) && !knows) std::abort();
  if (decision.status != 0 && decision.sentence.empty()) std::abort();
}

void check_answer(const WebAnswers& answers, std::string_view target) {
  const Answer answer = answers.get(target);
  if (answer.status != 200 && (answer.status < 400 || answer.status > 500)) std::abort();
  if (answer.type == "application/json") {
    const auto json = parse_json(answer.body, "answer");
    if (!json.ok()) std::abort();
    if (answer.status != 200 && (!json->is_object() || !json->contains("error"))) std::abort();
  } else if (answer.type != "application/octet-stream" || answer.status != 200) {
    std::abort();
  }
  if (answers.get(target).body != answer.body) std::abort();
}

void check(std::string_view input) {
  static const auto kAnswers = WebAnswers::of(ServedDump::of("a", std::make_unique<QueryDump>()), nullptr);
  for (const std::string_view line : split(input, '\n')) {
    const size_t tab = line.find('\t');
    const std::string_view target = tab == std::string_view::npos ? line : line.substr(tab + 1);
    check_access(tab == std::string_view::npos ? std::string_view() : line.substr(0, tab));
    check_answer(*kAnswers, target);
  }
}

}  // namespace
}  // namespace tensortap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tensortap::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
