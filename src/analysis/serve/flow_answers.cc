#include "serve/flow_answers.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "find/find_json.h"
#include "find/nonfinite_origins.h"
#include "serve/pair_answers.h"
#include "serve/record_answers.h"

namespace tensortap {
namespace {

bool is_on_way(const NonFiniteOrigin& origin, size_t row) {
  return std::ranges::find(origin.chain, row, &OriginStep::row) != origin.chain.end();
}

// The way to the value that the program saw if it leads through the record, otherwise the way to the record.
NonFiniteOrigin way_through(const ServedDump& dump, size_t row) {
  const NonFiniteFindings& found = dump.nonfinite();
  if (found.seen && is_on_way(*found.seen, row)) return *found.seen;
  return trace_nonfinite(dump.index(), row);
}

void add_to_way(Json& json, const ServedDump& dump, size_t row) {
  const OpId op = dump.rows()[row].op;
  if (op < dump.index().ops().size() && (json["ops"].empty() || json["ops"].back() != op)) json["ops"].push_back(op);
  json["records"].push_back(row);
}

}  // namespace

Result<Answer> flow_answer(const AskedDump& asked) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"dump", "record"}));
  const ServedDump& dump = asked.dump;
  TENSORTAP_ASSIGN_OR_RETURN(const size_t row, parse_row(dump, asked.request.text("record")));
  Json json = {{"ops", Json::array()}, {"records", Json::array()}, {"origin", nullptr}};
  if (nonfinite_in(dump.index(), row)) {
    const NonFiniteOrigin origin = way_through(dump, row);
    json["origin"] = origin_json(dump.index(), origin);
    for (auto step = origin.chain.rbegin(); step != origin.chain.rend(); ++step) add_to_way(json, dump, step->row);
    return json_answer(json);
  }
  const std::vector<uint32_t> way = way_of_error(asked, static_cast<uint32_t>(row));
  if (way.empty()) return not_found(concat("record ", row, " holds no NaN, no Inf and no error"));
  for (const uint32_t one : way) add_to_way(json, dump, one);
  return json_answer(json);
}

}  // namespace tensortap
