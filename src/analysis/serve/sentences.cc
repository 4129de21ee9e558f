#include "serve/sentences.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/counted.h"
#include "base/four_digits.h"
#include "base/json_members.h"
#include "base/text.h"
#include "find/find_report.h"
#include "query/failed_op.h"

namespace tensortap {
namespace {

// Collects sentences of one dump.
class Sentences {
 public:
  Sentences(const ServedDump& dump, char side) : dump_(dump), suffix_(side == 'b' ? "&dump=b" : "") {}

  void add(std::string_view kind, std::string text, const std::string& fragment = {}) {
    list_.push_back({{"kind", kind}, {"text", std::move(text)}, {"link", fragment.empty() ? Json(nullptr) : Json(fragment + suffix_)}});
  }
  [[nodiscard]] Json take() { return std::move(list_); }

  // The row that a "record" of find's JSON names.
  [[nodiscard]] std::optional<size_t> row_of(const Json& one) const {
    RecordKey key;
    if (!parse_record_name(text_in(one, "record"), key)) return std::nullopt;
    const auto row = find_record(dump_.index(), key);
    return row.ok() ? std::optional(*row) : std::nullopt;
  }
  [[nodiscard]] std::string graph_link(const Json& one, std::string_view more = {}) const {
    const auto row = row_of(one);
    return row ? concat("#graph?op=", dump_.rows()[*row].op, more) : std::string();
  }
  [[nodiscard]] std::string record_link(const Json& one) const {
    const auto row = row_of(one);
    return row ? concat("#tensor?record=", *row) : std::string();
  }

  void add_state();
  void add_nonfinite(const Json& report);
  void add_failure();
  void add_coverage();
  void add_losses();
  void add_headroom(const Json& report);
  void add_trends();

 private:
  void add_first(const Json& first, const Json& report);
  void add_overflow(const Json& seen);
  void add_unwritten(const Json& report);
  void add_clear(const Json& report, const std::string& text, const std::string& fragment = {});

