// Collective operators return before their work is done; we report their results when it is.
//
// A future wakes its waiters before it calls back, so the program may already write to the memory when the call back comes. So every
// operator first reports the complete collectives that no other thread has reported. Values that may not be the collective's any more are
// left out.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_COLLECTIVES_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_COLLECTIVES_H_

#include <ATen/core/ivalue.h>

#include <memory>
#include <span>
#include <vector>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::torch_adapter {

struct Frame;

// Keeps the c10d::Work among the returns of a call, if there is one.
void note_work(c10::ArrayRef<const c10::IValue> returns, std::vector<c10::IValue>& works);

// A call whose works are not known to be done.
class Collective;

// The collective of a call that returned `returns`; its works are in `frame.works`. Null when there is nothing to wait for: the tensors are
// then complete.
std::shared_ptr<Collective> collective_of(const Frame& frame, c10::ArrayRef<const c10::IValue> returns);

// Arranges that tracker.collective_done() is called once, on any thread, with the tensors that the call returned and wrote. To be called
// after the tracker knows that the call ended.
void follow(const std::shared_ptr<Collective>& collective, const tensortap_torch_tracker& tracker);

// Before an operator reads `tensors`, or after it made them: reports collectives that are complete, and flags the tensors into which one
// still writes. `may_write`: the operator writes into those with the flag TENSORTAP_TORCH_TENSOR_WRITTEN, so the final values there are no
// longer the collective's. Costs one load where no collective runs. Any thread; one that starts no collectives may work for one, and is
// left alone.
void report_complete(std::span<tensortap_torch_tensor> tensors, bool may_write);

// Operators are not seen from here on: collectives that are not complete lose their values.
void lose_sight_of_collectives();

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_COLLECTIVES_H_
