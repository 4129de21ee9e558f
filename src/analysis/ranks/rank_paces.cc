#include "ranks/rank_paces.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "find/collective_types.h"
#include "find/robust_line.h"

namespace tensortap {
namespace {

using Execution = RankExecution;
using Executions = std::vector<RankExecution>;

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
constexpr uint64_t kEighths = 8;
constexpr size_t kLeastUnits = 5;
constexpr double kSlow = 1.25;      // times the own time of the other ranks
constexpr double kNoticed = 4e6;    // nanoseconds more than they need
constexpr double kSlowLater = 1.5;  // the same of the second half of the steps alone
constexpr double kNoticedLater = 12e6;
constexpr double kSlowInFewSteps = 2;
constexpr double kMost = 0.66;  // of the units
constexpr double kNearlyAll = 0.85;
constexpr int64_t kWakes = 20'000'000;           // nanoseconds within which a machine with other work to do goes on after a wait
constexpr int64_t kMostTime = int64_t{1} << 60;  // nanoseconds; more is damage

bool hands_to_host(std::string_view type) { return type == "_local_scalar_dense" || type == "item" || type == "is_nonzero"; }

// By place of the rank. All outputs of an execution have its duration.
std::map<uint32_t, Executions> executions_of(const OpenRankDump& open, const RankJob& job) {
  std::map<uint32_t, Executions> all;
  std::tuple<uint32_t, uint32_t, int64_t, uint8_t> last(kNoOp, 0, 0, 0);
  for (const RecordRow& row : open.dump.rows()) {
    const uint32_t place = open.place_of(row);
    const uint32_t job_op = open.job_op_of(row);
    const uint32_t step = job.step_place(row.step);
    if (place == kNowhere || job_op == kNoOp || step == kNowhere) continue;
    if (row.duration_ns < 0 || row.duration_ns > kMostTime || row.time_ns < 0 || row.time_ns > kMostTime) continue;
    const std::tuple execution(row.op, row.call, row.step, row.phase);
    if (execution == last) continue;
    last = execution;
    all[place].push_back({{row.time_ns - row.duration_ns, row.time_ns}, job_op, row.call, step});
  }
  return all;
}

double length(const TimeSpan& span) { return static_cast<double>(span.end - span.begin); }

// The steps of a rank: each from its first execution to that of the next step, or to its own end where the next one is not known.
std::map<uint32_t, TimeSpan> spans_of_steps(const Executions& ran, std::span<const int64_t> steps) {
  std::map<uint32_t, TimeSpan> spans;
  for (const Execution& one : ran) {
    TimeSpan& span = spans.try_emplace(one.step, one.span).first->second;
    span = {std::min(span.begin, one.span.begin), std::max(span.end, one.span.end)};
  }
  for (auto one = spans.begin(); one != spans.end(); ++one) {
    const auto next = std::next(one);
    const bool follows = next != spans.end() && steps[next->first] == steps[one->first] + 1;
    if (follows) one->second.end = std::max(one->second.begin, next->second.begin);
  }
  return spans;
}

}  // namespace

RankPaces::RankPaces(const RankJob& job) : job_(job), timelines_(job.ranks().size()) {
  for (const JobOps::Op& op : job.ops()) {
    waits_.push_back(may_wait(op.type));
    is_idle_.push_back(waits_.back() || hands_to_host(op.type));
  }
}

// Reads the executions of one rank in one dump.
class RankPaces::Reader {
  struct Samples {
    Times before;
    Times inside;
    void add(double one, double other) {
      before.push_back(one);
      inside.push_back(other);
    }
  };

 public:
  Reader(const RankPaces& paces, std::vector<RankExecution>& ran) : paces_(paces), ran_(ran) {
    std::ranges::sort(ran_, {}, [](const Execution& one) { return one.span.begin; });
    TimeSpans collectives;
    TimeSpans busy;
    for (const Execution& one : ran_) {
      if (paces_.waits_[one.job_op]) collectives.push_back(one.span);
      if (!paces_.is_idle_[one.job_op]) busy.push_back(one.span);
    }
    waiting_ = without(united(std::move(collectives)), united(std::move(busy)));
  }

  Timeline read() {
    Timeline line;
    line.executions = ran_.size();
    line.steps.assign(paces_.job_.steps().size(), kNotKnown);
    line.has_times = std::ranges::any_of(ran_, [this](const Execution& one) { return one.span.end != ran_.front().span.end; });
    line.has_times ? add_steps(line) : add_durations(line);
    if (line.has_times) add_eighths(line);
    add_places(line);
    return line;
  }

