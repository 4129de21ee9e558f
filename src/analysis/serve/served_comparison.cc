#include "serve/served_comparison.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "compare/comparison_json.h"

namespace tensortap {
namespace {

void note_pair(std::vector<uint32_t>& pairs, uint32_t row, size_t pair) {
  if (row < pairs.size() && pairs[row] == kNoRow) pairs[row] = static_cast<uint32_t>(pair);
}

}  // namespace

void ComparedPairs::run(const std::function<void(const ComparedValue&)>& visit) {
  pairs_of_a_.assign(comparison_->a().rows().size(), kNoRow);
  pairs_of_b_.assign(comparison_->b().rows().size(), kNoRow);
  comparison_->run([this, &visit](const ComparedValue& value) {
    if (visit) visit(value);
    note_pair(pairs_of_a_, value.row_a, values_.size());
    note_pair(pairs_of_b_, value.row_b, values_.size());
    values_.push_back(value);
    if (values_.size() <= kMostMeasured) return;
    values_.back().data.reset();
    values_.back().statistics.reset();
  });
}

const std::vector<uint32_t>& ComparedPairs::list(PairsOnly only, PairsSort sort) const {
  return lists_[static_cast<size_t>(only) * 3 + static_cast<size_t>(sort)].get([&] {
    std::vector<uint32_t> pairs;
    for (size_t pair = 0; pair < values_.size(); ++pair) {
      if (is_chosen(values_[pair], only)) pairs.push_back(static_cast<uint32_t>(pair));
    }
    std::ranges::stable_sort(pairs, {}, [&](uint32_t pair) { return order_key(values_[pair], sort, own_error(values_[pair])); });
    if (only == PairsOnly::kFirst && pairs.size() > 1) pairs.resize(1);
    return pairs;
  });
}

std::optional<uint32_t> ComparedPairs::pair_of(uint32_t row, bool is_b) const {
  const std::vector<uint32_t>& pairs = is_b ? pairs_of_b_ : pairs_of_a_;
  return row < pairs.size() && pairs[row] != kNoRow ? std::optional(pairs[row]) : std::nullopt;
}

Json ComparedPairs::pair_json(uint32_t pair) const {
  const ComparedValue& value = values_[pair];
  Json json = {{"pair", pair},
               {"record_a", value.row_a},
               {"record_b", value.row_b},
               {"op_a", comparison_->a().rows()[value.row_a].op},
               {"op_b", comparison_->b().rows()[value.row_b].op}};
  json.update(compared_json(*comparison_, value));
  return json;
}

const std::vector<Unpaired>& ComparedPairs::unpaired(bool of_b) const {
  return of_b ? comparison_->unpaired_b() : comparison_->unpaired_a();
}

ServedComparison::ServedComparison(Dump a, Dump b, ComparisonOptions options) : a_(std::move(a)), b_(std::move(b)), stage_("starting") {
  thread_ = std::thread([this, options = std::move(options)]() mutable { work(std::move(options)); });
}

ServedComparison::ServedComparison(Dump a, Dump b, std::unique_ptr<ComparedPairs> pairs)
    : a_(std::move(a)), b_(std::move(b)), outcome_(Status()), pairs_(std::move(pairs)) {
  done_ = all_ = pairs_->values().size();
}

ServedComparison::~ServedComparison() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void ServedComparison::work(ComparisonOptions options) {
  options.progress = [this](std::string_view stage, size_t done, size_t all) { tell(stage, done, all); };
  options.stop = &stop_;
  auto made = DumpComparison::make(a_->index(), b_->index(), std::move(options));
  const Status outcome = made.status();
  std::unique_ptr<ComparedPairs> pairs;
  if (outcome.ok()) {
    pairs = std::make_unique<ComparedPairs>(*std::move(made));
    pairs->run();
  }
  const std::lock_guard lock(mutex_);
  outcome_ = outcome;
  pairs_ = std::move(pairs);
  if (pairs_) done_ = all_ = pairs_->values().size();
}

void ServedComparison::tell(std::string_view stage, size_t done, size_t all) {
  const std::lock_guard lock(mutex_);
  stage_ = stage;
  done_ = done;
  all_ = all;
}

Json ServedComparison::state_json() const {
  const std::lock_guard lock(mutex_);
  const bool failed = outcome_ && !outcome_->ok();
  Json json = {
      {"state", failed ? "failed" : outcome_ ? "ready" : "running"}, {"done", done_},     {"all", all_}, {"stage", outcome_ ? "" : stage_},
      {"error", failed ? Json(outcome_->message()) : Json(nullptr)}, {"summary", nullptr}};
  if (pairs_) json["summary"] = summary_json(pairs_->comparison()).at("summary");
  return json;
}

Result<const ComparedPairs*> ServedComparison::pairs() const {
  const std::lock_guard lock(mutex_);
  if (!outcome_) return not_found("the dumps are still being compared");
  if (!outcome_->ok()) return not_found(outcome_->message());
  return pairs_.get();
}

}  // namespace tensortap
