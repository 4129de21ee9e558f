#include "serve/search_answers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "serve/name_search.h"
#include "serve/preset_answers.h"

namespace tensortap {
namespace {

constexpr size_t kMostHits = 50;

std::string fragment_of(const AskedDump& asked, const NameSearch::Hit& hit) {
  std::string fragment = hit.op == kNoOp ? std::string("#graph") : concat("#graph?op=", hit.op);
  if (hit.kind == NameSearch::Kind::kType) fragment = concat("#table?type=", percent_encoded(hit.name));
  if (asked.is_b) fragment += concat(fragment.find('?') == std::string::npos ? "?" : "&", "dump=b");
  return fragment;
}

// Who searches for "loss" looks for the op that backward passes began with, whatever it is called.
void put_loss_first(const ServedDump& dump, NameSearch::Hits& hits) {
  std::vector<OpId> ops;
  for (const uint32_t row : loss_rows(dump)) {
    const OpId op = dump.rows()[row].op;
    if (std::ranges::find(ops, op) == ops.end() && op < dump.index().ops().size()) ops.push_back(op);
  }
  const auto is_loss = [&](const NameSearch::Hit& hit) {
    return hit.kind == NameSearch::Kind::kOp && std::ranges::find(ops, hit.op) != ops.end();
  };
  hits.total += ops.size() - std::min(ops.size(), std::erase_if(hits.best, is_loss));
  std::vector<NameSearch::Hit> first;
  for (const OpId op : ops) first.push_back({NameSearch::Kind::kOp, dump.index().ops()[op].name, op, 0});
  hits.best.insert(hits.best.begin(), first.begin(), first.end());
  hits.best.resize(std::min(hits.best.size(), kMostHits));
}

}  // namespace

Result<Answer> search_answer(const AskedDump& asked) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"dump", "q", "kind"}));
  const std::string kind = asked.request.text("kind");
  const auto only = NameSearch::kind_named(kind);
  if (!kind.empty() && !only)
    return invalid_argument(concat("kind ", quote(kind), ": not a kind; valid: op, module, type, source, original"));
  const std::string text = asked.request.text("q");
  NameSearch::Hits hits = asked.dump.names().find(text, kMostHits, only);
  if (to_lower(text) == "loss" && only.value_or(NameSearch::Kind::kOp) == NameSearch::Kind::kOp) put_loss_first(asked.dump, hits);
  Json json = {{"items", Json::array()}, {"total", hits.total}};
  for (const NameSearch::Hit& hit : hits.best) {
    const bool is_group = hit.kind == NameSearch::Kind::kModule;
    json["items"].push_back({{"kind", NameSearch::kind_name(hit.kind)},
                             {"name", hit.name},
                             {"op_id", hit.op == kNoOp || is_group ? Json(nullptr) : Json(hit.op)},
                             {"group", is_group ? Json(asked.dump.graph().group_id(hit.group)) : Json(nullptr)},
                             {"fragment", fragment_of(asked, hit)}});
  }
  return json_answer(json);
}

}  // namespace tensortap
