#include "find/find_report.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "find/find_json.h"

namespace tensortap {
namespace {

Json headroom_list(const DumpIndex& dump, DType target, size_t limit) {
  Json list = Json::array();
  for (const Headroom& headroom : find_headroom(dump, target)) {
    if (list.size() == limit) break;
    list.push_back(headroom_json(dump, headroom, dtype_name(target)));
  }
  return list;
}

Json origin_list(const DumpIndex& dump, size_t limit) {
  Json list = Json::array();
  for (const NonFiniteOrigin& origin : nonfinite_origins(dump, limit)) list.push_back(origin_json(dump, origin));
  return list;
}

Json dead_list(const DumpIndex& dump, size_t limit) {
  Json list = Json::array();
  for (const DeadOutput& dead : find_dead_outputs(dump)) {
    if (list.size() == limit) break;
    list.push_back(dead_output_json(dump, dead));
  }
  return list;
}

}  // namespace

Json find_report(const DumpIndex& dump, size_t limit) {
  Json report;
  const auto first = first_nonfinite(dump);
  report["first_nonfinite"] = first ? nonfinite_json(dump, *first) : Json();
  report["origins"] = first ? origin_list(dump, limit) : Json::array();
  report["headroom"] = {{"float16", headroom_list(dump, DType::kFloat16, limit)},
                        {"bfloat16", headroom_list(dump, DType::kBFloat16, limit)}};
  report["dead_outputs"] = dead_list(dump, limit);
  report["gradients"] = gradients_json(dump, find_gradients(dump));
  return report;
}

Result<Json> find_source(const DumpIndex& dump, std::string_view text) {
  std::vector<OpId> ops = ops_of_source(dump, text);
  if (ops.empty()) ops = ops_of_name(dump, text);
  if (ops.empty()) return not_found(concat("no op of this dump comes from ", quote(text), ", and none has that name"));
  Json answer = {{"source", std::string(text)}, {"ops", Json::array()}};
  for (const OpId op : ops) answer["ops"].push_back(op_source_json(dump, op));
  return answer;
}

}  // namespace tensortap
