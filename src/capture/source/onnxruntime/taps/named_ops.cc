#include "source/onnxruntime/taps/named_ops.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace tensortap::onnxruntime {
namespace {

// Whether a name is `wanted`, or that of something below it.
bool is_in_scope(std::string_view name, std::string_view wanted) {
  return name.starts_with(wanted) && (name.size() == wanted.size() || name[wanted.size()] == '/');
}

}  // namespace

NamedOps::NamedOps(const OpTable& ops, const OpIds& ids) {
  for (size_t i = 0; i < ops.entries.size(); ++i) {
    const OpEntry& entry = ops.entries[i];
    if (entry.role != OpRole::kNode) continue;
    Op op{ids[i], entry.originals, entry.original_types};
    op.names.push_back(entry.name);
    op.types.emplace_back(entry.type);
    for (const std::string_view output : entry.node->outputs) {
      if (!output.empty()) op.names.emplace_back(output);
    }
    ops_.push_back(std::move(op));
  }
}

Result<OpIds> NamedOps::find(std::string_view name) const {
  while (name.size() > 1 && name.ends_with('/')) name.remove_suffix(1);
  OpIds named;
  OpIds of_type;
  for (const Op& op : ops_) {
    if (std::ranges::any_of(op.names, [&](const std::string& own) { return name.empty() || is_in_scope(own, name); })) {
      named.push_back(op.id);
    }
    if (std::ranges::find(op.types, name) != op.types.end()) of_type.push_back(op.id);
  }
  if (!named.empty() || name.empty()) return named;
  if (!of_type.empty()) return of_type;
  return unknown(name);
}

Status NamedOps::unknown(std::string_view name) const {
  std::set<std::string> known;
  for (const Op& op : ops_) {
    known.insert(op.types.begin(), op.types.end());
    for (const std::string& own : op.names) {
      known.insert(own);
      for (size_t slash = own.find('/', 1); slash != std::string::npos; slash = own.find('/', slash + 1))
        known.insert(own.substr(0, slash));
    }
  }
  const std::vector<std::string> candidates(known.begin(), known.end());
  return invalid_argument(
      concat(quote(name), " is no op, no scope and no type of this model, as it runs.", did_you_mean(name, candidates)));
}

}  // namespace tensortap::onnxruntime
