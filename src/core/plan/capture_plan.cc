#include "plan/capture_plan.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "plan/operation_tree.h"
#include "plan/selector_set.h"
#include "plan/spec_checks.h"
#include "plan/spec_keys.h"
#include "plan/unmatched.h"
#include "plan/where.h"

namespace tensortap {
namespace {

using Kind = OpSelector::Kind;

constexpr size_t kMostNotes = 50;
constexpr size_t kMostUnmatched = 10;    // in one message
constexpr size_t kMostSeenOps = 20'000;  // kept for nearest names when ops become known one by one

void add_slot(std::vector<uint32_t>& slots, uint32_t slot) {
  if (!has_slot(slots, slot)) slots.push_back(slot);
}

// Selectors that name an op or its type outright. They pick weights and graph inputs even when these are not captured by themselves.
bool is_outright(Kind kind) { return kind == Kind::kName || kind == Kind::kType; }

// The makers of values, for inputs whose producer the source did not report.
class ValueMakers {
 public:
  explicit ValueMakers(std::span<const OpInfo> ops) : ops_(ops) {}

  // False when no op of the graph makes it.
  bool find(const OpInfo& consumer, const OpInput& input, size_t& producer, uint32_t& slot) {
    if (input.name.empty() && input.producer == kNoOp) return false;
    producer = input.producer;
    slot = input.producer_slot;
    if (producer < ops_.size()) return true;
    if (makers_.empty()) index();
    auto found = makers_.find(key(consumer.graph, input.name));
    if (found == makers_.end()) found = makers_.find(key("", input.name));
    if (found == makers_.end()) return false;
    std::tie(producer, slot) = found->second;
    return true;
  }

 private:
  static std::string key(const std::string& graph, const std::string& value) { return graph + '\0' + value; }
  void index() {
    for (size_t i = 0; i < ops_.size(); ++i) {
      for (uint32_t slot = 0; slot < ops_[i].outputs.size(); ++slot)
        makers_.emplace(key(ops_[i].graph, ops_[i].outputs[slot]), std::pair(i, slot));
    }
  }
  std::span<const OpInfo> ops_;
  std::unordered_map<std::string, std::pair<size_t, uint32_t>> makers_;
};

std::string fused_note(const OpInfo& op, const OriginalNode& original) {
  std::vector<std::string> others;
  for (const OriginalNode& other : op.originals) {
    if (other.name != original.name) others.push_back(quote(other.name));
  }
  const std::string fused = others.empty() ? "" : concat(", fused with ", join(others, ", "));
  const std::string_view runs = others.empty() ? " runs as " : " runs inside ";
  return concat("the original node ", quote(original.name), runs, quote(op.name), " (", op.type, fused, "); it is captured as that");
}

}  // namespace

struct CapturePlan::Compiled {
  CaptureSpec spec;
  std::unique_ptr<WhereExpression> where;
  SelectorSet include;
  SelectorSet exclude;
  std::vector<uint64_t> include_hits;  // ops that each selector has picked
  std::vector<uint64_t> exclude_hits;
  SelectorSet watchers;
  std::vector<uint64_t> watcher_hits;
  PlanEnvironment environment;
  bool asks_ids = false;
  bool asks_scoped_names = false;  // of ops that become known one by one, for the nearest of them
  OperationTree tree;
  ScopedNames scoped_names;
  std::vector<SelectorHit> hits;  // of the op that is being decided
  std::vector<std::string> notes;
  uint64_t notes_left_out = 0;
  bool is_bound = false;
  std::vector<std::string> unmatched;            // once it is bound
  std::unordered_set<std::string> single_names;  // of ops that are called by themselves
  std::unordered_set<std::string> seen_names;
  std::unordered_set<std::string> seen_types;
  std::unordered_set<std::string> seen_modules;
  std::vector<std::string> seen_scoped_names;
  std::vector<std::string> seen_ids;

