#include "query/unseen_ops.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/counted.h"
#include "base/coverage_reasons.h"
#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"

namespace tensortap {
namespace {

constexpr std::pair<std::string_view, std::string_view> kSentences[] = {
    {kReasonFused, "fused kernels ran whose values were not looked at"},
    {kReasonForked, "operators ran in processes made by fork, which are not captured"},
    {kReasonReplayed, "graphs of a device were replayed, and their values were not looked at"},
};

bool has_sentence(std::string_view reason) {
  return std::ranges::any_of(kSentences, [&](const auto& one) { return one.first == reason; });
}

// A list of reasons among the "ops" of a manifest; empty where it has none.
Json reasons_in(const Json& manifest, const char* list) {
  const Json* ops = member(manifest, "ops");
  const Json* reasons = ops == nullptr ? nullptr : member(*ops, list);
  return reasons != nullptr && reasons->is_array() ? *reasons : Json::array();
}

}  // namespace

Json unseen_ops_json(const Json& manifest) {
  Json list = Json::array();
  for (const Json& one : reasons_in(manifest, "not_captured")) {
    if (count_in(one, "count") > 0 && ran_unseen(text_in(one, "reason"))) list.push_back(one);
  }
  return list;
}

bool has_reason(const Json& reasons, std::string_view reason) {
  return std::ranges::any_of(reasons, [&](const Json& one) { return text_in(one, "reason") == reason; });
}

uint64_t count_hidden_ops(const Json& manifest) {
  uint64_t count = 0;
  for (const char* list : {"not_captured", "partly"}) {
    for (const Json& one : reasons_in(manifest, list)) count += hides_values(text_in(one, "reason")) ? count_in(one, "count") : 0;
  }
  return count;
}

std::vector<std::string> unseen_values(const Json& reasons, uint64_t hidden) {
  std::vector<std::string> sentences;
  if (hidden > 0) {
    sentences.push_back(concat("values of ", counted(hidden, "op"), " are in a form that is not looked into, such as sparse tensors"));
  }
  for (const auto& [reason, sentence] : kSentences) {
    if (has_reason(reasons, reason)) sentences.emplace_back(sentence);
  }
  uint64_t ops = 0;
  std::string first;
  for (const Json& one : reasons) {
    const std::string reason = text_in(one, "reason");
    if (!had_values(reason) || hides_values(reason) || has_sentence(reason)) continue;
    ops += count_in(one, "count");
    if (first.empty()) first = reason;
  }
  if (ops > 0) sentences.push_back(concat(counted(ops, "op"), " ran whose values were not looked at (", first, ")"));
  return sentences;
}

}  // namespace tensortap
