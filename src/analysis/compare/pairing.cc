#include "compare/pairing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "compare/neighbour_keys.h"
#include "compare/op_kinds.h"
#include "compare/open_makers.h"
#include "compare/quantised_programs.h"
#include "compare/sequence_pairs.h"
#include "compare/unit_roundoff.h"
#include "compare/values_by_size.h"

namespace tensortap {
namespace {

using Keys = std::unordered_map<std::string, std::vector<ValueId>>;

class Pairer {
 public:
  Pairer(const PairingKeys& a, const PairingKeys& b, const ValueJudge& judge, const PairingOptions& options)
      : a_(a), b_(b), judge_(judge), options_(options) {
    pairing_.pair_of_a.assign(a.table().values().size(), Pairing::kNoPair);
    pairing_.pair_of_b.assign(b.table().values().size(), Pairing::kNoPair);
    pairing_.same_program = identities(a) == identities(b);
  }

  Pairing run() {
    for (const auto& [a, b] : options_.map) {
      if (is_free_a(a) && is_free_b(b)) propose(PairRule::kMap, a, b, Evidence::kProgram);
    }
    by_key(PairRule::kName, &PairingKeys::value_name, pairing_.same_program ? Evidence::kProgram : Evidence::kName);
    by_sequence();
    by_key(PairRule::kIdentity, &PairingKeys::identity, pairing_.same_program ? Evidence::kProgram : Evidence::kValues);
    by_key(PairRule::kOriginal, &PairingKeys::last_original, Evidence::kValues);
    // Two ops of one module are alike, such as a convolution and the one that a normalisation was folded into: what is nearly equal first.
    is_strict_ = true;
    by_scope();
    by_topology();
    by_nearest_values();
    by_topology();
    is_strict_ = false;
    by_scope();
    by_topology();
    by_key(PairRule::kContent, &PairingKeys::content, Evidence::kValues, 1);
    // Equal sizes say little: two values have to agree up to rounding.
    is_strict_ = true;
    by_key(PairRule::kStatistics, &PairingKeys::statistics, Evidence::kValues, 1);
    is_strict_ = false;
    by_only_input(Evidence::kPlace);
    while (by_ends_of_ways(Evidence::kPlace, false) || by_ends_of_ways(Evidence::kPlace, true)) {
    }
    by_place();
    by_last_node();
    for (const auto& [a, b] : open_makers(a_, pairing_.pair_of_a, b_, pairing_.pair_of_b))
      propose(PairRule::kTopology, a, b, Evidence::kName);
    return std::move(pairing_);
  }

 private:
  using KeyOf = std::string (PairingKeys::*)(ValueId) const;

  static std::unordered_set<std::string> identities(const PairingKeys& keys) {
    std::unordered_set<std::string> all;
    for (ValueId id = 0; id < keys.table().values().size(); ++id) all.insert(keys.identity(id));
    return all;
  }
  [[nodiscard]] bool is_free_a(ValueId id) const { return pairing_.pair_of_a[id] == Pairing::kNoPair; }
  [[nodiscard]] bool is_free_b(ValueId id) const { return pairing_.pair_of_b[id] == Pairing::kNoPair; }

