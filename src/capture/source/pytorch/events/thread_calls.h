// The calls, nodes and scopes that are going on in one thread.

#ifndef TENSORTAP_SOURCE_PYTORCH_EVENTS_THREAD_CALLS_H_
#define TENSORTAP_SOURCE_PYTORCH_EVENTS_THREAD_CALLS_H_

#include <tensortap/capture.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "source/pytorch/identity/op_identity.h"
#include "source/pytorch/memory/left_values.h"
#include "source/pytorch/memory/storage_table.h"
#include "source/pytorch/memory/written_memory.h"

namespace tensortap::pytorch {

class TorchCapture;
class TorchSession;

// An argument as it was before the call, to be shown when the call has run.
struct ReadArgument {
  const void* storage;
  const void* data;
  uint64_t storage_bytes;
  uint32_t slot;
  int32_t element;
};

// A call between begin and end.
struct PendingCall {
  TorchCapture* capture = nullptr;
  OpIdentity* identity = nullptr;  // null until the end for calls that read no tensor: tracing makes many of those that run nothing
  OpKey key;
  uint32_t phase = TENSORTAP_PHASE_INFERENCE;
  uint32_t model_phase = 0;
  uint32_t call = 0;
  int64_t step = 0;
  uint64_t run = 0;
  int64_t began_ns = 0;
  bool wanted = false;
  ReportedArguments arguments;                  // of a call that reads no tensor
  std::optional<size_t> running_before;         // how many operations ran when this one began, whose kernels are operations, too
  bool own_memory = false;                      // of a collective, which ends later than it returns
  std::vector<tensortap_torch_tensor> written;  // blocks that the operator writes into; their dims are not to be looked at
  std::vector<ReadArgument> read;               // where the session is shown it
  LeftValues left;                              // in the memory that it is given to write to
};

// An autograd node that runs.
struct RunningNode {
  uint32_t name = 0;  // of the scopes' name table
  const OpIdentity* forward = nullptr;
};

// A call of a graph with a separate session.
struct ModelRun {
  const TorchSession* session = nullptr;
  int64_t step = 0;
  MetStorages met;  // of the session's storages
};

// The run of such a call: several threads may call a graph at a time, and the end of one call ends nothing of the others.
inline uint64_t run_of_call(int64_t step) { return static_cast<uint64_t>(step); }

struct ThreadCalls {
  uint32_t depth = 0;  // pending calls in use; the others keep their memory
  std::vector<std::unique_ptr<PendingCall>> pending;
  std::vector<RunningNode> nodes;
  bool has_failed = false;            // an operator of this thread raised, and no other one began since
  uint32_t compiling = 0;             // graphs that torch.compile works on: operators that run for that are not the program's
  std::vector<ModuleId> graph_roots;  // the modules that the running compiled graphs run for, the innermost last
  std::vector<ModelRun> model_runs;   // the innermost last
  RunningOperations operations;       // where calls are distinguished
  OpIdentity* launch = nullptr;       // the kernel that is being launched
  int64_t launch_began_ns = -1;
  uint32_t optimizer = 0;  // name of the optimizer whose step runs, 0 = none
  const void* optimizer_address = nullptr;
  std::vector<tensortap_tensor> tensors;  // scratch
  std::vector<tensortap_tensor> shown;    // scratch, the reads of a call
  WrittenMemory written;                  // scratch
  RecentNames names;
  RecentOps recent;
  MetStorages met;
};

// To be called before the thread runs anything else: reports that it goes on after one of its operators failed.
void tell_that_it_goes_on(ThreadCalls& calls, tensortap_session* session);

// The calls of the calling thread; null while the thread ends, or when there is no memory.
ThreadCalls* thread_calls();

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_EVENTS_THREAD_CALLS_H_
