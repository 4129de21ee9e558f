// The parameters of an operation as attributes of an ONNX node.

#ifndef TENSORTAP_FORMAT_ATB_TOPOLOGY_PARAMETER_ATTRIBUTES_H_
#define TENSORTAP_FORMAT_ATB_TOPOLOGY_PARAMETER_ATTRIBUTES_H_

#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace tensortap {

// AttributeProto bytes of each member of the object: whole numbers and truth values INT, other numbers FLOAT, texts STRING, lists of these
// INTS, FLOATS and STRINGS; members of an object inside are called "outer.inner"; null has none. A name that is taken gets a number.
std::vector<std::string> parameter_attributes(const Json& parameters);

}  // namespace tensortap

#endif  // TENSORTAP_FORMAT_ATB_TOPOLOGY_PARAMETER_ATTRIBUTES_H_
