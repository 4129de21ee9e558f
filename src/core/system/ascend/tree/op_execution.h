// The inputs and outputs of one execution of one op, gathered from its records until its file is written.

#ifndef TENSORTAP_SYSTEM_ASCEND_TREE_OP_EXECUTION_H_
#define TENSORTAP_SYSTEM_ASCEND_TREE_OP_EXECUTION_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/dump_data/dump_data_file.h"
#include "plan/op_decision.h"
#include "system/ascend/tree/file_names.h"
#include "trace/op_info.h"
#include "trace/record_row.h"
#include "trace/scoped_name.h"
#include "tree/file_parts.h"

namespace tensortap::ascend {

struct Op {
  std::string type;  // of file names
  std::string name;  // of file names
  std::string full_name;
  std::string original;  // the author's node, "" when it is the op itself
  uint64_t task = 0;     // in the order of execution
  uint32_t outputs = 0;  // how many are wanted, 0 = not known
  bool known = false;
  bool single = false;
  bool pseudo = false;
  bool without_file = false;  // exists only for its readers: an operand of an op that is called by itself, a weight
  bool wants_inputs = false;
  bool wants_outputs = false;
};

// One input or output.
struct Piece {
  uint32_t slot = 0;
  RecordRow row;
  const void* data = nullptr;  // borrowed, of the record that is being added
  std::shared_ptr<const KeptBytes> kept;
};

struct Execution {
  OpId op = kNoOp;
  uint64_t run = 0;
  int64_t step = 0;
  uint32_t call = 0;
  uint32_t thread = 0;
  bool load = false;
  bool failed = false;
  uint64_t own = 0;  // pieces that are records of the op, not taken from those that made its inputs
  std::vector<Piece> inputs;
  std::vector<Piece> outputs;

  [[nodiscard]] bool is_of(OpId other, const RecordRow& row) const {
    return op == other && step == row.step && call == row.call && failed == ((row.flags & kRecordFailedOp) != 0);
  }
  [[nodiscard]] bool has(bool is_input, uint32_t slot) const {
    return std::ranges::any_of(is_input ? inputs : outputs, [slot](const Piece& piece) { return piece.slot == slot; });
  }
  // Whether an output is in the memory of an input whose content was another one before.
  [[nodiscard]] bool changes_inputs() const {
    return std::ranges::any_of(outputs, [this](const Piece& made) {
      return made.row.storage != 0 && std::ranges::any_of(inputs, [&made](const Piece& read) {
               return read.row.storage == made.row.storage && read.row.version != made.row.version;
             });
    });
  }
  [[nodiscard]] bool empty() const { return inputs.empty() && outputs.empty(); }
};

// How tensors are described.
struct DescriptionRules {
  bool brief = false;   // without types and shapes
  bool images = false;  // tensors of four and five dimensions are images
};

// Describes an execution for its file, with the payloads as parts. A slot has the position of its number: a slot before it that was not
// kept is an undefined tensor without bytes. Borrows from the execution.
void describe_execution(const Op& op, const Execution& execution, DescriptionRules rules, DumpDataFile& file, std::vector<FilePart>& parts);

}  // namespace tensortap::ascend

#endif  // TENSORTAP_SYSTEM_ASCEND_TREE_OP_EXECUTION_H_
