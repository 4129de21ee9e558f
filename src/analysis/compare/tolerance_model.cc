#include "compare/tolerance_model.h"
#include "compare/unit_roundoff.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>

namespace tensortap {
namespace {

constexpr double kQuantised = 1.0 / 256;

bool is_quantised(const OpInfo& op) {
  return op.type.starts_with("Quantize") || op.type.starts_with("DynamicQuantize") || op.type.starts_with("QLinear") ||
         op.type.starts_with("quantize_");
}

// How a value came about.
struct Way {
  double eps = 0;         // of the coarsest type
  double ops = 0;         // in depth, of its first execution
  double ops_a_call = 0;  // that each further execution of a loop's graph adds
  bool rounded = false;   // holds real numbers, rounded
};

class Ways {
 public:
  explicit Ways(const PairingKeys& keys) : keys_(keys), table_(keys.table()), ways_(table_.values().size()) {
    // In the order of first execution, so that inputs stand before what was made of them.
    for (ValueId id = 0; id < ways_.size(); ++id) {
      begin(id);
      for (const ValueId input : keys_.inputs(id)) {
        if (input != kNoValue && input != id) follow(input, id);
      }
      if (!table_.at(id).given) ways_[id].ops += 1;
      note_in_graphs(id);
      deepest_of_op_[table_.at(id).op] = std::max(deepest_of_op_[table_.at(id).op], ways_[id].ops);
    }
    for (ValueId id = 0; id < ways_.size(); ++id) ways_[id].ops_a_call = ops_a_call(id);
  }
  [[nodiscard]] const Way& at(ValueId id) const { return ways_[id]; }

 private:
  // The graphs within one op of the outermost graph.
  struct Nested {
    double before = 0;  // depth of what that op reads
    double depth = 0;   // of the deepest value in there
    uint32_t calls = 0;
  };

  void begin(ValueId id) {
    Way& way = ways_[id];
    const DTypeInfo& type = dtype_info(static_cast<DType>(table_.first_row(id).dtype));
    way.eps = is_floating(type.dtype) ? unit_roundoff(type.dtype) : is_quantised(table_.op(id)) ? kQuantised : 0;
    way.rounded = way.eps > 0;
    const OpId outer = outermost(table_.at(id).op);
    if (outer == kNoOp || table_.at(id).given) return;
    const auto [nested, is_new] = nested_.try_emplace(outer);
    if (is_new) {
      for (const OpInput& input : table_.dump().ops()[outer].inputs) {
        const auto found = deepest_of_op_.find(input.producer);
        if (found != deepest_of_op_.end()) nested->second.before = std::max(nested->second.before, found->second);
      }
    }
    // A value that the op passes into its graph has no producer in there.
    way.ops = nested->second.before;
  }
  void follow(ValueId input, ValueId id) {
    const Way& before = ways_[input];
    Way& way = ways_[id];
    const DTypeInfo& type = dtype_info(static_cast<DType>(table_.first_row(id).dtype));
    const bool codes = type.bits <= 8 && (type.kind == DTypeKind::kSigned || type.kind == DTypeKind::kUnsigned);
    way.eps = std::max(way.eps, before.eps);
    way.ops = std::max(way.ops, before.ops);
    // Codes that are moved, or cut out, stay what they are.
    way.rounded |= codes && before.rounded;
    // The result of a loop has gone through all of its executions.
    const OpId outer = outermost(table_.at(input).op);
    const auto nested = nested_.find(outer);
    if (outer == kNoOp || nested == nested_.end() || outermost(table_.at(id).op) == outer) return;
    way.ops = std::max(way.ops, before.ops + ops_a_call(input) * nested->second.calls);
  }
  void note_in_graphs(ValueId id) {
    const auto nested = nested_.find(outermost(table_.at(id).op));
    if (nested == nested_.end() || table_.at(id).given) return;
    nested->second.depth = std::max(nested->second.depth, ways_[id].ops);
    for (const uint32_t row : table_.at(id).rows) nested->second.calls = std::max(nested->second.calls, table_.dump().rows()[row].call);
  }
  [[nodiscard]] double ops_a_call(ValueId id) const {
    const auto nested = nested_.find(outermost(table_.at(id).op));
    return nested == nested_.end() ? 0 : nested->second.depth - nested->second.before;
  }
  // The op of the outermost graph that an op runs in; kNoOp of those of that graph.
  [[nodiscard]] OpId outermost(OpId op) const {
    const std::span<const OpInfo> ops = table_.dump().ops();
    OpId outer = kNoOp;
    for (size_t depth = 0; depth < kMostNested && op < ops.size() && !ops[op].graph.empty() && ops[op].parent < ops.size(); ++depth) {
      outer = op = ops[op].parent;
    }
    return outer;
  }

  static constexpr size_t kMostNested = 64;
  const PairingKeys& keys_;
  const ValueTable& table_;
  std::vector<Way> ways_;
  std::unordered_map<OpId, double> deepest_of_op_;
  std::unordered_map<OpId, Nested> nested_;
};

}  // namespace

double ModelTolerance::at(uint32_t call) const { return unit * std::sqrt(ops + ops_a_call * call); }

std::vector<ModelTolerance> model_tolerances(const PairingKeys& a, const PairingKeys& b, const Pairing& pairing) {
  const Ways of_a(a);
  const Ways of_b(b);
  std::vector<ModelTolerance> tolerances;
  for (const ValuePair& pair : pairing.pairs) {
    const Way& way_a = of_a.at(pair.a);
    const Way& way_b = of_b.at(pair.b);
    const double eps = way_a.rounded || way_b.rounded ? std::max(way_a.eps, way_b.eps) : 0;
    // Weights and inputs are rounded where the two dumps hold them in different types.
    tolerances.push_back({8 * eps, std::max({way_a.ops, way_b.ops, 1.0}), std::max(way_a.ops_a_call, way_b.ops_a_call)});
  }
  return tolerances;
}

}  // namespace tensortap
