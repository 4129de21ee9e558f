// The type of an op as programs over ATB, the Ascend transformer library, spell it.

#ifndef TENSORTAP_TRACE_OPERATION_TYPE_H_
#define TENSORTAP_TRACE_OPERATION_TYPE_H_

#include <string>

#include "trace/op_info.h"

namespace tensortap {

// Modules and kernels as they are, "LlamaAttention"; an operator in camel case with "Operation" behind it, "MmOperation",
// "NativeLayerNormOperation", unless it has that already. Letters and digits of ASCII and "_" only; at most 200 of them before "Operation".
std::string operation_type(const OpInfo& op);

}  // namespace tensortap

#endif  // TENSORTAP_TRACE_OPERATION_TYPE_H_
