#include "source/onnxruntime/origins/graph_matcher.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "source/onnxruntime/model/fusion_rules.h"

namespace tensortap::onnxruntime {
namespace {

// Models of any kind settle after a few rounds; the limits are for hostile ones.
constexpr int kMostRounds = 100;
constexpr int kMostRestarts = 100;
constexpr size_t kMostReaders = 256;
constexpr std::string_view kInsertedCast = "InsertedPrecisionFreeCast_";

enum class Likeness { kOther, kUncertain, kSame };

size_t inputs_without_trailing_gaps(const Node& node) {
  size_t count = node.inputs.size();
  while (count > 0 && node.inputs[count - 1].empty()) --count;
  return count;
}

// The result of such a node for an element does not depend on where the element lies.
bool works_on_elements(const Node& node) { return node.type == "QuantizeLinear" || node.type == "DequantizeLinear"; }

class Matcher {
 public:
  explicit Matcher(GraphMatch& match) : match_(match), later_(match.later()), earlier_(match.earlier()) {}

  void run() {
    for (int restart = 0; restart <= kMostRestarts; ++restart) {
      match_.clear();
      evidence_.clear();
      by_names();
      for (int round = 0; round < kMostRounds && step(); ++round) {
      }
      if (!forbid_first_wrong()) return;
    }
    match_.clear();
    by_names(true);
  }

 private:
  enum class Evidence { kName, kNode, kLayout };

  bool step() {
    bool changed = false;
    for (const Node& node : later_.graph().nodes) changed |= from_inputs(node);
    for (const Node& node : later_.graph().nodes | std::views::reverse) changed |= from_readers(node);
    return changed || by_names_of_casts();
  }

  bool take(std::string_view value, std::string_view was, Evidence evidence) {
    if (value.empty() || was.empty() || evidence_.contains(value) || forbidden_.contains({value, was})) return false;
    match_.set(value, {was, evidence == Evidence::kLayout});
    evidence_[value] = evidence;
    return true;
  }

  void by_names(bool untouched_alone = false) {
    for (const ValueInfo& input : later_.graph().inputs) {
      if (earlier_.is_input(input.name)) match_.set(input.name, {input.name, false});
    }
    for (const Node& node : later_.graph().nodes) {
      for (const std::string_view output : node.outputs) {
        const Node* before = earlier_.producer(output);
        if (before != nullptr && (!untouched_alone || is_untouched(node, before))) take(output, output, Evidence::kName);
      }
    }
  }

  bool by_names_of_casts() {
    bool changed = false;
    for (const Node& node : later_.graph().nodes) {
      for (const std::string_view output : node.outputs) {
        if (!output.starts_with(kInsertedCast)) continue;
        const std::string_view was = output.substr(kInsertedCast.size());
        if (earlier_.producer(was) != nullptr) changed |= take(output, was, Evidence::kNode);
      }
    }
    return changed;
  }

  bool is_known(const Node& node) const {
    return std::ranges::all_of(node.outputs, [&](auto output) { return output.empty() || evidence_.contains(output); });
  }

  bool makes_constants(const Node& node) const {
    return std::ranges::all_of(node.outputs, [&](auto output) { return later_.is_constant(output); });
  }

  bool from_inputs(const Node& node) {
    if (is_known(node) || makes_constants(node)) return false;
    if (const Node* same = same_node(node); same != nullptr) {
      bool changed = false;
      for (size_t i = 0; i < std::min(node.outputs.size(), same->outputs.size()); ++i) {
        changed |= take(node.outputs[i], same->outputs[i], Evidence::kNode);
      }
      return changed;
    }
    if (const auto value = fused_result(node, earlier_); value.has_value()) return take(node.outputs[0], *value, Evidence::kNode);
    // A Cast of the author's is not one that the runtime inserted, wherever it is now.
    const bool authors_cast = node.type == "Cast" && !node.name.empty() && earlier_.has_named(node.name, "Cast");
    if (!keeps_elements(node, true) || authors_cast) return false;
    return take(node.outputs[0], match_.find(node.inputs[0]).value, Evidence::kLayout);
  }

  Likeness compare_inputs(const Node& node, const Node& before, bool exactly) const {
    const size_t count = inputs_without_trailing_gaps(node);
    if (count != inputs_without_trailing_gaps(before)) return Likeness::kOther;
    Likeness likeness = Likeness::kSame;
    for (size_t i = 0; i < count; ++i) {
      const std::string_view now = node.inputs[i];
      const std::string_view then = before.inputs[i];
      if (now.empty() != then.empty() || later_.is_constant(now) != earlier_.is_constant(then)) return Likeness::kOther;
      if (later_.is_constant(now)) {
        // A constant of another name may hold what was folded into it.
        if (without_conversion(now) != without_conversion(then)) likeness = Likeness::kUncertain;
        continue;
      }
      const std::string_view elements = match_.elements(now);
      if (elements.empty() || elements != earlier_.elements_of(then)) return Likeness::kOther;
      const ValueMatch match = match_.find(now);
      if (exactly && (match.elements_only || match.value != then)) return Likeness::kOther;
    }
    return likeness;
  }

