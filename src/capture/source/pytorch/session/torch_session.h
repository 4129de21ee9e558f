// One open session of capture.h, and the links from torch's calls to it: which op a call is, what the memory holds, which step runs, what
// compiled graphs run. The capture of the program's operators is one (torch_capture.h); a graph that another tool runs may have a separate
// one.

#ifndef TENSORTAP_SOURCE_PYTORCH_SESSION_TORCH_SESSION_H_
#define TENSORTAP_SOURCE_PYTORCH_SESSION_TORCH_SESSION_H_

#include <tensortap/capture.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/status.h"
#include "source/pytorch/adapter/adapter_interface.h"
#include "source/pytorch/identity/graph_nodes.h"
#include "source/pytorch/identity/op_identity.h"
#include "source/pytorch/identity/operator_table.h"
#include "source/pytorch/identity/step_counter.h"
#include "source/pytorch/memory/storage_table.h"

namespace tensortap::pytorch {

// The bits of tensortap_levels() for calls of modules, which torch's callbacks do not report.
inline constexpr uint32_t kModuleLevels = 1U << TENSORTAP_LEVEL_MODULE | 1U << TENSORTAP_LEVEL_MODEL;

// Shared by all sessions of a process.
struct TorchRuntime {
  tensortap_torch_adapter adapter{};
  OperatorTable operators;
  NameTable scopes;
  int (*number_of_threads)() = nullptr;  // at::get_num_threads(), null where torch has none of this name
  bool content_cache = true;
  std::string python_package;
  std::mutex facts_mutex;
  std::map<std::string, std::string> facts;  // of the process, by name: JSON text; guarded by facts_mutex
  std::atomic<bool> bootstrapped{false};     // whether the interpreter's side is ready, or never will be
};
TorchRuntime& torch_runtime();

// Opens a session for what torch runs in this process; size, version, source, rank and world size of the options are filled in. Errors:
// those of tensortap_session_open().
Result<tensortap_session*> open_session(tensortap_session_options options, const TorchRuntime& runtime);

// Thread-safe. Never destroyed: threads may be inside of it at any time.
class TorchSession {
 public:
  // `on_step` receives whether anything of the step that begins is wanted; null = no receiver.
  TorchSession(tensortap_session* opened, TorchRuntime& runtime, void (*on_step)(void* context, bool wanted) = nullptr,
               void* context = nullptr);
  TorchSession(const TorchSession&) = delete;
  TorchSession& operator=(const TorchSession&) = delete;

  tensortap_session* const session;
  TorchRuntime& runtime;
  const uint64_t generation;  // of this session in its process, from 1
  const uint32_t levels;      // tensortap_levels()
  OpIdentities identities;
  StorageTable storages;
  StepCounter steps;

  // The time of a write now. Memory that is written before the first model runs belongs to all steps.
  [[nodiscard]] WriteTime write_time(bool by_optimizer) const { return {steps.model_runs() ? steps.current() : -1, by_optimizer}; }

  // Fills `out` with the report of a tensor that holds `content`. False when there is nothing to report; a tensor that cannot be captured
  // is reported to the session, once for each op and kind.
  bool describe(OpIdentity& identity, const tensortap_torch_tensor& tensor, const StorageContent& content, tensortap_tensor& out) const;

  // The op of this session's dump for a node of a compiled graph that runs for `root`. Lives as long as the process.
  OpIdentity& op_of(const KnownNode& node, ModuleId root);
  // Sets the op of a node, whatever its graph runs for; before the node runs.
  void bind_node(const KnownNode& node, OpIdentity& identity);
  // A substitute for the op that a compiled graph's backward node belongs to. Lives as long as the session.
  const OpIdentity& place_of_graph(ModuleId root);

 protected:
  ~TorchSession() = default;

 private:
  void bind(const KnownNode& node, ModuleId root, OpIdentity& identity) const;

  std::mutex mutex_;
  std::map<ModuleId, OpIdentity> places_;  // of graphs; guarded by mutex_
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_SESSION_TORCH_SESSION_H_
