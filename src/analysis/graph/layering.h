// Layers: how far down each unit of a drawing is.

#ifndef TENSORTAP_GRAPH_LAYERING_H_
#define TENSORTAP_GRAPH_LAYERING_H_

#include <cstdint>
#include <span>
#include <vector>

namespace tensortap {

// Between two different units of one group, numbered from 0 in the order in which they run.
struct UnitEdge {
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t values = 1;
  bool back = false;  // closes a cycle, and is drawn upwards
  [[nodiscard]] uint32_t upper() const { return back ? to : from; }
  [[nodiscard]] uint32_t lower() const { return back ? from : to; }
  friend bool operator==(const UnitEdge&, const UnitEdge&) = default;
};

// Sets `back` of the edges that a search in depth finds to close cycles, such that the others have none. It begins with units that
// nothing leads to, in order. `edges` are sorted by `from`. Linear.
void mark_back_edges(uint32_t units, std::span<UnitEdge> edges);

// The layer of each unit, from 0 without gaps. A unit is as far up as the units that it reads allow; one that has more readers than inputs
// is as far down as its readers allow. Every edge leads from a layer to a lower one, back edges the other way. Units without edges are
// spread over the layers in order. Linear.
std::vector<uint32_t> layers_of(uint32_t units, std::span<const UnitEdge> edges);

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_LAYERING_H_
