// The ranks of a job: the dumps that they left, what each holds, and passes over their records, a few dumps at a time.

#ifndef TENSORTAP_RANKS_RANK_JOB_H_
#define TENSORTAP_RANKS_RANK_JOB_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "find/record_roles.h"
#include "ranks/rank_end.h"
#include "table/job_dumps.h"
#include "table/job_ops.h"
#include "trace/dump_index.h"

namespace tensortap {

// A position that does not exist: the job did not have this when it was opened, since its programs may still run.
inline constexpr uint32_t kNowhere = 0xffffffffU;

// What was captured according to the manifests of a rank, summed over its dumps.
struct RankCoverage {
  bool is_known = false;
  uint64_t lost = 0;
  uint64_t ops_expected = 0;
  uint64_t ops_captured = 0;
  uint64_t steps_seen = 0;
  uint64_t steps_captured = 0;
  std::vector<std::string> losses;  // as JSON
};

// What one rank left.
struct RankOfJob {
  int64_t rank = 0;
  std::vector<std::string> dumps;
  uint64_t records = 0;
  std::vector<int64_t> steps;  // with records, rising
  std::string release;         // of tensortap; "" = not said
  std::string source;          // "pytorch 2.13.0"; "" = not said
  RankCoverage coverage;
  RankEnd end;                     // of its process with most records
  std::vector<std::string> notes;  // what its dumps lack, a sentence each
};

struct UnreadDump {
  std::string dump;
  std::string reason;
  std::optional<int64_t> rank;  // that its folder names
};

// The record names an op that the dump does not know: its line of ops.jsonl is damaged. It is in no answer.
bool lacks_name(const DumpIndex& dump, const RecordRow& row);

// One dump while it is open. A "place" is the position of a rank in RankJob::ranks().
class OpenRankDump {
 public:
  OpenRankDump(const DumpIndex& open_dump, std::span<const uint32_t> numbers, const std::map<int64_t, uint32_t>& places,
               std::optional<uint32_t> only_place)
      : dump(open_dump), roles(open_dump), job_ops_(numbers), places_(places), only_place_(only_place) {}

  // kNoOp for a record that names no op, or one that the dump does not know.
  [[nodiscard]] uint32_t job_op_of(const RecordRow& row) const { return row.op < job_ops_.size() ? job_ops_[row.op] : kNoOp; }
  // kNowhere for a record of a rank that came after the job was opened.
  [[nodiscard]] uint32_t place_of(const RecordRow& row) const;

  const DumpIndex& dump;
  const RecordRoles roles;

 private:
  std::span<const uint32_t> job_ops_;
  const std::map<int64_t, uint32_t>& places_;
  std::optional<uint32_t> only_place_;
};

// Immutable once open, except for the notes that visit() adds. One thread.
class RankJob {
 public:
  // Reads ops, manifests and the steps of the records of every dump at these paths. Where several paths are given that all say the same
  // rank, they are numbered in their order. Errors: kNotFound when there is no dump, kInvalidArgument for a path that is given twice,
  // kCorrupt when no dump can be read.
  static Result<RankJob> open(std::span<const std::string> paths);

  [[nodiscard]] std::span<const RankOfJob> ranks() const { return ranks_; }
  [[nodiscard]] std::span<const JobOps::Op> ops() const { return ops_.ops(); }
  // All steps of the job, rising, and how many records each has.
  [[nodiscard]] std::span<const int64_t> steps() const { return steps_; }
  [[nodiscard]] std::span<const uint64_t> records_of_steps() const { return records_of_steps_; }
  [[nodiscard]] uint32_t step_place(int64_t step) const;  // position among steps(), or kNowhere
  [[nodiscard]] std::span<const UnreadDump> unread() const { return unread_; }
  [[nodiscard]] size_t dumps() const { return dumps_.size(); }
  // Of every dump, those that cannot be read included.
  [[nodiscard]] const std::vector<NamedCompleteness>& states() const { return states_; }
  // Numbers that are below the largest rank, or below the size of the job that manifests name, and have no dump, read or
  // not. At most a million.
  [[nodiscard]] std::vector<int64_t> missing_ranks() const;
  // For each op of the job, for each place whether the rank has the op.
  [[nodiscard]] std::vector<std::vector<bool>> ranks_of_ops() const;
  // The process groups of two ranks or more that manifests name, each once.
  [[nodiscard]] const std::vector<std::vector<int64_t>>& process_groups() const { return groups_; }
  // Whether a manifest names a process group of one rank, whose collectives change nothing.
  [[nodiscard]] bool has_groups_of_one() const { return has_groups_of_one_; }
  [[nodiscard]] std::optional<uint32_t> place_of_rank(int64_t rank) const;

