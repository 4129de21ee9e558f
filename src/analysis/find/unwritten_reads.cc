#include "find/unwritten_reads.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "find/op_semantics.h"
#include "query/op_facts.h"
#include "query/record_lookup.h"

namespace tensortap {
namespace {

class UnwrittenReads {
 public:
  explicit UnwrittenReads(const DumpIndex& dump) : dump_(dump), facts_(dump) {}

  std::vector<size_t> find(size_t limit) {
    const bool any =
        std::ranges::any_of(dump_.rows(), [](const RecordRow& row) { return (is_unwritten(row) || is_partly(row)) && row.numel > 0; });
    if (!any) return {};
    for (const size_t row : rows_in_time_order(dump_)) {
      const RecordRow& record = dump_.rows()[row];
      if (record.storage == 0) continue;
      is_input(record) ? read(row) : made(row);
    }
    return first_of_each_op(limit);
  }

 private:
  using Content = RecordLookup::Content;
  struct Suspect {
    std::vector<size_t> inputs;
    bool whole = false;   // nothing of an input was written
    bool sums = false;    // an output is one number
    bool shows = false;   // an output is the memory that was read, with the content that it had
    bool writes = false;  // an output is that memory with other content
  };

  static bool is_unwritten(const RecordRow& row) { return (row.flags & kRecordUnwritten) != 0; }
  static bool is_partly(const RecordRow& row) { return (row.value_flags & kValuePartlyUnwritten) != 0; }
  static Content content_of(const RecordRow& row) { return {row.storage, row.version}; }
  [[nodiscard]] const std::string& type_of(const RecordRow& row) const { return op_of(dump_, row).type; }

  void read(size_t row) {
    const RecordRow& record = dump_.rows()[row];
    if (record.numel == 0 || facts_.is_overwritten(record)) return;
    const bool whole = is_unwritten(record) || copies_.contains(content_of(record));
    if (!whole && !(is_partly(record) && sums_up(type_of(record)))) return;
    Suspect& suspect = suspects_[RecordLookup::execution_of(record)];
    suspect.whole = suspect.whole || whole;
    suspect.inputs.push_back(row);
  }

  void made(size_t row) {
    const RecordRow& record = dump_.rows()[row];
    const auto found = suspects_.find(RecordLookup::execution_of(record));
    if (found == suspects_.end()) return;
    for (const size_t input : found->second.inputs) {
      const RecordRow& read = dump_.rows()[input];
      if (read.storage != record.storage) continue;
      (read.version == record.version ? found->second.shows : found->second.writes) = true;
    }
    if (record.numel == 1) found->second.sums = true;
    if (found->second.whole && only_copies(type_of(record))) copies_.insert(content_of(record));
  }

  // An operator that is not PyTorch's own may be given memory to write its results to.
  [[nodiscard]] bool computes(const Suspect& suspect) const {
    const RecordRow& record = dump_.rows()[suspect.inputs.front()];
    const OpInfo& op = op_of(dump_, record);
    if (op.level != Level::kOp && op.level != Level::kKernel) return false;
    if (!suspect.whole) return suspect.sums;
    const std::string& type = op.type;
    if (suspect.shows || only_copies(type) || reads_shape_only(type) || writes_parts(type)) return false;
    return op.domain == "aten" || !suspect.writes;
  }

  [[nodiscard]] std::vector<size_t> first_of_each_op(size_t limit) const {
    std::vector<size_t> rows;
    for (const auto& [execution, suspect] : suspects_) {
      if (computes(suspect)) rows.push_back(suspect.inputs.front());
    }
    std::ranges::sort(rows, {}, [&](size_t row) { return std::pair(dump_.rows()[row].sequence, row); });
    std::unordered_set<OpId> known;
    std::erase_if(rows, [&](size_t row) { return !known.insert(dump_.rows()[row].op).second; });
    if (rows.size() > limit) rows.resize(limit);
    return rows;
  }

  const DumpIndex& dump_;
  const OpFactsTable facts_;
  std::unordered_map<RecordLookup::Execution, Suspect, RecordLookup::Hash> suspects_;
  std::unordered_set<Content, RecordLookup::Hash> copies_;  // of memory that nothing was written to
};

}  // namespace

std::vector<size_t> find_unwritten_reads(const DumpIndex& dump, size_t limit) { return UnwrittenReads(dump).find(limit); }

}  // namespace tensortap
