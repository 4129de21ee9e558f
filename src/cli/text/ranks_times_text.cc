#include "cli/text/ranks_times_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "cli/text/member_text.h"

namespace tensortap::cli {
namespace {

constexpr uint64_t kLeastUnits = 5;

// "30.1 ms".
std::string time_text(double nanoseconds) {
  if (nanoseconds >= 1e9) return fmt::format("{:.3g} s", nanoseconds / 1e9);
  return nanoseconds >= 1e6 ? fmt::format("{:.3g} ms", nanoseconds / 1e6) : fmt::format("{:.3g} us", nanoseconds / 1e3);
}

std::string named_op(const Json& one) {
  const std::string source = member_text(one, "source");
  return fmt::format("{} ({}){}", member_text(one, "op"), member_text(one, "type"), source.empty() ? "" : ", " + source);
}

std::string where_text(const Json& slow) {
  const Json& where = slow.at("where");
  if (!where.is_object()) return fmt::format("rank {}: no op stands out", member_text(slow, "rank"));
  return fmt::format("rank {}: most of it {} {}: {}, where the others need {}", member_text(slow, "rank"),
                     where.at("before").get<bool>() ? "before" : "in", named_op(where), time_text(number_in(where, "own_ns")),
                     time_text(number_in(where, "others_ns")));
}

// What is known of an end; smaller is named first.
int order_of(const std::string& how) {
  if (how == "crashed") return 0;
  return how == "failed" ? 1 : 2;
}

}  // namespace

std::vector<std::string> slow_rank_lines(const Json& durations) {
  if (durations.at("stages").get<bool>()) return {"not judged: stages of a pipeline have other work to do"};
  const Json& own = durations.at("own");
  if (count_in(own, "units") < kLeastUnits) return {"not judged: it takes the times of 6 steps, or of 8 collectives"};
  const Json& slow = own.at("slow");
  if (slow.empty()) return {"none stands out"};
  std::vector<std::string> lines(1);
  for (const Json& one : slow) {
    const std::string since = member_text(one, "since");
    lines[0] += fmt::format("{}rank {}{} needs {:.3g} times as long as the others, {} more{}", lines[0].empty() ? "" : "; ",
                            member_text(one, "rank"), since.empty() ? "" : " since step " + since, number_in(one, "ratio"),
                            time_text(number_in(one, "excess_ns")), own.at("unit") == "step" ? " in each step" : "");
    lines.push_back(where_text(one));
  }
  return lines;
}

std::vector<const Json*> by_progress(const Json& report) {
  std::vector<const Json*> ranks;
  for (const Json& rank : report.at("progress")) ranks.push_back(&rank);
  const auto place = [](const Json* rank) {
    const Json& end = rank->at("end");
    // A collective fails, or is ended, because another rank is missing.
    const bool waits = end.at("waits").get<bool>();
    const int known = waits ? 2 : order_of(member_text(end, "how"));
    return std::tuple(known, -static_cast<int64_t>(count_in(*rank, "behind")), waits, count_in(end, "records_of_step"));
  };
  std::ranges::stable_sort(ranks, [&](const Json* a, const Json* b) { return place(a) < place(b); });
  return ranks;
}

bool was_cut(const Json& rank) {
  const std::string how = member_text(rank.at("end"), "how");
  return how == "crashed" || how == "failed" || how == "died";
}

std::string end_text(const Json& rank) {
  const Json& end = rank.at("end");
  const std::string how = member_text(end, "how");
  const std::string who = fmt::format("rank {}: ", member_text(rank, "rank"));
  if (member_text(end, "op").empty()) return who + "no step";
  const std::string step = "step " + member_text(end, "step");
  const std::string op = named_op(end);
  if (how == "crashed") {
    const std::string signal = member_text(end, "signal");
    return fmt::format("{}died in {} of {}, in {}", who, step, signal.empty() ? "a signal" : signal, op);
  }
  if (how == "failed") return fmt::format("{}failed in {}, in {}: {}", who, step, op, member_text(end, "reason"));
  if (how == "running") return fmt::format("{}still runs, in {}", who, step);
  const std::string last =
      end.at("waits").get<bool>() ? fmt::format("while it waited for other ranks in {}", op) : fmt::format("its last op is {}", op);
  if (how == "died") return fmt::format("{}died in {}{} {}", who, step, end.at("waits").get<bool>() ? "" : ";", last);
  return fmt::format("{}{} in {}; its last op is {}", who, how == "finished" ? "ended" : "stopped", step, op);
}

}  // namespace tensortap::cli
