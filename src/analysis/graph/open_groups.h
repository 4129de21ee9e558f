// Which groups are open in a drawing.

#ifndef TENSORTAP_GRAPH_OPEN_GROUPS_H_
#define TENSORTAP_GRAPH_OPEN_GROUPS_H_

#include <vector>

#include "graph/graph_drawing.h"

namespace tensortap {

// By group; the root is always open, and every other open one is in an open one. Linear in the groups.
std::vector<bool> open_groups(const GraphModel& model, const GraphRequest& request);

}  // namespace tensortap

#endif  // TENSORTAP_GRAPH_OPEN_GROUPS_H_
