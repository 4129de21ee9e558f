// The search for a GraphMatch.

#ifndef TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_GRAPH_MATCHER_H_
#define TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_GRAPH_MATCHER_H_

#include "source/onnxruntime/origins/value_match.h"

namespace tensortap::onnxruntime {

// Fills an empty match until nothing more is certain. The evidence, strongest first: names of values, which the runtime keeps; the same
// node on the same inputs; the result of a known fusion; the inputs that unchanged nodes expect; the names of inserted Casts. Every match
// must pass the test of nodes_between().
void match_values(GraphMatch& match);

}  // namespace tensortap::onnxruntime

#endif  // TENSORTAP_SOURCE_ONNXRUNTIME_ORIGINS_GRAPH_MATCHER_H_
