// Which record holds a value that an op read.

#ifndef TENSORTAP_QUERY_RECORD_LOOKUP_H_
#define TENSORTAP_QUERY_RECORD_LOOKUP_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "query/op_facts.h"
#include "trace/dump_index.h"

namespace tensortap {

// Row numbers in time order: by sequence, then as stored.
std::vector<size_t> rows_in_time_order(const DumpIndex& dump);

// Immutable once made; borrows the dump. Making one is linear in records and ops.
class RecordLookup {
 public:
  // Both are borrowed.
  RecordLookup(const DumpIndex& dump, const OpFactsTable& facts);

  struct Read {
    std::string value;          // its name, or its slot where it has none
    std::optional<size_t> row;  // nothing when it was not captured
  };
  // What the execution behind `row` read: for each input of its op the record that came with the event, or else the producer's last one
  // before it, in the same step and run (weights: in any). Values inside a body of the op count as read when they hold a record. In dumps
  // that record the memory of each tensor, these are the records that came with the execution, except for memory that the op was about to
  // overwrite.
  [[nodiscard]] std::vector<Read> reads_of(size_t row) const;
  // The output that holds what `row` holds, found by its memory: of the execution that made this content of the block or, if that wrote
  // elsewhere in the block, of the last one before that left NaN or Inf in it. Nothing when the memory is unknown or no op that wrote it
  // was captured.
  [[nodiscard]] std::optional<size_t> writer_of(size_t row) const;
  // For an input that holds NaN or Inf and has no writer: the output that they may have come from, through kernels that are no ops. In
  // compiled code this is the last output of the same run of the code that holds some. For an input that is read after the code, it is the
  // last output of the code that ran last on the thread.
  [[nodiscard]] std::optional<size_t> carried_from(size_t row) const;
  // Whether ops of compiled code read NaN or Inf after it made this output, in the same run of the code.
  [[nodiscard]] bool is_carried_on(size_t row) const;

  // Rows of what the execution behind `row` read, in dumps that record the memory of each tensor.
  [[nodiscard]] std::span<const size_t> inputs_of(size_t row) const;
  // The op that makes what an op reads, and the number of that output: as the op names it, or the value. Nothing where neither is known.
  [[nodiscard]] std::optional<std::pair<OpId, uint32_t>> producer_of(const OpInfo& op, const OpInput& input) const;
  // Whether records contain the memory that each tensor was in.
  [[nodiscard]] bool knows_memory() const { return knows_memory_; }

  struct Execution {
    OpId op;
    uint32_t call;
    int64_t step;
    uint64_t run;
    uint8_t phase;
    friend bool operator==(const Execution&, const Execution&) = default;
  };
  // What a block of memory held at one time.
  struct Content {
    uint64_t storage;
    uint64_t version;
    friend bool operator==(const Content&, const Content&) = default;
  };
  struct Hash {
    size_t operator()(const Execution& key) const;
    size_t operator()(const Content& key) const;
  };
  static Execution execution_of(const RecordRow& row) { return {row.op, row.call, row.step, row.run, row.phase}; }

 private:
  // The ops of compiled code run once in each run of the code.
  struct CodeRun {
    uint32_t thread;
    uint32_t call;
    int64_t step;
    uint64_t run;
    friend auto operator<=>(const CodeRun&, const CodeRun&) = default;
  };
  static CodeRun code_run_of(const RecordRow& row) { return {row.thread, row.call, row.step, row.run}; }
  void add_memory(size_t row);
  void add_in_code(size_t row);
  [[nodiscard]] std::vector<Read> own_reads(size_t row) const;
  [[nodiscard]] std::optional<size_t> producer_row(const OpInfo& op, const OpInput& input, const RecordRow& reader) const;
  [[nodiscard]] std::optional<size_t> body_row(const OpInfo& op, uint32_t slot, const RecordRow& reader) const;
  [[nodiscard]] std::optional<size_t> last_before(uint64_t key, const RecordRow& reader) const;
  [[nodiscard]] std::optional<size_t> own_input(const RecordRow& reader, uint32_t slot) const;

  const DumpIndex& dump_;
  const OpFactsTable& facts_;
  std::unordered_map<uint64_t, std::vector<size_t>> rows_;  // by op, kind and number of the slot, in time order
  std::unordered_map<std::string, std::pair<OpId, uint32_t>> makers_;
  std::unordered_map<OpId, std::vector<OpId>> children_;
  // In dumps that record the memory of each tensor.
  bool knows_memory_ = false;
  bool has_inputs_ = false;
  std::unordered_map<Execution, std::vector<size_t>, Hash> inputs_;
  std::unordered_map<Content, size_t, Hash> writers_;               // the first output of each content
  std::unordered_map<uint64_t, std::vector<size_t>> nonfinite_;     // outputs that made such content, by storage
  std::unordered_map<uint32_t, std::vector<size_t>> made_in_code_;  // outputs of compiled code, by thread
  std::map<CodeRun, uint64_t> read_in_code_;                        // the sequence of the last input that holds NaN or Inf
};

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_RECORD_LOOKUP_H_
