#include "cli/text/ranks_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/json.h"
#include "cli/text/member_text.h"
#include "cli/text/origin_text.h"
#include "cli/text/ranks_times_text.h"
#include "cli/text/summary_text.h"
#include "find/trends.h"
#include "ranks/rank_job.h"
#include "ranks/ranks_report.h"

namespace tensortap::cli {
namespace {

constexpr size_t kShownExamples = 3;

// "rank 3", "ranks 0-3, 7".
std::string rank_words(const Json& ranks) {
  const auto numbers = ranks.get<std::vector<int64_t>>();
  return concat(numbers.size() == 1 ? "rank " : "ranks ", ranks_text(numbers));
}

std::string op_text(const Json& one) {
  std::string text = fmt::format("{} ({})", member_text(one, "op"), member_text(one, "type"));
  const std::string module = member_text(one, "module");
  return module.empty() || text.starts_with(module) ? text : fmt::format("{}, module {}", text, module);
}

int64_t rank_in(const Json& one, const char* key) { return one.at(key).get<int64_t>(); }

// "first.up.weight at Net.first.up/t:in0 (t)".
std::string tensor_text(const Json& one) {
  const std::string parameter = member_text(one, "parameter");
  return fmt::format("{}{}{} ({})", parameter, parameter.empty() ? "" : " at ", member_text(one, "record"), member_text(one, "type"));
}

// "bfloat16 in rank 1, float32 in ranks 0, 2: 40 tensors, the first is step 0, Net.up/addmm:out0 (addmm)".
std::string types_text(const Json& one) {
  std::string text;
  for (const Json& type : one.at("dtypes")) {
    text = concat(member_text(type, "dtype"), " in ", rank_words(type.at("ranks")), text.empty() ? "" : ", ", text);
  }
  const Json& first = one.at("first");
  return fmt::format("{}: {}, the first is step {}, {}", text, counted(count_in(one, "tensors"), "tensor"), member_text(first, "step"),
                     tensor_text(first));
}

int64_t minority_of(const Json& one) { return one.at("dtypes").back().at("ranks").at(0).get<int64_t>(); }

// Collects the answers.
class Answers {
 public:
  explicit Answers(const Json& report) : report_(report) {}
  std::vector<RanksAnswer> all();

 private:
  void answer(std::string_view question, bool wrong, std::string text) {
    answers_.push_back({std::string(question), wrong, sentence_of(std::move(text)), {}});
  }
  // Beginnings of a list; `line` gives the words for one.
  template <class Line>
  void examples(const Json& list, uint64_t count, const Line& line) {
    for (size_t i = 0; i < std::min(list.size(), kShownExamples); ++i) answers_.back().examples.push_back(line(list[i]));
    add_more(count);
  }
  void add_more(uint64_t count) {
    if (count <= kShownExamples) return;
    answers_.back().examples.push_back(sentence_of(fmt::format("and {} more", count - kShownExamples)));
    answers_.back().examples.back().kind = RanksSentence::Kind::kMore;
  }
  // A sentence about what a rank has; `about` may have "record", "op" and "step".
  static RanksSentence sentence_of(std::string text, std::optional<int64_t> rank, const Json& about) {
    RanksSentence one = sentence_of(std::move(text));
    one.rank = rank;
    one.record = text_in(about, "record");
    one.op = text_in(about, "op");
    if (const Json* step = member(about, "step"); step != nullptr && step->is_number_integer()) one.step = step->get<int64_t>();
    return one;
  }
  static RanksSentence sentence_of(std::string text) {
    RanksSentence one;
    one.text = std::move(text);
    return one;
  }
  [[nodiscard]] bool one_rank() const { return report_.at("ranks").size() < 2; }
  [[nodiscard]] bool found(std::string_view name) const {
    const Json& names = report_.at("found");
    return std::ranges::find(names, Json(std::string(name))) != names.end();
  }
  void nonfinite();
  void apart();
  void apart_of_two(const Json& pair);
  void replicas();
  void gradients();
  void trends();
  void missing();
  void shapes();
  void durations();
  void coverage();
  void progress();

