// Builds the topology files of msit: which operations an operation consists of, and which tensors go from one to the other.

#ifndef TENSORTAP_SYSTEM_MSIT_TREE_TOPOLOGY_H_
#define TENSORTAP_SYSTEM_MSIT_TREE_TOPOLOGY_H_

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "format/atb_topology/topology_model.h"
#include "trace/op_info.h"
#include "trace/record_row.h"

namespace tensortap::msit {

// An operation, as the tree names it.
struct TopologyOperation {
  std::string ids;         // "1_0"
  std::string type;        // "LinearOperation"
  std::string parameters;  // JSON text, "" = none
  OpId parent = kNoOp;     // kNoOp of a root operation
  std::string model;       // class of the model that runs a root operation, "" when it is outside of all
  ModelPhase phase = ModelPhase::kNone;
};

struct TopologyDocument {
  std::string name;                             // "Prefill_layer_2.json"
  std::string text;                             // one line of JSON
  std::map<std::string, OperationTypes> types;  // of the tensors of each operation in it, by its name
};

// Collects what the operations of a round read and made. Describes each root operation and each model once, after the first round in which
// it ran. Edges come from memory: an operation reads another one's output when both are the same content of the same block.
// Thread-compatible.
class Topology {
 public:
  void add(OpId id, TopologyOperation operation);
  // A tensor that an operation read or made. Skips operations that were not added. Rows without a known block are distinct values.
  void see(OpId id, const RecordRow& row);
  // The documents of the root operations that ran in this round for the first time.
  std::vector<TopologyDocument> layers();
  // Those of the models, a document for each phase: "Decoder.json" for the prefill, "Decoder_decode.json", "Decoder_train.json".
  std::vector<TopologyDocument> models();
  // Forgets what ran in the round.
  void end_round();

 private:
  // The content of a block, or a unique number where the block is not known.
  struct Value {
    uint64_t storage = 0;
    uint64_t version = 0;
    friend auto operator<=>(const Value&, const Value&) = default;
  };
  using Names = std::map<Value, std::string>;
  struct Call {
    std::map<uint32_t, Value> inputs;  // by slot
    std::map<uint32_t, Value> outputs;
    std::map<uint32_t, TensorDesc> input_types;  // by slot, as the values
    std::map<uint32_t, TensorDesc> output_types;
    std::vector<OpId> children;  // in the order in which they ran
  };

  // The names of a scope by value, and what it needs beside its inputs and outputs.
  struct Scope {
    std::string owner;  // whose internal tensors are added
    Names names;
    std::vector<std::string> internals;
    const std::string& name_of(const Value& value);
  };

  Call& call_of(OpId id);
  [[nodiscard]] std::string name_of(OpId id) const;  // "LinearOperation_1_0"
  void add_body(OpId id, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs, Json& node) const;
  [[nodiscard]] Json described(OpId id, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) const;
  Json node_of(OpId id, Scope& around) const;
  // Notes the types of the operation's tensors and of those below it.
  void note_types(OpId id, std::map<std::string, OperationTypes>& types) const;
  TopologyDocument layer_of(OpId id) const;
  TopologyDocument model_of(const std::string& of_class, ModelPhase phase) const;

  std::map<OpId, TopologyOperation> operations_;
  std::map<OpId, Call> calls_;  // of the round
  std::vector<OpId> roots_;     // of the round, in the order in which they ran
  std::set<OpId> told_;
  std::set<std::pair<std::string, ModelPhase>> told_models_;
  uint64_t unknown_ = 0;
};

}  // namespace tensortap::msit

#endif  // TENSORTAP_SYSTEM_MSIT_TREE_TOPOLOGY_H_
