// One execution of an op of a dump, with the records of what it read and made.

#ifndef TENSORTAP_REPLAY_RECORDED_OP_H_
#define TENSORTAP_REPLAY_RECORDED_OP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "replay/attribute_protos.h"
#include "trace/dump_index.h"

namespace tensortap {

struct RecordedInput {
  std::optional<uint32_t> row;                // nothing: the op has no such input. Of a sequence its first element
  std::vector<uint32_t> elements = {};        // rows of a sequence, in order
  bool optional = false;                      // the op wants an optional that holds this
  bool constant = false;                      // a weight, which kernels may rearrange when they are made
  uint32_t block = 0;                         // channels of a block as the op read it, 0 = plain order
  std::optional<RecordedFilter> filter = {};  // a weight that the op read in blocks
  std::string name;                           // by which the op's nested graphs know it; "" for inputs of the op itself
};

struct RecordedOutput {
  uint32_t row = 0;
  uint32_t slot = 0;
  uint32_t block = 0;     // as of RecordedInput
  int64_t element = -1;   // of a sequence
  bool optional = false;  // the op returns an optional that holds this
};

struct RecordedOp {
  OpId op = kNoOp;
  int64_t step = 0;
  uint32_t call = 0;
  uint64_t bytes = 0;  // of everything that it read
  std::vector<RecordedInput> inputs;
  std::vector<RecordedInput> outer;    // what its nested graphs read from around them
  std::vector<RecordedInput> weights;  // of its nested graphs, those that were in files
  std::vector<RecordedOutput> outputs;
  bool broadcasts = false;  // it works element by element on images in blocks of several sizes: it runs on plain ones
  std::string obstacle;     // why it cannot be run again; "" = it can
};

// Which executions. Empty: all.
struct ReplaySelection {
  std::string op;  // name
  std::optional<int64_t> step;
  std::optional<uint32_t> call;
};
// "OP", "OP@step", "OP#call", "OP@step#call". Of a name that the dump has as it is, nothing is split off. Errors: kNotFound with the
// nearest names.
Result<ReplaySelection> parse_replay_selection(const DumpIndex& dump, std::string_view text);

// The executions of ops whose outputs have values in the dump, in the order in which they ran. `dump` is of ONNX Runtime.
std::vector<RecordedOp> find_recorded_ops(const DumpIndex& dump, const ReplaySelection& selection);

// "conv@3#1"
std::string recorded_op_name(const DumpIndex& dump, const RecordedOp& op);

}  // namespace tensortap

#endif  // TENSORTAP_REPLAY_RECORDED_OP_H_
