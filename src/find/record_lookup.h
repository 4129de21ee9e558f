// Which record holds a value that an op read. Private to this folder.

#ifndef TENSORTAP_FIND_RECORD_LOOKUP_H_
#define TENSORTAP_FIND_RECORD_LOOKUP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

// Row numbers in time order: by sequence, then as they stand.
std::vector<size_t> rows_in_time_order(const DumpIndex& dump);

// Immutable once made; borrows the dump. Making one is linear in records and ops.
class RecordLookup {
 public:
  explicit RecordLookup(const DumpIndex& dump);

  struct Read {
    std::string value;          // its name, or its slot where it has none
    std::optional<size_t> row;  // nothing when it was not captured
  };
  // What the execution behind `row` read: for each input of its op the record that came with the event, or else the producer's last one before it,
  // in the same step and run (weights: in any). Values inside a body of the op count as read when they hold a record.
  [[nodiscard]] std::vector<Read> reads_of(size_t row) const;

 private:
  [[nodiscard]] std::optional<size_t> producer_row(const OpInfo& op, const OpInput& input, const RecordRow& reader) const;
  [[nodiscard]] std::optional<size_t> last_before(uint64_t key, const RecordRow& reader) const;
  [[nodiscard]] std::optional<size_t> own_input(const RecordRow& reader, uint32_t slot) const;

  const DumpIndex& dump_;
  std::unordered_map<uint64_t, std::vector<size_t>> rows_;  // by op, kind and number of the slot, in time order
  std::unordered_map<std::string, std::pair<OpId, uint32_t>> makers_;
  std::unordered_map<OpId, std::vector<OpId>> children_;
};

}  // namespace tensortap

#endif  // TENSORTAP_FIND_RECORD_LOOKUP_H_