  const Json& report_;
  std::vector<RanksAnswer> answers_;
};

void Answers::nonfinite() {
  const Json& first = report_.at("nonfinite").at("first");
  const std::string_view question = "first NaN or Inf";
  if (!first.is_object()) {
    const size_t ranks = report_.at("nonfinite").at("ranks").size();
    return answer(question, false,
                  ranks == 0 ? "none" : fmt::format("none, but what did no harm or is there on purpose, in {}", counted(ranks, "rank")));
  }
  answer(question, true, "");
  answers_.back().sentence =
      sentence_of(fmt::format("rank {}, {}", member_text(first, "rank"), nonfinite_text(first)), rank_in(first, "rank"), first);
  answers_.back().sentence.kind = RanksSentence::Kind::kNonFinite;
  const Json& alike = first.at("ranks");
  if (alike.size() > 1) answers_.back().examples.push_back(sentence_of(fmt::format("at the same place in {}", rank_words(alike))));
}

// The answer for a job of two ranks.
void Answers::apart_of_two(const Json& pair) {
  const std::string_view question = "apart from each other";
  const uint64_t judged = count_in(pair, "judged");
  if (judged == 0) {
    return answer(
        question, false,
        "not judged: it takes an l2 of a forward pass, in one shape in both ranks, in two steps or more, and no stages of a pipeline");
  }
  const Json& since = pair.at("since");
  if (!since.is_object()) {
    return answer(question, false,
                  fmt::format("none of {} of the forward pass stays several times larger in one of the two ranks until the last step",
                              counted(judged, "tensor")));
  }
  const bool is_apart = pair.at("apart").get<bool>();
  const std::string far = fmt::format("{} of {} of the forward pass stay several times larger in one of the two ranks until the last step",
                                      count_in(pair, "far"), counted(judged, "tensor"));
  answer(question, is_apart,
         concat(far, is_apart ? "; which of the two is off, two ranks cannot say" : ": fewer than a quarter of them, as shards do"));
  answers_.back().examples.push_back(
      sentence_of(fmt::format("since step {}, {}: {:.3g} times larger in rank {}", member_text(since, "step"), op_text(since),
                              number_in(pair, "times"), member_text(pair, "larger")),
                  rank_in(pair, "larger"), since));
}

void Answers::apart() {
  const Json& apart = report_.at("apart");
  if (apart.at("pair").is_object()) return apart_of_two(apart.at("pair"));
  const Json& ranks = apart.at("ranks");
  const std::string_view question = "apart from the other ranks";
  if (count_in(apart, "judged") == 0)
    return answer(question, false,
                  "not judged: it takes a tensor with an l2 in three ranks or more, none of which is a stage of a pipeline");
  const double usual = number_in(apart, "usual");
  if (ranks.empty()) return answer(question, false, fmt::format("none; ranks are {:.2g} from their median", usual));
  answer(question, true, counted(ranks.size(), "rank"));
  examples(ranks, ranks.size(), [usual](const Json& rank) {
    std::string text = fmt::format("rank {}: {:.3g} from the median of the ranks, where {:.2g} is usual", member_text(rank, "rank"),
                                   number_in(rank, "distance"), usual);
    const Json& since = rank.at("since");
    if (since.is_object()) text += fmt::format("; since step {}, {}", member_text(since, "step"), op_text(since));
    return sentence_of(std::move(text), rank_in(rank, "rank"), since);
  });
}

void Answers::replicas() {
  const Json& replicas = report_.at("replicas");
  const Json& unequal = replicas.at("unequal");
  const std::string_view question = "replicas";
  if (one_rank()) return answer(question, false, "one rank");
  if (replicas.at("groups").empty()) return answer(question, false, "the dumps do not say which ranks hold the same; --groups does");
  const uint64_t compared = count_in(replicas, "compared");
  if (compared == 0) return answer(question, false, "no weight and no reduced gradient of two ranks was captured");
  const uint64_t never = count_in(replicas, "never_equal");
  if (never == compared) {
    return answer(
        question, false,
        fmt::format("not judged: none of {} was ever equal in two ranks, as shards are; --groups lists the ranks that must be equal",
                    counted(compared, "tensor")));
  }
  const bool two = report_.at("ranks").size() == 2;
  const std::string_view or_before = two ? ", or apart before the first step that was captured: two ranks cannot say" : "";
  const std::string shards = never == 0 ? "" : fmt::format("; {} never were, as shards{}", never, or_before);
  if (unequal.empty()) {
    return answer(question, false,
                  fmt::format("equal: {} of weights, gradients and optimizer states{}", counted(compared - never, "tensor"), shards));
  }
  const std::string_view open = two ? "; which of the two ranks is off, two ranks cannot say" : "";
  answer(question, true,
         fmt::format("{} of {} not equal{}{}{}", count_in(replicas, "unequal_tensors"), counted(compared, "tensor"), two ? "" : " any more",
                     open, shards));
  examples(unequal, count_in(replicas, "unequal_tensors"), [](const Json& one) {
    const bool undecided = one.at("undecided").get<bool>();
    return sentence_of(
        fmt::format("step {}, {}, {}: {} not as in {}{}", member_text(one, "step"), tensor_text(one), member_text(one, "role"),
                    rank_words(one.at("ranks")), rank_words(one.at("others")), undecided ? ", either may be off" : ""),
        one.at("ranks").at(0).get<int64_t>(), one);
  });
}

void Answers::gradients() {
  const Json& gradients = report_.at("gradients");
  const std::string_view question = "gradients";
  if (!gradients.is_object()) return answer(question, false, "none captured");
  const Json& norms = gradients.at("global");
  const Json& steps = gradients.at("steps");
  const auto at = [&](size_t i) {
    return fmt::format("{:.3g} in step {}", norms[i].is_number() ? norms[i].get<double>() : NAN, to_json_text(steps[i]));
  };
  std::string text = "norm " + at(0);
  if (norms.size() > 1) text += ", " + at(norms.size() - 1);
  std::string most;
  const Json& layers = gradients.at("layers");
  for (size_t i = 0; i < std::min(layers.size(), kShownExamples); ++i) {
    const std::string layer = member_text(layers[i], "layer");
    most += fmt::format("{}{} ({:.0f} %)", most.empty() ? "" : ", ", layer.empty() ? "layers that are not known" : layer,
                        100 * number_in(layers[i], "share"));
  }
  answer(question, false, fmt::format("{}; most of it from {}", text, most));
}

void Answers::trends() {
  const Json& trends = report_.at("trends");
  const std::string_view question = "trends";
  if (count_in(trends, "judged") == 0) {
    return answer(question, false, fmt::format("nothing to judge: no series has statistics of {} steps", kLeastJudged));
  }
  if (!found("trends")) return answer(question, false, "none stands out");
  const auto count = [&](const char* sort) { return count_in(trends.at(sort), "count"); };
  answer(question, true, fmt::format("{} in all ranks, {} in some, {} in one", count("in_all"), count("in_some"), count("in_one")));
  for (const char* sort : {"in_one", "in_some", "in_all"}) {
    examples(trends.at(sort).at("trends"), count(sort), [](const Json& one) {
      return sentence_of(fmt::format("{}: {} {} ({}) since step {}", rank_words(one.at("ranks")), member_text(one, "kind"),
                                     member_text(one, "record"), member_text(one, "type"), member_text(one, "since")),
                         one.at("ranks").at(0).get<int64_t>(), one);
    });
  }
}

void Answers::missing() {
  const Json& missing = report_.at("missing");
  const Json& ops = missing.at("ops");
  const Json& steps = missing.at("steps");
  const uint64_t executions = count_in(missing, "lacking_executions");
  const std::string_view question = "ops and steps that ranks lack";
  if (one_rank()) return answer(question, false, "one rank");
  if (ops.empty() && steps.empty() && executions == 0) return answer(question, false, "none");
  uint64_t some = 0;
  for (const Json& group : ops) some += count_in(group, "ops");
  answer(question, found("missing"),
         fmt::format("{} not in all ranks, {} of steps, {} where others ran", counted(some, "op"), counted(steps.size(), "gap"),
                     counted(executions, "execution")));
  examples(ops, ops.size(), [](const Json& group) {
    const uint64_t count = count_in(group, "ops");
    const std::string first = op_text(group.at("first"));
    const std::string what = count == 1 ? first : fmt::format("{} ops, {} first", count, first);
    return sentence_of(fmt::format("{}: in {} only", what, rank_words(group.at("ranks"))), group.at("ranks").at(0).get<int64_t>(),
                       group.at("first"));
  });
  examples(steps, steps.size(), [](const Json& gap) {
    const std::string first = member_text(gap, "first");
    const std::string what =
        first == member_text(gap, "last") ? "step " + first : fmt::format("steps {} to {}", first, member_text(gap, "last"));
    return sentence_of(fmt::format("{}: no records in {}", what, rank_words(gap.at("lacking"))));
  });
  examples(missing.at("executions"), executions, [](const Json& one) {
    return sentence_of(fmt::format("step {}, {}, call {}: not in {}", member_text(one, "step"), op_text(one), member_text(one, "call"),
                                   rank_words(one.at("lacking"))),
                       one.at("others").at(0).get<int64_t>(), one);
  });
}

void Answers::shapes() {
  const Json& shapes = report_.at("shapes");
  const uint64_t tensors = count_in(shapes, "tensors");
  const uint64_t wrong = count_in(shapes, "wrong");
  const Json& types = shapes.at("types");
  const std::string_view question = "shapes";
  if (one_rank()) return answer(question, false, "one rank");
  if (!types.empty()) {
    answer("types", found("types"), "not the same in all ranks");
    examples(types, types.size(), [](const Json& one) { return sentence_of(types_text(one), minority_of(one), one.at("first")); });
  }
  if (tensors == 0) return answer(question, false, "nothing differs");
  answer(question, wrong > 0,
         wrong > 0 ? fmt::format("{} of another shape in some rank, {} of which should not be", counted(tensors, "tensor"), wrong)
                   : fmt::format("{} of other shapes, as batches of other sizes have", counted(tensors, "tensor")));
  examples(shapes.at("shapes"), tensors, [](const Json& one) {
    std::string text;
    for (const Json& shape : one.at("shapes")) {
      const std::string dims = member_text(shape, "shape");
      text += fmt::format("{}{} {} in {}", text.empty() ? "" : ", ", member_text(shape, "dtype"), dims.empty() ? "scalar" : dims,
                          rank_words(shape.at("ranks")));
    }
    return sentence_of(fmt::format("step {}, {}: {}", member_text(one, "step"), tensor_text(one), text),
                       one.at("shapes").back().at("ranks").at(0).get<int64_t>(), one);
  });
}

void Answers::durations() {
  const Json& durations = report_.at("durations");
  const std::string_view question = "slowest rank";
  if (one_rank()) return answer(question, false, "one rank");
  const std::vector<std::string> lines = slow_rank_lines(durations);
  answer(question, false, "");
  answers_.back().sentence = sentence_of(lines.front());
  const Json& slow = durations.at("own").at("slow");
  if (!slow.empty()) answers_.back().sentence.rank = rank_in(slow[0], "rank");
  for (size_t i = 1; i < std::min(lines.size(), kShownExamples + 1); ++i) {
    const Json& where = slow[i - 1].at("where");
    answers_.back().examples.push_back(sentence_of(lines[i], rank_in(slow[i - 1], "rank"), where.is_object() ? where : Json()));
  }
  add_more(slow.size());
}

void Answers::coverage() {
  std::vector<RanksSentence> lines;
  size_t unknown = 0;
  for (const Json& rank : report_.at("coverage")) {
    const Json& ops = rank.at("ops");
    unknown += rank.at("lost").is_null() ? 1 : 0;
    const uint64_t lost = count_in(rank, "lost");
    const bool partly = count_in(ops, "captured") < count_in(ops, "expected");
    if (lost == 0 && !partly) continue;
    lines.push_back(sentence_of(fmt::format("rank {}: {} lost, {} of {} captured", member_text(rank, "rank"), counted(lost, "record"),
                                            count_in(ops, "captured"), counted(count_in(ops, "expected"), "op")),
                                rank_in(rank, "rank"), Json()));
  }
  const std::string known = unknown == 0 ? "" : fmt::format("; {} without a manifest do not say", counted(unknown, "rank"));
  answer("losses", !lines.empty(), lines.empty() ? "none" + known : counted(lines.size(), "rank") + known);
  for (size_t i = 0; i < std::min(lines.size(), kShownExamples); ++i) answers_.back().examples.push_back(lines[i]);
  add_more(lines.size());
}

void Answers::progress() {
  const std::vector<const Json*> ranks = by_progress(report_);
  const auto cut = static_cast<uint64_t>(std::ranges::count_if(ranks, [](const Json* rank) { return was_cut(*rank); }));
  std::vector<const Json*> behind;
  for (const Json* rank : ranks) {
    // Where others were cut off, the one that came least far is named, too.
    const bool is_first = cut > 0 && rank == ranks.front();
    if (count_in(*rank, "behind") > 0 || was_cut(*rank) || is_first) behind.push_back(rank);
  }
  const std::string last = member_text(report_.at("steps"), "last");
  if (behind.empty()) return answer("last step", false, last.empty() ? "no steps" : fmt::format("{} in every rank", last));
  answer("last step", true,
         fmt::format("{}; {}", last,
                     cut > 0 ? counted(cut, "rank") + " ended too early" : counted(behind.size(), "rank") + " stopped before"));
  for (size_t i = 0; i < std::min(behind.size(), kShownExamples); ++i) {
    answers_.back().examples.push_back(sentence_of(end_text(*behind[i]), rank_in(*behind[i], "rank"), behind[i]->at("end")));
  }
  add_more(behind.size());
}

std::vector<RanksAnswer> Answers::all() {
  nonfinite();
  apart();
  replicas();
  gradients();
  trends();
  missing();
  shapes();
  durations();
  coverage();
  progress();
  return std::move(answers_);
}

}  // namespace

ExitCode code_of_ranks(const Json& report) {
  const std::vector<std::string> found = strings_in(report, "found");
  if (std::ranges::any_of(found, is_fault)) return ExitCode::kFound;
  return found.empty() ? ExitCode::kFine : ExitCode::kFailed;
}

std::string job_text(const Json& report) {
  const Json& steps = report.at("steps");
  std::string text = fmt::format("{}, {}, {}", counted(report.at("ranks").size(), "rank"), counted(count_in(report, "job_ops"), "op"),
                                 counted(count_in(steps, "count"), "step"));
  if (count_in(steps, "count") > 0) text += fmt::format(" ({} to {})", member_text(steps, "first"), member_text(steps, "last"));
  return text;
}

std::vector<std::string> job_troubles(const Json& report) {
  std::vector<std::string> troubles;
  for (const Json& one : report.at("unread")) {
    const std::string dump = member_text(one, "dump");
    const std::string reason = member_text(one, "reason");
    troubles.push_back(reason.starts_with(dump) ? reason : concat(dump, ": ", reason));
  }
  for (const Json& rank : report.at("ranks")) {
    for (const std::string& note : strings_in(rank, "notes")) {
      troubles.push_back(concat("rank ", member_text(rank, "rank"), ": ", printable(note)));
    }
  }
  if (const Json& lacking = report.at("missing_ranks"); !lacking.empty()) troubles.push_back(rank_words(lacking) + ": no dump");
  return troubles;
}

std::vector<RanksAnswer> ranks_answers(const Json& report) { return Answers(report).all(); }

void print_ranks(Terminal& terminal, const Json& report) {
  for (const std::string& trouble : job_troubles(report)) terminal.warn(trouble);
  terminal.line(job_text(report));
  const Palette& palette = terminal.out_palette();
  for (const RanksAnswer& answer : ranks_answers(report)) {
    const std::string& text = answer.sentence.text;
    terminal.line(fmt::format("{}: {}", palette.bold(answer.question), answer.is_wrong ? palette.red(text) : text));
    for (const RanksSentence& example : answer.examples) {
      terminal.line(concat("  ", example.text, example.kind == RanksSentence::Kind::kMore ? " (--json)" : ""));
    }
    if (answer.sentence.kind != RanksSentence::Kind::kNonFinite) continue;
    if (const Json& origin = report.at("nonfinite").at("first").at("origin"); origin.is_object()) print_origin(terminal, origin);
  }
}

}  // namespace tensortap::cli
