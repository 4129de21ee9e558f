#include "graph/layering.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tensortap {
namespace {

constexpr uint32_t kMostInColumn = 8;  // units without edges stand below each other up to this many, and then in rows

// The edges that begin at each unit, as positions in a list sorted by unit.
std::vector<uint32_t> first_edges(uint32_t units, std::span<const UnitEdge> edges) {
  std::vector<uint32_t> first(units + size_t{1});
  for (const UnitEdge& edge : edges) ++first[edge.from + size_t{1}];
  for (uint32_t unit = 0; unit < units; ++unit) first[unit + size_t{1}] += first[unit];
  return first;
}

// Units such that every edge leads from an earlier to a later one.
class Order {
 public:
  Order(uint32_t units, std::span<const UnitEdge> edges) : first_(units + size_t{1}), lower_(edges.size()), waiting_(units) {
    for (const UnitEdge& edge : edges) {
      ++first_[edge.upper() + size_t{1}];
      ++waiting_[edge.lower()];
    }
    for (uint32_t unit = 0; unit < units; ++unit) first_[unit + size_t{1}] += first_[unit];
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (const UnitEdge& edge : edges) lower_[next[edge.upper()]++] = edge.lower();
    read_ = waiting_;
    for (uint32_t unit = 0; unit < units; ++unit) {
      if (waiting_[unit] == 0) order_.push_back(unit);
    }
    for (size_t at = 0; at < order_.size(); ++at) {
      for (const uint32_t lower : below(order_[at])) {
        if (--waiting_[lower] == 0) order_.push_back(lower);
      }
    }
  }
  [[nodiscard]] std::span<const uint32_t> units() const { return order_; }
  [[nodiscard]] std::span<const uint32_t> below(uint32_t unit) const {
    return {lower_.data() + first_[unit], size_t{first_[unit + size_t{1}]} - first_[unit]};
  }
  [[nodiscard]] uint32_t read(uint32_t unit) const { return read_[unit]; }  // edges that end at it

 private:
  std::vector<uint32_t> first_;
  std::vector<uint32_t> lower_;
  std::vector<uint32_t> waiting_;
  std::vector<uint32_t> read_;
  std::vector<uint32_t> order_;
};

// Takes the layers that no unit is in out, and returns how many there are then.
uint32_t close_gaps(std::vector<uint32_t>& layers, const std::vector<bool>& counts) {
  uint32_t most = 0;
  for (size_t unit = 0; unit < layers.size(); ++unit) {
    if (counts[unit]) most = std::max(most, layers[unit] + 1);
  }
  std::vector<uint32_t> renamed(most);
  for (size_t unit = 0; unit < layers.size(); ++unit) {
    if (counts[unit]) renamed[layers[unit]] = 1;
  }
  uint32_t used = 0;
  for (uint32_t& layer : renamed) used += std::exchange(layer, used);
  for (size_t unit = 0; unit < layers.size(); ++unit) {
    if (counts[unit]) layers[unit] = renamed[layers[unit]];
  }
  return used;
}

void spread(std::vector<uint32_t>& layers, const std::vector<bool>& has_edges, uint32_t used) {
  const auto alone = static_cast<uint32_t>(std::ranges::count(has_edges, false));
  const auto root = static_cast<uint32_t>(std::ceil(std::sqrt(static_cast<double>(alone))));
  const uint32_t rows = used == 0 && alone <= kMostInColumn ? alone : std::max(used, root);
  uint64_t number = 0;
  for (size_t unit = 0; unit < layers.size(); ++unit) {
    if (!has_edges[unit]) layers[unit] = static_cast<uint32_t>(number++ * rows / alone);
  }
}

}  // namespace

void mark_back_edges(uint32_t units, std::span<UnitEdge> edges) {
  enum class State : uint8_t { kNew, kOpen, kDone };
  const std::vector<uint32_t> first = first_edges(units, edges);
  std::vector<State> states(units, State::kNew);
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  std::vector<uint32_t> open;
  const auto search = [&](uint32_t root) {
    if (states[root] != State::kNew) return;
    states[root] = State::kOpen;
    open.push_back(root);
    while (!open.empty()) {
      const uint32_t unit = open.back();
      if (next[unit] == first[unit + size_t{1}]) {
        states[unit] = State::kDone;
        open.pop_back();
        continue;
      }
      UnitEdge& edge = edges[next[unit]++];
      edge.back = states[edge.to] == State::kOpen;
      if (states[edge.to] != State::kNew) continue;
      states[edge.to] = State::kOpen;
      open.push_back(edge.to);
    }
  };
  std::vector<bool> is_read(units);
  for (const UnitEdge& edge : edges) is_read[edge.to] = true;
  for (uint32_t unit = 0; unit < units; ++unit) {
    if (!is_read[unit]) search(unit);
  }
  for (uint32_t unit = 0; unit < units; ++unit) search(unit);
}

std::vector<uint32_t> layers_of(uint32_t units, std::span<const UnitEdge> edges) {
  const Order order(units, edges);
  std::vector<uint32_t> layers(units);
  std::vector<bool> has_edges(units);
  for (const uint32_t unit : order.units()) {
    has_edges[unit] = order.read(unit) > 0 || !order.below(unit).empty();
    for (const uint32_t lower : order.below(unit)) layers[lower] = std::max(layers[lower], layers[unit] + 1);
  }
  for (size_t at = order.units().size(); at-- > 0;) {
    const uint32_t unit = order.units()[at];
    if (order.below(unit).size() <= order.read(unit)) continue;
    uint32_t lowest = std::numeric_limits<uint32_t>::max();
    for (const uint32_t lower : order.below(unit)) lowest = std::min(lowest, layers[lower] - 1);
    layers[unit] = lowest;
  }
  const uint32_t used = close_gaps(layers, has_edges);
  spread(layers, has_edges, used);
  return layers;
}

}  // namespace tensortap