  bool propose(PairRule rule, ValueId a, ValueId b, Evidence evidence) {
    if (a_.table().at(a).given != b_.table().at(b).given && rule != PairRule::kMap) return false;
    const bool by_likeness = rule == PairRule::kScope || rule == PairRule::kTopology;
    if (by_likeness && !is_strict_ && are_other_nodes(a, b)) return false;
    const std::optional<Alignment::RowPair> first = judge_.first_rows(a, b);
    if (!first) return false;
    std::optional<Acceptance> accepted = judge_.judge(a, *first, evidence);
    const auto way = accepted ? accepted->order.arrangement.kind : Arrangement::Kind::kNone;
    const bool of_rows = way == Arrangement::Kind::kLastRows || way == Arrangement::Kind::kFirstCells;
    const bool of_one_size = of_rows || (evidence != Evidence::kValues && evidence != Evidence::kPlace) ||
                             (evidence == Evidence::kPlace ? judge_.fit_in_size(a, b) : judge_.are_of_one_size(a, b));
    if (accepted && !of_one_size) accepted.reset();
    const bool has_statistics_alone = rule == PairRule::kStatistics && accepted && !accepted->first;
    if (is_strict_ && !has_statistics_alone && (!accepted || !(error_of(*accepted) <= most_of_near(a, b)))) return false;
    if (!accepted) {
      ++pairing_.refused[static_cast<size_t>(rule)];
      return false;
    }
    take(rule, a, b, *std::move(accepted));
    return true;
  }
  void take(PairRule rule, ValueId a, ValueId b, Acceptance accepted) {
    pairing_.pair_of_a[a] = pairing_.pair_of_b[b] = static_cast<uint32_t>(pairing_.pairs.size());
    pairing_.pairs.push_back({a, b, rule, std::move(accepted)});
  }
  // Whether two ops implement other nodes of one author's graph: a product and the product with a bias may be near, and are two values.
  [[nodiscard]] bool are_other_nodes(ValueId a, ValueId b) const {
    const auto& of_a = a_.table().op(a).originals;
    const auto& of_b = b_.table().op(b).originals;
    if (!of_a.empty() && !of_b.empty() && of_a.back().name == of_b.back().name) return false;
    const bool is_in_b = of_a.empty() || b_.has_node(of_a.back().name);
    const bool is_in_a = of_b.empty() || a_.has_node(of_b.back().name);
    return is_in_a && is_in_b && !(of_a.empty() && of_b.empty());
  }
  static double error_of(const Acceptance& accepted) {
    if (!accepted.first) return std::numeric_limits<double>::infinity();
    return accepted.first->differing == 0 ? 0 : accepted.first->relative_l2;
  }
  // The relative L2 of values that are nearly equal: by rounding to the narrower type alone.
  static double most_of_near(double unit) { return std::max(kNearlyEqual, 4 * unit); }
  [[nodiscard]] double most_of_near(ValueId a, ValueId b) const {
    return most_of_near(std::max(unit_roundoff(a_.table().dtype(a)), unit_roundoff(b_.table().dtype(b))));
  }

  template <class KeyOfValue, class IsFree>
  static std::pair<Keys, std::vector<std::string>> free_keys(const PairingKeys& keys, const KeyOfValue& key_of, const IsFree& is_free) {
    std::pair<Keys, std::vector<std::string>> found;
    for (ValueId id = 0; id < keys.table().values().size(); ++id) {
      std::string key = is_free(id) ? key_of(keys, id) : "";
      if (key.empty()) continue;
      std::vector<ValueId>& values = found.first[key];
      if (values.empty()) found.second.push_back(std::move(key));
      values.push_back(id);
    }
    return found;
  }

  // `most` values may share a key; 0 = any number. Returns whether there is a new pair.
  template <class KeyOfA, class KeyOfB>
  bool by_keys(PairRule rule, const KeyOfA& key_of_a, const KeyOfB& key_of_b, Evidence evidence, size_t most) {
    const auto [in_a, order] = free_keys(a_, key_of_a, [this](ValueId id) { return is_free_a(id); });
    const auto in_b = free_keys(b_, key_of_b, [this](ValueId id) { return is_free_b(id); }).first;
    bool is_new = false;
    size_t done = 0;
    for (const std::string& key : order) {
      if (options_.progress) options_.progress(pair_rule_name(rule), done++, order.size());
      const std::vector<ValueId>& of_a = in_a.at(key);
      const auto found = in_b.find(key);
      if (found == in_b.end() || found->second.size() != of_a.size() || (most != 0 && of_a.size() > most)) continue;
      for (size_t i = 0; i < of_a.size(); ++i) is_new |= propose(rule, of_a[i], found->second[i], evidence);
    }
    return is_new;
  }

  void by_key(PairRule rule, KeyOf key, Evidence evidence, size_t most = 0) {
    const auto key_of = [key](const PairingKeys& keys, ValueId id) { return (keys.*key)(id); };
    by_keys(rule, key_of, key_of, evidence, most);
  }

