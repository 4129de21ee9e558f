// The keys of a value under each rule of pairing: values of two dumps with equal keys are proposed as a pair.

#ifndef TENSORTAP_COMPARE_PAIRING_KEYS_H_
#define TENSORTAP_COMPARE_PAIRING_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "compare/value_table.h"

namespace tensortap {

// How many elements a value has, and how large they are.
struct Magnitudes {
  uint64_t numel = 0;
  double l2 = 0;
  double absmax = 0;
};

// All keys are "" where the rule has nothing to say.
class PairingKeys {
 public:
  // Borrows the table.
  explicit PairingKeys(const ValueTable& table);

  // Graph and name of the value, where the author gave it the name: not the runtime.
  [[nodiscard]] std::string value_name(ValueId id) const;
  // Graph, name and type of the op, and the slot.
  [[nodiscard]] std::string identity(ValueId id) const;
  // Graph and name of the author's node that makes the value, and the slot.
  [[nodiscard]] std::string last_original(ValueId id) const;
  // Whether an op of the dump implements this node of the author's graph.
  [[nodiscard]] bool has_node(const std::string& name) const { return nodes_.contains(name); }
  // Path of the module, as "/block/conv": of PyTorch's "Net.block.conv", ONNX's "/block/conv/Conv" and MindSpore's
  // "Default/block-Block/conv-Conv2d/Conv2D-op3" alike. Another one for what the backward pass made.
  [[nodiscard]] std::string scope(ValueId id) const;
  // The kind of the op, under one name for all frameworks.
  [[nodiscard]] static std::string family(const OpInfo& op);
  // Whether the output of an op of this type is its input, in another form.
  [[nodiscard]] static bool hands_on(const OpInfo& op);
  // The op's family and the role of the slot in it.
  [[nodiscard]] std::string role(ValueId id) const;
  // Digest of type and elements of the first record, where there are more than 4 of them. Reads data.
  [[nodiscard]] std::string content(ValueId id) const;
  // Number of elements, and l2 and absmax to two digits. Reads data where the record has no statistics.
  [[nodiscard]] std::string statistics(ValueId id) const;
  // The magnitudes of the first record; nothing if it is all zeros or unknown. Reads data where the record has no statistics.
  [[nodiscard]] std::optional<Magnitudes> magnitudes(ValueId id) const;

  // Values that the first execution read, kNoValue where that was not captured.
  [[nodiscard]] const std::vector<ValueId>& inputs(ValueId id) const { return inputs_[id]; }
  struct Reader {
    ValueId value;
    uint32_t position;
  };
  [[nodiscard]] const std::vector<Reader>& readers(ValueId id) const { return readers_[id]; }
  // The readers of a value in further executions within the step of the first, and in the two steps after that: where one op of a program
  // runs several times, or reads a value from the step before.
  [[nodiscard]] const std::vector<ValueId>& later_readers(ValueId id) const { return later_readers_[id]; }
  // Known without the program's inputs: a weight or a constant, or made of such alone, or of shapes.
  [[nodiscard]] bool is_constant(ValueId id) const { return is_constant_[id]; }
  [[nodiscard]] const ValueTable& table() const { return table_; }

 private:
  [[nodiscard]] bool is_runtime_name(const std::string& name) const;
  [[nodiscard]] std::string_view graph_of(const OpInfo& op) const;

  void find_constants();
  void find_later_readers();

  const ValueTable& table_;
  std::vector<bool> is_constant_;
  std::vector<std::vector<ValueId>> inputs_;
  std::vector<std::vector<Reader>> readers_;
  std::vector<std::vector<ValueId>> later_readers_;
  std::unordered_set<std::string> nodes_;     // of the author
  std::unordered_set<std::string> numbered_;  // names that the runtime numbers: "reorder" of "reorder_token_7"
  bool knows_originals_ = false;
  bool numbers_processes_ = false;  // graphs are called by rank and process, as msit's "0_9946" is: another process has another number
};

}  // namespace tensortap

#endif  // TENSORTAP_COMPARE_PAIRING_KEYS_H_
