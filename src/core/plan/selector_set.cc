#include "plan/selector_set.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "plan/spec_keys.h"
#include "trace/operation_type.h"

namespace tensortap {
namespace {

using Kind = OpSelector::Kind;

bool begins_at_border(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  if (text.size() == prefix.size()) return true;
  constexpr std::string_view kBorders = "./";
  return kBorders.find(text[prefix.size()]) != std::string_view::npos || kBorders.find(prefix.back()) != std::string_view::npos;
}

// "train.py:41" picks "models/train.py:41" too.
bool is_source(std::string_view location, std::string_view asked) {
  if (!location.ends_with(asked)) return false;
  return location.size() == asked.size() || location[location.size() - asked.size() - 1] == '/';
}

bool is_listed_id(std::string_view id, const OpSelector& selector) {
  return std::ranges::any_of(split(selector.text, ','), [&](std::string_view asked) {
    asked = trim(asked);
    if (id == asked) return true;
    return selector.children && id.size() > asked.size() && id.starts_with(asked) && id[asked.size()] == '_';
  });
}

// Whether the name of the op, of an original or of an output satisfies `test`; `hit` gets the original where only that did.
template <class Test>
bool any_name(const OpInfo& op, SelectorHit& hit, const Test& test) {
  if (test(op.name)) return true;
  for (const OriginalNode& original : op.originals) {
    if (!test(original.name)) continue;
    hit.original = &original;
    return true;
  }
  return std::ranges::any_of(op.outputs, [&](const std::string& output) { return !output.empty() && test(output); });
}

size_t find_named(std::span<const OpInfo> ops, std::string_view name) {
  for (size_t i = 0; i < ops.size(); ++i) {
    SelectorHit unused;
    if (any_name(ops[i], unused, [&](std::string_view candidate) { return candidate == name; })) return i;
  }
  return ops.size();
}

std::vector<std::string> without_repeats(const std::set<std::string>& names) { return {names.begin(), names.end()}; }

}  // namespace

bool has_type(const OpInfo& op, std::string_view type) {
  return op.type == type || std::ranges::any_of(op.originals, [&](const OriginalNode& original) { return original.type == type; });
}

std::vector<std::string> all_names(std::span<const OpInfo> ops) {
  std::set<std::string> names;
  for (const OpInfo& op : ops) {
    names.insert(op.name);
    for (const OriginalNode& original : op.originals) names.insert(original.name);
    names.insert(op.outputs.begin(), op.outputs.end());
  }
  names.erase("");
  return without_repeats(names);
}

std::vector<std::string> all_types(std::span<const OpInfo> ops) {
  std::set<std::string> types;
  for (const OpInfo& op : ops) {
    types.insert(op.type);
    for (const OriginalNode& original : op.originals) types.insert(original.type);
  }
  types.erase("");
  return without_repeats(types);
}

std::vector<std::string> all_modules(std::span<const OpInfo> ops) {
  std::set<std::string> modules;
  for (const OpInfo& op : ops) {
    modules.insert(op.module);
    if (const size_t dot = op.module.find('.'); dot != std::string::npos) modules.insert(op.module.substr(dot + 1));
  }
  modules.erase("");
  return without_repeats(modules);
}

Result<SelectorSet> SelectorSet::compile(const std::vector<OpSelector>& selectors, std::span<const std::string> models) {
  SelectorSet set;
  set.selectors_ = selectors;
  set.expressions_.resize(selectors.size());
  set.ranges_.resize(selectors.size());
  for (size_t i = 0; i < selectors.size(); ++i) {
    const OpSelector& selector = selectors[i];
    set.of_model_.push_back(selector.of_model.empty() || std::ranges::find(models, selector.of_model) != models.end());
    if (selector.kind == Kind::kName) {
      set.by_name_[selector.text].push_back(i);
    } else if (selector.kind == Kind::kType) {
      set.by_type_[selector.text].push_back(i);
    } else {
      set.others_.push_back(i);
    }
    const bool of_module = selector.kind == Kind::kModule;
    if (!of_module && selector.kind != Kind::kNameRegex && selector.kind != Kind::kNameFullRegex) continue;
    Result<NamePattern> pattern = NamePattern::compile(of_module ? module_pattern(selector.text) : selector.text);
    if (!pattern.ok()) {
      return invalid_argument(concat(selector.origin, selector.origin.empty() ? "" : ": ", "the regular expression ", quote(selector.text),
                                     " is ", pattern.status().message()));
    }
    set.expressions_[i] = *std::move(pattern);
  }
  return set;
}

bool SelectorSet::asks_ids() const {
  return std::ranges::any_of(
      selectors_, [](const OpSelector& s) { return s.kind == Kind::kId || (s.kind == Kind::kEvery && s.text == kEveryWords[2]); });
}

Result<SelectorSet::Range> SelectorSet::find_range(const OpSelector& selector, std::span<const OpInfo> ops) {
  Range range{0, ops.empty() ? 0 : ops.size() - 1};
  for (const bool end : {false, true}) {
    const std::string& name = end ? selector.text_end : selector.text;
    if (name.empty()) continue;
    const size_t found = find_named(ops, name);
    if (found == ops.size()) {
      return invalid_argument(concat(selector_text(selector), ": there is no op ", quote(name), ".", did_you_mean(name, all_names(ops))));
    }
    (end ? range.last : range.first) = found;
  }
  if (range.last >= range.first) return range;
  return invalid_argument(concat(selector_text(selector), " is the wrong way round: ", quote(ops[range.first].name), " runs as number ",
                                 range.first, ", ", quote(ops[range.last].name), " as number ", range.last, "; swap the two"));
}

Status SelectorSet::resolve_ranges(std::span<const OpInfo> ops, std::vector<std::string>& notes) {
  for (size_t i = 0; i < selectors_.size(); ++i) {
    const OpSelector& selector = selectors_[i];
    if (selector.kind != Kind::kOrderRange || !of_model_[i]) continue;
    const Result<Range> range = find_range(selector, ops);
    if (range.ok()) {
      ranges_[i] = *range;
    } else if (selector.optional) {
      ranges_[i] = Range{};
      notes.push_back(range.status().message());
    } else {
      return range.status();
    }
  }
  return {};
}

void SelectorSet::match_exact(const SelectedOp& selected, std::vector<SelectorHit>& hits) const {
  const auto add = [&](const ByText& table, const std::string& text, const OriginalNode* original) {
    if (table.empty()) return;
    const auto found = table.find(text);
    if (found == table.end()) return;
    for (const size_t index : found->second) {
      const bool known = std::ranges::any_of(hits, [&](const SelectorHit& hit) { return hit.selector == index; });
      if (!known) hits.push_back({index, original});
    }
  };
  const OpInfo& op = *selected.op;
  add(by_name_, op.name, nullptr);
  add(by_name_, selected.scoped_name, nullptr);
  add(by_type_, op.type, nullptr);
  for (const OriginalNode& original : op.originals) {
    add(by_name_, original.name, &original);
    add(by_type_, original.type, nullptr);
  }
  for (const std::string& output : op.outputs) {
    if (!output.empty()) add(by_name_, output, nullptr);
  }
}

bool SelectorSet::picks(size_t index, const SelectedOp& selected, SelectorHit& hit) const {
  const OpSelector& selector = selectors_[index];
  const OpInfo& op = *selected.op;
  switch (selector.kind) {
    case Kind::kNamePrefix:
      return any_name(op, hit, [&](std::string_view name) { return name.starts_with(selector.text); });
    case Kind::kNameRegex:
      return any_name(op, hit, [&](const std::string& name) { return expressions_[index]->is_in(name); });
    case Kind::kNameFullRegex:
      return any_name(op, hit, [&](const std::string& name) { return expressions_[index]->matches(name); }) ||
             expressions_[index]->matches(selected.scoped_name);
    case Kind::kTypeSubstring:
      return contains_ignoring_case(op.type, selector.text) ||
             std::ranges::any_of(op.originals, [&](const OriginalNode& node) { return contains_ignoring_case(node.type, selector.text); });
    case Kind::kScopedType:
      return contains_ignoring_case(scoped_name_type(selected.scoped_name), selector.text) ||
             std::ranges::any_of(op.originals, [&](const OriginalNode& node) { return contains_ignoring_case(node.type, selector.text); });
    case Kind::kOrderRange:
      return ranges_[index].first <= selected.position && selected.position <= ranges_[index].last;
    case Kind::kModule:
      return !selector.text.empty() && (begins_at_border(op.module, selector.text) || expressions_[index]->matches(op.module));
    case Kind::kSource:
      return is_source(op.source_location, selector.text);
    case Kind::kId:
      return is_listed_id(selected.id, selector);
    case Kind::kEvery:
      if (selector.text == kEveryWords[2]) return !selected.id.empty() && selected.id.find('_') == std::string::npos;
      return op.single || selector.text != kEveryWords[1];
    case Kind::kOperationType:
      return to_lower(operation_type(op)).starts_with(to_lower(selector.text));
    case Kind::kName:
    case Kind::kType:
      break;
  }
  return false;
}

void SelectorSet::match(const SelectedOp& selected, std::vector<SelectorHit>& hits) const {
  hits.clear();
  match_exact(selected, hits);
  for (const size_t index : others_) {
    SelectorHit hit{index, nullptr};
    if (picks(index, selected, hit)) hits.push_back(hit);
  }
  std::erase_if(hits, [&](const SelectorHit& hit) {
    if (!of_model_[hit.selector] || (selected.op->single && !selectors_[hit.selector].of_model.empty())) return true;
    const std::vector<std::string>& types = selectors_[hit.selector].of_types;
    return !types.empty() && std::ranges::none_of(types, [&](const std::string& type) { return has_type(*selected.op, type); });
  });
}

}  // namespace tensortap
