#include "serve/flow_answers.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "find/find_json.h"
#include "find/nonfinite_origins.h"
#include "serve/record_answers.h"

namespace tensortap {
namespace {

bool is_on_way(const NonFiniteOrigin& origin, size_t row) {
  return std::ranges::find(origin.chain, row, &OriginStep::row) != origin.chain.end();
}

// The way to what the program saw where the record is on it, otherwise the way to the record.
NonFiniteOrigin way_through(const ServedDump& dump, size_t row) {
  const NonFiniteFindings& found = dump.nonfinite();
  if (found.seen && is_on_way(*found.seen, row)) return *found.seen;
  return trace_nonfinite(dump.index(), row);
}

}  // namespace

Result<Answer> flow_answer(const AskedDump& asked) {
  TENSORTAP_RETURN_IF_ERROR(asked.request.check_names({"dump", "record"}));
  const ServedDump& dump = asked.dump;
  TENSORTAP_ASSIGN_OR_RETURN(const size_t row, parse_row(dump, asked.request.text("record")));
  if (!nonfinite_in(dump.index(), row)) return not_found(concat("record ", row, " holds no NaN and no Inf"));
  const NonFiniteOrigin origin = way_through(dump, row);
  Json json = {{"ops", Json::array()}, {"records", Json::array()}, {"origin", origin_json(dump.index(), origin)}};
  for (auto step = origin.chain.rbegin(); step != origin.chain.rend(); ++step) {
    const OpId op = dump.rows()[step->row].op;
    if (op < dump.index().ops().size() && (json["ops"].empty() || json["ops"].back() != op)) json["ops"].push_back(op);
    json["records"].push_back(step->row);
  }
  return json_answer(json);
}

}  // namespace tensortap