  void note(std::string text);
  [[nodiscard]] bool is_asked_extra(const OpInfo& op) const;
  bool is_included(const SelectedOp& selected);
  // Whether ops of its level and kind are asked for at all.
  [[nodiscard]] bool is_of_kind(const OpInfo& op) const;
  bool is_watcher(const SelectedOp& selected);
  // Whether the whole op is left out; slots that are go into `decision`.
  bool is_excluded(const SelectedOp& selected, OpDecision& decision);
  // As the session gave it, or worked out for the ops of a dump that was read back.
  std::string id_of(const OpInfo& op) { return op.id.empty() && asks_ids ? tree.add(op) : op.id; }
  struct Decided {
    OpDecision decision;
    bool excluded = false;  // the whole op, by an exclusion
    bool picked = false;    // by itself, not for an op that reads it
  };
  Decided decide(const OpInfo& op, size_t position);
  void want_inputs(std::span<const OpInfo> ops, std::vector<Decided>& decided);
  // The graph's inputs that captured ops read.
  void want_read_inputs(std::span<const OpInfo> ops, std::vector<Decided>& decided);
  // Optional selectors without a hit become notes, the others an error.
  Status judge_unmatched(std::span<const OpInfo> ops);
};

void CapturePlan::Compiled::note(std::string text) {
  if (notes.size() < kMostNotes) {
    if (std::ranges::find(notes, text) == notes.end()) notes.push_back(std::move(text));
    return;
  }
  if (notes_left_out > 0) notes.pop_back();
  ++notes_left_out;
  notes.push_back(concat("... and ", notes_left_out, " more notes of this kind"));
}

bool CapturePlan::Compiled::is_asked_extra(const OpInfo& op) const {
  return op.type == kInputType ? spec.extras.graph_inputs : spec.extras.weights;
}

bool CapturePlan::Compiled::is_included(const SelectedOp& selected) {
  const bool pseudo = is_pseudo_op(*selected.op);
  if (include.empty()) return !pseudo || is_asked_extra(*selected.op);
  include.match(selected, hits);
  bool included = false;
  for (const SelectorHit& hit : hits) {
    const OpSelector& selector = include.selectors()[hit.selector];
    // A weight that a broad selector happens to match is one more match, but follows the extras; a range is one of ops.
    if (pseudo && selector.kind == Kind::kOrderRange) continue;
    ++include_hits[hit.selector];
    if (pseudo && !is_outright(selector.kind) && !is_asked_extra(*selected.op)) continue;
    included = true;
    if (hit.original != nullptr) note(fused_note(*selected.op, *hit.original));
  }
  return included;
}

bool CapturePlan::Compiled::is_excluded(const SelectedOp& selected, OpDecision& decision) {
  if (exclude.empty()) return false;
  exclude.match(selected, hits);
  bool whole = false;
  for (const SelectorHit& hit : hits) {
    const OpSelector& selector = exclude.selectors()[hit.selector];
    ++exclude_hits[hit.selector];
    whole = whole || (selector.input_slots.empty() && selector.output_slots.empty());
    for (const uint32_t slot : selector.input_slots) add_slot(decision.excluded_inputs, slot);
    for (const uint32_t slot : selector.output_slots) add_slot(decision.excluded_outputs, slot);
  }
  return whole;
}

bool CapturePlan::Compiled::is_of_kind(const OpInfo& op) const {
  if (is_pseudo_op(op)) return true;
  if (op.single ? !spec.single_ops : !spec.model_ops) return false;
  const auto asked = [this](Level level) { return std::ranges::find(spec.levels, level_name(level)) != spec.levels.end(); };
  if (asked(op.level)) return true;
  return op.level == Level::kOp && !environment.kernels && (asked(Level::kKernel) || asked(Level::kApi));
}

bool CapturePlan::Compiled::is_watcher(const SelectedOp& selected) {
  if (spec.trigger != Trigger::kWatch || is_pseudo_op(*selected.op)) return false;
  if (watchers.empty()) return true;
  watchers.match(selected, hits);
  for (const SelectorHit& hit : hits) ++watcher_hits[hit.selector];
  return !hits.empty();
}

CapturePlan::Compiled::Decided CapturePlan::Compiled::decide(const OpInfo& op, size_t position) {
  Decided decided;
  OpDecision& decision = decided.decision;
  const SelectedOp selected{&op, position, id_of(op), scoped_names.add(op)};
  if (asks_ids && !selected.id.empty() && seen_ids.size() < kMostSeenOps) seen_ids.push_back(selected.id);
  if (asks_scoped_names && seen_scoped_names.size() < kMostSeenOps) seen_scoped_names.push_back(selected.scoped_name);
  const bool included = is_included(selected);
  decided.excluded = is_excluded(selected, decision);
  if (!is_of_kind(op)) return decided;
  decision.watcher = is_watcher(selected);
  // The trigger "exception" keeps only what failed, except for the ops that a ring remembers.
  const bool failed_only = spec.trigger == Trigger::kException && spec.limits.ring_ops == 0;
  if (!included || decided.excluded || failed_only) return decided;
  const bool pseudo = is_pseudo_op(op);
  decision.inputs = spec.inputs && !pseudo;
  decision.outputs = spec.outputs;
  decision.weights = spec.extras.weights && !pseudo;
  decided.picked = decision.wanted = decision.inputs || decision.outputs || decision.weights;
  return decided;
}

void CapturePlan::Compiled::want_inputs(std::span<const OpInfo> ops, std::vector<Decided>& decided) {
  ValueMakers makers(ops);
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpDecision& consumer = decided[i].decision;
    for (uint32_t slot = 0; consumer.inputs && slot < ops[i].inputs.size(); ++slot) {
      size_t producer = 0;
      uint32_t output = 0;
      if (!consumer.wants_slot(SlotKind::kInput, slot) || !makers.find(ops[i], ops[i].inputs[slot], producer, output)) continue;
      OpDecision& made = decided[producer].decision;
      if (made.wants_slot(SlotKind::kOutput, output)) continue;
      if (is_pseudo_op(ops[producer]) && !is_asked_extra(ops[producer])) continue;
      if (decided[producer].excluded || (has_slot(made.excluded_outputs, output) && !spec.keep_for_readers)) {
        note(concat("in", slot, " of ", quote(ops[i].name), " is made by ", quote(ops[producer].name),
                    ", which is left out; it is not captured"));
        continue;
      }
      made.wanted = true;
      made.outputs_for_consumers = true;
      add_slot(made.output_slots, output);
    }
  }
}

