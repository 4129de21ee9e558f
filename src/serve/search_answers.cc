#include "serve/search_answers.h"

#include <string>

#include "base/json.h"
#include "base/text.h"
#include "serve/name_search.h"

namespace tensortap {
namespace {

constexpr size_t kMostHits = 50;

std::string fragment_of(const AskedDump& asked, const NameSearch::Hit& hit) {
  std::string fragment = hit.op == kNoOp ? std::string("#graph") : concat("#graph?op=", hit.op);
  if (hit.kind == NameSearch::Kind::kType) fragment = concat("#table?type=", percent_encoded(hit.name));
  if (asked.is_b) fragment += concat(fragment.find('?') == std::string::npos ? "?" : "&", "dump=b");
  return fragment;
}

}  // namespace

Result<Answer> search_answer(const AskedDump& asked) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"dump", "q"}));
  const NameSearch::Hits hits = asked.dump.names().find(asked.request.text("q"), kMostHits);
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
