#include "ranks/ranks_report.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/json_members.h"
#include "base/text.h"
#include "base/together.h"
#include "find/collective_types.h"
#include "ranks/apart_ranks.h"
#include "ranks/first_of_ranks.h"
#include "ranks/gradient_norms.h"
#include "ranks/job_cells.h"
#include "ranks/job_paths.h"
#include "ranks/job_trends.h"
#include "ranks/pair_ranges.h"
#include "ranks/rank_durations.h"
#include "ranks/rank_job.h"
#include "ranks/rank_map.h"
#include "ranks/rank_paces.h"
#include "ranks/ranks_json.h"
#include "ranks/replica_check.h"
#include "ranks/tensor_names.h"

namespace tensortap {
namespace {

constexpr uint64_t kMostCells = 6'000'000;  // that are held at once, unless one step has more

// Positions of steps, first and behind the last, that are looked at together.
std::vector<std::pair<uint32_t, uint32_t>> blocks_of_steps(std::span<const uint64_t> records) {
  std::vector<std::pair<uint32_t, uint32_t>> blocks;
  uint64_t held = 0;
  for (uint32_t step = 0; step < records.size(); ++step) {
    if (blocks.empty() || held + records[step] > kMostCells) {
      blocks.emplace_back(step, step);
      held = 0;
    }
    blocks.back().second = step + 1;
    held += records[step];
  }
  return blocks;
}

Status check_groups(const RankJob& job, const std::vector<RankGroup>& groups) {
  for (const RankGroup& group : groups) {
    const auto there = std::ranges::count_if(group.ranks, [&job](int64_t rank) { return job.place_of_rank(rank).has_value(); });
    if (there > 1) continue;
    std::vector<int64_t> ranks;
    for (const RankOfJob& rank : job.ranks()) ranks.push_back(rank.rank);
    return invalid_argument(concat("--groups: the group ", group.name, " of the ranks ", ranks_text(group.ranks),
                                   " has fewer than two ranks with a dump; there are ", ranks_text(ranks)));
  }
  return {};
}

Json ranks_json(const RankJob& job) {
  Json list = Json::array();
  for (const RankOfJob& rank : job.ranks()) {
    list.push_back({{"rank", rank.rank},
                    {"dumps", rank.dumps},
                    {"records", rank.records},
                    {"release", text_or_null(rank.release)},
                    {"source", text_or_null(rank.source)},
                    {"notes", rank.notes}});
  }
  return list;
}

Json coverage_json(const RankJob& job) {
  Json list = Json::array();
  for (const RankOfJob& rank : job.ranks()) {
    const RankCoverage& own = rank.coverage;
    Json json = {{"rank", rank.rank}, {"lost", nullptr}, {"losses", nullptr}, {"ops", nullptr}, {"steps", nullptr}};
    if (own.is_known) {
      json["lost"] = own.lost;
      json["losses"] = Json::array();
      for (const std::string& loss : own.losses) {
        if (const auto parsed = parse_json(loss, "losses"); parsed.ok()) json["losses"].push_back(*parsed);
      }
      json["ops"] = {{"expected", own.ops_expected}, {"captured", own.ops_captured}};
      json["steps"] = {{"seen", own.steps_seen}, {"captured", own.steps_captured}};
    }
    list.push_back(std::move(json));
  }
  return list;
}

bool loses_any(const RankJob& job) {
  return std::ranges::any_of(
      job.ranks(), [](const RankOfJob& rank) { return rank.coverage.lost > 0 || rank.coverage.ops_captured < rank.coverage.ops_expected; });
}

Json end_json(const RankEnd& end) {
  return {{"how", std::string(end_name(end.how))},
          {"signal", text_or_null(end.signal)},
          {"reason", text_or_null(end.reason)},
          {"step", end.op.empty() ? Json(nullptr) : Json(end.step)},
          {"op", text_or_null(end.op)},
          {"type", text_or_null(end.type)},
          {"module", text_or_null(end.module)},
          {"source", text_or_null(end.source)},
          {"waits", may_wait(end.type)},
          {"records_of_step", end.records_of_step}};
}

bool ends_as(const RankJob& job, std::initializer_list<HowItEnded> ways) {
  return std::ranges::any_of(job.ranks(), [&](const RankOfJob& rank) { return std::ranges::find(ways, rank.end.how) != ways.end(); });
}

Json progress_json(const RankJob& job) {
  Json list = Json::array();
  for (const RankOfJob& rank : job.ranks()) {
    const bool any = !rank.steps.empty();
    const uint64_t behind = any ? job.steps().size() - 1 - job.step_place(rank.steps.back()) : static_cast<uint64_t>(job.steps().size());
    list.push_back({{"rank", rank.rank},
                    {"end", end_json(rank.end)},
                    {"steps", rank.steps.size()},
                    {"first", any ? Json(rank.steps.front()) : Json(nullptr)},
                    {"last", any ? Json(rank.steps.back()) : Json(nullptr)},
                    {"behind", behind}});
  }
  return list;
}

Json unread_json(const RankJob& job) {
  Json list = Json::array();
  for (const UnreadDump& one : job.unread()) {
    list.push_back({{"rank", one.rank ? Json(*one.rank) : Json(nullptr)}, {"dump", one.dump}, {"reason", one.reason}});
  }
  return list;
}

// Asks all questions of one job.
class JobQuestions {
 public:
  JobQuestions(RankJob& job, const RanksRequest& request, const RanksProgress& progress)
      : job_(job), request_(request), progress_(progress), cells_(job), replicas_(cells_, request.groups) {}