  // A dump that is open.
  struct Visited {
    size_t dump = 0;
    const OpenRankDump* open = nullptr;  // null when it can no longer be opened, which is noted for its rank
  };
  // Opens tasks_together() dumps after the others and closes them again. Calls `look` with each, several at a time on different threads;
  // `seat` is its position in `take`. Then calls `take` with these dumps, in order, on this thread.
  void visit(const std::function<void(const OpenRankDump&, size_t seat)>& look, const std::function<void(std::span<const Visited>)>& take);
  // Opens one of them; false when it cannot be opened.
  bool visit_one(size_t dump, const std::function<void(const OpenRankDump&, size_t dump)>& look);

 private:
  struct Dump {
    JobDump found;
    std::vector<int64_t> ranks;     // of its records; of a dump without records the one that its folder or manifest says
    std::optional<int64_t> only;    // the rank of all its records, whatever they say
    std::vector<bool> named;        // by op; empty where all have a name
    std::vector<uint32_t> numbers;  // in the job, kNoOp of ops without a name; empty where all have one
  };
  // What a scan of the records gives, by rank.
  struct Scan {
    std::map<int64_t, uint64_t> records;
    std::map<int64_t, std::map<int64_t, uint64_t>> steps;
    std::map<int64_t, RankEnd> ends;
    std::string manifest;
    std::vector<std::string> problems;
    uint64_t unnamed = 0;  // records that lacks_name() is true of
  };

  // One look at a dump, when the job is opened.
  struct Look;
  // A dump that was opened again.
  struct Visit;

  static Look look_at(const JobDump& place);
  void take(JobDump& place, const Look& look, std::vector<Scan>& scans);
  [[nodiscard]] Visit open_again(size_t dump) const;
  [[nodiscard]] uint32_t place_of_dump(size_t dump) const;
  void note_change(size_t dump);
  void leave_out(const JobDump& place, const std::string& reason, std::optional<int64_t> rank);
  void add_ops(Dump& added, std::span<const OpInfo> ops);
  void number_ops();
  [[nodiscard]] std::span<const uint32_t> numbers_of(size_t dump) const {
    return dumps_[dump].named.empty() ? ops_.numbers(dump) : std::span<const uint32_t>(dumps_[dump].numbers);
  }
  static Scan scanned(const DumpIndex& dump);
  void number_alike(std::span<const std::string> paths);
  void settle(const std::vector<Scan>& scans);
  void add_manifest(RankOfJob& rank, const std::string& text);
  void note_releases();

  std::vector<Dump> dumps_;
  std::vector<RankOfJob> ranks_;
  std::map<int64_t, uint32_t> places_;
  JobOps ops_;
  std::vector<int64_t> steps_;
  std::vector<uint64_t> records_of_steps_;
  std::vector<UnreadDump> unread_;
  std::vector<NamedCompleteness> states_;
  std::vector<std::vector<int64_t>> groups_;
  bool has_groups_of_one_ = false;
  uint64_t world_size_ = 0;
};

// "0-3, 7".
std::string ranks_text(std::span<const int64_t> ranks);

}  // namespace tensortap

#endif  // TENSORTAP_RANKS_RANK_JOB_H_
