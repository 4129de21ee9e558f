#include "trace/body_inputs.h"

#include "base/json.h"
#include "base/json_members.h"

namespace tensortap {

std::vector<BodyValue> body_values(const OpInfo& op, uint32_t slot) {
  std::vector<BodyValue> values;
  const Json inputs = attribute_json(op, kBodyInputs);
  const Json* sources = member(inputs, std::to_string(slot).c_str());
  if (sources == nullptr || !sources->is_array()) return values;
  for (const Json& one : *sources) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_string() || !one[1].is_string()) continue;
    values.push_back({one[0].get<std::string>(), one[1].get<std::string>()});
  }
  return values;
}

}  // namespace tensortap
