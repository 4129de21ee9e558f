// What the schema and the dispatcher say about an operator, looked up once per overload.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_OPERATOR_FACTS_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_OPERATOR_FACTS_H_

#include <ATen/record_function.h>

#include <cstdint>
#include <string>
#include <vector>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::torch_adapter {

struct OperatorFacts {
  std::string name;                             // "aten::add", or the text of a record without a schema
  bool has_schema = false;                      // without one it is an annotation, not an operator
  uint32_t id = 0;                              // the tracker's number
  const c10::FunctionSchema* schema = nullptr;  // stays as long as the operator is registered
  uint32_t arguments = 0;
  uint32_t returns = 0;
  bool composite_on_cpu = false;  // only made of other operators there
  bool composite_on_device = false;
  bool autocast_on_cpu = false;  // autocast puts a wrapper in front of it
  bool autocast_on_device = false;
  bool collective = false;       // returns before its outputs are complete
  bool waits = false;            // for a collective, and writes nothing itself
  bool computes = false;         // makes values: no view, no allocation
  bool only_moves = false;       // copies or fills: what kernels do on the way
  bool reads_back = false;       // writes into arguments that it does not return
  int32_t non_blocking = -1;     // the argument of this name, -1 = it has none
  std::vector<uint8_t> written;  // by argument: whether the operator writes into it
};

// The facts of a record's operator. Lives as long as the process. Any thread; a hit costs a few nanoseconds.
const OperatorFacts& facts_of(const at::RecordFunction& record);

// The tracker's number of an operator by the names of its schema, -1 when there is none such. An operator that also ran by itself may have
// another number besides. Any thread.
int64_t find_op(const char* name, const char* overload);

// Tells where operators are described; before the first call of the others.
void set_tracker_for_facts(const tensortap_torch_tracker* tracker);

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_OPERATOR_FACTS_H_
