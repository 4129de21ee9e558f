// Our operators: graphs of torch.compile call one to report their values, and Python names process groups by the other.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_DUMP_NODE_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_DUMP_NODE_H_

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::torch_adapter {

// Where its calls go; before define_operators().
void set_tracker_for_dumps(const tensortap_torch_tracker* tracker);

// Registers tensortap::dump(Tensor(a!)[] tensors, int site) -> () for every backend. It changes nothing: its schema declares a write
// because compilers drop calls without a result and an effect. Dispatch modes do not see it, and tensors without values (tracing) are
// reported as such. Also registers tensortap::name_group(Any group, str name) -> (). Throws torch's exception when a name is taken; the
// second call does nothing.
void define_operators();

// The name that tensortap::name_group() gave to this process group; "" for a group without one, and for all other values.
std::string group_name(const c10::IValue& value);

// Suspends the callbacks of this thread while a graph runs that reports its nodes itself. If others, such as the profiler, have callbacks
// on this thread, those go on and only ours do nothing. Calls nest. Sets torch's number of the thread and the sequence number that its next
// autograd node will have.
void begin_graph(uint64_t* thread, int64_t* sequence_number);
void end_graph();

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_DUMP_NODE_H_