 private:
  [[nodiscard]] double own_time(const TimeSpan& span) const { return length(span) - static_cast<double>(covered(waiting_, span)); }
  void add_steps(Timeline& line) const {
    for (const auto& [step, span] : spans_of_steps(ran_, paces_.job_.steps())) {
      line.steps[step] = own_time(span);
      line.own += line.steps[step];
      line.waiting += static_cast<double>(covered(waiting_, span));
    }
  }
  void add_durations(Timeline& line) const {
    for (const Execution& one : ran_) {
      if (paces_.waits_[one.job_op]) continue;
      double& own = line.steps[one.step];
      own = (std::isnan(own) ? 0 : own) + length(one.span);
      line.own += length(one.span);
    }
  }
  // Of collectives that may run at the same time the begins count.
  void add_eighths(Timeline& line) const {
    std::vector<int64_t> begins;
    for (const Execution& one : ran_) {
      if (paces_.waits_[one.job_op]) begins.push_back(one.span.begin);
    }
    line.collectives = begins.size();
    if (begins.size() < kEighths) return;
    // The first one makes what later ones have.
    for (uint64_t i = 1; i < kEighths; ++i) {
      line.eighths.push_back(own_time({begins[i * begins.size() / kEighths - 1], begins[(i + 1) * begins.size() / kEighths - 1]}));
    }
  }
  // How long the rank did nothing in a span in which no op ran. After a wait it is the machine that lets it go on late.
  [[nodiscard]] double time_between(const TimeSpan& span) const {
    const auto next = std::ranges::upper_bound(waiting_, span.end, {}, &TimeSpan::begin);
    const int64_t waited = next == waiting_.begin() ? span.begin - 1 : std::min(std::prev(next)->end, span.end);
    if (waited < span.begin) return own_time(span);
    return own_time({span.begin, waited}) + static_cast<double>(std::max<int64_t>(span.end - waited - kWakes, 0));
  }
  // Takes the time of each execution, and the time before it in which nothing ran and nothing was waited for.
  void add_places(Timeline& line) const {
    std::map<std::pair<uint32_t, uint32_t>, Samples> always;
    std::map<std::pair<uint32_t, uint32_t>, Samples> earlier;
    std::map<std::pair<uint32_t, uint32_t>, Samples> later;
    const std::span<const int64_t> steps = paces_.job_.steps();
    int64_t reached = ran_.front().span.begin;
    uint32_t step = ran_.front().step;
    for (const Execution& one : ran_) {
      const bool follows = one.step == step || (one.step > step && steps[one.step] == steps[step] + 1);
      const bool idle = line.has_times && follows && one.span.begin > reached;
      const double before = idle ? time_between({reached, one.span.begin}) : 0;
      const double inside = paces_.waits_[one.job_op] ? 0 : length(one.span);
      reached = std::max(reached, one.span.end);
      step = one.step;
      // In few steps an op runs over and over.
      const std::pair key(one.job_op, paces_.by_steps() ? one.call : 0);
      if (one.step < paces_.first_step()) continue;
      always[key].add(before, inside);
      (one.step < paces_.middle_step() ? earlier : later)[key].add(before, inside);
    }
    const size_t later_steps = steps_from(paces_.middle_step());
    const size_t steps_in_all = steps_from(paces_.first_step());
    line.always = usual_time(always, steps_in_all);
    line.earlier = usual_time(earlier, steps_in_all - later_steps);
    line.later = usual_time(later, later_steps);
  }
  [[nodiscard]] size_t steps_from(uint32_t first) const {
    std::set<uint32_t> steps;
    for (const Execution& one : ran_) {
      if (one.step >= first) steps.insert(one.step);
    }
    return steps.size();
  }
  // What the machine does beside it strikes now here, now there: of each place the execution in the middle counts. What does not run in
  // most steps does not.
  [[nodiscard]] Usual usual_time(std::map<std::pair<uint32_t, uint32_t>, Samples>& samples, size_t steps) const {
    Usual usual;
    usual.places.assign(paces_.job_.ops().size(), {});
    for (auto& [key, one] : samples) {
      if (one.before.size() * 2 < steps) continue;
      const double times = paces_.by_steps() ? 1 : static_cast<double>(one.before.size());
      UsualPlace& place = usual.places[key.first];
      const double before = times * median_of(std::move(one.before));
      const double inside = times * median_of(std::move(one.inside));
      place.executions += 1;
      place.before += before;
      place.inside += inside;
      usual.sum += before + inside;
    }
    return usual;
  }

