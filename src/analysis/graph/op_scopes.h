// Where each op of a dump belongs by its own account: the scope that its module, its name, or the author's node spells.

#ifndef TENSORTAP_GRAPH_OP_SCOPES_H_
#define TENSORTAP_GRAPH_OP_SCOPES_H_

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/dump_index.h"

namespace tensortap {

// The scope that ops of a backward pass are in, above their module: beside the forward pass they would make every module a cycle.
inline constexpr std::string_view kBackwardScope = "backward pass";

struct OpScope {
  std::string_view scope;  // "Net.layer1.conv", "/encoder/layer.0/attention"
  std::string_view name;   // the op's name without it: "MatMul"
  bool known = true;       // false: says nothing about where it belongs, as weights and what a runtime adds
};

// Immutable; borrows the texts of the dump. Linear in the texts and records.
class OpScopes {
 public:
  explicit OpScopes(const DumpIndex& dump);
  [[nodiscard]] std::span<const OpScope> scopes() const { return scopes_; }
  // Whether a '.' separates scopes, too, as in dumps that know modules.
  [[nodiscard]] bool dots() const { return has_modules_; }
  [[nodiscard]] bool captured(OpId op) const { return captured_[op]; }

 private:
  OpScope scope_of(OpId id) const;
  void put_below(std::string_view above, OpScope& scope);
  [[nodiscard]] bool is_backward(OpId id) const;

  const DumpIndex& dump_;
  std::vector<bool> captured_;
  std::vector<bool> backward_;  // by the phase of its first record
  std::vector<bool> owns_graph_;
  bool has_modules_ = false;
  std::deque<std::string> texts_;  // scopes that stand so nowhere in the dump
  std::vector<OpScope> scopes_;
};

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_OP_SCOPES_H_
