// Which records of a dump, and in which order: what `tensortap ls` and Python's Dump.select ask.

#ifndef TENSORTAP_QUERY_ROW_QUERY_H_
#define TENSORTAP_QUERY_ROW_QUERY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "trace/dump_index.h"

namespace tensortap {

// "" = no condition. A record is chosen when it meets all of them.
struct RowQuery {
  std::string op = {};      // the op's name is this, or contains a match of this regular expression
  std::string type = {};    // the op's type is one of "Conv,Gemm"
  std::string module = {};  // one of the patterns "model.layers.*.attn,head" is the op's module, or one around it: module_pattern()
  std::string step = {};    // "0,3-5"
  uint64_t last = 0;        // only this many of the last of those steps; 0 = all
  std::string slot = {};    // "out" or "in0,out1"
  std::string where = {};   // an expression of plan/where.h
  std::string sort = {};    // a column that sorts; "-absmax" for the largest first; "" = the order of the dump
  size_t offset = 0;        // how many of the chosen records to leave out at the beginning
  size_t limit = 0;         // at most this many; 0 = no limit
};

// Whether a query can be asked of any dump at all. Errors: as those of select_rows(), without "sort".
Status check_query(const RowQuery& query);

// Whether a query chooses less than all records, and less than all ops.
bool is_selection(const RowQuery& query);
bool chooses_ops(const RowQuery& query);

// Decides for one row after another. Borrows the dump.
class RowFilter {
 public:
  // Errors: as those of select_rows().
  static Result<RowFilter> make(const RowQuery& query, const DumpIndex& dump);
  RowFilter(RowFilter&&) noexcept;
  RowFilter& operator=(RowFilter&&) noexcept;
  ~RowFilter();
  [[nodiscard]] bool keeps(const RecordRow& row) const;

 private:
  struct Conditions;
  explicit RowFilter(std::unique_ptr<Conditions> conditions);
  std::unique_ptr<Conditions> conditions_;
};

// The numbers of the chosen rows. Rows without a value to sort by come last in either order; equal ones keep the order of the dump.
// Errors: kInvalidArgument; the message begins with the name of the member of RowQuery that is wrong.
Result<std::vector<uint32_t>> select_rows(const DumpIndex& dump, const RowQuery& query);

// A row of one of several dumps.
struct RowOfDump {
  uint32_t dump = 0;  // its place among them
  uint32_t row = 0;
};
// The same of several dumps as if they were one: the rows of each behind those of the one before.
Result<std::vector<RowOfDump>> select_rows(std::span<const DumpIndex* const> dumps, const RowQuery& query);

// Why a query chooses nothing, or less than it names, whatever holds of the records (`where`): a sentence for each of its names (of ops,
// types, modules) that no op of these dumps has, with the nearest ones; for steps and slots that no record has; or that no record meets all
// conditions. Empty if something is chosen and each name exists.
std::vector<std::string> unmatched_names(std::span<const DumpIndex* const> dumps, const RowQuery& query);

// How many records of these dumps meet all of a query but its `where`, and lack a statistic that decides about that: they are not chosen,
// and whether they should be is not known. 0 for a query that is wrong.
uint64_t count_undecided(std::span<const DumpIndex* const> dumps, const RowQuery& query);

// The names that RowQuery::sort accepts, without the "-".
std::vector<std::string> sort_keys();
// The column that "absmax" or "-absmax" sorts by. It need not exist.
std::string_view sort_key(std::string_view sort);

// The rows of one tensor over steps and calls.
struct Series {
  OpId op = kNoOp;
  SlotKind slot_kind = SlotKind::kOutput;
  uint16_t slot_index = 0;
  int64_t element = -1;
  uint8_t phase = 0;
  int32_t rank = 0;
  std::vector<uint32_t> rows;  // by step, call and sequence
};

// One series for each (op, slot, element, phase, rank) among `rows`, in the order in which they first appear there.
std::vector<Series> series_of(const DumpIndex& dump, std::span<const uint32_t> rows);

}  // namespace tensortap

#endif  // TENSORTAP_QUERY_ROW_QUERY_H_