  Result<Json> answers() {
    if (is_selection(request_.query)) TENSORTAP_RETURN_IF_ERROR(cells_.choose(request_.query));
    const auto blocks = blocks_of_steps(job_.records_of_steps());
    all_ = (1 + blocks.size()) * job_.dumps();
    ask_dumps();
    for (const auto& [first, last] : blocks) ask_cells(first, last);
    if (has_ended_) return not_found("the report was ended");
    if (is_selection(request_.query) && cells_.taken() == 0) return nothing_chosen();
    paths_.finish();
    replicas_.finish();
    return report();
  }

 private:
  // Answers of one dump that need no other.
  struct Read {
    TrendReport trends;
    std::map<uint32_t, RankPaces::Timeline> paces;
  };
  // Trends and paces take most time: they are read of several dumps at once. Then each question takes these dumps in their order, several
  // questions at once.
  void ask_dumps() {
    std::vector<Read> reads(tasks_together());
    const auto read = [&](const OpenRankDump& open, size_t seat) {
      if (!has_ended_) reads[seat] = {find_trends(open.dump), paces_.read(open)};
    };
    job_.visit(read, [&](std::span<const RankJob::Visited> visited) {
      if (!go_on(visited.size())) return;
      const auto each = [&](const auto& ask) {
        for (size_t i = 0; i < visited.size(); ++i) {
          if (visited[i].open != nullptr) ask(*visited[i].open, i);
        }
      };
      const std::function<void()> questions[] = {
          [&] { each([&](const OpenRankDump& open, size_t i) { nonfinite_.add(open, visited[i].dump); }); },
          [&] { each([&](const OpenRankDump& open, size_t) { gradients_.add(open); }); },
          [&] { each([&](const OpenRankDump& open, size_t) { map_.count(open); }); },
          [&] { each([&](const OpenRankDump& open, size_t) { durations_.add(open); }); },
          [&] { each([&](const OpenRankDump& open, size_t i) { trends_.add(open, reads[i].trends); }); },
          [&] { each([&](const OpenRankDump&, size_t i) { paces_.add(std::move(reads[i].paces)); }); },
      };
      for_each_together(std::size(questions), [&](size_t i) { questions[i](); });
    });
  }
  void ask_cells(uint32_t first, uint32_t last) {
    std::vector<DumpCells> reads(tasks_together());
    const auto read = [&](const OpenRankDump& open, size_t seat) {
      if (!has_ended_) reads[seat] = cells_.read(open, first, last);
    };
    job_.visit(read, [&](std::span<const RankJob::Visited> visited) {
      if (!go_on(visited.size())) return;
      for (size_t i = 0; i < visited.size(); ++i) {
        if (visited[i].open != nullptr) cells_.add(std::exchange(reads[i], {}));
      }
    });
    if (has_ended_) return;
    cells_.finish();
    const std::function<void()> questions[] = {
        [this] { cells_.each([this](std::span<const RankCell> cells) { with_written(cells, [this](auto some) { compare(some); }); }); },
        [this] {
          cells_.each([this](std::span<const RankCell> cells) { with_written(cells, [this](auto some) { replicas_.add(some); }); });
        },
        [this] { cells_.each([this](std::span<const RankCell> cells) { paths_.add(cells); }); },
    };
    for_each_together(std::size(questions), [&](size_t i) { questions[i](); });
    cells_.forget();
  }
  // Calls `look` with those of the cells that something wrote to, if there are any.
  static void with_written(std::span<const RankCell> cells, const std::function<void(std::span<const RankCell>)>& look) {
    if (std::ranges::all_of(cells, &RankCell::is_written)) return look(cells);
    const std::vector<RankCell> written = written_of(cells);
    if (!written.empty()) look(written);
  }
  static std::vector<RankCell> written_of(std::span<const RankCell> cells) {
    std::vector<RankCell> written;
    std::ranges::copy_if(cells, std::back_inserter(written), &RankCell::is_written);
    return written;
  }
  void compare(std::span<const RankCell> cells) {
    // Stages hold different values.
    if (paths_.has_stages()) return;
    const std::vector<double> distances = distances_from_median(cells);
    apart_.add(cells, distances);
    map_.add(cells, distances);
    pair_.add(cells);
  }
  // The query may choose only records that ranks are not compared by.
  Status nothing_chosen() {
    std::vector<std::string> sentences;
    bool any = false;
    const auto ask = [&](const OpenRankDump& open, size_t) {
      const DumpIndex* const dumps[] = {&open.dump};
      std::vector<std::string> own = unmatched_names(dumps, request_.query);
      any = any || own.empty();
      if (sentences.empty()) sentences = std::move(own);
    };
    for (size_t dump = 0; dump < job_.dumps(); ++dump) job_.visit_one(dump, ask);
    if (any || sentences.empty()) return not_found("no value that ranks are compared by is among the records that are chosen");
    return not_found(join(sentences, "; "));
  }
  // Before `dumps` more dumps are taken.
  bool go_on(size_t dumps) {
    for (size_t i = 0; i < dumps; ++i) has_ended_ = has_ended_ || !progress_(done_++, all_);
    return !has_ended_;
  }
  Json report() {
    Json json = Json::object();
    json["nonfinite"] = nonfinite_.report(job_);
    json["ranks"] = ranks_json(job_);
    json["missing_ranks"] = job_.missing_ranks();
    json["unread"] = unread_json(job_);
    json["job_ops"] = job_.ops().size();
    const auto steps = job_.steps();
    json["steps"] = {{"count", steps.size()},
                     {"first", steps.empty() ? Json(nullptr) : Json(steps.front())},
                     {"last", steps.empty() ? Json(nullptr) : Json(steps.back())}};
    json["apart"] = apart_.report();
    json["apart"]["pair"] = pair_.report();
    json["replicas"] = replicas_.report(request_.limit);
    json["shapes"] = paths_.shapes_report(request_.limit);
    add_names(json);
    json["gradients"] = gradients_.report(request_.limit);
    json["trends"] = trends_.report(request_.limit);
    json["missing"] = paths_.missing_report(request_.limit);
    json["durations"] = durations_json();
    json["coverage"] = coverage_json(job_);
    json["progress"] = progress_json(job_);
    json["map"] = map_.report();
    json["found"] = found(json);
    json["dump"] = completeness_json(job_.states());
    return json;
  }
  void add_names(Json& json) {
    std::vector<Json*> records;
    for (Json& one : json["replicas"]["unequal"]) records.push_back(&one);
    for (Json& one : json["shapes"]["shapes"]) records.push_back(&one);
    for (Json& one : json["shapes"]["types"]) records.push_back(&one["first"]);
    add_parameters(job_, records);
  }
  // "slowest" is the first of the slow ranks, or null.
  [[nodiscard]] Json durations_json() const {
    Json json = durations_.report(request_.limit);
    json["slowest"] = nullptr;
    json["own"] = paces_.report();
    // Stages of a pipeline have other work to do.
    if (paths_.has_stages()) json["own"]["slow"] = Json::array();
    json["stages"] = paths_.has_stages();
    if (const Json& slow = json["own"]["slow"]; !slow.empty()) json["slowest"] = slow.front();
    return json;
  }
  [[nodiscard]] Json found(const Json& json) const {
    Json names = Json::array();
    const auto add = [&names](bool is_found, const char* name) {
      if (is_found) names.push_back(name);
    };
    add(!json["unread"].empty(), "unread");
    add(!json["missing_ranks"].empty(), "missing_ranks");
    add(std::ranges::any_of(job_.ranks(), [](const RankOfJob& rank) { return rank.records == 0; }), "without_records");
    add(ends_as(job_, {HowItEnded::kCrashed, HowItEnded::kDied}), "died");
    add(ends_as(job_, {HowItEnded::kFailed}), "failed");
    add(!json["nonfinite"]["first"].is_null(), "nonfinite");
    add(!json["apart"]["ranks"].empty() || pair_.is_apart(), "apart");
    add(!json["replicas"]["unequal"].empty(), "replicas");
    add(trends_.finds_any(), "trends");
    add(paths_.lacks_any(), "missing");
    add(paths_.differs_in_types(), "types");
    add(count_in(json["shapes"], "wrong") > 0, "shapes");
    add(loses_any(job_), "coverage");
    return names;
  }

