// GraphDrawing: the drawing of a dump's graph with some of its groups open, as boxes and lines with their places.

#ifndef TENSORTAP_GRAPH_GRAPH_DRAWING_H_
#define TENSORTAP_GRAPH_GRAPH_DRAWING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_model.h"

namespace tensortap {

inline constexpr uint32_t kAutoNodes = 300;  // about how many nodes are visible when the user has not opened any group

struct GraphRequest {
  enum class Open : uint8_t {
    kAuto,    // groups from the outside in, as long as no more than kAutoNodes are to be seen
    kAll,     // every group
    kListed,  // those of `groups`
  };
  Open open = Open::kAuto;
  std::vector<std::string> groups;  // ids, "g:Net.layer1"; unknown ones, and what is inside of a closed one, do nothing
  std::vector<OpId> ops;            // whatever is open, these are to be seen: the groups they are in are open as well
};

// A box: an op, a closed group, or an open group around its contents. Positions are in pixels at scale 1, y grows downwards.
struct DrawnNode {
  bool is_group = false;
  bool is_open = false;
  bool captured = false;  // of a group: whether an op in it is
  OpId op = kNoOp;        // of a group none
  uint32_t group = 0;     // of the model: the group itself; of an op the one that it is in
  int32_t parent = -1;    // node of the open group around it
  uint32_t ops = 1;       // ops inside
  float x = 0;            // centre
  float y = 0;
  float width = 0;
  float height = 0;
  std::string_view name;    // within its group
  std::string_view path;    // whole name; of a group without the "g:" of its id
  std::string_view type;    // of the op, or of the op that a nested graph belongs to; "" otherwise
  std::string_view reason;  // why it has no record; "" when it has
};

// A line from the lower edge of `from` to the upper edge of `to`, or from an upper to a lower one where it closes a cycle.
struct DrawnEdge {
  uint32_t from = 0;  // nodes
  uint32_t to = 0;
  uint32_t values = 0;       // how many values go there
  uint32_t first_point = 0;  // its points are `floats` numbers of GraphDrawing::points from here on: x, y, x, y, ...
  uint32_t floats = 0;
  bool back = false;  // closes a cycle: leads upwards
};

// Borrows texts from the model and its dump.
struct GraphDrawing {
  std::vector<DrawnNode> nodes;  // an open group comes before what is in it
  std::vector<DrawnEdge> edges;  // by `from`, then `to`
  std::vector<float> points;
  float width = 0;
  float height = 0;
  std::vector<uint32_t> open;  // groups in effect, outer ones first: those that are open, and so is what they are in
};

// Deterministic. A group that is opened keeps its upper left corner, and what is in it, its place within the group: only what is right of
// it in its layer and what is below moves, to make room. Time is linear in the nodes and edges to be seen and the edges between ops.
GraphDrawing draw(const GraphModel& model, const GraphRequest& request);

// The node that shows an op: its own, or that of the closed group which hides it. By op.
std::vector<uint32_t> nodes_of_ops(const GraphModel& model, const GraphDrawing& view);

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_GRAPH_DRAWING_H_