  // The node that did the same on the same inputs.
  const Node* same_node(const Node& node) const {
    for (const std::string_view name : {node.name, without_token(node.name)}) {
      const Node* named = earlier_.named(name, node.type);
      if (named == nullptr) continue;
      const Likeness likeness = compare_inputs(node, *named, false);
      if (likeness == Likeness::kSame) return named;
      if (likeness == Likeness::kUncertain) return nullptr;
    }
    const auto data = std::ranges::find_if(node.inputs, [&](auto input) { return !later_.is_constant(input); });
    if (data == node.inputs.end() || !node.subgraphs.empty()) return nullptr;
    const Node* alike = nullptr;
    for (const std::string_view value : earlier_.with_elements(match_.elements(*data))) {
      const auto readers = earlier_.readers(value);
      for (const auto& [other, slot] : readers.first(std::min(readers.size(), kMostReaders))) {
        if (other->type != node.type || other->domain != node.domain || other->outputs.size() < node.outputs.size()) continue;
        if (compare_inputs(node, *other, !works_on_elements(node)) != Likeness::kSame || !same_attributes(node, *other)) continue;
        if (compare_inputs(node, *other, true) == Likeness::kSame) return other;
        alike = other;
      }
    }
    return alike;
  }

  struct Expected {
    std::string_view value;
    bool exactly = false;
  };

  // What a reader expects of its input, "" = nothing.
  Expected expected_by(const GraphView::Reader& reader) const {
    const Node& node = *reader.node;
    if (keeps_elements(node, true)) {
      if (reader.slot == 0 && !node.outputs[0].empty()) return {match_.find(node.outputs[0]).value, false};
      return {};
    }
    if (works_on_any_type(node)) return {};
    const Node* core = core_of(node, earlier_);
    if (core == nullptr || reader.slot >= core->inputs.size()) return {};
    if (reader.slot != 0 && !all_inputs_stay(node, *core)) return {};
    const std::string_view value = core->inputs[reader.slot];
    return earlier_.is_constant(value) ? Expected{} : Expected{value, true};
  }

  bool from_readers(const Node& node) {
    bool changed = false;
    for (const std::string_view output : node.outputs) {
      if (output.empty() || evidence_.contains(output)) continue;
      Expected expected;
      bool contradicted = false;
      for (const GraphView::Reader& reader : later_.readers(output)) {
        const Expected next = expected_by(reader);
        if (next.value.empty()) continue;
        contradicted |= !expected.value.empty() && earlier_.elements_of(expected.value) != earlier_.elements_of(next.value);
        if (expected.value.empty() || (next.exactly && !expected.exactly)) expected = next;
      }
      if (expected.value.empty() || contradicted || hands_on(node, expected.value)) continue;
      changed |= take(output, expected.value, Evidence::kNode);
    }
    return changed;
  }

  // Whether a node that computes would make a value that it reads.
  bool hands_on(const Node& node, std::string_view value) const {
    if (keeps_elements(node, true)) return false;
    return std::ranges::any_of(
        node.inputs, [&](auto input) { return !later_.is_constant(input) && match_.elements(input) == earlier_.elements_of(value); });
  }

  // An untouched node with untouched names needs no test.
  static bool is_untouched(const Node& node, const Node* before) {
    return before != nullptr && before->name == node.name && before->type == node.type && before->outputs == node.outputs;
  }

  // Forbids the first match that fails the test; matches that follow from it fall with it. False when all pass.
  bool forbid_first_wrong() {
    for (const Node& node : later_.graph().nodes) {
      for (const std::string_view output : node.outputs) {
        const auto found = evidence_.find(output);
        if (found == evidence_.end() || found->second == Evidence::kLayout) continue;
        const std::string_view value = match_.find(output).value;
        if (earlier_.is_constant(value)) continue;
        if (found->second == Evidence::kName && is_untouched(node, earlier_.producer(value))) continue;
        if (!hands_on(node, value) && nodes_between(match_, node, value).has_value()) continue;
        forbidden_.insert({output, value});
        return true;
      }
    }
    return false;
  }

  GraphMatch& match_;
  const GraphView& later_;
  const GraphView& earlier_;
  std::map<std::string_view, Evidence> evidence_;
  std::set<std::pair<std::string_view, std::string_view>> forbidden_;
};

}  // namespace

void match_values(GraphMatch& match) { Matcher(match).run(); }

}  // namespace tensortap::onnxruntime
