// EdgeRoutes: the lines of edges, from box to box, through the layers and the borders of groups between them.

#ifndef TENSORTAP_GRAPH_EDGE_ROUTES_H_
#define TENSORTAP_GRAPH_EDGE_ROUTES_H_

#include <cstdint>
#include <vector>

#include "graph/graph_model.h"
#include "graph/placed_groups.h"

namespace tensortap {

// Appends lines to a list of x, y, x, y, ... All that it is given is borrowed. Thread-compatible.
class EdgeRoutes {
 public:
  EdgeRoutes(const GraphModel& model, const PlacedGroups& placed, std::vector<float>& points)
      : model_(model), placed_(placed), points_(points) {}

  // Adds the line of an edge between two ops or the groups that show them, which must differ; or of an op to itself. A line has few
  // points: a way with very many bends, or between groups in very many groups, keeps only its ends. Returns whether the line leads upwards.
  bool add(size_t op_edge);

 private:
  void add_point(float x, float y);
  void add_loop(OpId op);
  void go_out(UnitId unit, UnitId outer);
  void go_in(UnitId unit, UnitId outer);
  void turn_round();
  void follow(const PlacedGroups::Contents& contents, std::span<const PlacedGroup::Piece> pieces, uint32_t last_layer);

  const GraphModel& model_;
  const PlacedGroups& placed_;
  std::vector<float>& points_;
  size_t begin_ = 0;  // of the line
};

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_EDGE_ROUTES_H_
