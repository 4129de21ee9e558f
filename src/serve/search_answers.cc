#include "serve/search_answers.h"

#include <string>

#include "base/json.h"
#include "base/text.h"
#include "serve/name_search.h"

namespace tensortap {
namespace {

constexpr size_t kMostHits = 50;

// As a fragment of an address has it.
std::string escaped(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '-' ||
                          byte == '_' || byte == '.' || byte == '~';
    if (is_plain) {
      result += c;
    } else {
      result += '%';
      result += kDigits[byte >> 4U];
      result += kDigits[byte & 15U];
    }
  }
  return result;
}

std::string fragment_of(const AskedDump& asked, const NameSearch::Hit& hit) {
  std::string fragment = hit.op == kNoOp ? std::string("#graph") : concat("#graph?op=", hit.op);
  if (hit.kind == NameSearch::Kind::kType) fragment = concat("#table?type=", escaped(hit.name));
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