  void by_sequence();
  void by_scope();
  void pair_in_scope(const std::vector<ValueId>& a, const std::vector<ValueId>& b);
  void pair_ends_of_scopes(bool of_outer, Evidence evidence);
  using Ends = std::unordered_map<std::string, ValueId>;
  [[nodiscard]] static std::pair<Ends, std::vector<std::string>> ends_of_scopes(const PairingKeys& keys, bool of_outer);
  void by_topology();
  struct Nearest;
  void by_nearest_values();
  [[nodiscard]] std::optional<Nearest> nearest(const ValuesBySize::Entry& entry, const ValuesBySize& in_b, bool of_makers) const;
  [[nodiscard]] bool has_nearer(const Nearest& found, ValueId a, const Magnitudes& magnitudes, const ValuesBySize& in_a) const;
  void by_place();
  [[nodiscard]] bool are_of_one_class() const;
  void by_last_node();
  void by_only_input(Evidence evidence);
  [[nodiscard]] static bool is_given_behind(const PairingKeys& keys, ValueId id);
  bool by_ends_of_ways(Evidence evidence, bool of_caches);
  [[nodiscard]] static std::map<uint32_t, ValueId> ends_of_ways(const PairingKeys& keys, const std::vector<uint32_t>& pair_of,
                                                                bool of_caches);
  template <class KeyOfValue>
  void by_single_key(PairRule rule, const KeyOfValue& key);
  [[nodiscard]] std::string copy_key(const PairingKeys& keys, ValueId id) const;
  [[nodiscard]] bool contradicts(ValueId a, ValueId b) const;

