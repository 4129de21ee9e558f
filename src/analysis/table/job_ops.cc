#include "table/job_ops.h"

#include <utility>

namespace tensortap {

uint32_t JobOps::known(const OpInfo& op) {
  std::string key = op.name;
  for (const std::string* part : {&op.type, &op.module, &op.graph}) {
    key += '\0';
    key += *part;
  }
  const auto [found, is_new] = places_.try_emplace(std::move(key), static_cast<uint32_t>(ops_.size() + 1));
  if (is_new) {
    ops_.push_back({op.name, op.type, op.module, op.graph, 0, static_cast<uint32_t>(dumps_.size()), false});
    next_.push_back(0);
    previous_.push_back(0);
  }
  Op& known = ops_[found->second - 1];
  known.has_source = known.has_source || !op.source_location.empty();
  return found->second;
}

void JobOps::put_behind(uint32_t place, uint32_t op) {
  const uint32_t after = next_[place];
  next_[place] = op;
  previous_[op] = place;
  next_[op] = after;
  previous_[after] = op;
}

void JobOps::add(std::span<const OpInfo> ops) {
  const size_t before = ops_.size();
  std::vector<uint32_t> places;
  places.reserve(ops.size());
  for (const OpInfo& op : ops) places.push_back(known(op));
  uint32_t behind = previous_[0];  // the last one, for a dump that has no known op
  for (const uint32_t place : places) {
    if (place > before) continue;
    behind = previous_[place];
    break;
  }
  std::vector<bool> is_put(ops_.size() - before);
  for (const uint32_t place : places) {
    if (place > before && !is_put[place - before - 1]) {
      is_put[place - before - 1] = true;
      put_behind(behind, place);
    }
    behind = place;
  }
  std::vector<bool> is_counted(ops_.size());
  for (const uint32_t place : places) {
    if (!is_counted[place - 1]) ++ops_[place - 1].dumps;
    is_counted[place - 1] = true;
  }
  dumps_.push_back(std::move(places));
}

void JobOps::finish() {
  std::vector<uint32_t> numbers(ops_.size() + 1);
  std::vector<Op> ordered;
  ordered.reserve(ops_.size());
  for (uint32_t place = next_[0]; place != 0; place = next_[place]) {
    numbers[place] = static_cast<uint32_t>(ordered.size());
    ordered.push_back(std::move(ops_[place - 1]));
  }
  ops_ = std::move(ordered);
  for (std::vector<uint32_t>& dump : dumps_) {
    for (uint32_t& place : dump) place = numbers[place];
  }
  places_.clear();
}

}  // namespace tensortap