void CapturePlan::Compiled::want_read_inputs(std::span<const OpInfo> ops, std::vector<Decided>& decided) {
  ValueMakers makers(ops);
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!decided[i].picked || is_pseudo_op(ops[i])) continue;
    for (const OpInput& input : ops[i].inputs) {
      size_t producer = 0;
      uint32_t output = 0;
      if (!makers.find(ops[i], input, producer, output) || ops[producer].type != kInputType || decided[producer].excluded) continue;
      OpDecision& made = decided[producer].decision;
      if (!spec.outputs || has_slot(made.excluded_outputs, output)) continue;
      made.wanted = made.outputs = true;
    }
  }
}

namespace {

// One of the lists of a plan and how often each of its selectors picked an op.
struct PlanLists {
  const SelectorSet& set;
  const std::vector<uint64_t>& hits;
};

}  // namespace

Status CapturePlan::Compiled::judge_unmatched(std::span<const OpInfo> ops) {
  is_bound = true;
  const auto none = [](uint64_t picked) { return picked == 0; };
  const PlanLists lists[] = {{include, include_hits}, {exclude, exclude_hits}, {watchers, watcher_hits}};
  if (std::ranges::all_of(lists, [&](const PlanLists& list) { return std::ranges::none_of(list.hits, none); })) return {};
  KnownWords known{all_names(ops), all_types(ops), {}, seen_ids, environment.models, true, nullptr};
  ScopedNames scoped;
  for (const OpInfo& op : ops) known.scoped_names.push_back(scoped.add(op));
  known.modules = all_modules(ops);
  std::vector<std::string> texts;
  for (const PlanLists& list : lists) {
    for (std::string& text : unmatched_of(list.set, list.hits, known, true)) {
      note(text);
      unmatched.push_back(std::move(text));
    }
    for (std::string& text : unmatched_of(list.set, list.hits, known, false)) texts.push_back(std::move(text));
  }
  if (texts.empty()) return {};
  const size_t more = texts.size() > kMostUnmatched ? texts.size() - kMostUnmatched : 0;
  texts.resize(texts.size() - more);
  if (more > 0) texts.push_back(concat("... and ", more, " more selectors match no op."));
  return invalid_argument(join(texts, "\n"));
}

CapturePlan::CapturePlan() : compiled_(std::make_unique<Compiled>()) {}
CapturePlan::~CapturePlan() = default;

Result<std::unique_ptr<CapturePlan>> CapturePlan::compile(CaptureSpec spec, const PlanEnvironment& environment) {
  fit_to_source(spec, environment);
  TENSORTAP_RETURN_IF_ERROR(check_spec(spec, environment));
  std::unique_ptr<CapturePlan> plan(new CapturePlan);
  Compiled& compiled = *plan->compiled_;
  if (!spec.where.empty()) {
    auto where = WhereExpression::parse(spec.where);
    if (!where.ok()) return where.status().with_context("where");
    compiled.where = *std::move(where);
  }
  TENSORTAP_ASSIGN_OR_RETURN(compiled.include, SelectorSet::compile(spec.include, environment.models));
  TENSORTAP_ASSIGN_OR_RETURN(compiled.exclude, SelectorSet::compile(spec.exclude, environment.models));
  TENSORTAP_ASSIGN_OR_RETURN(compiled.watchers, SelectorSet::compile(spec.watchers, environment.models));
  compiled.include_hits.resize(spec.include.size());
  compiled.exclude_hits.resize(spec.exclude.size());
  compiled.watcher_hits.resize(spec.watchers.size());
  compiled.environment = environment;
  compiled.asks_ids = compiled.include.asks_ids() || compiled.exclude.asks_ids() || compiled.watchers.asks_ids();
  for (const SelectorSet* set : {&compiled.include, &compiled.exclude, &compiled.watchers})
    compiled.asks_scoped_names = compiled.asks_scoped_names || std::ranges::any_of(set->selectors(), is_scoped_name);
  compiled.spec = std::move(spec);
  return plan;
}

