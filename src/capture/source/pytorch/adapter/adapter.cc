// The one exported function of an adapter, and what it gives the tracker.

#include <ATen/Parallel.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/version.h>

#include "source/pytorch/adapter/adapter_interface.h"
#include "source/pytorch/adapter/attributes.h"
#include "source/pytorch/adapter/dump_node.h"
#include "source/pytorch/adapter/kernel_statistics.h"
#include "source/pytorch/adapter/observer.h"
#include "source/pytorch/adapter/operator_facts.h"
#include "source/pytorch/adapter/self_check.h"

namespace tensortap::torch_adapter {
namespace {

c10::intrusive_ptr_target* target_of(const void* storage) { return static_cast<c10::StorageImpl*>(const_cast<void*>(storage)); }

void hold_storage(const void* storage) { c10::raw::intrusive_ptr::make_weak(target_of(storage)); }
void drop_storage(const void* storage) { c10::raw::weak_intrusive_ptr::decref(target_of(storage)); }
int storage_expired(const void* storage) { return c10::raw::weak_intrusive_ptr::use_count(target_of(storage)) == 0 ? 1 : 0; }

void switch_observer(int enabled, uint32_t levels) {
  try {
    observe(enabled != 0, levels);
  } catch (...) {
  }
}

void parallel_for(void* /*pool*/, void (*task)(void* context, size_t index), size_t count, void* context) {
  at::parallel_for(0, static_cast<int64_t>(count), 1, [task, context](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) task(context, static_cast<size_t>(i));
  });
}

int define_operators_guarded() {
  try {
    define_operators();
    return 0;
  } catch (...) {
    return 1;
  }
}

int64_t find_op_guarded(const char* name, const char* overload) {
  try {
    return find_op(name, overload);
  } catch (...) {
    return -1;
  }
}

bool fits(const tensortap_torch_tracker* tracker, const tensortap_torch_adapter* adapter) {
  const uint32_t version = TENSORTAP_ADAPTER_INTERFACE_VERSION;
  return tracker != nullptr && tracker->version == version && tracker->size >= sizeof *tracker && adapter != nullptr &&
         adapter->size >= sizeof *adapter;
}

}  // namespace
}  // namespace tensortap::torch_adapter

extern "C" __attribute__((visibility("default"))) int tensortap_torch_adapter_attach(const tensortap_torch_tracker* tracker,
                                                                                     tensortap_torch_adapter* adapter) {
  using namespace tensortap::torch_adapter;
  if (!fits(tracker, adapter)) return 1;
  try {
    set_tracker_for_dumps(tracker);
    set_kernel_tracker(tracker);
    register_callbacks(tracker);
  } catch (...) {
    return 2;
  }
  adapter->version = TENSORTAP_ADAPTER_INTERFACE_VERSION;
  adapter->torch_version = TORCH_VERSION;
  adapter->hold_storage = hold_storage;
  adapter->drop_storage = drop_storage;
  adapter->storage_expired = storage_expired;
  adapter->observe = switch_observer;
  adapter->parallel_for = parallel_for;
  adapter->attributes = write_attributes;
  adapter->arguments_digest = arguments_digest;
  adapter->self_test = self_test;
  adapter->define_operators = define_operators_guarded;
  adapter->find_op = find_op_guarded;
  adapter->graph_begin = begin_graph;
  adapter->graph_end = end_graph;
  return 0;
}
