#include "query/record_json.h"

#include <utility>

#include "base/json.h"
#include "query/row_columns.h"
#include "query/slot_placements.h"

namespace tensortap {
namespace {

struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(double number) const { return json_number(number); }
  template <class Value>
  Json operator()(const Value& value) const {
    return value;
  }
};

}  // namespace

Json record_json(const DumpIndex& dump, size_t row) {
  Json json;
  for (const RowColumn& column : row_columns()) {
    if ((column.uses & kColumnInJson) == 0 || ((column.uses & kColumnIfSet) != 0 && !column.is_set(dump.rows()[row]))) continue;
    json[std::string(column.name)] = std::visit(ToJson(), column_value(column, dump, row));
  }
  return json;
}

Json shown_record_json(const DumpIndex& dump, size_t row) {
  Json json = record_json(dump, row);
  const OpInfo& op = op_of(dump, dump.rows()[row]);
  json["originals"] = Json::array();
  for (const OriginalNode& node : op.originals) json["originals"].push_back({{"name", node.name}, {"type", node.type}});
  json["inserted_by_runtime"] = op.inserted_by_runtime;
  if (Json placements = placements_json(op); placements.is_object()) json["placements"] = std::move(placements);
  return json;
}

}  // namespace tensortap