const CaptureSpec& CapturePlan::spec() const { return compiled_->spec; }
const WhereExpression* CapturePlan::where() const { return compiled_->where.get(); }
std::span<const std::string> CapturePlan::notes() const { return compiled_->notes; }

OpDecision CapturePlan::decide(const OpInfo& op) {
  Compiled& compiled = *compiled_;
  if (compiled.seen_names.size() < kMostSeenOps && !(compiled.include.empty() && compiled.exclude.empty() && compiled.watchers.empty())) {
    const std::span<const OpInfo> one(&op, 1);
    if (op.single) compiled.single_names.insert(op.name);
    for (std::string& name : all_names(one)) compiled.seen_names.insert(std::move(name));
    for (std::string& type : all_types(one)) compiled.seen_types.insert(std::move(type));
    for (std::string& module : all_modules(one)) compiled.seen_modules.insert(std::move(module));
  }
  return compiled.decide(op, std::numeric_limits<size_t>::max()).decision;
}

Result<std::vector<OpDecision>> CapturePlan::bind(std::span<const OpInfo> ops) {
  Compiled& compiled = *compiled_;
  std::vector<std::string> range_notes;
  for (SelectorSet* set : {&compiled.include, &compiled.exclude, &compiled.watchers}) {
    TENSORTAP_RETURN_IF_ERROR(set->resolve_ranges(ops, range_notes));
  }
  for (std::string& text : range_notes) compiled.note(std::move(text));
  std::vector<Compiled::Decided> decided;
  decided.reserve(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) decided.push_back(compiled.decide(ops[i], i));
  TENSORTAP_RETURN_IF_ERROR(compiled.judge_unmatched(ops));
  if (compiled.spec.inputs) compiled.want_inputs(ops, decided);
  if (compiled.spec.extras.read_inputs) compiled.want_read_inputs(ops, decided);
  std::vector<OpDecision> decisions;
  decisions.reserve(ops.size());
  for (Compiled::Decided& one : decided) decisions.push_back(std::move(one.decision));
  return decisions;
}

std::vector<std::string> CapturePlan::unmatched() const {
  const Compiled& compiled = *compiled_;
  if (compiled.is_bound) return compiled.unmatched;
  KnownWords known{{compiled.seen_names.begin(), compiled.seen_names.end()},
                   {compiled.seen_types.begin(), compiled.seen_types.end()},
                   compiled.seen_scoped_names,
                   compiled.seen_ids,
                   compiled.environment.models,
                   false,
                   &compiled.single_names};
  known.modules.assign(compiled.seen_modules.begin(), compiled.seen_modules.end());
  for (std::vector<std::string>* words : {&known.names, &known.types, &known.modules}) std::ranges::sort(*words);
  const PlanLists lists[] = {
      {compiled.include, compiled.include_hits}, {compiled.exclude, compiled.exclude_hits}, {compiled.watchers, compiled.watcher_hits}};
  std::vector<std::string> texts;
  for (const bool optional : {false, true}) {
    for (const PlanLists& list : lists) {
      for (std::string& text : unmatched_of(list.set, list.hits, known, optional)) texts.push_back(std::move(text));
    }
  }
  return texts;
}

std::vector<OtherModel> CapturePlan::other_models() const {
  const Compiled& compiled = *compiled_;
  const PlanLists lists[] = {
      {compiled.include, compiled.include_hits}, {compiled.exclude, compiled.exclude_hits}, {compiled.watchers, compiled.watcher_hits}};
  std::vector<OtherModel> others;
  for (const PlanLists& list : lists) {
    for (size_t i = 0; i < list.hits.size(); ++i) {
      const OpSelector& selector = list.set.selectors()[i];
      if (list.hits[i] > 0 || list.set.is_of_model(i)) continue;
      const bool known = std::ranges::find(others, selector.of_model, &OtherModel::name) != others.end();
      if (!known) others.push_back({selector.of_model, selector.origin, compiled.environment.models});
    }
  }
  return others;
}

}  // namespace tensortap