  const ServedDump& dump_;
  std::string suffix_;
  Json list_ = Json::array();
};

std::string counts_of(const Json& one) {
  std::string text;
  for (const auto& [key, word] : {std::pair{"nan", "NaN"}, {"pos_inf", "+Inf"}, {"neg_inf", "-Inf"}}) {
    if (const uint64_t count = count_in(one, key); count > 0) text += concat(text.empty() ? "" : ", ", count, " ", word);
  }
  return text;
}

// As a person reads it.
std::string short_number_in(const Json& one, const char* key) {
  const Json* value = member(one, key);
  return value != nullptr && value->is_number() ? four_digits(value->get<double>()) : text_in(one, key);
}

// ", module Net.norm, line net.py:17": where an op of find's JSON comes from.
std::string place_of(const Json& one) {
  std::string text;
  if (const std::string module = text_in(one, "module"); !module.empty()) text += concat(", module ", module);
  if (const std::string source = text_in(one, "source"); !source.empty()) text += concat(", line ", source);
  const Json* forward = member(one, "forward");
  if (forward == nullptr) return text;
  text += concat(", backward of ", text_in(*forward, "op"));
  if (const std::string source = text_in(*forward, "source"); !source.empty()) text += concat(", line ", source);
  return text;
}

std::string reached_text(const std::string& reached) {
  if (reached == "host") return "the program read it";
  if (reached == "loss") return "a backward pass began with it";
  if (reached == "failure") return "the op that failed read it";
  if (reached == "parameter") return "it was written into a parameter";
  return {};
}

void Sentences::add_first(const Json& first, const Json& report) {
  Json named = first;  // nonfinite_json has no "record"
  named["record"] = concat(text_in(first, "op"), ":", text_in(first, "slot"), "@", text_in(first, "step"));
  const auto row = row_of(named);
  const std::string flow = row ? concat("&step=", text_in(first, "step"), "&flow=", *row) : std::string();
  add("nonfinite",
      concat("The first value that is not finite is of ", text_in(first, "op"), " (", text_in(first, "type"), ") in step ",
             text_in(first, "step"), ", ", text_in(first, "slot"), ": ", counts_of(first), place_of(first), "."),
      graph_link(named, flow));
  const Json* seen = member(report, "seen");
  if (seen != nullptr) add_overflow(*seen);
  if (seen != nullptr && seen->at("chain").size() > 1 && member(*seen, "swallowed_by") == nullptr) {
    const Json& end = seen->at("chain").front();
    const std::string how = reached_text(text_in(*seen, "reached"));
    const auto seen_row = row_of(end);
    add("origin",
        concat("It came to ", text_in(end, "op"), " (", text_in(end, "type"), ") ", counted(seen->at("chain").size() - 1, "op"), " later",
               how.empty() ? "" : ": ", how, "."),
        graph_link(end, seen_row ? concat("&flow=", *seen_row) : std::string()));
  }
  if (const Json* lead = member(report, "lead"); lead != nullptr) {
    add("trend",
        concat("Before that, ", text_in(*lead, "measure"), " of ", text_in(*lead, "record"), " went from ", short_number_in(*lead, "from"),
               " to ", short_number_in(*lead, "to"), " in ", counted(count_in(*lead, "steps"), "step"), "."),
        record_link(*lead));
  }
}

// What stands before everything else: how far the rest holds.
void Sentences::add_state() {
  const std::string text = completeness_text(dump_.index().completeness());
  if (!text.empty()) add("losses", concat(text, "."));
}

// "It overflowed in float16, and rsqrt (rsqrt), line net.py:7, made finite numbers of it."
void Sentences::add_overflow(const Json& seen) {
  const std::string dtype = text_in(seen, "overflow");
  if (dtype.empty()) return;
  std::string text = concat("It overflowed in ", dtype);
  const Json* by = member(seen, "swallowed_by");
  if (by != nullptr) {
    text += concat(", and ", text_in(*by, "op"), " (", text_in(*by, "type"), ")", place_of(*by), ", ",
                   count_in(*by, "zero") > 0 ? "turned it into 0" : "made finite numbers of it");
  }
  add("origin", text + ".", by == nullptr ? "" : graph_link(*by));
}

void Sentences::add_unwritten(const Json& report) {
  for (const Json& one : report.at("unwritten")) {
    add("nonfinite",
        concat(text_in(one, "op"), " (", text_in(one, "type"), ") read memory that nothing was written to, in step ", text_in(one, "step"),
               ", ", text_in(one, "slot"), one.value("partly", false) ? " (some of its elements)" : "", place_of(one), "."),
        graph_link(one));
  }
}

// A dump that lacks records clears only those that it holds.
void Sentences::add_clear(const Json& report, const std::string& text, const std::string& fragment) {
  const bool holds_all = dump_.index().completeness().holds_all();
  if (const std::string unknown = text_in(report, "not_known"); !unknown.empty()) {
    return add("unsure", concat("Not known: ", unknown, ". In the records that were looked at: ", text), fragment);
  }
  add(holds_all ? "plain" : "unsure", holds_all ? text : concat("In the records that the dump holds: ", text), fragment);
}

void Sentences::add_nonfinite(const Json& report) {
  add_unwritten(report);
  if (const Json* first = member(report, "first_nonfinite"); first != nullptr) {
    add_first(*first, report);
  } else if (const uint64_t harmless = count_in(report, "harmless"); harmless > 0) {
    add_clear(report, concat("No NaN and no Inf reached what the program saw; ", counted(harmless, "op"), " made some that did no harm."),
              "#table?where=nan%20%3E%200%20or%20pos_inf%20%3E%200%20or%20neg_inf%20%3E%200");
  } else if (saw_nothing(report)) {
    add("unsure", concat("Nothing is known of NaN and Inf: ", nothing_seen_text(report), "."));
  } else {
    add_clear(report, report.at("origins").empty() ? "No NaN and no Inf was seen." : "No NaN and no Inf was seen, except intended ones.");
  }
}

void Sentences::add_failure() {
  const Json* failed = member(dump_.manifest(), "failed_op");
  if (failed == nullptr || !failed->is_object()) return;
  const std::string source = text_in(*failed, "source");
  const bool ended = ended_program(*failed);
  add(ended ? "nonfinite" : "plain", concat("Op ", text_in(*failed, "name"), " (", text_in(*failed, "type"), ")",
                                            source.empty() ? "" : concat(", line ", source), " failed in step ", text_in(*failed, "step"),
                                            ": ", failure_reason(*failed), ended ? "" : "; the program caught it and went on"));
}

void Sentences::add_coverage() {
  const Json* ops = member(dump_.manifest(), "ops");
  if (ops == nullptr || !ops->is_object()) return;
  const uint64_t registered = count_in(*ops, "registered");
  const uint64_t captured = count_in(*ops, "captured");
  std::string text = concat(captured, " of ", counted(registered, "op"), captured == 1 ? " was" : " were", " captured");
  if (const uint64_t lost = count_in(dump_.manifest(), "lost"); lost > 0) text += concat("; ", counted(lost, "record"), " lost");
  const uint64_t not_wanted = count_in(*ops, "not_wanted");
  if (not_wanted > 0) text += concat("; ", not_wanted, " were not asked for");
  const Json* missing = member(*ops, "not_captured");
  for (const Json& one : missing != nullptr && missing->is_array() ? *missing : Json::array()) {
    text += concat("; ", count_in(one, "count"), ": ", text_in(one, "reason"));
  }
  add("coverage", text + ".", "#graph?heat=nonfinite");
}

void Sentences::add_losses() {
  const Json* losses = member(dump_.manifest(), "losses");
  for (const Json& loss : losses != nullptr && losses->is_array() ? *losses : Json::array()) {
    add("losses", concat(counted(count_in(loss, "count"), "record"), " left out: ", text_in(loss, "reason"), "."));
  }
  const auto problems = dump_.index().problems();
  if (!problems.empty()) {
    add("losses", concat(counted(problems.size(), "problem"), " while opening the dump, the first: ", problems.front()));
  }
}

void Sentences::add_headroom(const Json& report) {
  const Json& list = report.at("headroom").at("float16");
  // Where nothing but Inf is known the type's limit is no matter.
  const auto found = std::ranges::find_if(list, [](const Json& one) { return one.at("absmax").is_number(); });
  if (found == list.end()) return;
  const Json& first = *found;
  const std::string absmax = short_number_in(first, "absmax");
  const bool overflows = first.value("overflows", false);
  add("headroom",
      concat("Closest to the limit of float16 is ", text_in(first, "record"), ": absmax ", absmax,
             overflows ? ", more than float16 holds." : "."),
      record_link(first));
}

std::string trend_text(const Trend& trend) {
  switch (trend.kind) {
    case TrendKind::kExploding:
      return concat("explodes from step ", trend.since, " on");
    case TrendKind::kSpike:
      return concat("spikes at step ", trend.since);
    case TrendKind::kVanishing:
      return concat("vanishes from step ", trend.since, " on");
    case TrendKind::kDead:
      return concat("is all but zero from step ", trend.since, " on");
    case TrendKind::kFrozen:
      return concat("does not change from step ", trend.since, " on");
  }
  return {};
}

void Sentences::add_trends() {
  const auto& trends = dump_.trends().trends;
  if (trends.empty()) return;
  const Trend& first = trends.front();
  const RecordRow& row = dump_.rows()[first.row];
  const std::string slot = slot_name(static_cast<SlotKind>(row.slot_kind), row.slot_index);
  const std::string key = first.measure == Measure::kAbsMax ? "absmax" : "l2";
  add("trend",
      concat(counted(trends.size(), "trend"), " over the steps; the first: ", op_of(dump_.index(), row).name, " ", slot, " ",
             trend_text(first), "."),
      concat("#steps?op=", row.op, "&slot=", slot, "&key=", key));
}

}  // namespace

Json sentences_json(const ServedDump& dump, char side, bool is_complete) {
  Sentences sentences(dump, side);
  sentences.add_state();
  sentences.add_failure();
  if (is_complete) {
    const Json& report = dump.find_report();
    sentences.add_nonfinite(report);
    sentences.add_trends();
    sentences.add_headroom(report);
  }
  sentences.add_coverage();
  sentences.add_losses();
  return sentences.take();
}

}  // namespace tensortap
