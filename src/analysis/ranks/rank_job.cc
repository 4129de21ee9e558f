#include "ranks/rank_job.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "base/together.h"
#include "ranks/rank_groups.h"
#include "read/open_dump.h"

namespace tensortap {
namespace {

constexpr size_t kMostNotes = 5;  // of a dump's own problems

void add_coverage(RankCoverage& sum, const Json& manifest) {
  const auto part = [&manifest](const char* object, const char* name) {
    const Json* found = member(manifest, object);
    return found == nullptr ? 0 : count_in(*found, name);
  };
  sum.is_known = true;
  sum.lost += count_in(manifest, "lost");
  sum.ops_expected += part("ops", "expected");
  sum.ops_captured += part("ops", "captured");
  sum.steps_seen += part("steps", "seen");
  sum.steps_captured += part("steps", "captured");
  const Json* losses = member(manifest, "losses");
  if (losses == nullptr || !losses->is_array()) return;
  for (const Json& loss : *losses) sum.losses.push_back(to_json_text(loss));
}

// Why the records of a dump cannot be distinguished; empty if they can.
std::string unnamed_reason(const DumpIndex& dump) {
  const auto rows = dump.rows();
  if (!dump.ops().empty() || !std::ranges::any_of(rows, [](const RecordRow& row) { return row.op != kNoOp; })) return {};
  const auto problems = dump.problems();
  const auto said = std::ranges::find_if(problems, [](const std::string& problem) { return problem.find("ops") != std::string::npos; });
  return concat("damaged: it has ", rows.size(), rows.size() == 1 ? " record" : " records", " and no names of their ops",
                said == problems.end() ? "" : concat(" (", *said, ")"));
}

std::vector<int64_t> group_of(const Json& group) {
  std::set<int64_t> members;
  const Json* ranks = member(group, "ranks");
  if (ranks == nullptr || !ranks->is_array()) return {};
  for (const Json& rank : *ranks) {
    if (rank.is_number_unsigned()) members.insert(rank.get<int64_t>());
  }
  return {members.begin(), members.end()};
}

}  // namespace

bool lacks_name(const DumpIndex& dump, const RecordRow& row) {
  return row.op != kNoOp && (row.op >= dump.ops().size() || dump.ops()[row.op].name.empty());
}

uint32_t OpenRankDump::place_of(const RecordRow& row) const {
  if (only_place_) return *only_place_;
  const auto found = places_.find(row.rank);
  return found == places_.end() ? kNowhere : found->second;
}

struct RankJob::Look {
  Result<std::unique_ptr<DumpIndex>> dump = not_found("");
  std::string unnamed;  // why its records are of no use
  Scan scan;
};

struct RankJob::Visit {
  std::unique_ptr<DumpIndex> dump;
  std::unique_ptr<OpenRankDump> open;  // null when the dump cannot be opened
};

RankJob::Look RankJob::look_at(const JobDump& place) {
  Look look;
  look.dump = open_dump(place.path);
  if (!look.dump.ok()) return look;
  look.unnamed = unnamed_reason(**look.dump);
  if (look.unnamed.empty()) look.scan = scanned(**look.dump);
  return look;
}

void RankJob::take(JobDump& place, const Look& look, std::vector<Scan>& scans) {
  if (!look.dump.ok()) return leave_out(place, look.dump.status().message(), place.rank);
  const DumpIndex& dump = **look.dump;
  if (!look.unnamed.empty()) return leave_out(place, look.unnamed, rank_of(place, dump));
  states_.push_back({place.path, dump.completeness()});
  scans.push_back(look.scan);
  Dump& added = dumps_.emplace_back();
  for (const auto& [rank, records] : look.scan.records) added.ranks.push_back(rank);
  if (added.ranks.empty()) added.ranks.push_back(rank_of(place, dump));
  // The folder knows better than records that were made without an environment of a job; of a tree that ranks share the records know.
  if (added.ranks.size() == 1) added.only = place.rank.value_or(added.ranks.front());
  added.found = std::move(place);
  add_ops(added, dump.ops());
}

Result<RankJob> RankJob::open(std::span<const std::string> paths) {
  RankJob job;
  TENSORTAP_ASSIGN_OR_RETURN(std::vector<JobDump> found, find_job_dumps(paths));
  std::vector<Scan> scans;
  for (size_t begin = 0; begin < found.size(); begin += tasks_together()) {
    std::vector<Look> looks(std::min(tasks_together(), found.size() - begin));
    for_each_together(looks.size(), [&](size_t i) { looks[i] = look_at(found[begin + i]); });
    for (size_t i = 0; i < looks.size(); ++i) job.take(found[begin + i], looks[i], scans);
  }
  if (job.dumps_.empty()) return corrupt(concat(job.unread_.front().dump, ": ", job.unread_.front().reason));
  job.number_ops();
  job.number_alike(paths);
  job.settle(scans);
  return job;
}

void RankJob::leave_out(const JobDump& place, const std::string& reason, std::optional<int64_t> rank) {
  unread_.push_back({place.path, reason, rank});
  NamedCompleteness& state = states_.emplace_back(place.path);
  state.completeness.lack(reason);
}

// An op without a name is not the same as any other.
void RankJob::add_ops(Dump& added, std::span<const OpInfo> ops) {
  std::vector<OpInfo> named;
  for (const OpInfo& op : ops) added.named.push_back(!op.name.empty());
  if (std::ranges::find(added.named, false) == added.named.end()) {
    added.named.clear();
    return ops_.add(ops);
  }
  std::ranges::copy_if(ops, std::back_inserter(named), [](const OpInfo& op) { return !op.name.empty(); });
  ops_.add(named);
}

void RankJob::number_ops() {
  ops_.finish();
  for (size_t i = 0; i < dumps_.size(); ++i) {
    auto next = ops_.numbers(i).begin();
    for (const bool has_name : dumps_[i].named) dumps_[i].numbers.push_back(has_name ? *next++ : kNoOp);
  }
}

RankJob::Scan RankJob::scanned(const DumpIndex& dump) {
  Scan scan;
  int32_t rank = 0;
  int64_t step = 0;
  uint64_t* of_step = nullptr;
  for (const RecordRow& row : dump.rows()) {
    if (of_step == nullptr || row.rank != rank || row.step != step) {
      rank = row.rank;
      step = row.step;
      of_step = &scan.steps[rank][step];
    }
    ++*of_step;
    scan.unnamed += lacks_name(dump, row) ? 1 : 0;
  }
  for (const auto& [number, steps] : scan.steps) {
    for (const auto& [one, records] : steps) scan.records[number] += records;
  }
  scan.ends = ends_of(dump);
  scan.manifest = dump.manifest();
  const auto problems = dump.problems();
  for (const std::string& problem : problems) {
    if (scan.problems.size() < kMostNotes) scan.problems.push_back(problem);
  }
  if (problems.size() > kMostNotes) scan.problems.push_back(concat("and ", problems.size() - kMostNotes, " more like these"));
  if (scan.unnamed > 0) {
    scan.problems.push_back(concat(scan.unnamed, scan.unnamed == 1 ? " record is of an op" : " records are of ops",
                                   " that the dump does not name; no answer counts ", scan.unnamed == 1 ? "it" : "them"));
  }
  return scan;
}

void RankJob::number_alike(std::span<const std::string> paths) {
  std::set<int64_t> numbers;
  for (const Dump& dump : dumps_) {
    if (dump.found.rank || !dump.only) return;
    numbers.insert(*dump.only);
  }
  if (paths.size() < 2 || numbers.size() == dumps_.size() || paths.size() != dumps_.size()) return;
  for (size_t i = 0; i < dumps_.size(); ++i) dumps_[i].only = static_cast<int64_t>(i);
}

void RankJob::settle(const std::vector<Scan>& scans) {
  std::map<int64_t, RankOfJob> by_rank;
  std::map<int64_t, std::set<int64_t>> steps_of;
  std::map<int64_t, uint64_t> steps;
  for (size_t i = 0; i < dumps_.size(); ++i) {
    const Dump& dump = dumps_[i];
    const Scan& scan = scans[i];
    for (const int64_t own : dump.ranks) {
      const int64_t number = dump.only.value_or(own);
      RankOfJob& rank = by_rank[number];
      rank.rank = number;
      rank.dumps.push_back(dump.found.path);
      const auto records = scan.records.find(own);
      if (records == scan.records.end()) continue;
      rank.records += records->second;
      if (const RankEnd& end = scan.ends.at(own); end.records > rank.end.records) rank.end = end;
      for (const auto& [step, count] : scan.steps.at(own)) {
        steps_of[number].insert(step);
        steps[step] += count;
      }
    }
    RankOfJob& first = by_rank[dump.only.value_or(dump.ranks.front())];
    for (const std::string& problem : scan.problems) first.notes.push_back(problem);
    add_manifest(first, scan.manifest);
  }
  for (auto& [number, rank] : by_rank) {
    rank.steps.assign(steps_of[number].begin(), steps_of[number].end());
    if (rank.records == 0) rank.notes.emplace_back("has no records");
    places_[number] = static_cast<uint32_t>(ranks_.size());
    ranks_.push_back(std::move(rank));
  }
  for (const auto& [step, records] : steps) {
    steps_.push_back(step);
    records_of_steps_.push_back(records);
  }
  note_releases();
}

void RankJob::add_manifest(RankOfJob& rank, const std::string& text) {
  const auto parsed = parse_json(text, "run.json");
  if (!parsed.ok() || !parsed->is_object() || parsed->empty()) return;
  const Json& manifest = *parsed;
  add_coverage(rank.coverage, manifest);
  const Json* complete = member(manifest, "complete");
  if (complete != nullptr && *complete == Json(false)) rank.notes.emplace_back("its capture did not end: it runs, or was killed");
  rank.release = text_in(manifest, "tensortap");
  rank.source = text_in(manifest, "source");
  world_size_ = std::max(world_size_, count_in(manifest, "world_size"));
  const Json* runtime = member(manifest, "runtime");
  const Json* groups = runtime == nullptr ? nullptr : member(*runtime, "process_groups");
  if (groups == nullptr || !groups->is_array()) return;
  for (const Json& group : *groups) {
    std::vector<int64_t> members = group_of(group);
    has_groups_of_one_ = has_groups_of_one_ || members.size() == 1;
    if (members.size() > 1 && std::ranges::find(groups_, members) == groups_.end()) groups_.push_back(std::move(members));
  }
}

// What most ranks have is right.
void RankJob::note_releases() {
  for (const auto& [part, words] : {std::pair(&RankOfJob::release, "tensortap "), std::pair(&RankOfJob::source, "")}) {
    std::map<std::string, size_t> counts;
    for (const RankOfJob& rank : ranks_) counts[rank.*part] += 1;
    counts.erase("");
    if (counts.size() < 2) continue;
    const std::string usual = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first;
    for (RankOfJob& rank : ranks_) {
      if (!(rank.*part).empty() && rank.*part != usual) {
        rank.notes.push_back(concat("was captured with ", words, rank.*part, ", other ranks with ", words, usual));
      }
    }
  }
}

uint32_t RankJob::step_place(int64_t step) const {
  const auto found = std::ranges::lower_bound(steps_, step);
  return found == steps_.end() || *found != step ? kNowhere : static_cast<uint32_t>(found - steps_.begin());
}

std::optional<uint32_t> RankJob::place_of_rank(int64_t rank) const {
  const auto found = places_.find(rank);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<int64_t> RankJob::missing_ranks() const {
  const int64_t named = static_cast<int64_t>(std::min<uint64_t>(world_size_, kMostRanks)) - 1;
  const int64_t last = std::min(std::max(ranks_.back().rank, named), kMostRanks);
  std::set<int64_t> unread;
  for (const UnreadDump& one : unread_) unread.insert(one.rank.value_or(-1));
  std::vector<int64_t> missing;
  for (int64_t rank = 0; rank <= last; ++rank) {
    if (!unread.contains(rank) && !places_.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

std::vector<std::vector<bool>> RankJob::ranks_of_ops() const {
  std::vector<std::vector<bool>> ranks(ops_.ops().size(), std::vector<bool>(ranks_.size()));
  for (size_t i = 0; i < dumps_.size(); ++i) {
    for (const int64_t own : dumps_[i].ranks) {
      const uint32_t place = places_.at(dumps_[i].only.value_or(own));
      for (const uint32_t op : ops_.numbers(i)) ranks[op][place] = true;
    }
  }
  return ranks;
}

uint32_t RankJob::place_of_dump(size_t dump) const {
  const Dump& place = dumps_[dump];
  return places_.at(place.only.value_or(place.ranks.front()));
}

RankJob::Visit RankJob::open_again(size_t dump) const {
  const Dump& place = dumps_[dump];
  Visit visit;
  auto opened = open_dump(place.found.path);
  if (!opened.ok() || (*opened)->ops().size() != numbers_of(dump).size()) return visit;
  visit.dump = std::move(*opened);
  visit.open = std::make_unique<OpenRankDump>(*visit.dump, numbers_of(dump), places_,
                                              place.only ? std::optional(place_of_dump(dump)) : std::nullopt);
  return visit;
}

void RankJob::note_change(size_t dump) {
  const std::string note = concat(dumps_[dump].found.path, ": changed while it was read");
  std::vector<std::string>& notes = ranks_[place_of_dump(dump)].notes;
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
}

bool RankJob::visit_one(size_t dump, const std::function<void(const OpenRankDump&, size_t)>& look) {
  const Visit visit = open_again(dump);
  visit.open != nullptr ? look(*visit.open, dump) : note_change(dump);
  return visit.open != nullptr;
}

void RankJob::visit(const std::function<void(const OpenRankDump&, size_t)>& look,
                    const std::function<void(std::span<const Visited>)>& take) {
  for (size_t begin = 0; begin < dumps_.size(); begin += tasks_together()) {
    std::vector<Visit> visits(std::min(tasks_together(), dumps_.size() - begin));
    for_each_together(visits.size(), [&](size_t i) {
      visits[i] = open_again(begin + i);
      if (visits[i].open != nullptr) look(*visits[i].open, i);
    });
    std::vector<Visited> visited;
    for (size_t i = 0; i < visits.size(); ++i) {
      if (visits[i].open == nullptr) note_change(begin + i);
      visited.push_back({begin + i, visits[i].open.get()});
    }
    take(visited);
  }
}

std::string ranks_text(std::span<const int64_t> ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += concat(text.empty() ? "" : ", ", ranks[i]);
    if (end - i > 1) text += concat(end - i > 2 ? "-" : ", ", ranks[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace tensortap
