#include "serve/part_answers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "find/ask_parts.h"
#include "find/find_report.h"
#include "read/open_dump.h"

namespace tensortap {
namespace {

constexpr size_t kMostOrigins = 3;  // that are looked for: which part it is that finds something is all that is asked

Json sentence_json(const char* kind, std::string text) { return {{"kind", kind}, {"text", std::move(text)}, {"link", nullptr}}; }

Json sentences_of(const std::vector<PartAnswer>& answers, const DumpPart& shown) {
  const bool finds = std::ranges::any_of(answers, &PartAnswer::finds);
  Json list = Json::array();
  const bool holds_all = std::ranges::all_of(
      answers, [](const PartAnswer& one) { return one.status.ok() && one.completeness.holds_all() && !is_partial(one.answer); });
  const char* clear = holds_all ? "plain" : "unsure";
  list.push_back(sentence_json(finds ? "nonfinite" : clear, concat(parts_sentence(answers, "Findings", "No NaN and no Inf"),
                                                                   ". This page shows ", part_title(shown), ".")));
  for (const PartAnswer& one : answers) {
    const std::string state = one.status.ok() ? completeness_text(one.completeness, part_title(one.part))
                                              : concat(part_title(one.part), ": ", one.status.message());
    if (!state.empty()) list.push_back(sentence_json("losses", state));
  }
  return list;
}

}  // namespace

Result<std::unique_ptr<WebAnswers>> open_telling_part(const std::string& path, const SourceFiles& sources) {
  TENSORTAP_ASSIGN_OR_RETURN(const std::vector<DumpPart> parts, find_parts(path));
  if (parts.size() == 1) return WebAnswers::open(path, "", sources);
  const auto ask = [](const DumpIndex& dump) { return Result<Json>(find_report(dump, kMostOrigins)); };
  const std::vector<PartAnswer> answers = ask_parts(parts, {open_dump, ask, has_finding});
  const PartAnswer* shown = first_to_tell(answers);
  if (shown == nullptr) return answers.front().status;
  TENSORTAP_ASSIGN_OR_RETURN(auto opened, WebAnswers::open(shown->part.path, "", sources));
  opened->begin_with(sentences_of(answers, shown->part));
  return opened;
}

}  // namespace tensortap
