// The calls of operators that are going on in one thread.

#ifndef TENSORTAP_SOURCE_PYTORCH_ADAPTER_THREAD_FRAMES_H_
#define TENSORTAP_SOURCE_PYTORCH_ADAPTER_THREAD_FRAMES_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "source/pytorch/adapter/adapter_interface.h"

namespace tensortap::torch_adapter {

struct OperatorFacts;

// An argument that is examined again when the call ends.
template <class Reference>
struct KeptArgument {
  Reference tensor;
  uint32_t slot;
  int32_t element;
};
using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

struct Frame {
  const OperatorFacts* facts = nullptr;
  void* token = nullptr;                            // of the tracker, null = not reported
  uint32_t flags = 0;                               // TENSORTAP_TORCH_CALL_*
  int exceptions = 0;                               // under way when the call began
  int64_t sequence_number = -1;                     // of autograd, of a call that is looked through
  bool is_operator = false;                         // calls below it are its own affair
  bool is_reported = false;                         // the tracker was notified, whether it cares or not
  bool is_api = false;                              // a call of the program that is made of several operators
  bool calls_others = false;                        // something that computes was called underneath
  bool is_node = false;                             // an autograd node, reported to the tracker
  size_t copies = 0;                                // of ThreadFrames, that were made before the call
  const tensortap_device* leaves_copies = nullptr;  // it does not wait for its copies from this device
  std::vector<KeptArgument<at::Tensor>> written;    // that it does not return
  std::vector<KeptArgument<WeakTensor>> read;       // to be looked at when it ended; weak, so that nothing lives longer for us
  std::vector<KeptArgument<WeakTensor>> wrapped;    // arguments of a Python class, of a call that is looked through
  std::vector<c10::IValue> works;                   // of a collective: the works that it waits for
};

// Calls begin and end strictly nested within a thread, so that a stack and a counter suffice.
struct ThreadFrames {
  bool busy = false;                // inside of our own work
  uint32_t inside = 0;              // records below the innermost operator, which are not looked at
  uint32_t operators = 0;           // operators on the stack
  uint32_t apis = 0;                // calls of the level "api" on the stack
  uint32_t graphs = 0;              // graphs that report their nodes themselves, by dump nodes
  bool suspended = false;           // whether those switched off all callbacks of the thread
  bool starts_collectives = false;  // unlike a thread that does their work
  bool tells_collective = false;    // reports what a collective wrote
  uint32_t depth = 0;               // frames of the stack in use; those above keep their memory for the next calls
  std::vector<Frame> stack;
  std::vector<tensortap_torch_tensor> tensors;  // scratch
  std::vector<tensortap_torch_tensor> shown;    // scratch, of arguments that are reported beside the returns
  std::vector<at::Tensor> copies;               // bytes of tensors on devices, in host memory, of the calls on the stack
  at::Tensor spare;                             // memory for the next copy, undefined = none
  std::deque<std::vector<int64_t>> made_sizes;  // scratch, of described tensors whose dims are not those of torch
};

// The next frame of the stack, cleared.
Frame& push_frame(ThreadFrames& frames);

// The frames of the calling thread; null while the thread ends.
ThreadFrames* thread_frames();

}  // namespace tensortap::torch_adapter

#endif  // TENSORTAP_SOURCE_PYTORCH_ADAPTER_THREAD_FRAMES_H_