  const PairingKeys& a_;
  const PairingKeys& b_;
  const ValueJudge& judge_;
  const PairingOptions& options_;
  Pairing pairing_;
  bool is_strict_ = false;  // only what is nearly equal
};

// Two programs that make mostly the same calls: the calls that both make in the same order.
void Pairer::by_sequence() {
  if (pairing_.same_program) return;
  const auto is_near = [this](ValueId a, ValueId b) {
    const std::optional<Alignment::RowPair> first = judge_.first_rows(a, b);
    const std::optional<Acceptance> accepted = first ? judge_.judge(a, *first, Evidence::kValues) : std::nullopt;
    return accepted && error_of(*accepted) <= most_of_near(a, b);
  };
  const auto step_in_b = [this](int64_t step) { return judge_.step_in_b(step); };
  for (const SequencePair& pair : sequence_pairs(a_, b_, is_near, step_in_b)) {
    if (!is_free_a(pair.a) || !is_free_b(pair.b)) continue;
    is_strict_ = !pair.holds;
    propose(PairRule::kSequence, pair.a, pair.b, pair.holds ? Evidence::kProgram : Evidence::kValues);
  }
  is_strict_ = false;
}

void Pairer::by_topology() {
  const auto makers_a = [this](const PairingKeys& keys, ValueId id) { return makers_key(keys, id, pairing_.pair_of_a); };
  const auto makers_b = [this](const PairingKeys& keys, ValueId id) { return makers_key(keys, id, pairing_.pair_of_b); };
  // Values that are equal enough are the same, whatever op made them.
  const auto readers_a = [this](const PairingKeys& keys, ValueId id) { return readers_key(keys, id, pairing_.pair_of_a, is_strict_); };
  const auto readers_b = [this](const PairingKeys& keys, ValueId id) { return readers_key(keys, id, pairing_.pair_of_b, is_strict_); };
  while (by_keys(PairRule::kTopology, makers_a, makers_b, Evidence::kValues, 0)) {
  }
  while (by_keys(PairRule::kTopology, readers_a, readers_b, Evidence::kValues, 0)) {
  }
}

// Values of one scope and family, in the order of both; some may be in one of the two only.
void Pairer::pair_in_scope(const std::vector<ValueId>& a, const std::vector<ValueId>& b) {
  constexpr size_t kMostTried = 64;  // for one value
  size_t next = 0;
  for (const ValueId one : a) {
    for (size_t i = next; i < std::min(b.size(), next + kMostTried); ++i) {
      if (!propose(PairRule::kScope, one, b[i], Evidence::kPlace)) continue;
      next = i + 1;
      break;
    }
  }
}

// The last value of each module, in the order in which the modules end; with `of_outer` also of those around it.
std::pair<Pairer::Ends, std::vector<std::string>> Pairer::ends_of_scopes(const PairingKeys& keys, bool of_outer) {
  std::pair<Ends, std::vector<std::string>> found;
  for (ValueId id = 0; id < keys.table().values().size(); ++id) {
    // A view of the module's last value is that value once more.
    if (keys.table().at(id).slot != 0 || PairingKeys::hands_on(keys.table().op(id))) continue;
    std::string scope = keys.scope(id);
    while (!scope.empty()) {
      if (found.first.insert_or_assign(scope, id).second) found.second.push_back(scope);
      const size_t end = scope.rfind('/');
      if (!of_outer || end == std::string::npos || end == 0 || scope[end - 1] == ' ') break;
      scope.resize(end);
    }
  }
  return found;
}

// The result of a module is one value, whichever ops made it.
void Pairer::pair_ends_of_scopes(bool of_outer, Evidence evidence) {
  const auto [in_a, order] = ends_of_scopes(a_, of_outer);
  const Ends in_b = ends_of_scopes(b_, of_outer).first;
  for (const std::string& scope : order) {
    const auto found = in_b.find(scope);
    const ValueId last = in_a.at(scope);
    if (found != in_b.end() && is_free_a(last) && is_free_b(found->second)) propose(PairRule::kScope, last, found->second, evidence);
  }
}

void Pairer::by_scope() {
  // Within one program scopes say nothing that names did not.
  if (pairing_.same_program) return;
  const auto family = [](const PairingKeys& keys, ValueId id) {
    const std::string scope = keys.scope(id);
    return scope.empty() ? "" : concat(scope, "|", keys.role(id));
  };
  const auto free_a = [this](ValueId id) { return is_free_a(id); };
  const auto free_b = [this](ValueId id) { return is_free_b(id); };
  const auto [in_a, order] = free_keys(a_, family, free_a);
  const auto in_b = free_keys(b_, family, free_b).first;
  for (const std::string& key : order) {
    if (const auto found = in_b.find(key); found != in_b.end()) pair_in_scope(in_a.at(key), found->second);
  }
  pair_ends_of_scopes(is_strict_, Evidence::kPlace);
}

// A value of B that a value of A may be.
struct Pairer::Nearest {
  ValueId b = kNoValue;
  Acceptance accepted;
  double error = 0;
  // Among equally near values: an op of the same kind, the same shape, the first in the order of execution.
  [[nodiscard]] auto rank() const { return std::tuple(other_family, !accepted.order.text().empty(), b); }
  bool other_family = false;
};

std::optional<Pairer::Nearest> Pairer::nearest(const ValuesBySize::Entry& entry, const ValuesBySize& in_b, bool of_makers) const {
  constexpr double kAsNear = 1.5;       // times the least error
  constexpr double kRoundingOf = 1e-6;  // sums in another order
  std::vector<Nearest> near;
  double least = std::numeric_limits<double>::infinity();
  const double widest = most_of_near(std::max(in_b.coarsest(), unit_roundoff(a_.table().dtype(entry.id))));
  for (const ValueId b : in_b.near(entry.magnitudes, widest)) {
    const OpInfo& op = b_.table().op(b);
    if (!is_free_b(b) || op_kind_of(op).stores || (of_makers && PairingKeys::hands_on(op))) continue;
    const std::optional<Alignment::RowPair> first = judge_.first_rows(entry.id, b);
    std::optional<Acceptance> accepted = first ? judge_.judge(entry.id, *first, Evidence::kValues) : std::nullopt;
    const double error = accepted ? error_of(*accepted) : std::numeric_limits<double>::infinity();
    if (!(error <= most_of_near(entry.id, b)) || !judge_.are_of_one_size(entry.id, b)) continue;
    least = std::min(least, error);
    near.push_back({b, *std::move(accepted), error, a_.role(entry.id) != b_.role(b)});
  }
  std::erase_if(near, [&](const Nearest& one) { return one.error > kAsNear * least + kRoundingOf; });
  if (near.empty()) return std::nullopt;
  return *std::ranges::min_element(near, {}, [](const Nearest& one) { return one.rank(); });
}

// Whether another value of A is nearer to the found one. For example, the sum behind a branch that adds little is near the sum before it.
bool Pairer::has_nearer(const Nearest& found, ValueId a, const Magnitudes& magnitudes, const ValuesBySize& in_a) const {
  if (found.error <= kNearlyEqual) return false;
  for (const ValueId other : in_a.near(magnitudes, 2 * found.error)) {
    const auto first = other == a || !is_free_a(other) ? std::nullopt : judge_.first_rows(other, found.b);
    const auto accepted = first ? judge_.judge(other, *first, Evidence::kValues) : std::nullopt;
    if (accepted && error_of(*accepted) < found.error / 2) return true;
  }
  return false;
}

// Nearly equal values, whatever made them: first values that ops made, then values that ops passed on.
void Pairer::by_nearest_values() {
  if (pairing_.same_program) return;
  const ValuesBySize in_a(a_, [this](ValueId id) { return is_free_a(id); });
  const ValuesBySize in_b(b_, [this](ValueId id) { return is_free_b(id); });
  for (const bool of_makers : {true, false}) {
    size_t done = 0;
    for (const ValuesBySize::Entry& entry : in_a.entries()) {
      if (options_.progress) options_.progress(pair_rule_name(PairRule::kContent), done++, in_a.entries().size());
      if (!is_free_a(entry.id) || op_kind_of(a_.table().op(entry.id)).stores ||
          (of_makers && PairingKeys::hands_on(a_.table().op(entry.id))))
        continue;
      std::optional<Nearest> found = nearest(entry, in_b, of_makers);
      if (!found || has_nearer(*found, entry.id, entry.magnitudes, in_a)) continue;
      take(PairRule::kContent, entry.id, found->b, std::move(found->accepted));
    }
  }
}

// Whether two ops read values that have other partners.
bool Pairer::contradicts(ValueId a, ValueId b) const {
  const std::vector<ValueId>& of_a = a_.inputs(a);
  const std::vector<ValueId>& of_b = b_.inputs(b);
  if (of_a.size() != of_b.size()) return true;
  for (size_t i = 0; i < of_a.size(); ++i) {
    const uint32_t pair_a = of_a[i] == kNoValue ? Pairing::kNoPair : pairing_.pair_of_a[of_a[i]];
    const uint32_t pair_b = of_b[i] == kNoValue ? Pairing::kNoPair : pairing_.pair_of_b[of_b[i]];
    if (pair_a != pair_b) return true;
  }
  return false;
}

// One op at one place in both programs makes one value even where its values are far apart: a comparison must show such a pair.
void Pairer::by_place() {
  size_t refused = pairing_.refused[static_cast<size_t>(PairRule::kIdentity)];
  const auto key = [](const PairingKeys& keys, ValueId id) { return keys.identity(id); };
  const auto [in_a, order] = free_keys(a_, key, [this](ValueId id) { return is_free_a(id); });
  const auto in_b = free_keys(b_, key, [this](ValueId id) { return is_free_b(id); }).first;
  for (const std::string& name : order) {
    const std::vector<ValueId>& of_a = in_a.at(name);
    const auto found = in_b.find(name);
    if (found == in_b.end() || found->second.size() != of_a.size()) continue;
    for (size_t i = 0; i < of_a.size(); ++i) {
      // The name of a module decides: its parts may differ.
      if (!is_module(a_.table().op(of_a[i])) && contradicts(of_a[i], found->second[i])) continue;
      if (!propose(PairRule::kIdentity, of_a[i], found->second[i], Evidence::kName)) continue;
      // Refused before for its values.
      if (refused > 0) --refused;
    }
  }
  pairing_.refused[static_cast<size_t>(PairRule::kIdentity)] = refused;
}

// Whether a graph and a program of calls name the same class of model, whose modules are then the same.
bool Pairer::are_of_one_class() const {
  if (a_.table().is_of_calls() == b_.table().is_of_calls()) return false;
  const auto classes = [](const PairingKeys& keys) {
    std::unordered_set<std::string> found;
    for (const OpInfo& op : keys.table().dump().ops()) {
      if (!op.module.empty()) found.insert(op.module.substr(0, op.module.find('.')));
    }
    return found;
  };
  const auto of_a = classes(a_);
  const auto of_b = classes(b_);
  return of_a.size() == 1 && of_a == of_b;
}

// A node of the author and a module make the same value in a quantised program and in its original, however coarse the codes are.
void Pairer::by_last_node() {
  if (is_quantised(a_) == is_quantised(b_) && !are_of_one_class()) return;
  const auto original = [](const PairingKeys& keys, ValueId id) {
    return keys.table().op(id).inserted_by_runtime ? "" : keys.last_original(id);
  };
  const auto identity = [](const PairingKeys& keys, ValueId id) { return keys.table().at(id).given ? "" : keys.identity(id); };
  by_single_key(PairRule::kOriginal, original);
  by_single_key(PairRule::kIdentity, identity);
  const auto part = [](const PairingKeys& keys, ValueId id) {
    const std::string scope = PairingKeys::hands_on(keys.table().op(id)) ? "" : keys.scope(id);
    return scope.empty() ? "" : concat(scope, "|", keys.role(id));
  };
  by_keys(PairRule::kScope, part, part, Evidence::kName, 0);
  pair_ends_of_scopes(false, Evidence::kName);
  pair_ends_of_scopes(true, Evidence::kName);
  by_only_input(Evidence::kName);
  while (by_ends_of_ways(Evidence::kName, false) || by_ends_of_ways(Evidence::kName, true)) {
  }
  by_single_key(PairRule::kTopology, [this](const PairingKeys& keys, ValueId id) { return copy_key(keys, id); });
}

// What a value shows, behind at most 16 views; the way ends earlier where is_found(value) holds. kNoValue where a view reads nothing.
template <class IsFound>
ValueId shown_by(const PairingKeys& keys, ValueId id, const IsFound& is_found) {
  constexpr size_t kMostViews = 16;
  for (size_t looks = 0; looks < kMostViews && id != kNoValue && PairingKeys::hands_on(keys.table().op(id)); ++looks) {
    id = keys.inputs(id).empty() ? kNoValue : keys.inputs(id).front();
    if (id != kNoValue && is_found(id)) break;
  }
  return id;
}

// For a copy of a value that has a partner: that, and how it is copied.
std::string Pairer::copy_key(const PairingKeys& keys, ValueId id) const {
  const std::vector<uint32_t>& pair_of = &keys == &a_ ? pairing_.pair_of_a : pairing_.pair_of_b;
  const ValueId maker = shown_by(keys, id, [](ValueId) { return false; });
  if (maker == kNoValue || maker == id || pair_of[maker] == Pairing::kNoPair) return {};
  return concat(keys.scope(id), "|", keys.role(id), "|", pair_of[maker]);
}

// What each program makes last of the value of one pair alone, whatever steps it takes.
bool Pairer::by_ends_of_ways(Evidence evidence, bool of_caches) {
  const auto in_a = ends_of_ways(a_, pairing_.pair_of_a, of_caches);
  const auto in_b = ends_of_ways(b_, pairing_.pair_of_b, of_caches);
  bool is_new = false;
  for (const auto& [pair, a] : in_a) {
    const auto found = in_b.find(pair);
    if (found == in_b.end() || a == kNoValue || found->second == kNoValue) continue;
    if (!of_caches || judge_.fit_in_size(a, found->second)) is_new |= propose(PairRule::kTopology, a, found->second, evidence);
  }
  return is_new;
}

// By pair; kNoValue where there are several. Views are no ends. Values that go into a cache are ends for `of_caches` alone: one program may
// have the whole cache there, the other one its last place.
std::map<uint32_t, ValueId> Pairer::ends_of_ways(const PairingKeys& keys, const std::vector<uint32_t>& pair_of, bool of_caches) {
  const auto is_cache = [&keys](ValueId id) {
    const OpInfo& op = keys.table().op(id);
    return op_kind_of(op).stores || PairingKeys::family(op) == "concat";
  };
  // llama.cpp scales queries, where others scale the scores.
  const auto shows = [&](ValueId id) {
    const OpInfo& op = keys.table().op(id);
    return PairingKeys::hands_on(op) || op.type == "SCALE" || is_cache(id) != of_caches;
  };
  constexpr uint32_t kSeveral = Pairing::kNoPair - 1;
  const size_t count = keys.table().values().size();
  std::vector<uint32_t> made_of(count, Pairing::kNoPair);  // the only pair behind a value
  for (ValueId id = 0; id < count; ++id) {
    for (const ValueId input : keys.inputs(id)) {
      if (input == kNoValue || is_given_behind(keys, input)) continue;
      const uint32_t behind = pair_of[input] != Pairing::kNoPair ? pair_of[input] : made_of[input];
      if (behind == Pairing::kNoPair || behind == made_of[id]) continue;
      made_of[id] = made_of[id] == Pairing::kNoPair ? behind : kSeveral;
    }
  }
  std::vector<bool> goes_on(count, false);
  std::map<uint32_t, ValueId> ends;
  for (auto id = static_cast<ValueId>(count); id-- > 0;) {
    for (const PairingKeys::Reader& reader : keys.readers(id)) {
      if (pair_of[reader.value] != Pairing::kNoPair || made_of[reader.value] != made_of[id]) continue;
      goes_on[id] = goes_on[id] || goes_on[reader.value] || !shows(reader.value);
    }
    const bool is_known = made_of[id] != Pairing::kNoPair && made_of[id] != kSeveral;
    if (pair_of[id] != Pairing::kNoPair || !is_known || goes_on[id] || shows(id) || keys.table().at(id).given) continue;
    const auto [end, is_first] = ends.try_emplace(made_of[id], id);
    if (!is_first) end->second = kNoValue;
  }
  return ends;
}

// Whether a value is what was given, in another form: a parameter that its program filled with a weight of a file.
bool Pairer::is_given_behind(const PairingKeys& keys, ValueId id) {
  constexpr size_t kMost = 16;
  for (size_t looks = 0; looks < kMost && id != kNoValue; ++looks) {
    if (keys.table().at(id).given) return true;
    if (!PairingKeys::hands_on(keys.table().op(id)) || keys.inputs(id).empty()) return false;
    id = keys.inputs(id).back();
  }
  return id == kNoValue;
}

// The only value that two ops read, which are a pair.
void Pairer::by_only_input(Evidence evidence) {
  const auto only = [](const PairingKeys& keys, const std::vector<uint32_t>& pair_of, ValueId id) {
    ValueId found = kNoValue;
    for (const ValueId input : keys.inputs(id)) {
      if (input == kNoValue || is_given_behind(keys, input) || keys.is_constant(input) || input == found) continue;
      if (found != kNoValue) return kNoValue;
      found = input;
    }
    // A view of a value that has a partner is that value once more.
    const auto is_paired = [&pair_of](ValueId value) { return pair_of[value] != Pairing::kNoPair; };
    const ValueId maker = shown_by(keys, found, is_paired);
    if (maker != kNoValue && maker != found && is_paired(maker)) return kNoValue;
    return found;
  };
  // Pairs that are made here are looked at as well.
  for (size_t i = 0; i < pairing_.pairs.size(); ++i) {
    const ValueId a = only(a_, pairing_.pair_of_a, pairing_.pairs[i].a);
    const ValueId b = only(b_, pairing_.pair_of_b, pairing_.pairs[i].b);
    if (a != kNoValue && b != kNoValue && is_free_a(a) && is_free_b(b)) propose(PairRule::kTopology, a, b, evidence);
  }
}

// Values of which one of each program has a key, whatever they hold.
template <class KeyOfValue>
void Pairer::by_single_key(PairRule rule, const KeyOfValue& key) {
  size_t refused = pairing_.refused[static_cast<size_t>(rule)];
  const auto [in_a, order] = free_keys(a_, key, [this](ValueId id) { return is_free_a(id); });
  const auto in_b = free_keys(b_, key, [this](ValueId id) { return is_free_b(id); }).first;
  for (const std::string& name : order) {
    const auto found = in_b.find(name);
    if (found == in_b.end() || found->second.size() != 1 || in_a.at(name).size() != 1) continue;
    // Refused before for its values.
    if (propose(rule, in_a.at(name).front(), found->second.front(), Evidence::kName) && refused > 0) --refused;
  }
  pairing_.refused[static_cast<size_t>(rule)] = refused;
}

}  // namespace

std::string_view pair_rule_name(PairRule rule) {
  constexpr std::array<std::string_view, kPairRules> kNames = {"map",      "value name", "identity",   "last original", "scope",
                                                               "topology", "content",    "statistics", "sequence"};
  return kNames[static_cast<size_t>(rule)];
}

Pairing pair_values(const PairingKeys& a, const PairingKeys& b, const ValueJudge& judge, const PairingOptions& options) {
  return Pairer(a, b, judge, options).run();
}

}  // namespace tensortap
