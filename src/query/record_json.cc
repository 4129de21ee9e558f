#include "query/record_json.h"

#include "base/json.h"
#include "query/row_columns.h"

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

}  // namespace tensortap