  const RankPaces& paces_;
  std::vector<RankExecution>& ran_;
  TimeSpans waiting_;
};

std::map<uint32_t, RankPaces::Timeline> RankPaces::read(const OpenRankDump& open) const {
  std::map<uint32_t, Timeline> lines;
  for (auto& [place, ran] : executions_of(open, job_)) lines[place] = Reader(*this, ran).read();
  return lines;
}

void RankPaces::add(std::map<uint32_t, Timeline> lines) {
  for (auto& [place, line] : lines) {
    // A rank's other processes load data.
    Timeline& known = timelines_[place];
    if (std::pair(line.collectives, line.executions) > std::pair(known.collectives, known.executions)) known = std::move(line);
  }
}

bool RankPaces::by_steps() const { return job_.steps().size() > kLeastUnits; }

// The first step makes what later ones have.
uint32_t RankPaces::first_step() const { return by_steps() ? 1 : 0; }

uint32_t RankPaces::middle_step() const {
  return by_steps() ? first_step() + (static_cast<uint32_t>(job_.steps().size()) - first_step()) / 2 : 0;
}

std::vector<RankPaces::Times> RankPaces::units() const {
  std::vector<Times> units;
  for (const Timeline& line : timelines_) {
    Times& own = units.emplace_back();
    if (line.executions == 0) continue;
    own = by_steps() ? Times(line.steps.begin() + first_step(), line.steps.end()) : line.eighths;
  }
  return units;
}

// How much more than the middle one of the others a rank needs usually.
std::optional<RankPaces::Slow> RankPaces::more_than_others(uint32_t place, Usual Timeline::*part) const {
  Times others;
  for (const Timeline& line : timelines_) {
    if (&line != &timelines_[place] && line.executions > 0) others.push_back((line.*part).sum);
  }
  if (others.empty() || timelines_[place].executions == 0) return std::nullopt;
  const double middle = median_of(others);
  const double own = (timelines_[place].*part).sum;
  return Slow{place, part, middle > 0 ? own / middle : 1, own - middle};
}

std::optional<RankPaces::Slow> RankPaces::slow_rank(const std::vector<Times>& units, uint32_t place) const {
  const auto always = more_than_others(place, &Timeline::always);
  if (!always) return std::nullopt;
  if (!by_steps()) {
    const bool is_slow = always->ratio >= kSlowInFewSteps && always->excess >= kNoticedLater;
    return is_slow && needs_longer(units, place, 0, kNearlyAll) ? always : std::nullopt;
  }
  const auto is_slow = [&](Usual Timeline::*half) { return more_than_others(place, half)->ratio >= kSlow; };
  const bool noticed = !timelines_[place].has_times || always->excess >= kNoticed;
  const bool all_the_time = always->ratio >= kSlow && noticed && is_slow(&Timeline::earlier) && is_slow(&Timeline::later);
  if (all_the_time && needs_longer(units, place, 0, kMost)) return always;
  const auto later = more_than_others(place, &Timeline::later);
  const bool from_the_middle = later->ratio >= kSlowLater && later->excess >= kNoticedLater;
  return from_the_middle && needs_longer(units, place, middle_step() - first_step(), kMost) ? later : std::nullopt;
}

// Whether a rank needs longer than the others in this share of the units from one on.
bool RankPaces::needs_longer(const std::vector<Times>& units, uint32_t place, size_t first, double share) {
  size_t longer = 0;
  size_t compared = 0;
  for (size_t unit = first; unit < units[place].size(); ++unit) {
    Times others;
    for (uint32_t other = 0; other < units.size(); ++other) {
      if (other != place && unit < units[other].size() && !std::isnan(units[other][unit])) others.push_back(units[other][unit]);
    }
    if (others.empty() || std::isnan(units[place][unit])) continue;
    ++compared;
    longer += units[place][unit] > median_of(others) ? 1 : 0;
  }
  return compared >= kLeastUnits && static_cast<double>(longer) >= share * static_cast<double>(compared);
}

std::vector<RankPaces::Slow> RankPaces::slow_ranks() const {
  const std::vector<Times> all = units();
  std::vector<Slow> slow;
  for (uint32_t place = 0; place < timelines_.size(); ++place) {
    if (const auto found = slow_rank(all, place)) slow.push_back(*found);
  }
  std::ranges::stable_sort(slow, [](const Slow& a, const Slow& b) { return a.excess > b.excess; });
  return slow;
}

// Where a rank loses most against the middle one of the others: in an op, or before one.
std::optional<RankPaces::Loss> RankPaces::largest_loss(const Slow& slow) const {
  const std::vector<UsualPlace>& own = (timelines_[slow.place].*slow.part).places;
  std::optional<Loss> worst;
  for (uint32_t op = 0; op < own.size(); ++op) {
    if (own[op].executions == 0) continue;
    for (const bool before : {false, true}) {
      const auto time = [=](const UsualPlace& one) { return before ? one.before : one.inside; };
      Times others;
      for (uint32_t place = 0; place < timelines_.size(); ++place) {
        if (place == slow.place || timelines_[place].executions == 0) continue;
        const UsualPlace& other = (timelines_[place].*slow.part).places[op];
        if (other.executions > 0) others.push_back(time(other));
      }
      const Loss loss{op, before, time(own[op]), others.empty() ? 0 : median_of(others)};
      if (loss.own > loss.others && (!worst || loss.own - loss.others > worst->own - worst->others)) worst = loss;
    }
  }
  return worst;
}

}  // namespace tensortap
