// The name Json without its definition, for headers that only mention it: json.hpp takes half a second to compile.

#ifndef TENSORTAP_BASE_JSON_FWD_H_
#define TENSORTAP_BASE_JSON_FWD_H_

#include <nlohmann/json_fwd.hpp>

namespace tensortap {

// Objects keep the order of the text.
using Json = nlohmann::ordered_json;

}  // namespace tensortap

#endif  // TENSORTAP_BASE_JSON_FWD_H_