  RankJob& job_;
  const RanksRequest& request_;
  const RanksProgress& progress_;
  JobCells cells_;
  FirstOfRanks nonfinite_{job_};
  ApartRanks apart_{job_};
  PairRanges pair_{job_};
  RankMap map_{job_};
  ReplicaCheck replicas_;
  GradientNorms gradients_{job_};
  JobTrends trends_{job_};
  JobPaths paths_{cells_};
  RankDurations durations_{job_};
  RankPaces paces_{job_};
  size_t done_ = 0;
  size_t all_ = 0;
  bool has_ended_ = false;
};

}  // namespace

Result<Json> ranks_report(const RanksRequest& request, const RanksProgress& progress, std::vector<NamedCompleteness>* dumps) {
  TENSORTAP_ASSIGN_OR_RETURN(RankJob job, RankJob::open(request.sources));
  if (dumps != nullptr) *dumps = job.states();
  TENSORTAP_RETURN_IF_ERROR(check_groups(job, request.groups));
  return JobQuestions(job, request, progress).answers();
}

bool is_fault(std::string_view found) {
  constexpr std::string_view kLacks[] = {"unread", "missing_ranks", "without_records", "died"};
  return std::ranges::find(kLacks, found) == std::end(kLacks);
}

}  // namespace tensortap
