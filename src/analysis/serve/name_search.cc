#include "serve/name_search.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace tensortap {
namespace {

bool is_name_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// How well the `size` bytes at `at` of a name answer: the smaller the better.
int rank_of(std::string_view name, size_t at, size_t size) {
  if (size == name.size()) return 0;
  const bool begins_word = at == 0 || !is_name_byte(name[at - 1]);
  const bool ends_word = at + size == name.size() || !is_name_byte(name[at + size]);
  if (begins_word && at + size == name.size()) return 1;
  if (begins_word && ends_word) return 2;
  return begins_word ? 3 : 4;
}

// "layer_norm" of "LayerNorm": frameworks write the names of modules in the one way, and those of operators in the other.
std::string with_underscores(std::string_view text) {
  std::string words;
  for (const char c : text) {
    const bool is_capital = std::isupper(static_cast<unsigned char>(c)) != 0;
    const bool begins = is_capital && !words.empty() && std::islower(static_cast<unsigned char>(words.back())) != 0;
    if (begins) words += '_';
    words += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return words;
}

}  // namespace

constexpr std::string_view kKindNames[] = {"op", "module", "type", "source", "original"};

std::string_view NameSearch::kind_name(Kind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::optional<NameSearch::Kind> NameSearch::kind_named(std::string_view name) {
  const auto* found = std::ranges::find(kKindNames, name);
  if (found == std::end(kKindNames)) return std::nullopt;
  return static_cast<Kind>(found - std::begin(kKindNames));
}

NameSearch::NameSearch(const DumpIndex& dump, const GraphModel& model) {
  std::unordered_set<std::string_view> types;
  std::unordered_set<std::string_view> sources;
  const auto ops = dump.ops();
  const auto groups = model.groups();
  for (uint32_t group = 1; group < groups.size(); ++group) add(Kind::kModule, groups[group].path, groups[group].first_op, group);
  for (OpId id = 0; id < ops.size(); ++id) {
    const OpInfo& op = ops[id];
    add(Kind::kOp, op.name, id);
    if (types.insert(op.type).second) add(Kind::kType, op.type, id);
    if (sources.insert(op.source_location).second) add(Kind::kSource, op.source_location, id);
    for (const OriginalNode& node : op.originals) {
      if (node.name != op.name) add(Kind::kOriginal, node.name, id);
    }
  }
}

void NameSearch::add(Kind kind, std::string_view name, OpId op, uint32_t group) {
  if (name.empty() || name.size() > UINT32_MAX) return;
  names_.push_back({letters_.size(), static_cast<uint32_t>(name.size()), kind, op, group, name.data()});
  letters_ += to_lower(name);
  letters_ += '\n';
}

NameSearch::Hits NameSearch::all_of(Kind kind, size_t limit) const {
  Hits hits;
  for (const Name& name : names_) {
    if (name.kind != kind) continue;
    if (hits.total++ < limit) hits.best.push_back({name.kind, {name.text, name.size}, name.op, name.group});
  }
  return hits;
}

// In the order of the names.
std::vector<NameSearch::Found> NameSearch::found_of(std::string_view wanted, std::optional<Kind> kind) const {
  std::vector<Found> found;
  for (size_t at = letters_.find(wanted); at != std::string::npos;) {
    const auto name = std::prev(std::ranges::upper_bound(names_, at, {}, &Name::begin));
    const size_t end = name->begin + name->size;
    if (at + wanted.size() <= end && (!kind || name->kind == *kind)) {
      // The last occurrence in a name is the one that matters: "norm" of "Net.norm.norm".
      size_t last = at;
      for (size_t next = last; next != std::string::npos && next + wanted.size() <= end; next = letters_.find(wanted, next + 1))
        last = next;
      const std::string_view letters = std::string_view(letters_).substr(name->begin, name->size);
      found.push_back({rank_of(letters, last - name->begin, wanted.size()), static_cast<size_t>(name - names_.begin())});
    }
    at = letters_.find(wanted, end);
  }
  return found;
}

NameSearch::Hits NameSearch::find(std::string_view text, size_t limit, std::optional<Kind> kind) const {
  if (text.empty() && kind) return all_of(*kind, limit);
  Hits hits;
  if (text.empty()) return hits;
  std::vector<Found> found = found_of(to_lower(text), kind);
  if (const std::string words = with_underscores(text); words != to_lower(text)) {
    std::vector<Found> both;
    std::ranges::set_union(found, found_of(words, kind), std::back_inserter(both), {}, &Found::name, &Found::name);
    found = std::move(both);
  }
  hits.total = found.size();
  const auto before = [this](const Found& a, const Found& b) {
    return std::tuple(a.rank, names_[a.name].size, a.name) < std::tuple(b.rank, names_[b.name].size, b.name);
  };
  const size_t shown = std::min(limit, found.size());
  std::ranges::partial_sort(found, found.begin() + static_cast<ptrdiff_t>(shown), before);
  for (size_t i = 0; i < shown; ++i) {
    const Name& name = names_[found[i].name];
    hits.best.push_back({name.kind, {name.text, name.size}, name.op, name.group});
  }
  return hits;
}

}  // namespace tensortap
