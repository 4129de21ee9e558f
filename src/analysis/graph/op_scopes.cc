#include "graph/op_scopes.h"

#include <algorithm>

#include "base/text.h"
#include "trace/scoped_name.h"

namespace tensortap {
namespace {

// Names that converters made of several ("a/MatMul;a/BiasAdd") count as the first of them.
std::string_view first_name(std::string_view name) { return name.substr(0, name.find(';')); }

bool is_within(std::string_view path, std::string_view scope) {
  return path.starts_with(scope) && (path.size() == scope.size() || path[scope.size()] == '/');
}

bool has_parts(std::string_view scope) { return scope.find_first_not_of('/') != std::string_view::npos; }

// What a scope leaves of a name: "conv/Conv" of "Net.layer1/conv/Conv"; the last part where the name is the scope's own.
std::string_view name_within(std::string_view name, std::string_view scope) {
  if (!is_within(name, scope) || scope.empty()) return name;
  const std::string_view rest = name.substr(std::min(name.size(), scope.size() + 1));
  if (!rest.empty()) return rest;
  const size_t last = scope.find_last_of("./");
  return last == std::string_view::npos || last + 1 == scope.size() ? name : scope.substr(last + 1);
}

// The scope in the name of an op or a node; with `whole`, the scope is the whole name.
OpScope scope_of_name(std::string_view name, bool whole) {
  std::string_view path = first_name(name);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  const std::string_view before = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  OpScope scope;
  scope.scope = whole ? path : before;
  scope.name = slash == std::string_view::npos ? name : name.substr(slash + 1);
  scope.known = has_parts(scope.scope) || slash == 0;  // "/Add" is of the outermost scope by its author's will
  return scope;
}

}  // namespace

OpScopes::OpScopes(const DumpIndex& dump)
    : dump_(dump), captured_(dump.ops().size()), backward_(dump.ops().size()), owns_graph_(dump.ops().size()) {
  const std::span<const OpInfo> ops = dump.ops();
  for (const RecordRow& row : dump.rows()) {
    if (row.op >= ops.size() || captured_[row.op]) continue;
    captured_[row.op] = true;
    backward_[row.op] = row.phase == static_cast<uint8_t>(Phase::kBackward);
  }
  for (const OpInfo& op : ops) {
    has_modules_ = has_modules_ || !op.module.empty();
    if (op.parent < ops.size() && op.graph != ops[op.parent].graph) owns_graph_[op.parent] = true;
  }
  scopes_.reserve(ops.size());
  for (OpId id = 0; id < ops.size(); ++id) {
    OpScope scope = scope_of(id);
    if (!ops[id].graph.empty() && !is_within(scope.scope, ops[id].graph)) put_below(ops[id].graph, scope);
    if (is_backward(id)) put_below(kBackwardScope, scope);
    scopes_.push_back(scope);
  }
}

bool OpScopes::is_backward(OpId id) const { return captured_[id] ? backward_[id] : !attribute_text(dump_.ops()[id], kForwardOp).empty(); }

void OpScopes::put_below(std::string_view above, OpScope& scope) {
  if (has_parts(scope.scope)) {
    scope.scope = texts_.emplace_back(concat(above, "/", scope.scope));
  } else {
    scope.scope = above;
  }
  scope.known = true;
}

OpScope OpScopes::scope_of(OpId id) const {
  const OpInfo& op = dump_.ops()[id];
  if (is_pseudo_op(op)) return {op.graph, op.name, op.type == kInputType};
  if (!op.module.empty()) return {op.module, name_within(op.name, op.module), true};
  OpScope scope = scope_of_name(op.name, owns_graph_[id]);
  if (has_modules_) scope.known = true;
  if (scope.known) return scope;
  for (const OriginalNode& node : op.originals) {
    const OpScope original = scope_of_name(node.name, false);
    if (has_parts(original.scope)) scope = {original.scope, op.name, true};
  }
  return scope;
}

}  // namespace tensortap
