// Finds the op of the dump for a call: the same operator at the same place of the program is the same op in every step.

#ifndef TENSORTAP_SOURCE_PYTORCH_IDENTITY_OP_IDENTITY_H_
#define TENSORTAP_SOURCE_PYTORCH_IDENTITY_OP_IDENTITY_H_

#include <tensortap/capture.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "source/pytorch/identity/graph_events.h"
#include "source/pytorch/identity/operator_table.h"
#include "source/pytorch/identity/running_operations.h"
#include "source/pytorch/python/python_bridge.h"

namespace tensortap::pytorch {

// One op. Lives as long as the process.
struct OpIdentity {
  tensortap_op_id id = TENSORTAP_NO_OP;  // of the session
  uint32_t op = 0;                       // of the operator table
  uint32_t flags = 0;                    // TENSORTAP_TORCH_OP_*
  std::string name;
  ModuleId module = 0;
  SourcePosition position;
  std::vector<uint32_t> input_names;      // by slot: parameter_name_number() of the call that it became known by, 0 = no name of a tensor
  uint64_t arguments = 0;                 // tensortap_torch_adapter::arguments_digest of the call that it became known by, 0 = not known
  bool is_graph = false;                  // no op: represents a compiled graph, which its backward nodes belong to
  std::atomic<uint64_t> calls{0};         // step in the upper half, calls in it in the lower
  std::atomic<bool> told{false};          // an execution was reported to the session, of an op whose further ones are no news
  std::atomic<uint32_t> not_captured{0};  // bit per reason that was reported to the session
  // Number of this call in its step, from 0.
  uint32_t count_call(int64_t step);
  // Number of the last call that was counted in the step, 0 when there was none.
  [[nodiscard]] uint32_t last_call(int64_t step) const;
};

// The arguments of a call that are no tensors.
struct ReportedArguments {
  uint64_t digest = 0;  // tensortap_torch_adapter::arguments_digest
  std::string text;     // a JSON object; "" = none, or not asked for
};
// The arguments of a call that begins; with `text` false, only the digest.
ReportedArguments arguments_of(const tensortap_torch_call& call, const tensortap_torch_adapter& adapter, bool text);

// Calls with equal keys are the same op.
struct OpKey {
  uint32_t op = 0;
  ModuleId module = 0;
  SourcePosition position;
  const OpIdentity* forward = nullptr;  // of a backward op
  uint32_t scope = 0;                   // number of the autograd node's or optimizer's name, 0 = none
  uint32_t level = 0;                   // TENSORTAP_LEVEL_*
  friend bool operator==(const OpKey&, const OpKey&) = default;
};
struct OpKeyHash {
  size_t operator()(const OpKey& key) const;
};

// Names of scopes by number, from 1. Thread-safe.
class NameTable {
 public:
  struct Named {
    std::string_view name;  // the table's own
    uint32_t number = 0;
  };
  uint32_t number_of(std::string_view name) { return find_or_add(name).number; }
  Named find_or_add(std::string_view name);
  std::string name_of(uint32_t number);

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::mutex mutex_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> numbers_;
  std::deque<std::string> names_;
};

// The names that a thread met last, so that it seldom asks the table, which has a lock. One per thread, of one table that outlives it.
class RecentNames {
 public:
  uint32_t number_of(std::string_view name, NameTable& table);

 private:
  std::array<NameTable::Named, 64> slots_;
};

// The ops that a thread met last. One per thread.
class RecentOps {
 public:
  // Null when it is not among them. `generation` distinguishes one set of ops from another.
  [[nodiscard]] OpIdentity* find(const OpKey& key, uint64_t generation) const;
  void add(const OpKey& key, uint64_t generation, OpIdentity* identity);

 private:
  // In one line of the processor's cache each.
  struct alignas(64) Slot {
    uint64_t generation = 0;
    OpKey key;
    OpIdentity* identity = nullptr;
  };
  static_assert(sizeof(Slot) == 64);
  static constexpr size_t kSlots = 4096;
  std::array<Slot, kSlots> slots_;
};

// Owns the strings that the description of a session's op points to.
struct OpDescription {
  std::string source;
  std::string attributes;
  std::vector<std::string> inputs;
};

// A call of set_dump(): ops of this type in this module or below it; "" = any.
struct DumpRequest {
  std::string module;
  std::string op;
  bool enabled = true;
  bool fits = false;  // an op that ran
};

// The ops of one session. Thread-safe.
class OpIdentities {
 public:
  OpIdentities(tensortap_session* session, const tensortap_torch_adapter& adapter, OperatorTable& operators, NameTable& scopes)
      : session_(session),
        adapter_(adapter),
        operators_(operators),
        scopes_(scopes),
        calls_apart_(tensortap_identity(session) == TENSORTAP_IDENTITY_CALL) {}
  // Whether each call is a separate op, identified by its place.
  [[nodiscard]] bool calls_apart() const { return calls_apart_; }
  OpIdentities(const OpIdentities&) = delete;
  OpIdentities& operator=(const OpIdentities&) = delete;

  // The op of a call. When it is new, `call` gives the names of its inputs, and `told`, or the call while it begins, its arguments. Lives
  // as long as the process. `place` is {} unless calls are distinguished; then it is the place where the program made the call.
  OpIdentity& of(const OpKey& key, const tensortap_torch_call& call, const CallPlace& place = {}, const ReportedArguments* told = nullptr);
  // The op of a node of a compiled graph, whose number in `key` is its position, or of a call of a module.
  OpIdentity& of_node(const OpKey& key, const GraphNode& node, const CallPlace& place = {});
  // Turns ops on and off, future ones too; the last request that fits an op counts.
  void request(DumpRequest request);
  // A sentence for each request that fitted no op.
  std::vector<std::string> requests_in_vain();

 private:
  struct Call {
    OpKey key;
    CallPlace place;
    friend bool operator==(const Call&, const Call&) = default;
  };
  struct CallHash {
    size_t operator()(const Call& call) const;
  };

  OpIdentity*& known_of(OpKey key, const CallPlace& place);
  OpIdentity& add(OpIdentity*& known, const OpKey& key);
  std::string name_for(const OpKey& key, const TorchOperator& op);
  void apply(DumpRequest& request, const OpIdentity& identity);
  void register_op(OpIdentity& identity, const OpKey& key, const CallPlace& place, const OpDescription& texts);

  tensortap_session* const session_;
  const tensortap_torch_adapter& adapter_;
  OperatorTable& operators_;
  NameTable& scopes_;
  const bool calls_apart_;
  std::mutex mutex_;
  std::unordered_map<Call, OpIdentity*, CallHash> identities_;
  std::unordered_map<std::string, uint32_t> taken_;
  std::vector<DumpRequest> requests_;
};

}  // namespace tensortap::pytorch

#endif  // TENSORTAP_SOURCE_PYTORCH_IDENTITY_OP_IDENTITY_H_
