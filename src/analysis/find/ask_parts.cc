#include "find/ask_parts.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/counted.h"
#include "base/json_members.h"
#include "base/text.h"
#include "find/find_report.h"
#include "find/value_source.h"

namespace tensortap {
namespace {

constexpr size_t kMostNamedParts = 3;

PartAnswer ask_part(const DumpPart& part, const PartQuestion& question) {
  PartAnswer one;
  one.part = part;
  const auto dump = question.open(part.path);
  if (!dump.ok()) {
    one.status = dump.status();
    one.completeness.lack(one.status.message());
    return one;
  }
  one.completeness = (*dump)->completeness();
  Result<Json> answer = question.ask(**dump);
  if (!answer.ok()) {
    one.status = answer.status();
    return one;
  }
  one.answer = *std::move(answer);
  one.finds = question.finds(one.answer);
  return one;
}

// The place of the first value that is not finite; of other answers the last there is.
FirstValue place_of(const PartAnswer& one) {
  return first_value(one.answer).value_or(FirstValue{std::numeric_limits<uint64_t>::max(), ValueSource::kReceived});
}

std::string names_of(std::span<const PartAnswer> answers) {
  std::vector<std::string> names;
  size_t left = 0;
  for (const PartAnswer& one : answers) {
    if (!one.finds) continue;
    names.size() < kMostNamedParts ? names.push_back(part_title(one.part)) : void(++left);
  }
  return concat(join(names, ", "), left == 0 ? "" : concat(" and ", left, " more"));
}

std::vector<DumpPart> parts_of(std::span<const PartAnswer> answers) {
  std::vector<DumpPart> parts;
  for (const PartAnswer& one : answers) parts.push_back(one.part);
  return parts;
}

size_t unread_among(std::span<const PartAnswer> answers) {
  return static_cast<size_t>(std::ranges::count_if(answers, [](const PartAnswer& one) { return one.answer.is_null(); }));
}

size_t incomplete_among(std::span<const PartAnswer> answers) {
  return static_cast<size_t>(
      std::ranges::count_if(answers, [](const PartAnswer& one) { return !one.answer.is_null() && !one.completeness.holds_all(); }));
}

// What is not known of each of them, behind its name.
std::string not_known_of(std::span<const PartAnswer> answers) {
  std::vector<std::string> texts;
  size_t left = 0;
  for (const PartAnswer& one : answers) {
    if (!is_partial(one.answer)) continue;
    texts.size() < kMostNamedParts ? texts.push_back(concat(part_title(one.part), ": ", text_in(one.answer, "not_known"))) : void(++left);
  }
  return concat(join(texts, "; "), left == 0 ? "" : concat("; and ", left, " more"));
}

// The answer, with the name, role and path of the part.
Json told_by(const PartAnswer& one) {
  Json json = part_json(one.part);
  if (one.answer.is_object()) json.update(one.answer);
  return json;
}

}  // namespace

std::vector<PartAnswer> ask_parts(std::span<const DumpPart> parts, const PartQuestion& question) {
  std::vector<PartAnswer> answers;
  for (const DumpPart& part : parts) answers.push_back(ask_part(part, question));
  return answers;
}

const PartAnswer* first_to_tell(std::span<const PartAnswer> answers) {
  const PartAnswer* first = nullptr;
  for (const PartAnswer& one : answers) {
    if (one.answer.is_null()) continue;
    const bool is_better = first == nullptr || (one.finds && (!first->finds || place_of(one) < place_of(*first)));
    if (is_better) first = &one;
  }
  return first;
}

std::string parts_sentence(std::span<const PartAnswer> answers, std::string_view found, std::string_view none) {
  const auto finding = std::ranges::count(answers, true, &PartAnswer::finds);
  const std::string all = parts_text(parts_of(answers));
  std::string text = finding == 0 ? concat(none, " in ", all) : concat(found, " in ", names_of(answers), ": ", finding, " of ", all);
  if (const size_t unread = unread_among(answers); unread > 0) text += concat("; ", unread, " could not be read");
  if (const size_t incomplete = incomplete_among(answers); incomplete > 0)
    text += concat("; ", incomplete, incomplete == 1 ? " is incomplete" : " are incomplete");
  const auto unknown =
      std::ranges::count_if(answers, [](const PartAnswer& one) { return count_in(one.answer, "unknown") > 0 && !saw_nothing(one.answer); });
  const auto left_out = std::ranges::count_if(answers, [](const PartAnswer& one) { return count_in(one.answer, "left_out") > 0; });
  const auto hidden = std::ranges::count_if(answers, [](const PartAnswer& one) { return !ran_fused(one.answer) && hid_ops(one.answer); });
  const auto fused = std::ranges::count_if(answers, [](const PartAnswer& one) { return ran_fused(one.answer); });
  const auto unseen = std::ranges::count_if(answers, [](const PartAnswer& one) { return saw_nothing(one.answer); });
  if (finding == 0 && unseen > 0) text += concat("; nothing was looked at in ", unseen);
  if (finding == 0 && unknown > 0) text += concat("; not all is known of ", unknown);
  if (finding == 0 && left_out > 0) text += concat("; a limit left records out of ", left_out);
  if (finding == 0 && fused > 0) text += concat("; fused kernels ran unseen in ", fused);
  if (finding == 0 && hidden > 0) text += concat("; ops ran unseen in ", hidden);
  return text;
}

Json parts_answer_json(std::span<const PartAnswer> answers) {
  const PartAnswer* shown = first_to_tell(answers);
  Json json = shown == nullptr ? Json::object() : told_by(*shown);
  json["looked_at"] = {{"parts", answers.size()},
                       {"unread", unread_among(answers)},
                       {"incomplete", incomplete_among(answers)},
                       {"text", parts_text(parts_of(answers))}};
  json["dump"] = completeness_json(sum_of(states_of(answers)));
  if (json.contains("not_known")) json["not_known"] = text_or_null(not_known_of(answers));
  json["parts"] = Json::array();
  for (const PartAnswer& one : answers) {
    Json own = told_by(one);
    own["finds"] = one.finds;
    own["problem"] = text_or_null(one.status.message());
    own["dump"] = completeness_json(one.completeness);
    json["parts"].push_back(std::move(own));
  }
  return json;
}

Result<Json> answer_json(std::span<const DumpPart> parts, bool are_several, const PartQuestion& question) {
  const std::vector<PartAnswer> answers = ask_parts(parts, question);
  if (unread_among(answers) == answers.size()) return answers.front().status;
  if (answers.size() > 1) return parts_answer_json(answers);
  Json json = answers.front().answer;
  if (are_several) json.update(part_json(answers.front().part));
  json["dump"] = completeness_json(answers.front().completeness);
  return json;
}

std::vector<NamedCompleteness> states_of(std::span<const PartAnswer> answers) {
  std::vector<NamedCompleteness> states;
  for (const PartAnswer& one : answers) states.push_back({part_title(one.part), one.completeness});
  return states;
}

}  // namespace tensortap
