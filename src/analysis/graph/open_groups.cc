#include "graph/open_groups.h"

#include <optional>

namespace tensortap {
namespace {

// Outer groups have smaller numbers than inner ones, so that all of one depth are tried before the next.
void open_most(const GraphModel& model, std::vector<bool>& open) {
  size_t seen = model.graphs().units(0).size();
  for (uint32_t group = 1; group < open.size(); ++group) {
    const size_t inside = model.graphs().units(group).size();
    if (!open[model.tree().parent(group)] || seen + inside > kAutoNodes) continue;
    open[group] = true;
    seen += inside;
  }
}

}  // namespace

std::vector<bool> open_groups(const GraphModel& model, const GraphRequest& request) {
  std::vector<bool> open(model.tree().size(), request.open == GraphRequest::Open::kAll);
  open[0] = true;
  if (request.open == GraphRequest::Open::kAuto) open_most(model, open);
  if (request.open == GraphRequest::Open::kListed) {
    for (const std::string& id : request.groups) {
      if (const std::optional<uint32_t> group = model.find_group(id)) open[*group] = true;
    }
  }
  for (const OpId op : request.ops) {
    if (op >= model.ops().size()) continue;
    for (uint32_t group = model.group_of(op); group != 0; group = model.tree().parent(group)) open[group] = true;
  }
  for (uint32_t group = 1; group < open.size(); ++group) open[group] = open[group] && open[model.tree().parent(group)];
  return open;
}

}  // namespace tensortap
